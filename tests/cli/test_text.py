"""Pictures for a terminal hold every leaf, or say how many they leave out."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from palmette.cli.telling.summary import facts, say_clusters_of, say_partition
from palmette.cli.telling.text import bar, cluster_text, dendrogram, percent
from palmette.hierarchy import Hierarchy
from palmette.partition import Partition


def caterpillar(n):
    text = "l0"
    for i in range(1, n):
        text = f"({text},l{i})"
    return Hierarchy.from_newick(f"{text};")


def test_parts_in_three_and_single_leaves():
    assert dendrogram(Hierarchy.from_newick("(a,b,c);")) == "─┬─ a\n ├─ b\n └─ c"
    assert dendrogram(Hierarchy.from_newick("a;")) == "─ a"


def test_classes_stand_behind_labels():
    assert dendrogram(Hierarchy.from_newick("(a,b);"), classes=["u", "v"]) == "─┬─ a  [u]\n └─ b  [v]"


def test_branches_hang_together():
    lines = dendrogram(Hierarchy.from_newick("(((a,b),(c,d)),(e,(f,g)));"), np.full(13, 0.5).tolist()).splitlines()
    assert [line.rsplit(" ", 1)[1] for line in lines] == list("abcdefg")
    width = max(map(len, lines))
    grid = [line.ljust(width) for line in lines]
    for above, below in pairwise(grid):
        for up, down in zip(above, below, strict=True):
            assert (down in "│└├") == (up in "┬│├"), (above, below)


@pytest.mark.parametrize("n", [3, 40, 41, 200, 3000])
def test_large_hierarchies_are_folded(n):
    rng = np.random.default_rng(n)
    merges, there = [], list(range(n))
    for node in range(n, 2 * n - 1):
        pair = [there.pop(rng.integers(len(there))) for _ in range(2)]
        merges.append(pair)
        there.append(node)
    lines = dendrogram(Hierarchy.from_merges(merges), np.ones(2 * n - 1).tolist(), width=200).splitlines()
    assert len(lines) <= 40
    folded = [int(line.rsplit("(", 1)[1].split()[0]) for line in lines if line.endswith(" leaves)")]
    assert len(lines) - len(folded) + sum(folded) == n


def test_deep_hierarchies_fit_the_width():
    lines = dendrogram(caterpillar(2000), np.ones(3999).tolist(), width=80).splitlines()
    assert max(map(len, lines)) <= 120
    assert "leaves)" in lines[0]


def test_control_characters_do_not_reach_the_terminal():
    text = dendrogram(Hierarchy.from_nested(("a\x1b[31m", "b\nc")))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 2


def test_nor_do_they_in_facts_and_classes_of_clusters(capsys):
    facts("of a\x1b[31m, b", "")
    partition = Partition([0, 0, 1])
    say_partition("The best", partition, SimpleNamespace(cluster_probability=len), ["x\x1b", None, ""])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.startswith("of a�[31m, b\n\n")
    assert "[x�]" in out
    assert "[]" not in out


def test_many_clusters_are_cut_off_and_it_is_said(capsys):
    say_clusters_of("Cut", Partition(range(43)))
    assert "… and 3 more" in capsys.readouterr().out


def test_clusters_bars_and_percentages():
    assert cluster_text([f"leaf {i}" for i in range(1000)], 40) == "{leaf 0, leaf 1, leaf 2 and 997 more}"
    assert cluster_text(["x" * 100, "y"], 40).startswith("{xxx")
    assert bar(0.0, 3) == "···"
    assert bar(1.0, 3) == "███"
    assert percent(0.5) == "50.00 %"
