"""Dask clusters: a running scheduler, or one that is started on other machines for one run."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from fairwind.errors import FairwindError
from fairwind.execution.address import EXAMPLES, Address

SSH_OPTIONS = ("python", "threads", "user", "port")

DASK_DEFAULTS = {
    "distributed": {
        "admin": {"tick": {"interval": "500 ms"}},
        "worker": {"profile": {"enabled": False}},
    }
}
"""Settings that reduce Dask's monitoring of itself, which takes 5 % of a processor per process."""


@contextmanager
def started(address: Address) -> Iterator[str]:
    """Give the scheduler's address of a cluster, which is started if it does not run yet.

    Raises
    ------
    FairwindError
        If it cannot be started.
    """
    if address.kind == "dask":
        yield address.hosts[0]
    elif (kept := _KEPT.get()) is not None:
        yield kept.scheduler(address)
    else:
        with _cluster(address) as scheduler:
            yield scheduler


@contextmanager
def kept_clusters() -> Iterator[None]:
    """Let all runs of the block share the clusters that they start, which last until its end.

    To start one takes seconds, or hours in Slurm's queue. A cluster is started when a run needs it.
    """
    if _KEPT.get() is not None:
        yield
        return
    with ExitStack() as stack:
        token = _KEPT.set(_Kept(stack))
        try:
            yield
        finally:
            _KEPT.reset(token)


class _Kept:
    """Clusters that were started, with the schedulers of their addresses."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._started: list[tuple[Address, str]] = []

    def scheduler(self, address: Address) -> str:
        """Give the scheduler of an address, after starting the cluster if it is a new one."""
        for earlier, scheduler in self._started:
            if earlier == address:
                return scheduler
        self._stack.enter_context(quiet())  # it also reports between two runs
        scheduler = self._stack.enter_context(_cluster(address))
        self._started.append((address, scheduler))
        return scheduler


_KEPT: ContextVar[_Kept | None] = ContextVar("kept", default=None)


@contextmanager
def _cluster(address: Address) -> Iterator[str]:
    """Start a cluster, and give the address of its scheduler."""
    import dask
    import distributed  # noqa: F401 - its own defaults come first

    # A setting of the user's configuration stays as it is.
    dask.config.update_defaults(DASK_DEFAULTS)
    make = {"ssh": _ssh, "slurm": _slurm, "kubernetes": _kubernetes}[address.kind]
    try:
        made = make(address)
    except FairwindError:
        raise
    except Exception as error:  # of many packages; all mean the same to a person
        raise FairwindError(
            f"the cluster {address.kind} could not be started: {type(error).__name__}: {error}",
            "start it by other means, then name its scheduler: --workers dask://HOST:PORT",
        ) from error
    with made as running:
        yield str(running.scheduler_address)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Dask's reports of lost connections off standard error; we print what matters.

    That its usual port is taken does not: the address of the dashboard is printed.
    """
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"(?s).*Port \d+ is already in use")
            yield
    finally:
        log.setLevel(level)


def _ssh(address: Address) -> Any:  # noqa: ANN401 - of distributed
    """Start a scheduler on the first host and workers on all."""
    from distributed import SSHCluster

    _refuse_unknown(address, SSH_OPTIONS)
    options = address.options
    connect: dict[str, Any] = {}
    if "user" in options:
        connect["username"] = options["user"]
    if "port" in options:
        connect["port"] = _number(address, "port")
    workers = {"nthreads": _number(address, "threads")} if "threads" in options else {}
    return SSHCluster(
        [address.hosts[0], *address.hosts],
        connect_options=connect,
        worker_options=workers,
        scheduler_options={"port": 0},
        remote_python=options.get("python"),
    )


def _slurm(address: Address) -> Any:  # noqa: ANN401 - of dask_jobqueue
    """Start a scheduler here and ask Slurm for workers."""
    from dask_jobqueue import SLURMCluster

    jobs = _number(address, "jobs")
    options = _typed(address, without=("jobs",))
    made = _made(SLURMCluster, address, options)
    made.scale(jobs=jobs)
    return made


def _kubernetes(address: Address) -> Any:  # noqa: ANN401 - of dask_kubernetes
    """Ask the operator of Dask in Kubernetes for a scheduler and workers."""
    from dask_kubernetes.operator import KubeCluster

    workers = _number(address, "workers")
    options = {"name": "fairwind", **_typed(address, without=("workers",))}
    return _made(KubeCluster, address, {**options, "n_workers": workers})


def _made(kind: Any, address: Address, options: dict[str, Any]) -> Any:  # noqa: ANN401 - of a package
    try:
        return kind(**options)
    except (TypeError, ValueError) as error:
        raise FairwindError(
            f"--workers {address.kind}: {error}",
            f"write options as in {address.kind}:{EXAMPLES[address.kind]}; others stand in the "
            "configuration of Dask",
        ) from error


def _typed(address: Address, without: tuple[str, ...]) -> dict[str, Any]:
    """Give options as Dask takes them: whole numbers as numbers, everything else as text."""
    return {
        key: int(value) if value.isdigit() else value
        for key, value in address.options.items()
        if key not in without
    }


def _number(address: Address, key: str) -> int:
    """Read an option that is a whole number, at least 1."""
    value = address.options.get(key, "")
    if value.isdigit() and int(value):
        return int(value)
    found = f"{key}={value} is no number of at least 1" if value else f"{key}=NUMBER is missing"
    example = EXAMPLES.get(address.kind, "alpha,beta,threads=8")
    raise FairwindError(f"--workers {address.kind}: {found}", f"as in {address.kind}:{example}")


def _refuse_unknown(address: Address, known: tuple[str, ...]) -> None:
    for key in address.options:
        if key not in known:
            raise FairwindError(
                f"--workers {address.kind} has no option {key!r}",
                f"it has {', '.join((*known, 'storage'))}",
            )
