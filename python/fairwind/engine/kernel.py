"""The running kernel as an engine: the same experiment in real time, by real sockets."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from fairwind import _core
from fairwind.congestion import control_settings, control_versions, used_controls
from fairwind.engine.core import core_versions, table_columns
from fairwind.engine.host import host_command
from fairwind.engine.protocol import Cancelled, CellProgress, Refusal

FACTS = {
    "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "congestion_controls": "/proc/sys/net/ipv4/tcp_available_congestion_control",
    "cubic_hystart": "/sys/module/tcp_cubic/parameters/hystart",
    "tcp_memory_pages": "/proc/sys/net/ipv4/tcp_mem",
    "largest_send_buffer_bytes": "/proc/sys/net/core/wmem_max",
    "largest_receive_buffer_bytes": "/proc/sys/net/core/rmem_max",
}
"""Settings of the whole machine that may influence results; no run changes them."""


class Kernel:
    """The kernel of this machine, with our network between its hosts."""

    @property
    def name(self) -> str:
        """Name in the manifest."""
        return "kernel"

    @property
    def is_real_time(self) -> bool:
        """An experiment of a minute takes a minute."""
        return True

    def versions(self) -> dict[str, str]:
        """Return the core's version and the kernel's release and build."""
        return core_versions() | {"kernel": platform.release(), "kernel_build": platform.version()}

    def control_versions(self, experiments: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Return digests of the congestion controls' sources."""
        return control_versions(experiments)

    def facts(self) -> dict[str, str]:
        """Return the machine's settings with influence, and its load at the beginning."""
        found = {name: text for name, file in FACTS.items() if (text := _first_line(file))}
        return found | {"load": f"{os.getloadavg()[0]:.2f}"}

    def columns(self) -> list[dict[str, str]]:
        """Return the meaning of the columns of its tables."""
        return table_columns()

    def obstacle(self) -> str | None:
        """Return what this machine lacks for any run."""
        return _core.kernel_obstacle()

    def expect(self, experiments: Iterable[str]) -> None:
        """Look at each experiment when it is asked about."""

    def refusals(self, experiment_json: str) -> list[Refusal]:
        """Return settings that the running kernel does not have."""
        refused = [Refusal(**row) for row in _checked(experiment_json)["refusals"]]
        return [*refused, *control_parameters(experiment_json)]

    def remarks(self, experiment_json: str) -> list[str]:
        """Return settings that the running kernel applies approximately, such as times."""
        return [f"{row['key']}: {row['text']}" for row in _checked(experiment_json)["remarks"]]

    def new_progress(self) -> CellProgress:
        """Make a progress object of the core."""
        return _core.Progress()

    def execute(
        self, experiment_json: str, seed: int, progress: CellProgress, captures: Path
    ) -> Mapping[str, pl.DataFrame]:
        """Run one experiment in real time; the interpreter lock is released meanwhile."""
        if not isinstance(progress, _core.Progress):
            raise TypeError("progress was not made by this engine's new_progress()")
        try:
            tables = _core.run_on_kernel(
                experiment_json,
                seed,
                progress,
                str(captures),
                host_command(),
                _controls(experiment_json),
            )
        except _core.Cancelled as cancelled:
            raise Cancelled from cancelled
        return {name: pl.DataFrame(table) for name, table in tables.items()}


@lru_cache(maxsize=4096)
def _checked(experiment_json: str) -> dict[str, list[dict[str, str]]]:
    checked = _core.check_on_kernel(experiment_json, _controls(experiment_json))
    found: dict[str, list[dict[str, str]]] = json.loads(checked)
    return found


def _controls(experiment_json: str) -> list[tuple[str, str, bytes]]:
    """Give one's own congestion controls that an experiment uses, as the core loads them."""
    return used_controls(json.loads(experiment_json)).for_kernel()


def control_parameters(experiment_json: str) -> list[Refusal]:
    """Give the parameters of congestion controls: in a kernel they have their defaults."""
    return [
        Refusal(
            group=setting.key.split(".")[1],
            key=f"{setting.key}.{name}",
            value=json.dumps(value),
            mechanism="a congestion control in the kernel has the defaults of its source",
            alternative=f"change the default in {setting.name}.c and build it under another name",
        )
        for setting in control_settings(json.loads(experiment_json))
        for name, value in setting.parameters.items()
    ]


def _first_line(file: str) -> str:
    """Read one line of what the kernel tells; empty where it does not have this file."""
    try:
        return Path(file).read_text(encoding="ascii").split("\n", 1)[0].replace("\t", " ").strip()
    except (OSError, ValueError):
        return ""
