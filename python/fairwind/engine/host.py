"""Start of host processes: this interpreter, with only the core.

A host process needs one function of the compiled core. Importing the package would load its
libraries a dozen times over, so the interpreter is started bare and the core loaded by its path.
"""

from __future__ import annotations

import sys

from fairwind.engine.core import core_file
from fairwind.errors import FairwindError

PROGRAM = """\
import importlib.machinery as machinery, importlib.util as util, sys
loader = machinery.ExtensionFileLoader("fairwind._core", sys.argv[1])
core = util.module_from_spec(util.spec_from_loader(loader.name, loader, origin=sys.argv[1]))
loader.exec_module(core)
sys.exit(getattr(core, sys.argv[2])(*sys.argv[3:]))
"""
"""Isolated from the environment (-I) and from installed packages (-S), it depends on no path."""


def host_command(entry: str = "serve_as_host") -> list[str]:
    """Give the program and arguments that a host process is started with.

    Parameters
    ----------
    entry : str
        The function of the core that such a process is; arguments added to the command are its
        arguments.

    Raises
    ------
    FairwindError
        If the interpreter or the core has no file, as when Python is embedded in a program.
    """
    core = core_file()
    if core is None or not sys.executable:
        raise FairwindError(
            "host processes cannot be started: this Python does not know its own files",
            "run on the kernel with the command line `fairwind`",
        )
    return [sys.executable, "-I", "-S", "-c", PROGRAM, str(core.resolve()), entry]
