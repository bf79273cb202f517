"""The table of all experiments names scripts that exist, and so do the targets that run them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
RUN_BY_MAKE = set(re.findall(r"call RUN,([\w/]+\.py)|experiments/([\w/]+\.py)", (ROOT / "Makefile").read_text("utf-8")))


def test_every_command_of_the_table_is_a_script():
    scripts = set(re.findall(r"`((?:cluster_trellis|compact_uncertainty|coalescent|ultrametric)/\w+\.py)", TABLE))
    assert len(scripts) > 15
    assert not [name for name in scripts if not (ROOT / "experiments" / name).exists()]


def test_every_row_has_six_cells():
    rows = [line for line in TABLE.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {7}


def test_make_runs_every_script_of_the_papers():
    made = {name for pair in RUN_BY_MAKE for name in pair if name}
    folders = ("cluster_trellis", "compact_uncertainty", "coalescent", "ultrametric")
    scripts = {
        f"{folder}/{path.name}"
        for folder in folders
        for path in (ROOT / "experiments" / folder).glob("*.py")
        if "__main__" in path.read_text(encoding="utf-8")
    }
    # Those that convert a file, ask about seeds, or need PyTorch.
    others = {"cluster_trellis/transpose_expression.py", "coalescent/seeds.py", "ultrametric/train_network.py"}
    assert made == scripts - others
