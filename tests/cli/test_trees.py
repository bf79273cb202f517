"""``palmette trees``: files of trees as runs, their ages, classes and roots."""

from __future__ import annotations

import gzip

import pytest

import palmette as pal


def test_a_sample_of_trees_is_its_conditional_cluster_distribution(as_json, folder):
    found = as_json("trees", "posterior.nex", "--burn-in", 0.25)
    trees = list(pal.interop.read_trees(folder / "posterior.nex"))[50:]
    post = pal.posterior.from_trees(trees)
    assert found["n_trees"] == 150
    assert found["exact"] is False
    assert pal.Hierarchy.from_newick(found["best"][0]["newick"]) == post.map()
    assert found["entropy"] == pytest.approx(post.entropy)
    text = (folder / "posterior.nex").read_text(encoding="utf-8")
    again = as_json("trees", "-", "--burn-in", 50, stdin=text)
    assert {**again, "input": None} == {**found, "input": None}
    packed = gzip.compress(text.encode())
    (folder / "POSTERIOR.NEX.GZ").write_bytes(packed)
    for file, stdin in (("POSTERIOR.NEX.GZ", None), ("-", packed)):
        assert as_json("trees", file, "--burn-in", 50, stdin=stdin)["log_partition"] == again["log_partition"]
    closed = as_json("trees", "posterior.nex", "--burn-in", 50, "--closed")
    assert closed["count"] > found["count"]


def test_classes_of_trees_come_from_a_table(run, folder):
    families = pal.datasets.load_numerals()
    lines = [f"{label},{family}" for label, family in zip(families.labels, families.classes, strict=True)]
    (folder / "families.csv").write_text("\n".join(["language,family", *lines]), encoding="utf-8")
    code, out, _ = run("trees", "posterior.nex", "--classes", "families.csv")
    assert code == 0
    assert "Welsh  [Celtic]" in out


def test_several_files_of_trees_are_runs(run, as_json, folder):
    trees = pal.interop.read_trees(folder / "posterior.nex")
    pal.interop.write_nexus(trees[:100], folder / "run1.nex")
    pal.interop.write_nexus(trees[100:], folder / "run2.nex")
    found = as_json("trees", "run1.nex", "run2.nex", "--burn-in", 0.2, "--thin", 4)
    assert found["n_trees"] == 40
    deviation = pal.evaluate.agreement([trees[20:100:4], trees[120::4]]).deviation
    assert found["agreement"]["deviation"] == pytest.approx(deviation)
    assert (
        "Between 2 files the average standard deviation of split frequencies" in run("trees", "run1.nex", "run2.nex")[1]
    )
    assert "Between the two halves of the file" in run("trees", "run1.nex")[1]
    assert as_json("trees", "run1.nex", "run2.nex")["clusters"] == as_json("trees", "posterior.nex")["clusters"]


def test_ages_of_dated_trees_are_told_and_drawn(run, as_json, folder):
    text = "((a:1,b:1):2,c:3);\n((a:2,b:2):2,c:4);\n((a:1.5,b:1.5):2,c:3.5);\n(a:2,(b:1,c:1):1);\n"
    (folder / "dated.nwk").write_text(text, encoding="utf-8")
    code, out, _ = run("trees", "dated.nwk", "--newick", "dated.best.nwk", "--plot", "dated.svg")
    assert code == 0
    assert "1.5  [1, 2]" in out
    found = as_json("trees", "dated.nwk")["ages"]
    assert [row["median"] for row in found if row["members"] == ["a", "b"]] == [1.5]
    best = pal.Hierarchy.from_newick((folder / "dated.best.nwk").read_text(encoding="utf-8"))
    assert best.heights[best.n_leaves] == 1.5


def test_unrooted_trees_need_a_word_about_their_root(run, as_json, folder):
    (folder / "one.nwk").write_text("[&U] (a:1,b:1,(c:1,d:4):1);\n", encoding="utf-8")
    (folder / "two.nwk").write_text("[&U] ((c:1,d:4):0.25,(b:1,a:1):0.75);\n", encoding="utf-8")
    for name in ("one.nwk", "two.nwk"):
        code, out, err = run("trees", name)
        assert (code, out) == (2, "")
        assert "has no root" in err
        assert "--outgroup LEAF or --midpoint" in err
    for words in (("--outgroup", "a"), ("--outgroup", "a", "--outgroup", "b"), ("--midpoint",)):
        one, two = (as_json("trees", name, *words)["clusters"] for name in ("one.nwk", "two.nwk"))
        assert sorted(sorted(row["members"]) for row in one) == sorted(sorted(row["members"]) for row in two)
    assert run("trees", "two.nwk", "--rooted")[0] == 0
    assert run("trees", "two.nwk", "--rooted", "--midpoint")[0] == 2
