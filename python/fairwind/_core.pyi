"""Types of the compiled part of Fairwind (crates/python)."""

from collections.abc import Callable
from typing import Any, final

__all__ = [
    "Analysis",
    "Cancelled",
    "CaptureError",
    "KernelRunError",
    "KernelUnavailable",
    "Progress",
    "ScenarioError",
    "SimulationError",
    "Table",
    "analysis_columns",
    "capabilities",
    "captured_writes",
    "check_on_kernel",
    "columns",
    "follow_script",
    "kernel_obstacle",
    "kernel_problem",
    "kernel_settings",
    "leftovers",
    "named_files",
    "plan",
    "rate_columns",
    "recorded_applications",
    "run_on_kernel",
    "run_shell",
    "schema",
    "serve_as_host",
    "serve_shell",
    "simulate",
    "version",
]

class ScenarioError(Exception):
    errors: list[dict[str, Any]]

class SimulationError(Exception): ...
class Cancelled(Exception): ...
class KernelUnavailable(Exception): ...
class KernelRunError(Exception): ...
class CaptureError(Exception): ...

@final
class Progress:
    def __new__(cls) -> Progress: ...
    @property
    def fraction(self) -> float: ...
    def cancel(self) -> None: ...

@final
class Analysis:
    def __new__(
        cls, sender: list[str], receiver: list[str], settings_json: str, *, follow: bool = False
    ) -> Analysis: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def packets(self) -> int: ...
    def advance(self, packets: int) -> str: ...
    def take_rows(self, least: int) -> dict[str, Table]: ...
    def snapshot(self) -> dict[str, Table]: ...
    def finish(self) -> tuple[dict[str, Table], str]: ...

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def version() -> str: ...
def schema() -> str: ...
def columns() -> str: ...
def analysis_columns() -> str: ...
def rate_columns() -> list[tuple[str, str, str]]: ...
def plan(
    file: str,
    text: str,
    overrides: list[tuple[str, str]],
    provided: list[str] = ...,
) -> str: ...
def named_files(
    file: str, text: str, overrides: list[tuple[str, str]]
) -> list[tuple[str, str, str | None]]: ...
def captured_writes(file: str, connection: str | None = None) -> str: ...
def recorded_applications() -> str: ...
def simulate(
    experiment_json: str,
    seed: int,
    progress: Progress | None = None,
    capture: str | None = None,
    queue_events: Callable[[Table], None] | None = None,
) -> dict[str, Table]: ...
def follow_script(
    file: str,
    text: str,
    *,
    on: str = "sim",
    profile: str = "linux-6.18",
    lenient_echo: bool = False,
    definitions: list[tuple[str, str]] = ...,
    options: list[tuple[str, str | None]] = ...,
) -> dict[str, Any]: ...
def kernel_obstacle() -> str | None: ...
def kernel_problem() -> str | None: ...
def run_shell(
    experiment_json: str,
    seed: int,
    program: list[str],
    host_command: list[str],
    opened: Callable[[list[str], list[str], list[str]], None],
    *,
    user: tuple[str, int, int] | None = None,
    folder: str | None = None,
) -> tuple[int, str | None, dict[str, Table]]: ...
def serve_shell(role: str, descriptor: str) -> int: ...
def run_on_kernel(
    experiment_json: str,
    seed: int,
    progress: Progress,
    capture: str,
    host_command: list[str],
) -> dict[str, Table]: ...
def check_on_kernel(experiment_json: str) -> str: ...
def serve_as_host() -> int: ...
def capabilities() -> str: ...
def leftovers(*, remove: bool) -> str: ...
def kernel_settings() -> str: ...
