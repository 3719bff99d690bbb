"""Expected exceptions as plain text and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import IntEnum

from fairwind.engine import ScenarioError
from fairwind.errors import FairwindError, RunInterrupted


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    FAILED_CELLS = 1
    BAD_INPUT = 2
    INTERRUPTED = 130


def exit_code_of(command: Callable[[], object]) -> int:
    """Run a command; print what was expected to go wrong, without a traceback.

    Returns
    -------
    int
        The exit code. A defect of Fairwind itself passes through as an exception.
    """
    try:
        command()
    except RunInterrupted as error:
        complain(error)
        return ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        complain("interrupted")
        return ExitCode.INTERRUPTED
    except ScenarioError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the core's text is already complete
        return ExitCode.BAD_INPUT
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; Python must not complain about it
        # again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except OSError as error:
        reason = error.strerror or error
        complain(f"{error.filename}: {reason}" if error.filename else reason)
        return ExitCode.BAD_INPUT
    except FairwindError as error:
        complain(error)
        return ExitCode.BAD_INPUT
    return ExitCode.OK


def complain(what: object) -> None:
    """Print an error on standard error."""
    print(f"error: {what}", file=sys.stderr)  # noqa: T201 - this is the command line
