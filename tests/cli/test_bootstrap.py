"""Bootstrap support on the command line: what the library says, in every place where clusters are told."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import palmette as pal

SQUARES = ("--model", "sum-of-squares", "--beta", 0.3)


@pytest.fixture
def points(folder):
    x = np.random.default_rng(0).normal(size=(7, 20)).round(3)
    x[:3, :10] += 1.0
    names = ["abcdefg"[i] for i in range(7)]
    lines = [",".join(["name", *(f"g{j}" for j in range(20))])]
    lines += [",".join([name, *map(repr, row)]) for name, row in zip(names, x.tolist(), strict=True)]
    (folder / "genes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return pal.similarity.standardised(x)


def expected(points, find, clusters):
    rows = pal.evaluate.bootstrap(points, find, clusters=clusters, n_draws=6, rng=0, progress=False)
    labels = "abcdefg"
    return {tuple(labels[int(leaf)] for leaf in row.members): (row.au, row.bp) for row in rows}


def numbered(row):
    return ["abcdefg".index(name) for name in row["members"]]


FINDERS = {
    "map": lambda x: pal.HierarchyPosterior(pal.models.SumOfSquares(x), progress=False).map(),
    "greedy": lambda x: pal.search.greedy(pal.models.SumOfSquares(x)).hierarchy,
    "average": lambda x: pal.similarity.linkages(pal.similarity.likeness(x))[0],
}


@pytest.mark.parametrize("way", FINDERS)
def test_the_numbers_are_those_of_the_library(run, points, folder, way):
    files = ("--table", "clusters.csv", "--json", "--quiet", "--bootstrap-by", way)
    code, out, err = run("hierarchies", "genes.csv", *SQUARES, "--bootstrap", 6, *files)
    assert (code, err) == (0, "")
    found = json.loads(out)
    known = expected(points, FINDERS[way], [numbered(row) for row in found["clusters"]])
    assert {tuple(row["members"]): (row["au"], row["bp"]) for row in found["clusters"]} == known
    assert found["bootstrap"]["n_draws"] == 6
    assert found["bootstrap"]["by"] == way
    with (folder / "clusters.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["members", "size", "probability", "au", "au_error", "bp", "bp_error"]
    assert {tuple(row["members"].split("; ")): (float(row["au"]), float(row["bp"])) for row in rows} == known


def test_a_person_reads_it_beside_the_probabilities(run, points, folder):
    files = ("--plot", "tree.svg", "--report", "page.html", "--quiet")
    code, out, _ = run("hierarchies", "genes.csv", *SQUARES, "--bootstrap", 6, *files)
    assert code == 0
    assert "6 draws of the columns at each of 10 scales, and the most probable hierarchy" in " ".join(out.split())
    table = out.split("Clusters with a probability")[1].splitlines()[1:4]
    assert all("  AU " in line and "  BP " in line for line in table)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert 'data-key="au"' in page
    assert "AU and BP are bootstrap support" in page
    assert '"bp":' in page
    assert "AU / BP" in (folder / "tree.svg").read_text(encoding="utf-8")
    run("hierarchies", "genes.csv", *SQUARES, "--report", "page.html", "--quiet")
    assert 'data-key="au"' not in (folder / "page.html").read_text(encoding="utf-8")


def test_chains_and_likelihoods_have_it_too(run, points):
    chains = ("--exact-leaves", 3, "--sweeps", 16, "--bootstrap", 2, "--json", "--quiet")
    for model in (SQUARES, ("--model", "contrasts")):
        code, out, _ = run("hierarchies", "genes.csv", *model, *chains)
        assert code == 0
        found = json.loads(out)
        assert all({"standard_error", "au", "bp"} <= set(row) for row in found["clusters"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("languages.csv", "--precomputed", "similarity", "--class", "family", "--bootstrap", 5), "matrix has none"),
        (("genes.csv", "--bootstrap-by", "map"), "give that as well"),
        (("genes.csv", "--bootstrap", 1), "1 is not in the range x>=2"),
        (
            ("worlds.csv", "--class", "kind", "--ignore", "density", "--ignore", "log10 mass", "--bootstrap", 5),
            "one col",
        ),
    ],
)
@pytest.mark.usefixtures("points")
def test_what_cannot_be_drawn_is_refused(run, words, message):
    code, _, err = run("hierarchies", *words, "--quiet")
    assert code == 2
    assert message in err


@pytest.mark.usefixtures("points")
def test_few_columns_are_remarked_on(run):
    code, _, err = run("hierarchies", "worlds.csv", "--class", "kind", "--model", "sum-of-squares", "--bootstrap", 2)
    assert code == 0
    assert "3 columns are few to draw from" in err
