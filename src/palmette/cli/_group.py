"""A group of commands that are imported when they are called, and whose errors are one line each."""

import os
import shlex
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

__all__ = ["COMMAND_LINE", "LazyGroup"]

COMMAND_LINE = "palmette.command_line"  # key of `Context.meta`: what was typed
_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())  # since click 8.2
_TRACEBACK = "PALMETTE_TRACEBACK"  # environment variable: show where an error comes from


class LazyGroup(click.Group):
    """Commands by name, each with one line of help; the command `name` is `name` in the module `package`.`name`."""

    def __init__(self, *args: Any, commands: Mapping[str, str], package: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lines = dict(commands)
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which they were given."""
        return list(self._lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; its module is imported now."""
        if cmd_name not in self._lines:
            return None
        command: click.Command = getattr(import_module(f"{self._package}.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for reports."""
        ctx.meta[COMMAND_LINE] = shlex.join(["palmette", *args])
        return super().parse_args(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run, and turn whatever goes wrong into one line on stderr and an exit code."""
        run: Any = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        try:
            result = run(*args, standalone_mode=False, **extra)
            sys.stdout.flush()
        except Exception as error:
            if os.environ.get(_TRACEBACK):
                traceback.print_exc()
            sys.exit(_report(error))
        except KeyboardInterrupt:
            sys.exit(_report(click.Abort()))
        sys.exit(result if isinstance(result, int) else 0)


def _report(error: Exception) -> int:
    # Says what went wrong, and returns the exit code.
    match error:
        case click.ClickException():
            text = error.format_message()
            if isinstance(error, _NO_ARGUMENTS):  # the text is the help
                click.echo(text, err=True)
                return 2
        case click.Abort():
            click.echo("stopped", err=True)
            return 130
        case BrokenPipeError():  # the reader of our output has left
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        case MemoryError():
            text = "there is not enough memory for this; give --max-memory, or fewer leaves"
        case OSError() if error.strerror:
            text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        case ValueError() | TypeError() | OSError() | ImportError() | RuntimeError():
            text = str(error)
        case _:
            kind = f"{type(error).__name__}: {error}"
            click.echo(f"Error: a fault of palmette: {kind} (set {_TRACEBACK}=1 to see where)", err=True)
            return 1
    click.echo(f"Error: {' '.join(text.split())}", err=True)
    return 2
