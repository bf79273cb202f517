"""What the documentation shows is what happens: every Python block runs, every printed output is real."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from palmette import datasets
from palmette.cli import tour

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:  # else a worker that goes on with other tests has too many of them open
        sys.modules["matplotlib.pyplot"].close("all")


def python_blocks(page: Path) -> list[tuple[int, str, str | None]]:
    """(line, source, expected output or None) of every Python block."""
    text = page.read_text(encoding="utf-8")
    return [
        (text[: match.start(2)].count("\n") + 1, match[2], match[3])
        for match in BLOCK.finditer(text)
        if match[1] == "python"
    ]


def each(pages: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", pages, ids=[str(page.relative_to(ROOT)) for page in pages])


@each([page for page in PAGES if python_blocks(page)])
def test_every_block_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace = {"__name__": "docs"}
    for line, source, expected in python_blocks(page):
        printed = io.StringIO()
        # Empty lines in front, so that a traceback names the line of the page.
        code = compile("\n" * (line - 1) + source, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if expected is not None:
            assert printed.getvalue() == expected, f"{page.name}, line {line}"


@each(PAGES)
def test_every_link_to_a_file_leads_somewhere(page):
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_the_pages_hold_blocks_and_outputs():
    blocks = {page.name: python_blocks(page) for page in PAGES}
    assert all(blocks[name] for name in ("README.md", "hierarchies.md", "models.md", "your_own_model.md", "jets.md"))
    assert sum(expected is not None for page in blocks.values() for *_, expected in page) > 20


def linked_from(index: Path) -> set[Path]:
    targets = LINK.findall(index.read_text(encoding="utf-8"))
    return {(index.parent / target).resolve() for target in targets if target.endswith(".md")}


def test_every_page_is_in_the_navigation():
    # Sphinx makes its toctrees of the links in these two; pages of project/ stand for files elsewhere.
    docs = ROOT / "docs"
    pages = {page for page in docs.rglob("*.md") if page.relative_to(docs).parts[0] not in ("_build", "project")}
    stubs = {linked.resolve() for page in docs.glob("project/*.md") for linked in linked_from(page)}
    known = linked_from(docs / "index.md") | linked_from(docs / "api" / "index.md") | {docs / "index.md"}
    assert pages - known == set()
    assert stubs - known == set()


def test_every_table_with_marks_has_a_benchmark_that_writes_it():
    pages = [ROOT / "docs" / name for name in ("performance.md", "sampling.md", "scikit_learn.md", "replication.md")]
    marks = re.findall(
        r"^<!-- benchmark: ([^\n]+) -->\n\n\|.*?\|\n\n<!-- end -->$",
        "\n".join(page.read_text(encoding="utf-8") for page in pages),
        re.MULTILINE | re.DOTALL,
    )
    programs = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py"))
    written = re.findall(r"_tables\.write\([\w.]+, f?\"([^\"]+)\"", programs)
    patterns = [re.sub(r"\\{\w+\\}", r"\\w+", re.escape(name)) for name in written]
    assert len(marks) == len(set(marks)) > 10
    assert [name for name in marks if not any(re.fullmatch(pattern, name) for pattern in patterns)] == []
    assert [p for p in patterns if not any(re.fullmatch(p, name) for name in marks)] == []


def test_a_benchmark_replaces_its_own_table_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import _tables

    page = tmp_path / "page.md"
    page.write_text("a\n\n<!-- benchmark: x -->\n\nold\n\n<!-- end -->\n\n<!-- benchmark: y -->\n<!-- end -->\nb\n")
    _tables.write(page, "x", _tables.lines_of(["", "cost"], [["one", "-3"], ["two", r"\1"]]))
    table = "| | cost |\n|---|---:|\n| one | −3 |\n| two | \\1 |".replace("| | cost", "|  | cost")
    expected = f"a\n\n<!-- benchmark: x -->\n\n{table}\n\n<!-- end -->\n\n<!-- benchmark: y -->\n<!-- end -->\nb\n"
    assert page.read_text(encoding="utf-8") == expected
    with pytest.raises(SystemExit, match="has 0 blocks <!-- benchmark: z -->"):
        _tables.write(page, "z", [])


def test_the_demo_runs_and_draws_its_picture(tmp_path, capsys):
    tour.main(tmp_path)
    printed = capsys.readouterr().out
    assert str(tmp_path / tour.PICTURE) in printed
    assert max(len(line) for line in printed.splitlines() if str(tmp_path) not in line) <= 100
    picture = ET.parse(tmp_path / tour.PICTURE).getroot()
    words = {element.text or element[-1].tail for element in picture.iter() if element.tag.endswith("}text")}
    assert "0.97" in words


@pytest.mark.parametrize("load", [datasets.load_numerals, datasets.load_tumours, datasets.load_worlds])
def test_data_sets_are_labelled_and_closed_for_writing(load):
    data = load()
    assert len(data.labels) == len(set(data.labels)) == len(data.classes) == 12
    assert data.origin
    array = data.points if isinstance(data, datasets.PointData) else data.similarity
    assert array.shape[0] == 12
    assert not array.flags.writeable
    if isinstance(data, datasets.SimilarityData):
        np.testing.assert_array_equal(array, array.T)
        np.testing.assert_array_equal(np.diag(array), 1.0)
    else:
        assert array.shape[1] == len(data.variables)
