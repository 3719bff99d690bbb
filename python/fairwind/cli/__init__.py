"""The command line: data on standard output, everything else on standard error.

Exit codes: 0 success; 1 some simulations or scripts failed; 2 wrong usage or input; 3 a condition
of `compare` failed; 4 one is undecided, or an effect at the bound of `run --until-decided`; 130
interrupted (finished simulations are kept).

The commands are thin: they read arguments, call the package, and print. What needs data frames or
plots is imported by the commands that use it. Map: `chosen` which commands are imported, `commands`
all of them, `verbs` those on scenarios and runs, `probe` live queues, `runs` executing, `pages`
reporting, `answers` effects of axes, `comparisons` the command `compare` and `differences` what it
prints, `analyse` captures, `scripts` packetdrill, `tune` and `searches` the search for settings,
`screen` verdicts on congestion controls, `congestion`, `kernel` and `windows` what is built or
loaded, `shell` and `shell_live` programs behind a path, `check` previews, `scenarios` named tests,
`init` new scenarios, `study_help` forms of studies, `model` and `model_tables` closed forms,
`doctor` the machine, `settings` and `workers` options of several commands, `completion` shells,
`output` formats and exit codes, `tables` the width of the terminal, `progress` bars, `live` figures
of runs under way.
"""

import atexit
import gc
import os
import sys
import threading
from typing import NoReturn

OBJECTS_BETWEEN_SEARCHES = 100_000
"""New objects after which Python searches for garbage."""


def main() -> None:
    """Run the command line and exit with its exit code."""
    if sys.argv[1:] == ["--version"]:
        from fairwind.engine.core import core_version

        sys.stdout.write(f"fairwind {core_version()}\n")
        return
    if "_FAIRWIND_COMPLETE" in os.environ:
        # Typer renders help texts with rich, which would take longer than everything else. Our help
        # texts have no markup, and a module that is None counts as not installed.
        sys.modules["rich"] = None  # type: ignore[assignment]
    # Most objects stay: to search them as often as usual takes a tenth of a short command's time.
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)
    from fairwind.cli.chosen import application
    from fairwind.cli.output import exit_code_of

    app = application(sys.argv[1] if len(sys.argv) > 1 else None)
    try:
        code = exit_code_of(lambda: app(prog_name="fairwind"))
    except SystemExit as end:  # how Typer ends each command
        if not isinstance(end.code, int):
            raise
        code = end.code
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process without taking the interpreter apart: a tenth of the time of a page.

    What was registered for the end runs, and both streams are flushed. With other threads, or where
    a stream takes no more, Python ends as it always does.
    """
    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit(code)
