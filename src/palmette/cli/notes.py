"""What is said on stderr that is not part of the result."""

import click

from palmette.progress import be_quiet

__all__ = ["note", "progress"]


def note(text: str, quiet: bool) -> None:
    """One line, unless all is to be quiet."""
    if not quiet:
        click.echo(f"Note: {text}", err=True)


def progress(quiet: bool) -> bool | None:
    """A bar if stderr is a terminal, none if all is to be quiet; nor a word on compilations then."""
    be_quiet(quiet)
    return False if quiet else None
