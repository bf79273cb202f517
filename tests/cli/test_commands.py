"""Commands say what the library says, to people, to programs and in files."""

from __future__ import annotations

import importlib
import json
import math
import re
from typing import get_args

import numpy as np
import pytest
from cli_cases import DASGUPTA, WORLDS, rows_of

import palmette as pal
from palmette.defaults import DEFAULTS
from palmette.jets.sequential import GEOMETRIES
from palmette.models.ginkgo import LIKELIHOODS
from palmette.simulate.ginkgo import PRESETS

LANGUAGES = ("languages.csv", "--precomputed", "similarity", "--class", "family")


@pytest.fixture(scope="module")
def similarity():
    return pal.datasets.load_numerals().similarity.round(4)


@pytest.fixture(scope="module")
def labels():
    return pal.datasets.load_numerals().labels


def test_hierarchies_are_those_of_the_library(as_json, similarity, labels):
    found = as_json("hierarchies", *LANGUAGES, "--beta", 4, "--best", 5, "--draws", 3, "--seed", 7, "--threshold", 0.7)
    post = pal.HierarchyPosterior(pal.models.Dasgupta(similarity, 4.0, labels=labels))
    assert found["log_partition"] == pytest.approx(post.log_partition, rel=1e-12)
    assert found["entropy"] == pytest.approx(post.entropy, rel=1e-9)
    assert found["perplexity"] == pytest.approx(math.exp(post.entropy), rel=1e-9)
    assert found["count"] == post.count
    assert (found["exact"], found["trellis"], found["missed"]) == (True, {"kind": "full"}, None)
    assert found["labels"] == list(labels)
    assert found["classes"] == list(pal.datasets.load_numerals().classes)
    for row, (hierarchy, log_prob) in zip(found["best"], post.best(5), strict=True):
        read = pal.Hierarchy.from_newick(row["newick"])
        assert read == hierarchy
        assert row["log_prob"] == pytest.approx(log_prob)
        for cluster, support in zip(read.clusters(), read.support.tolist(), strict=True):
            if len(cluster) > 1:
                named = [read.labels[leaf] for leaf in cluster]
                assert support == pytest.approx(post.cluster_probability(named), abs=1e-6)
    assert pal.Hierarchy.from_newick(found["consensus"]["newick"]) == post.consensus(0.7)
    draws = [pal.Hierarchy.from_newick(row["newick"]) for row in found["draws"]]
    assert draws == list(post.sample(3, rng=7))
    table = post.cluster_probabilities(0.01)
    assert [tuple(row["members"]) for row in found["clusters"]] == [row.members for row in table]


def test_files_hold_the_same_answers(run, as_json, folder):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    options = ("hierarchies", *LANGUAGES, "--beta", 4, "--draws", 20)
    found = as_json(*options, "--newick", "best.nwk", "--nexus", "draws.nex", "--table", "a.csv", "--report", "r.html")
    assert (folder / "best.nwk").read_text(encoding="utf-8").strip() == found["best"][0]["newick"]
    trees = pal.interop.read_trees(folder / "draws.nex")
    assert list(trees) == [pal.Hierarchy.from_newick(row["newick"]) for row in found["draws"]]
    rows = rows_of(folder / "a.csv")
    assert [row["members"].split("; ") for row in rows] == [row["members"] for row in found["clusters"]]
    assert [float(row["probability"]) for row in rows] == [row["probability"] for row in found["clusters"]]
    assert run(*options, "--table", "a.json")[0] == run(*options, "--table", "a.parquet")[0] == 0
    assert json.loads((folder / "a.json").read_text(encoding="utf-8")) == found["clusters"]
    assert parquet.read_table(folder / "a.parquet").to_pylist() == found["clusters"]
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert found["sha256"] in page
    assert "palmette hierarchies languages.csv --precomputed similarity" in page


