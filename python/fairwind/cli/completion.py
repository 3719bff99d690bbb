"""Shell completion: what may stand for scenarios, engines, studies and folders of runs.

A shell asks at every press of a key, so nothing here imports more than a list of names needs.
"""

from __future__ import annotations

import glob
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"],
        typer.Argument(metavar="bash|zsh|fish", help="The shell."),
    ],
) -> None:
    """Print the completion script of a shell; --install-completion installs it.

    For example, in ~/.bashrc: eval "$(fairwind completion bash)".
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(
        prog_name="fairwind", complete_var="_FAIRWIND_COMPLETE", shell=shell
    )
    sys.stdout.write(f"{script}\n")


def complete_scenario(incomplete: str) -> list[str]:
    """Give named tests, scenario files and folders that begin like this."""
    from fairwind.scenario.named import named_test_names

    tests = [name for name in named_test_names() if name.startswith(incomplete)]
    return tests + _paths(incomplete, ".toml")


def complete_folder(incomplete: str) -> list[str]:
    """Give folders that begin like this."""
    return _paths(incomplete, None)


def complete_engine(incomplete: str) -> list[str]:
    """Give engines that begin like this: sim, kernel, and the built kernels."""
    from fairwind.kernels.catalogue import built_kernels

    names = ["sim", "kernel", *(kernel.name for kernel in built_kernels())]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def complete_study(incomplete: str) -> list[str]:
    """Give installed studies that begin like this, without importing them."""
    from importlib.metadata import entry_points

    names = {entry.name for entry in entry_points(group="fairwind.studies")}
    return sorted(name for name in names if name.startswith(incomplete))


def _paths(incomplete: str, ending: str | None) -> list[str]:
    """Give folders, and files with an ending, that begin like this; hidden ones if asked for."""
    found = sorted(glob.glob(f"{glob.escape(incomplete)}*"))  # noqa: PTH207 - of texts, not paths
    folders = {path for path in found if Path(path).is_dir()}
    wanted = (path for path in found if path in folders or (ending and path.endswith(ending)))
    return [f"{path}/" if path in folders else path for path in wanted]
