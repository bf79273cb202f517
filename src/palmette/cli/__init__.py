"""The command line: ``palmette COMMAND …``; results on stdout or in files, progress and complaints on stderr."""

import io
import os
import sys
import warnings
from typing import Any

import click

from palmette._version import __version__
from palmette.cli._group import LazyGroup

__all__ = ["main", "palmette"]

_COMMANDS = {
    "hierarchies": "The posterior over hierarchies of the rows of a table.",
    "partitions": "The posterior over partitions of the rows of a table.",
    "coalescent": "Hierarchies with times: coalescents, for tables with gaps.",
    "ultrametric": "One hierarchy with heights, fitted to distances.",
    "trees": "A file of trees as a distribution.",
    "jets": "Particle jets: simulate them, infer their histories, compare what algorithms find, fit the law.",
    "demo": "A tour of what palmette can do, on data that come with it.",
}


@click.group(
    cls=LazyGroup,
    commands=_COMMANDS,
    package="palmette.cli.commands",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="palmette")
def palmette() -> None:
    """Inference over whole distributions of clusterings.

    `palmette COMMAND --help` has examples; `palmette demo --data` writes the files that they use. Exit codes: 0 done,
    2 something in the command, the data or the surroundings is at fault and one line on stderr says what, 1 a fault of
    palmette itself, 130 stopped by Ctrl-C.
    """


def main() -> None:
    """Run a command and leave, with one of the exit codes that the help lists."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot draw a branch shows a question mark
    os.environ.setdefault("MPLBACKEND", "agg")
    warnings.showwarning = _show_warning
    palmette()


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"Warning: {' '.join(str(message).split())}", err=True)