@pytest.mark.parametrize("model", ["correlation", "sum-of-squares"])
def test_other_models_of_hierarchies(model, as_json):
    found = as_json("hierarchies", *WORLDS, "--model", model, "--beta", 2)
    worlds = pal.datasets.load_worlds()
    x = worlds.points.round(4)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    if model == "correlation":
        d = np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2))
        w = np.exp(-(d**2) / 2 / np.median(d[np.triu_indices(12, 1)]) ** 2)
        made = pal.models.Correlation(w - w[np.triu_indices(12, 1)].mean(), 2.0, labels=worlds.labels)
    else:
        made = pal.models.SumOfSquares(x, 2.0, labels=worlds.labels)
    assert found["log_partition"] == pytest.approx(pal.HierarchyPosterior(made).log_partition, rel=1e-9)


def test_perplexity_sets_the_temperature(as_json):
    found = as_json("hierarchies", *WORLDS, *DASGUPTA, "--perplexity", 50)
    assert found["perplexity"] == pytest.approx(50, rel=1e-5)
    assert found["model"]["beta"] != 1.0


def few_worlds(folder):
    """Nine rows of the table, which has four digits, and the same numbers."""
    rows = (folder / "worlds.csv").read_text(encoding="utf-8").splitlines()[:10]
    (folder / "few.csv").write_text("\n".join(rows), encoding="utf-8")
    worlds = pal.datasets.load_worlds()
    return pal.similarity.standardised(worlds.points[:9]), worlds.labels[:9]


def test_points_are_shares_of_variance_unless_said_otherwise(run, as_json, folder):
    points, labels = few_worlds(folder)
    post = pal.evidence.posterior(points, labels=labels)
    found = as_json("hierarchies", "few.csv", "--class", "kind", "--min-probability", "0.05")
    assert found["log_partition"] == pytest.approx(post.log_partition, abs=0.01)
    assert found["structure"]["log_bayes_factor"] == pytest.approx(post.log_evidence, abs=0.02)
    model = found["model"]
    assert (model["name"], model["columns"]) == ("shares", 3)
    assert model["dimension"] == pytest.approx(pal.models.VarianceShares(points).dimension, abs=0.01)
    assert model["weights"] == pytest.approx(pal.evidence.weights_of_readings(post), abs=0.01)
    for row in found["clusters"]:
        assert row["probability"] == pytest.approx(post.cluster_probability(row["members"]), abs=0.005)
    _, out, _ = run("hierarchies", "few.csv", "--class", "kind")
    words = " ".join(out.split())
    assert re.search(
        r"Model: shares of variance of points in 3 columns, which count as [\d.]+, averaged: noise 0\.\d\d, degrees 0",
        words,
    )


def test_beyond_what_can_be_averaged_one_law_of_shares_is_named(run, as_json, folder):
    points, labels = few_worlds(folder)
    options = ("few.csv", "--class", "kind", "--exact-leaves", 8, "--sweeps", 50)
    chosen = pal.evidence.posterior(points, labels=labels, averaged_leaves=0).model.model.law
    _, out, _ = run("hierarchies", *options)
    name = next((name for name, law in pal.models.LAWS.items() if law == chosen), "groups")
    words = {"noise": "all of it noise", "gradual": "clusters that differ by degrees", "groups": "groups above a noise"}
    assert words[name] in " ".join(out.split())
    assert as_json("hierarchies", *options)["model"]["law"] == {"gradual": "degrees"}.get(name, name)


def test_points_are_contrasts_if_asked_for(run, as_json, folder):
    points, labels = few_worlds(folder)
    options = ("hierarchies", "few.csv", "--class", "kind", "--model", "contrasts")
    found = as_json(*options)
    post = pal.evidence.posterior(pal.models.Contrasts(points, labels=labels))
    assert found["log_partition"] == pytest.approx(post.log_evidence, abs=0.01)
    assert found["structure"]["log_bayes_factor"] == pytest.approx(
        pal.evidence.compare(post).log_bayes_factor, abs=0.02
    )
    assert (found["model"]["name"], found["model"]["dimension"]) == ("contrasts", 3.0)
    assert found["model"]["averaged_over"].keys() == {"a", "b"}
    _, out, _ = run(*options, "--exact-leaves", 8, "--sweeps", 50)
    assert re.search(r"Model: contrasts of points in 3 columns, a = [\d.]+, b = [\d.]+", out)


