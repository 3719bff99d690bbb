"""The option `--workers`."""

from __future__ import annotations

from typing import Annotated

import typer

Workers = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        help="Where simulations run: local, or a cluster of Dask: dask://HOST:PORT, ssh:HOST,HOST, "
        "slurm:KEY=VALUE,... or kubernetes:KEY=VALUE,...; with storage=URL results go there first.",
    ),
]
