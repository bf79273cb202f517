"""``palmette coalescent``: gaps, categories, ages, and particles that have collapsed."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from cli_cases import rows_of

import palmette as pal


def test_coalescents_take_gaps_and_repeat_themselves(as_json, folder):
    words = ("coalescent", "gaps.csv", "--class", "kind", "--particles", 60, "--seed", 5)
    found = as_json(*words, "--draws", 5, "--nexus", "draws.nex", "--report", "page.html")
    assert found == as_json(*words, "--draws", 5)
    best = pal.Hierarchy.from_newick(found["best"][0]["newick"])
    assert best.branch_lengths is not None
    assert 1 <= found["n_effective"] <= 60
    assert all(row["standard_error"] > 0.05 for row in found["clusters"] if row["probability"] > 0.9)
    assert len(found["draws"]) == len(pal.interop.read_trees(folder / "draws.nex")) == 5
    probability = {frozenset(row["members"]): row["probability"] for row in found["clusters"]}
    for cluster, support in zip(best.clusters(), best.support.tolist(), strict=True):
        if 1 < len(cluster) < 12:
            assert support == pytest.approx(probability[frozenset(best.labels[i] for i in cluster)], abs=1e-6)


def test_collapsed_particles_are_called_so_and_nothing_is_certain(run, as_json, folder):
    rows = [",".join([f"l{i}", *(str((i * (j + 3) + j) % 7) for j in range(60))]) for i in range(12)]
    header = ",".join(["name", *(f"c{j}" for j in range(60))])
    (folder / "many.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    words = ("coalescent", "many.csv", "--process", "sites", "--particles", 60, "--rate", 1.0)
    code, out, err = run(*words, "--report", "many.html")
    assert code == 0
    assert "not usable: runs disagree on {" in out
    assert "do not rely on these numbers" in out
    assert "the particles have collapsed" in err
    page = (folder / "many.html").read_text(encoding="utf-8")
    assert "The particles have collapsed: do not rely on these numbers." in page
    assert "exactly" not in page
    assert ">Certain" not in page
    judged = as_json(*words, "--quiet")["particles"]
    assert (judged["usable"], judged["n_runs"], judged["n_particles"]) == (False, 4, 60)
    assert judged["n_independent"] < 20


def test_there_is_one_best_history_with_its_times(as_json, folder):
    words = ("coalescent", "gaps.csv", "--class", "kind", "--particles", 400)
    found = as_json(*words, "--newick", "best.nwk", "--report", "best.html", "--plot", "best.svg")
    best = pal.Hierarchy.from_newick((folder / "best.nwk").read_text(encoding="utf-8"))
    assert found["best"][0]["newick"] == best.to_newick()
    page = (folder / "best.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    index = {label: i for i, label in enumerate(data["labels"])}
    shown = {tuple(row["members"]) for row in data["clusters"] if row["in_best"]}
    own = {tuple(sorted(index[best.labels[i]] for i in cluster)) for cluster in best.clusters() if len(cluster) > 1}
    assert shown == own
    # Branches are drawn to the times: inner nodes stand where the ages are, in the same proportions.
    tree = re.search(r'<svg[^>]*id="tree-0".*?</svg>', page, re.DOTALL)[0]
    places = sorted({float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', tree)}, reverse=True)
    ages = np.sort(best.heights[best.n_leaves :])
    across = (places[0] - np.array(places)) / (places[0] - places[-1])
    np.testing.assert_allclose(across, (ages - ages[0]) / (ages[-1] - ages[0]), atol=0.01)


@pytest.mark.filterwarnings("ignore:of .* particles")
def test_coalescents_of_categories(as_json, run, folder):
    (folder / "sites.csv").write_text("name,x,y,z\na,red,1,no\nb,red,,no\nc,blue,2,no\nd,blue,2,?\n", encoding="utf-8")
    found = as_json("coalescent", "sites.csv", "--process", "sites", "--particles", 50, "--seed", 3)
    codes = np.array([[1, 0, 0], [1, np.nan, 0], [0, 1, 0], [0, 1, np.nan]])  # by the alphabet
    start = pal.coalescent.IndependentSites(1.0, "uniform")
    process = pal.coalescent.rate_by_evidence(codes, start, rng=3).process
    assert process.rate != 1.0
    draws = pal.coalescent.smc(codes, process, 50, proposal="prior-post", rng=3, labels=list("abcd"))
    assert found["log_evidence"] == pytest.approx(draws.log_evidence)
    assert found["model"]["name"] == "sites"
    assert found["model"]["rate"] == pytest.approx(float(process.rate))
    words = ("coalescent", "sites.csv", "--process", "sites", "--particles", 50, "--rate", 0.7)
    assert as_json(*words)["model"]["rate"] == 0.7
    assert "rate 0.7 (as given)" in run(*words)[1]


@pytest.mark.filterwarnings("ignore:of .* particles")
def test_coalescents_of_leaves_of_several_ages(as_json, run, folder):
    x, ages = np.array([[1, 0], [1, np.nan], [0, 1], [0, 1]]), [0.0, 0.5, 0.0, 1.5]
    cells = "name,age,x,y\na,0,red,1\nb,0.5,red,\nc,0,blue,2\nd,1.5,blue,2\n"
    (folder / "dated.csv").write_text(cells, encoding="utf-8")
    words = ("coalescent", "dated.csv", "--process", "sites", "--rate", 0.7, "--particles", 50, "--seed", 3)
    found = as_json(*words, "--ages", "age", "--newick", "best.nwk", "--impute", "filled.csv")
    process = pal.coalescent.IndependentSites(0.7, "uniform")
    draws = pal.coalescent.smc(x, process, 50, proposal="prior-post", rng=3, leaf_ages=ages)
    assert found["log_evidence"] == pytest.approx(draws.log_evidence)
    best = pal.Hierarchy.from_newick((folder / "best.nwk").read_text(encoding="utf-8"))
    np.testing.assert_allclose(best.aligned_to(tuple("abcd")).heights[:4], ages, atol=1e-9)
    code, out, _ = run(*words, "--ages", "age")
    assert code == 0
    assert "ages of 0 to 1.5" in out
    for wrong, message in (
        (("--ages", "name", "--label", "name"), "is given as --ages and as --label"),
        (("--ages", "old"), "--ages old: dated.csv has no such column"),
        (("--ages", "x"), "'red' is no age"),
        (("--ages", "age", "--place", "dated.csv"), "--place takes leaves of today only"),
    ):
        code, _, err = run(*words, *wrong)
        assert code == 2
        assert message in err
    for cell in ("-1", ""):
        (folder / "dated.csv").write_text(cells.replace("1.5", cell), encoding="utf-8")
        code, _, err = run(*words, "--ages", "age")
        assert code == 2
        assert "ages are at least 0 and rise into the past" in err


def test_gaps_are_filled_and_rows_placed(run, as_json, folder):
    worlds = pal.datasets.load_worlds()
    code, out, _ = run("coalescent", "gaps.csv", "--class", "kind", "--particles", 400, "--impute", "filled.csv")
    assert code == 0
    rows = rows_of(folder / "filled.csv")
    assert f"{len(rows)} gaps are filled in filled.csv" in out
    misses = []
    for row in rows:
        truth = worlds.points[worlds.labels.index(row["label"]), worlds.variables.index(row["column"])]
        misses.append(abs(float(row["value"]) - truth) / float(row["spread"]))
    assert np.median(misses) < 2  # in the units of the file
    twin = ["name," + ",".join(worlds.variables), "Twin," + ",".join(map(str, worlds.points[0] * 1.001)), ""]
    (folder / "new.csv").write_text("\n".join(twin), encoding="utf-8")
    found = as_json("coalescent", "worlds.csv", "--class", "kind", "--particles", 400, "--place", "new.csv")["placed"]
    assert found[0]["label"] == "Twin"
    assert worlds.labels[0] in found[0]["joins"]
    (folder / "sites.csv").write_text("name,x,y\na,red,1\nb,red,\nc,blue,2\nd,blue,2\n", encoding="utf-8")
    (folder / "more.csv").write_text("name,x,y\ne,red,1\n", encoding="utf-8")
    words = ("coalescent", "sites.csv", "--process", "sites", "--rate", 0.3, "--particles", 400)
    placed = as_json(*words, "--place", "more.csv", "--impute", "states.json")["placed"]
    assert "a" in placed[0]["joins"]
    gap = json.loads((folder / "states.json").read_text(encoding="utf-8"))[0]
    assert (gap["label"], gap["column"], gap["value"]) == ("b", "y", "1")
    (folder / "odd.csv").write_text("name,x,y\ne,green,1\n", encoding="utf-8")
    assert "'green' does not occur" in run(*words, "--place", "odd.csv")[2]
    (folder / "short.csv").write_text("name,x\ne,red\n", encoding="utf-8")
    assert "has no column 'y'" in run(*words, "--place", "short.csv")[2]


def test_columns_of_one_name_and_labels_are_found_again(run, as_json, folder):
    rows = "u,a,red,old\nu,b,red,\nv,c,blue,new\nv,d,blue,new\n"
    (folder / "twice.csv").write_text("kind,name,x,x\n" + rows, encoding="utf-8")
    (folder / "more.csv").write_text("kind,name,x,x\nu,e,red,old\nu,f,blue,new\n", encoding="utf-8")
    words = ("coalescent", "twice.csv", "--class", "kind", "--label", "name", "--process", "sites", "--rate", 0.3)
    files = ("--place", "more.csv", "--impute", "states.json")
    placed = as_json(*words, "--particles", 400, *files)["placed"]
    assert [row["label"] for row in placed] == ["e", "f"]
    gap = json.loads((folder / "states.json").read_text(encoding="utf-8"))[0]
    assert (gap["label"], gap["column"], gap["value"]) == ("b", "x", "old")