def test_heights_are_written_as_branch_lengths_if_asked(as_json, folder, similarity, labels):
    options = ("hierarchies", *LANGUAGES, "--beta", 4, "--newick", "best.nwk")
    plain, found = as_json(*options), as_json(*options, "--branch-lengths")
    text = (folder / "best.nwk").read_text(encoding="utf-8").strip()
    post = pal.HierarchyPosterior(pal.models.Dasgupta(similarity, 4.0, labels=labels))
    assert ":" not in plain["best"][0]["newick"] + plain["consensus"]["newick"]
    assert text == found["best"][0]["newick"]
    for newick, hierarchy in ((text, post.map()), (found["consensus"]["newick"], post.consensus())):
        read = pal.Hierarchy.from_newick(newick)
        expected = post.model.with_heights(hierarchy)
        for cluster, height in zip(expected.clusters(), expected.heights, strict=True):
            assert read.heights[read.find([labels[leaf] for leaf in cluster])] == pytest.approx(height, abs=1e-9)


def test_a_model_without_heights_says_that_there_are_no_lengths(run, folder):
    graph = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)).astype(int)
    (folder / "graph.csv").write_text("\n".join(",".join(map(str, row)) for row in graph), encoding="utf-8")
    words = ("hierarchies", "graph.csv", "--no-header", "--precomputed", "similarity", "--model", "graph")
    code, _, err = run(*words, "--branch-lengths", "--newick", "g.nwk")
    assert code == 0
    assert "no heights" in err
    assert ":" not in (folder / "g.nwk").read_text(encoding="utf-8")


def test_pictures_have_heights_unless_shapes_are_wanted(run, folder):
    pytest.importorskip("matplotlib")
    options = ("hierarchies", *LANGUAGES, "--beta", 4, "--quiet")
    for name, more in (("scaled", ()), ("plain", ("--cladogram",))):
        assert run(*options, *more, "--plot", f"{name}.svg", "--report", f"{name}.html")[0] == 0
    scaled, plain = ((folder / f"{name}.svg").read_text(encoding="utf-8") for name in ("scaled", "plain"))
    assert "<!-- height -->" in scaled
    assert "<!-- height -->" not in plain
    pages = [(folder / f"{name}.html").read_text(encoding="utf-8") for name in ("scaled", "plain")]
    assert ["Branches are to scale" in page for page in pages] == [True, False]


def test_a_table_with_more_columns_than_rows_counts_fewer(as_json, folder):
    x = np.random.default_rng(0).normal(size=(6, 2)) @ np.random.default_rng(1).normal(size=(2, 30))
    (folder / "wide.csv").write_text("\n".join(",".join(map(str, row)) for row in x), encoding="utf-8")
    model = as_json("hierarchies", "wide.csv", "--no-header")["model"]
    assert (model["columns"], model["dimension"] < 4) == (30, True)
    assert as_json("hierarchies", "wide.csv", "--no-header", "--dimension", "7.5")["model"]["dimension"] == 7.5


def test_a_matrix_of_0_and_1_is_a_random_graph(run, folder):
    edges = "\n".join(["0,1,0,0,0", "1,0,1,0,0", "0,1,0,1,0", "0,0,1,0,1", "0,0,0,1,0"])
    (folder / "path.csv").write_text(edges, encoding="utf-8")
    code, out, err = run("hierarchies", "path.csv", "--no-header", "--precomputed", "similarity")
    assert (code, err) == (0, "")
    first, _, model = out.splitlines()[:3]
    assert first == "These data do not tell a hierarchy from no hierarchy: log Bayes factor +0.18."
    assert model == "Model: hierarchical random graph"


@pytest.mark.slow
def test_parameters_beyond_the_averaged_are_the_best_and_so_are_the_opponents(as_json, folder):
    x = np.random.default_rng(3).normal(size=(17, 2)) + np.repeat([[0, 0], [8, 8]], [8, 9], axis=0)
    (folder / "more.csv").write_text("\n".join(["x,y", *(f"{a},{b}" for a, b in x)]), encoding="utf-8")
    found = as_json("hierarchies", "more.csv")
    assert found["structure"]["at_best"] is True
    assert found["structure"]["log_bayes_factor"] > 5
    assert found["model"].keys() == {"name", "dimension", "columns", "law", "noise_level", "profiles"}


