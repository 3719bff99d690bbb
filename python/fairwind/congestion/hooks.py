"""Classes of Python that serve as congestion controls: which of their methods are called."""

from __future__ import annotations

from difflib import get_close_matches

from fairwind.congestion.used import ControlClass
from fairwind.errors import FairwindError

HOOKS = (
    "init",
    "release",
    "ssthresh",
    "on_ack",
    "cong_avoid",
    "on_loss",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "pkts_acked",
    "cong_control",
    "undo_cwnd",
)
"""Methods that are called, each with the sender first."""

ALIKE = 0.75
"""From so much likeness on, a name is taken for a hook's with a mistake in it."""


def check_hooks(name: str, written: ControlClass) -> None:
    """See to it that the hooks of a class are called what hooks are called.

    Parameters
    ----------
    name : str
        The congestion control's name in the scenario.
    written : type
        The class.

    Raises
    ------
    FairwindError
        If a method would never be called and its name is nearly a hook's, or nothing of the class
        would be called at all.
    """
    methods = [one for one in dir(written) if callable(getattr(written, one, None))]
    what = getattr(written, "__name__", repr(written))
    for method in methods:
        near = get_close_matches(method, HOOKS, 1, ALIKE)
        if near and method not in HOOKS and not method.startswith("_"):
            raise FairwindError(
                f"the congestion control {name!r}: the method {method} of {what} is no hook, and "
                "nobody calls it",
                f"call it {near[0]} if that is meant; else begin its name with _",
            )
    if not set(methods) & set(HOOKS):
        raise FairwindError(
            f"the congestion control {name!r}: {what} has no method that is called",
            f"give it some of {', '.join(HOOKS)}; docs/guides/congestion-controls.md has them",
        )
