"""Types of the compiled part of Fairwind (crates/python)."""

from typing import Any, final

__all__ = [
    "Cancelled",
    "Progress",
    "ScenarioError",
    "SimulationError",
    "Table",
    "columns",
    "plan",
    "schema",
    "simulate",
    "version",
]

class ScenarioError(Exception):
    errors: list[dict[str, Any]]

class SimulationError(Exception): ...
class Cancelled(Exception): ...

@final
class Progress:
    def __new__(cls) -> Progress: ...
    @property
    def fraction(self) -> float: ...
    def cancel(self) -> None: ...

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def version() -> str: ...
def schema() -> str: ...
def columns() -> str: ...
def plan(file: str, text: str, overrides: list[tuple[str, str]]) -> str: ...
def simulate(
    experiment_json: str,
    seed: int,
    progress: Progress | None = None,
    capture: str | None = None,
) -> dict[str, Table]: ...