def test_partitions_are_those_of_the_library(as_json, similarity, labels, folder):
    found = as_json("partitions", *LANGUAGES, "--beta", 20, "--draws", 4, "--membership", "groups.csv")
    affinity = similarity - similarity[np.triu_indices(12, 1)].mean()
    post = pal.PartitionPosterior(pal.models.CorrelationClusters(affinity, 20.0, labels=labels))
    assert found["log_partition"] == pytest.approx(post.log_partition, rel=1e-9)
    assert found["best"][0]["membership"] == post.map().membership.tolist()
    assert found["n_clusters_probabilities"] == pytest.approx(post.n_clusters_probabilities().tolist())
    assert [row["membership"] for row in found["draws"]] == [p.membership.tolist() for p in post.sample(4, rng=0)]
    rows = rows_of(folder / "groups.csv")
    assert [int(row["cluster"]) - 1 for row in rows] == post.map().membership.tolist()
    conditioned = as_json("partitions", *LANGUAGES, "--beta", 20, "--clusters", 3)
    assert len(conditioned["best"][0]["clusters"]) == 3


def test_a_dirichlet_process_takes_gaps(as_json):
    found = as_json("partitions", "gaps.csv", "--class", "kind", "--best", 1)
    assert found["exact"] is True
    assert math.isfinite(found["log_evidence"])
    assert len(found["best"]) == 1


def test_binary_data_are_not_standardised(as_json, folder):
    (folder / "bits.csv").write_text("name,x,y\na,0,1\nb,0,1\nc,1,\n", encoding="utf-8")
    found = as_json("partitions", "bits.csv", "--likelihood", "binary", "--concentration", 1)
    x = np.array([[0, 1], [0, 1], [1, np.nan]])
    post = pal.PartitionPosterior(pal.models.DirichletProcess(x, 1.0, pal.likelihoods.BetaBernoulli()))
    assert found["log_evidence"] == pytest.approx(post.log_evidence)


THREE = ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4", "c1", "c2", "c3", "c4"]


@pytest.fixture
def three(folder):
    """A table of three clear groups of four rows."""
    rng = np.random.default_rng(5)
    centres = np.array([[0.0, 0, 9, 0], [9, 0, 0, 9], [0, 9, 0, 0]])
    x = np.repeat(centres, 4, axis=0) + rng.normal(scale=0.5, size=(12, 4))
    rows = [",".join([name, *map(str, row)]) for name, row in zip(THREE, x, strict=True)]
    (folder / "three.csv").write_text("\n".join(["name,w,x,y,z", *rows]), encoding="utf-8")
    return pal.similarity.standardised(x)


def test_clear_groups_of_points_are_found_with_nothing_said(as_json, run, three):
    found = as_json("partitions", "three.csv")
    probabilities = {"".join(sorted({name[0] for name in row["members"]})): row for row in found["clusters"][:3]}
    assert {len(row["members"]) for row in probabilities.values()} == {4}
    assert probabilities.keys() == {"a", "b", "c"}
    assert min(row["probability"] for row in probabilities.values()) > 0.9
    model = pal.models.DirichletProcess(three, 1.0, pal.likelihoods.NormalGamma.expecting(0.25), labels=THREE)
    post = pal.evidence.partition_posterior(model)
    assert found["log_evidence"] == pytest.approx(post.log_evidence)
    ends = found["model"]["averaged_over"]
    alphas = [values["concentration"] for values in post.parameters]
    assert ends["concentration"] == pytest.approx([min(alphas), max(alphas)])
    assert ends["within"][0] < found["model"]["within"] < ends["within"][1]
    out = " ".join(run("partitions", "three.csv")[1].split())
    low, high = ends["concentration"]
    assert f"Model: Dirichlet process, α from {low:.3g} to {high:.3g}, variance within clusters from" in out
    assert ", averaged log evidence = " in out


