"""Types of the compiled part of Fairwind (crates/python)."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

from fairwind.errors import FairwindError

__all__ = [
    "Analysis",
    "Cancelled",
    "CaptureError",
    "ControlError",
    "ControlFault",
    "KernelRunError",
    "KernelUnavailable",
    "Probe",
    "Progress",
    "ScenarioError",
    "SimulationError",
    "Table",
    "VirtualKernelError",
    "WindowsError",
    "analysis_columns",
    "built_in_controls",
    "capabilities",
    "captured_writes",
    "check_on_kernel",
    "check_on_virtual_kernel",
    "clear_windows",
    "columns",
    "compile_control",
    "compile_control_object",
    "control_interface",
    "control_name_fault",
    "control_parameters",
    "follow_on_virtual_kernel",
    "follow_script",
    "interface",
    "kernel_obstacle",
    "kernel_problem",
    "kernel_settings",
    "leftovers",
    "load_control",
    "loaded_controls",
    "named_files",
    "owner_of_kernel_name",
    "plan",
    "rate_columns",
    "recorded_applications",
    "run_on_kernel",
    "run_on_virtual_kernel",
    "run_shell",
    "run_shell_on_virtual_kernel",
    "schema",
    "serve_as_host",
    "serve_shell",
    "show_windows",
    "simulate",
    "start_windows",
    "stop_windows",
    "student_probability",
    "student_quantile",
    "unload_control",
    "version",
]

class ScenarioError(FairwindError):
    errors: list[dict[str, Any]]

class SimulationError(FairwindError): ...
class Cancelled(FairwindError): ...
class KernelUnavailable(FairwindError): ...
class KernelRunError(FairwindError): ...
class VirtualKernelError(FairwindError): ...
class CaptureError(FairwindError): ...
class ControlError(FairwindError): ...
class ControlFault(FairwindError): ...
class WindowsError(FairwindError): ...

@final
class Progress:
    def __new__(cls) -> Progress: ...
    @property
    def fraction(self) -> float: ...
    def live_counts(self) -> str | None: ...
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
class Probe:
    def __new__(cls, device: str, queues: list[str], interval_ns: int) -> Probe: ...
    def advance(self, limit_s: float) -> str: ...
    def finish(self) -> tuple[dict[str, Table], str]: ...

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def version() -> str: ...
def interface() -> str: ...
def schema() -> str: ...
def columns() -> str: ...
def analysis_columns() -> str: ...
def rate_columns() -> list[tuple[str, str, str]]: ...
def plan(
    file: str,
    text: str,
    overrides: list[tuple[str, str]],
    provided: list[str] = ...,
    controls: list[str] = ...,
) -> str: ...
def named_files(
    file: str, text: str, overrides: list[tuple[str, str]]
) -> list[tuple[str, str, str | None]]: ...
def captured_writes(file: str, connection: str | None = None) -> str: ...
def recorded_applications() -> str: ...
def student_probability(degrees_of_freedom: float, value: float) -> float: ...
def student_quantile(degrees_of_freedom: float, probability: float) -> float: ...
def simulate(
    experiment_json: str,
    seed: int,
    progress: Progress | None = None,
    capture: str | None = None,
    queue_events: Callable[[Table], None] | None = None,
    controls: Sequence[tuple[str, str | PathLike[str] | type[Any]]] = ...,
) -> dict[str, Table]: ...
def follow_script(
    file: str,
    text: str,
    *,
    on: str = "sim",
    profile: str = "linux-6.18",
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
    progress: Progress | None = None,
) -> tuple[int, str | None, dict[str, Table]]: ...
def serve_shell(role: str, descriptor: str) -> int: ...
def run_on_kernel(
    experiment_json: str,
    seed: int,
    progress: Progress,
    capture: str,
    host_command: list[str],
    controls: list[tuple[str, str, bytes]] = ...,
) -> dict[str, Table]: ...
def check_on_kernel(experiment_json: str, controls: list[tuple[str, str, bytes]] = ...) -> str: ...
def run_on_virtual_kernel(
    kernel: tuple[Path, Path],
    experiment: tuple[str, list[tuple[str, str]]],
    seed: int,
    progress: Progress,
    capture: str,
) -> dict[str, Table]: ...
def check_on_virtual_kernel(
    kernel: tuple[Path, Path], experiments: list[tuple[str, list[tuple[str, str]]]], folder: str
) -> str: ...
def run_shell_on_virtual_kernel(
    kernel: tuple[Path, Path],
    experiment_json: str,
    seed: int,
    program: list[str],
    outside: list[str],
    folder: str,
    *,
    report: Path | None = None,
) -> tuple[int, str | None, dict[str, Table]]: ...
def follow_on_virtual_kernel(
    kernel: tuple[Path, Path],
    scripts: list[tuple[Path, str]],
    folder: str,
    *,
    definitions: list[tuple[str, str]] = ...,
    options: list[tuple[str, str | None]] = ...,
) -> list[dict[str, Any]]: ...
def built_in_controls() -> list[tuple[str, str, str]]: ...
def control_interface() -> str: ...
def control_name_fault(name: str) -> str | None: ...
def control_parameters(library: str | PathLike[str]) -> list[tuple[str, str, int, int, int]]: ...
def owner_of_kernel_name(kernel_name: str) -> str | None: ...
def compile_control(
    source: str | PathLike[str], library: str | PathLike[str]
) -> tuple[str, str, list[Path]]: ...
def compile_control_object(
    source: str | PathLike[str], object: str | PathLike[str]
) -> tuple[str, list[Path]]: ...
def load_control(name: str, kernel_name: str, object: bytes | None = None) -> None: ...
def unload_control(kernel_name: str) -> None: ...
def loaded_controls() -> list[str]: ...
def start_windows(group: str, options_json: str) -> str: ...
def stop_windows(group: str) -> None: ...
def show_windows(group: str) -> str: ...
def clear_windows(group: str) -> int: ...
def serve_as_host() -> int: ...
def capabilities() -> str: ...
def leftovers(*, remove: bool) -> str: ...
def kernel_settings() -> str: ...
