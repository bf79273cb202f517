"""The command line: ``palmette COMMAND …``; results on stdout or in files, progress and complaints on stderr."""

from __future__ import annotations

import sys

import click

from palmette._version import __version__
from palmette.cli.demo import demo
from palmette.cli.jets import jets

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="palmette")
def palmette() -> None:
    """Inference over whole distributions of clusterings."""


palmette.add_command(demo)
palmette.add_command(jets)


def main() -> None:
    """Run a command. Exit codes: 0 done, 1 the input or the data are at fault, 2 the command line is, 130 stopped."""
    try:
        sys.exit(palmette(standalone_mode=False) or 0)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(130)
    except (ValueError, TypeError, OSError, ImportError, RuntimeError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
