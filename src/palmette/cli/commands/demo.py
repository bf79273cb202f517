"""``palmette demo``: the guided tour, and files to try the commands with."""

from pathlib import Path

import click

from palmette.cli.examples import write_examples

__all__ = ["demo"]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--data", is_flag=True, help="Only write the files that the examples in the help use.")
def demo(folder: Path, data: bool) -> None:
    """A tour of what palmette can do, on data that come with it; a report and a picture are written to FOLDER.

    Examples, with files and without:

    \b
    palmette demo --data
    palmette demo
    """
    if data:
        for path in write_examples(folder):
            click.echo(path)
        return
    from palmette.cli import tour

    folder.mkdir(parents=True, exist_ok=True)
    tour.main(folder)
