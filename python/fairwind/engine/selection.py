"""Choice of an engine by its name."""

from __future__ import annotations

from collections.abc import Mapping

from fairwind.congestion.used import ControlClass
from fairwind.engine.engines import Engine, Kernel, Simulation
from fairwind.engine.virtual import VirtualKernel
from fairwind.errors import FairwindError
from fairwind.kernels.catalogue import is_virtual, kernel_named


def engine_named(name: str, classes: Mapping[str, ControlClass] | None = None) -> Engine:
    """Give the engine that a person names with ``--on``.

    Parameters
    ----------
    name : str
        ``sim``, ``kernel``, or a built kernel such as ``linux-6.12``.
    classes : mapping of str to type, optional
        Classes that serve as congestion controls, by their names in the scenario.

    Raises
    ------
    FairwindError
        If the name is unknown, the kernel is not built, or classes are given to another engine
        than the simulator.
    """
    match name:
        case "sim":
            return Simulation(classes)
        case _ if classes:
            raise FairwindError(
                "a class of Python cannot be a congestion control of the kernel",
                "write it in C (`fairwind congestion build`), or run it in the simulator",
            )
        case "kernel":
            return Kernel()
        case _ if is_virtual(name):
            return VirtualKernel(kernel_named(name))
        case _:
            raise FairwindError(
                f"there is no engine called {name!r}",
                "choose --on sim, --on kernel, or a built kernel such as --on linux-6.12",
            )
