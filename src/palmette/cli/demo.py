"""``palmette demo``: the guided tour."""

from __future__ import annotations

import click

from palmette import demo as tour

__all__ = ["demo"]


@click.command()
def demo() -> None:
    """A tour of what palmette can do, on data that come with it."""
    tour.main()
