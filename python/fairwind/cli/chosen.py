"""The command that was called, found before the others are imported."""

from __future__ import annotations

from copy import copy

import typer


def application(name: str | None) -> typer.Typer:
    """Give the command of this name; all commands if none has it.

    Only what defines it is imported, and Typer reads its signature only: for all commands this
    takes a tenth of a second.
    """
    from fairwind.cli.verbs import app

    if name is not None and (chosen := with_one_command(app, name)) is not app:
        return chosen
    from fairwind.cli import commands

    return commands.app if name is None else with_one_command(commands.app, name)


def with_one_command(app: typer.Typer, name: str) -> typer.Typer:
    """Give the same application with one command only; with all if none has this name.

    Typer reads the signatures of all commands before it runs one, which takes a twentieth of a
    second.
    """
    commands = [
        one
        for one in app.registered_commands
        if one.callback and (one.name or one.callback.__name__) == name
    ]
    groups = [one for one in app.registered_groups if one.name == name]
    if not commands and not groups:
        return app
    chosen = copy(app)
    chosen.registered_commands, chosen.registered_groups = commands, groups
    return chosen
