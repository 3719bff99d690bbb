"""Choice of workers by their address."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.util import find_spec

from fairwind.engine.engines import Engine
from fairwind.errors import FairwindError
from fairwind.execution.address import parse_address
from fairwind.execution.admission import usual_jobs
from fairwind.execution.threads import threads
from fairwind.execution.workers import Job, Workers

PACKAGES = {
    "dask": ("distributed",),
    "ssh": ("distributed", "asyncssh"),
    "slurm": ("distributed", "dask_jobqueue"),
    "kubernetes": ("distributed", "dask_kubernetes"),
}
"""What must be installed beside Fairwind, by the kind of the address."""


def check_workers(text: str, engine: Engine) -> None:
    """Refuse workers that cannot be had, before anything is written.

    Raises
    ------
    FairwindError
        If the address is wrong, a package is missing, or the engine exists in this process only.
    """
    address = parse_address(text)
    if address.is_local:
        return
    extra = "kubernetes" if address.kind == "kubernetes" else "cluster"
    for package in PACKAGES[address.kind]:
        if find_spec(package) is None:
            raise FairwindError(
                f"--workers {text} needs the package {package.replace('_', '-')}",
                f"pip install 'fairwind[{extra}]'",
            )
    if engine.name_elsewhere() is None:
        raise FairwindError(
            "a congestion control that is a class of Python runs in this process only",
            "leave --workers out, or write it in C (`fairwind congestion build`)",
        )


def open_workers(text: str, job: Job, jobs: int | None) -> AbstractContextManager[Workers]:
    """Give the workers of an address; after the block they have ended.

    Parameters
    ----------
    jobs : int, optional
        Simulations at once, at most; what the machine or the cluster has if None.
    """
    address = parse_address(text)
    if address.is_local:
        return threads(job, jobs or usual_jobs(job.engine))
    from fairwind.execution.cluster import cluster

    return cluster(address, job, jobs)


def tidy_storage(text: str, job: Job) -> None:
    """Remove the results of a finished run from the storage of an address, if it has one.

    Raises
    ------
    FairwindError
        If the storage does not answer.
    """
    address = parse_address(text)
    if address.storage is None:
        return
    from fairwind.execution.cluster import tidy

    tidy(address.storage, job)
