"""What is said on stderr that is not part of the result."""

import click

__all__ = ["note"]


def note(text: str, quiet: bool) -> None:
    """One line, unless all is to be quiet."""
    if not quiet:
        click.echo(f"Note: {text}", err=True)