def test_an_average_over_constants_has_a_page_and_files(run, folder, three):
    files = ("--report", "r.html", "--membership", "m.csv", "--table", "t.csv")
    assert run("partitions", "three.csv", "--quiet", *files)[0] == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "very strongly prefer several clusters" in page
    assert "averaged over" in page
    assert [row["cluster"] for row in rows_of(folder / "m.csv")] == [*"111122223333"]
    assert float(rows_of(folder / "t.csv")[0]["probability"]) > 0.9


def test_constants_that_are_given_stay_and_the_others_are_left_open(as_json, three):
    found = as_json("partitions", "three.csv", "--concentration", 2, "--within", 0.3)
    likelihood = pal.likelihoods.NormalGamma(pseudo_count=0.1, rate=0.3)
    post = pal.PartitionPosterior(pal.models.DirichletProcess(three, 2.0, likelihood))
    assert found["log_evidence"] == pytest.approx(post.log_evidence)
    given = {"name": "dirichlet-process", "beta": None, "likelihood": "normal", "concentration": 2.0, "within": 0.3}
    assert found["model"] == given
    assert as_json("partitions", "three.csv", "--within", 0.3)["model"]["averaged_over"].keys() == {"concentration"}
    assert as_json("partitions", "three.csv", "--concentration", 2)["model"]["averaged_over"].keys() == {"within"}
    sampled = as_json("partitions", "three.csv", "--exact-leaves", 5, "--sweeps", 20, "--concentration", 2)
    assert sampled["model"]["concentration"] == 2.0
    assert "averaged_over" not in sampled["model"]


def test_units_and_constant_columns_do_not_matter_to_a_process(as_json, folder, three):
    x = 1e3 + 20.0 * three
    rows = [",".join([name, *map(str, row), "7"]) for name, row in zip(THREE, x, strict=True)]
    (folder / "units.csv").write_text("\n".join(["name,w,x,y,z,same", *rows]), encoding="utf-8")
    first, other = as_json("partitions", "three.csv"), as_json("partitions", "units.csv", "--no-standardise")
    assert [row["members"] for row in other["clusters"]] == [row["members"] for row in first["clusters"]]
    for row, same in zip(other["clusters"], first["clusters"], strict=True):
        assert row["probability"] == pytest.approx(same["probability"], abs=1e-6)


def test_correlation_clustering_of_points_is_still_there(as_json, three):
    found = as_json("partitions", "three.csv", "--model", "correlation", "--beta", 3)
    affinity = pal.similarity.centred(pal.similarity.of_points(three))
    post = pal.PartitionPosterior(pal.models.CorrelationClusters(affinity, 3.0))
    assert found["model"] == {"name": "correlation", "beta": 3.0}
    assert found["log_partition"] == pytest.approx(post.log_partition)
    assert as_json("partitions", *LANGUAGES)["model"]["name"] == "correlation"


def test_codes_are_asked_about(run, folder):
    (folder / "bits.csv").write_text("name,x,y\na,0,1\nb,0,1\nc,1,0\n", encoding="utf-8")
    assert "all cells are 0 or 1, and are read as measurements; --likelihood binary" in run("partitions", "bits.csv")[2]
    (folder / "codes.csv").write_text("name,x,y\na,0,1\nb,0,2\nc,1,0\nd,1,0\n", encoding="utf-8")
    assert "--likelihood categorical, if they are codes." in run("partitions", "codes.csv")[2]
    assert run("partitions", "codes.csv", "--likelihood", "normal")[2] == ""


def test_ultrametrics_of_points_and_of_distances(as_json, similarity, labels, folder):
    found = as_json("ultrametric", "distances.csv", "--precomputed", "distance", "--clusters", 4)
    apart = (1 - similarity).round(4)
    i, j = np.triu_indices(12, 1)
    graph = pal.ultrametric.Graph(np.column_stack([i, j]), apart[i, j], labels=labels)
    fitted = pal.ultrametric.fit(graph, pal.ultrametric.Closest(), start=("weights", "average"))
    assert found["loss"] == pytest.approx(fitted.best_loss)
    assert pal.Hierarchy.from_newick(found["best"][0]["newick"]) == fitted.hierarchy
    assert found["partition"]["membership"] == fitted.hierarchy.cut(4).membership.tolist()


