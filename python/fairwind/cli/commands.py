"""All commands: those of `verbs`, and those that have modules of their own."""

from __future__ import annotations

from copy import copy

from fairwind.cli.analyse import analyse
from fairwind.cli.completion import completion
from fairwind.cli.congestion import app as congestion
from fairwind.cli.kernel import app as kernel
from fairwind.cli.model import app as model
from fairwind.cli.probe import probe
from fairwind.cli.screen import screen
from fairwind.cli.scripts import CONTEXT, packetdrill
from fairwind.cli.shell import CONTEXT as SHELL_CONTEXT
from fairwind.cli.shell import shell
from fairwind.cli.tune import tune
from fairwind.cli.verbs import app as verbs
from fairwind.cli.windows import app as windows

app = copy(verbs)
app.registered_commands = [*verbs.registered_commands]
app.registered_groups = [*verbs.registered_groups]
app.add_typer(congestion, name="congestion")
app.add_typer(kernel, name="kernel")
app.add_typer(model, name="model")
app.add_typer(windows, name="windows")
app.command()(screen)
app.command()(analyse)
app.command()(completion)
app.command(context_settings=CONTEXT)(packetdrill)
app.command()(probe)
app.command(context_settings=SHELL_CONTEXT)(shell)
app.command()(tune)
