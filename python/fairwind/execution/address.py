"""Addresses of workers, as ``--workers`` has them: ``KIND:PART,PART,KEY=VALUE``."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairwind.errors import FairwindError

LOCAL = "local"
"""Threads of this process."""

STORAGE = "storage"
"""The option of every cluster that names where results are left."""

DEFAULT_PORT = 8786
"""Of a Dask scheduler."""

SCHEMES = ("dask", "tcp", "tls", "ws", "wss", "ucx")
"""Beginnings of a running scheduler's address; ``dask`` means ``tcp``."""

KINDS = "local, dask://HOST:PORT, ssh:HOST,HOST, slurm:KEY=VALUE,... or kubernetes:KEY=VALUE,..."


@dataclass(frozen=True)
class Address:
    """Where workers are, or how they are started.

    Attributes
    ----------
    kind : str
        ``local``, ``dask`` for a running scheduler, ``ssh``, ``slurm`` or ``kubernetes``.
    hosts : tuple of str
        The scheduler's address, or the hosts that ssh logs in to.
    options : dict
        What is given as ``KEY=VALUE``, without the storage.
    storage : str, optional
        Folder or bucket, as fsspec names it, that workers leave results in; without it results
        come back over the network of the cluster.
    """

    kind: str
    hosts: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    storage: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether simulations run on threads of this process."""
        return self.kind == LOCAL


def parse_address(text: str) -> Address:
    """Read the address of workers.

    Raises
    ------
    FairwindError
        If it is none, or lacks something.
    """
    if text == LOCAL:
        return Address(LOCAL)
    kind, colon, rest = text.partition(":")
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    # The address of a scheduler may have an equals sign only behind the first comma.
    named = dict(part.split("=", 1) for part in parts if "=" in part)
    hosts = tuple(part for part in parts if "=" not in part)
    storage = named.pop(STORAGE, None)
    if colon and kind in SCHEMES:
        return Address("dask", (_scheduler(text, kind, hosts, named),), {}, storage)
    if colon and kind == "ssh":
        if not hosts:
            raise FairwindError(f"--workers {text} names no host", "name some: ssh:alpha,beta")
        return Address(kind, hosts, named, storage)
    if colon and kind in ("slurm", "kubernetes"):
        if hosts:
            raise FairwindError(
                f"--workers {text}: {hosts[0]!r} is no KEY=VALUE",
                f"write options as in {kind}:{EXAMPLES[kind]}",
            )
        return Address(kind, (), named, storage)
    raise FairwindError(f"there are no workers called {text!r}", f"choose {KINDS}")


EXAMPLES = {
    "slurm": "jobs=10,cores=16,memory=32GB,walltime=02:00:00",
    "kubernetes": "image=registry/fairwind,workers=10",
}


def _scheduler(text: str, kind: str, hosts: tuple[str, ...], named: dict[str, str]) -> str:
    if len(hosts) != 1 or not hosts[0].startswith("//") or not hosts[0].strip("/"):
        raise FairwindError(
            f"--workers {text} is no address of a scheduler", "write dask://HOST:PORT"
        )
    if named:
        raise FairwindError(
            f"--workers {text}: a running cluster has no option {next(iter(named))!r}",
            f"the only one is {STORAGE}=URL",
        )
    host = hosts[0].strip("/")
    port = "" if host.rpartition(":")[2].isdigit() and ":" in host else f":{DEFAULT_PORT}"
    return f"{'tcp' if kind == 'dask' else kind}://{host}{port}"
