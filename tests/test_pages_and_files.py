"""Pages that name files name those that are there, and the layout of the design page leaves none out."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/palmette"
NAME = re.compile(r"(?<![\w/.*])[\w*]+(?:\.py\b|/(?![\w*]))")  # checks.py, *_verbs.py or datasets/, not src/palmette
WORDS = 35  # the column at which the words of the layout begin


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def layout(text):
    """Every file and folder in the layout as (where it should be, its name); a name may be a pattern."""
    block = re.search(r"^## Layout\n\n(.*?)^\S", text, re.MULTILINE | re.DOTALL)[1]
    above: dict[int, Path] = {}  # the folders that are open, by indentation
    here = [ROOT]  # the folders of this line, which its words are about
    for line in block.splitlines():
        named = line[:WORDS].split()
        if named:
            indent = len(line) - len(line.lstrip())
            parent = above.get(indent - 2, ROOT)
            yield from ((parent, name) for name in named)
            here = [parent / name for name in named if name.endswith("/")] or [parent]
            above[indent] = here[0]
        for name in NAME.findall(line[WORDS:]):
            yield next((folder for folder in here if list(folder.glob(name.rstrip("/")))), here[0]), name


def missing_from_disk(text):
    return [str(place / name) for place, name in layout(text) if not is_there(place, name)]


def is_there(place, name):
    return any(found.is_dir() == name.endswith("/") for found in place.glob(name.rstrip("/")))


def missing_from_layout(text):
    """Folders of the package, and modules at its top, that no line of the layout names."""
    named = {found for place, name in layout(text) for found in place.glob(name.rstrip("/"))}
    return sorted(str(path.relative_to(PACKAGE)) for path in {*folders(), *PACKAGE.glob("*.py")} - named)


@cache
def folders():
    """All below the package that hold modules."""
    return sorted({path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE})


def missing_for_maintainers(text):
    """Files and folders in back ticks that are neither below the package nor below the repository."""
    names = {name for name in re.findall(r"`([\w/*.]+(?:\.(?:py|md|toml)|/))`", text) if "your_" not in name}
    assert len(names) > 60
    return sorted(name for name in names if not any(is_there(place, name) for place in places_of(name)))


def places_of(name):
    # A file without its folder is said of one that was named before it.
    below = [PACKAGE, ROOT]
    return below if "/" in name.rstrip("/") else [*below, *folders()]


def test_every_file_of_the_layout_is_there():
    assert len(list(layout(page("design.md")))) > 80
    assert missing_from_disk(page("design.md")) == []


def test_every_folder_and_every_module_at_the_top_stands_in_the_layout():
    assert missing_from_layout(page("design.md")) == []


def test_every_file_that_the_page_for_maintainers_names_is_there():
    assert missing_for_maintainers(page("maintaining.md")) == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("      links.py potentials.py       who is whose child", "src/palmette/potentials.py"),
        ("        partitions/                potentials.py, paths.py", "src/palmette/trellis/partitions/potentials.py"),
        ("      sampler/                     chains", "src/palmette/sampler/"),
        ("      trellis/                     sampler/: chains", "src/palmette/trellis/sampler/"),
        ("      checks.py/                   a file, not a folder", "src/palmette/checks.py"),
    ],
)
def test_a_wrong_name_in_the_layout_is_noticed(line, wrong):
    text = page("design.md").replace("      recursions/   ", f"{line}\n      recursions/   ", 1)
    if line.startswith("        "):  # below a folder of its own
        text = text.replace(line, f"      trellis/                     again\n{line}")
    assert [name.removeprefix(f"{ROOT}/") for name in missing_from_disk(text)] == [wrong.rstrip("/")]


@pytest.mark.parametrize("name", ["links.py", "datasets/", "losses/", "_extras.py"])
def test_what_the_layout_leaves_out_is_noticed(name):
    text = re.sub(rf"(?<![\w/]){re.escape(name)} ?", "", page("design.md"))
    found = next(PACKAGE.rglob(name.rstrip("/")))
    assert missing_from_layout(text) == [str(found.relative_to(PACKAGE))]


def test_a_wrong_name_on_the_page_for_maintainers_is_noticed():
    text = page("maintaining.md") + "`models/energies.py` `cli/reading/` `sampler/`"
    assert missing_for_maintainers(text) == ["models/energies.py", "sampler/"]
