"""What docs/command_line.md shows is what happens: every command runs, every printed output is real."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "command_line.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def test_every_command_runs_and_prints_what_the_page_says(run, folder, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("COLUMNS", "100")
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 7
    for source, expected in blocks:
        printed = ""
        for line in source.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            assert words[0] == "palmette", line
            code, out, err = run(*words[1:])
            assert code == 0, (line, err)
            printed += err + out
        if expected:
            assert printed == expected, source


def test_the_page_names_every_entry_of_the_results(run):
    page = PAGE.read_text(encoding="utf-8")
    schema = page[page.index("## For programs") :]
    worlds = ("worlds.csv", "--class", "kind", "--draws", "1")
    sparse = ("--exact-leaves", "5", "--beyond", "sparse", "--coverage")
    commands = [
        ("hierarchies", *worlds, "--model", "sum-of-squares", *sparse),
        ("hierarchies", *worlds, "--exact-leaves", "5", "--sweeps", "20"),
        ("partitions", *worlds),
        ("partitions", *worlds, "--exact-leaves", "5", "--sweeps", "20"),
        ("coalescent", "gaps.csv", "--class", "kind", "--particles", "5", "--draws", "1"),
        ("ultrametric", "worlds.csv", "--class", "kind", "--clusters", "2"),
        ("trees", "posterior.nex", "--draws", "1"),
    ]
    for words in commands:
        code, out, err = run(*words, "--json", "--quiet")
        assert (code, err) == (0, "")
        missing = [name for name in json.loads(out) if f"`{name}`" not in schema]
        assert missing == [], words


def test_the_command_of_the_page_for_genomics_gives_what_the_page_says(run, folder):
    page = PAGE.with_name("for_genomics.md").read_text(encoding="utf-8")
    blocks, names = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL), {}
    exec(blocks[0] + blocks[1].replace("print", "str"), names)
    table = pd.DataFrame(names["expression"], index=names["labels"]).add_prefix("gene")
    table.insert(0, "subtype", [label.rstrip("1234") for label in names["labels"]])
    table.to_csv(folder / "matrix.csv", index_label="sample")
    command = re.search(r"^    palmette (hierarchies matrix\.csv .*)$", page, re.MULTILINE)[1]
    code, out, err = run(*shlex.split(command), "--json", "--quiet")
    assert (code, err) == (0, "")
    found = {tuple(row["members"]): row["probability"] for row in json.loads(out)["clusters"]}
    for members in names["subtypes"].values():
        assert found[tuple(members)] == pytest.approx(names["post"].cluster_probability(members), abs=1e-3)


def test_the_lines_on_gaps_of_the_page_for_genomics_work(run, folder):
    pytest.importorskip("openpyxl")
    page = PAGE.with_name("for_genomics.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    palmette (hierarchies lung\..*)$", page, re.MULTILINE)
    assert len(lines) == 2
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 30)).round(2)
    x[rng.random(x.shape) < 0.02] = np.nan
    table = pd.DataFrame(x).add_prefix("gene")
    table.insert(0, "sample", [f"s{i}" for i in range(24)])
    table.insert(1, "type", rng.choice(["a", "b"], 24))
    table.to_csv(folder / "lung.csv.gz", index=False)
    table.to_excel(folder / "lung.xlsx", index=False)
    for line in lines:
        code, out, err = run(*shlex.split(line), "--sweeps", "8")
        assert code == 0, err
        assert f"Note: {np.isnan(x).sum():,} of 720 values" in err
        assert "24 leaves from lung" in out