@pytest.mark.parametrize("loss", pal.ultrametric.losses.NAMED)
def test_a_loss_is_that_of_the_clusterer_of_the_same_name(as_json, folder, loss):
    found = as_json("ultrametric", *WORLDS, "--loss", loss, "--table", "u.csv")
    names = pal.datasets.load_worlds().variables
    rows = pal.similarity.standardised([[float(row[v]) for v in names] for row in rows_of(folder / "worlds.csv")])
    how = {"start": ("weights", "average"), "tol": DEFAULTS.tolerance}
    assert found["loss"] == pytest.approx(pal.sklearn.UltrametricClustering(loss=loss, **how).fit(rows).loss_)
    assert len(found["clusters"]) == len(rows_of(folder / "u.csv")) == 11


@pytest.mark.parametrize(
    ("command", "option", "choices"),
    [
        ("ultrametric", "loss", pal.ultrametric.losses.NAMED),
        ("coalescent", "proposal", pal.coalescent.proposals.PROPOSALS),
        ("hierarchies", "beyond", get_args(pal.search.posteriors.Beyond)),
        ("jets infer", "beyond", get_args(pal.search.posteriors.Beyond)),
        ("jets infer", "searches", pal.jets.SEARCHES),
        ("jets compare", "searches", pal.jets.SEARCHES),
        ("jets infer", "geometry", GEOMETRIES),
        ("jets infer", "likelihood", LIKELIHOODS),
        ("jets simulate", "preset", PRESETS),
    ],
)
def test_choices_that_help_does_not_import_are_those_of_the_library(command, option, choices):
    name, *rest = command.split()
    made = getattr(importlib.import_module(f"palmette.cli.commands.{name}"), name)
    for part in rest:
        made = made.commands[part]
    found = next(parameter for parameter in made.params if parameter.name == option)
    assert set(found.type.choices) == set(choices)


def test_standard_input_is_a_file(as_json, folder):
    text = (folder / "worlds.csv").read_text(encoding="utf-8")
    one = as_json("hierarchies", *WORLDS, *DASGUPTA)
    other = as_json("hierarchies", "-", "--class", "kind", *DASGUPTA, stdin=text)
    assert {**one, "input": "-"} == other


@pytest.mark.parametrize("name", ["hierarchies", "partitions", "coalescent", "ultrametric"])
@pytest.mark.parametrize("n", [1, 2])
def test_one_row_and_two_are_ordinary(name, n, run, as_json, folder):
    (folder / "few.csv").write_text("name,x\na,1\nb,2\n"[: 7 + 4 * n], encoding="utf-8")
    assert as_json(name, "few.csv")["labels"] == ["a", "b"][:n]
    code, out, err = run(name, "few.csv", "--table", "t.csv")
    assert (code, err) == (0, "")
    assert f"{n} {'leaf' if n == 1 else 'leaves'} from few.csv" in out


def test_labels_are_taken_literally(run, folder):
    (folder / "odd.csv").write_text('name,x\n"<b>a</b>, \'x\'",1\n"(b;c)",2\nЖ,4\n', encoding="utf-8")
    code, out, err = run("hierarchies", "odd.csv", "--newick", "odd.nwk", "--report", "odd.html")
    assert (code, err) == (0, "")
    assert set(pal.Hierarchy.from_newick((folder / "odd.nwk").read_text(encoding="utf-8")).labels) == {
        "<b>a</b>, 'x'",
        "(b;c)",
        "Ж",
    }
    assert "<b>a</b>" in out
    assert "<b>a</b>" not in (folder / "odd.html").read_text(encoding="utf-8")


def test_leaves_without_a_class_have_no_mark_and_are_not_counted(run, folder):
    (folder / "some.csv").write_text("name,kind,x\na,u,1\nb,,2\nc,v,9\n", encoding="utf-8")
    for command in ("hierarchies", "partitions"):
        code, out, _ = run(command, "some.csv", "--class", "kind")
        assert (code, "2 classes" in out, "[]" in out) == (0, True, False)
