"""Commands say what the library says, to people, to programs and in files."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import math
import re
from typing import get_args

import numpy as np
import pytest

import palmette as pal
from palmette.defaults import DEFAULTS, Defaults
from palmette.jets.sequential import GEOMETRIES
from palmette.models.ginkgo import LIKELIHOODS
from palmette.simulate.ginkgo import PRESETS

LANGUAGES = ("languages.csv", "--precomputed", "similarity", "--class", "family")
WORLDS = ("worlds.csv", "--class", "kind")
DASGUPTA = ("--model", "dasgupta")


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def similarity():
    return pal.datasets.load_numerals().similarity.round(4)


@pytest.fixture(scope="module")
def labels():
    return pal.datasets.load_numerals().labels


@pytest.fixture
def as_json(run):
    def command(*words, stdin=None):
        code, out, err = run(*words, "--json", "--quiet", stdin=stdin)
        assert (code, err) == (0, "")
        return json.loads(out, parse_constant=lambda name: pytest.fail(f"the result holds {name}"))

    return command


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


def test_points_are_contrasts_unless_said_otherwise(run, as_json, folder):
    rows = (folder / "worlds.csv").read_text(encoding="utf-8").splitlines()[:10]
    (folder / "few.csv").write_text("\n".join(rows), encoding="utf-8")
    found = as_json("hierarchies", "few.csv", "--class", "kind")
    worlds = pal.datasets.load_worlds()
    model = pal.models.Contrasts(pal.similarity.standardised(worlds.points[:9]), labels=worlds.labels[:9])
    post = pal.evidence.posterior(model)
    assert found["log_partition"] == pytest.approx(post.log_evidence, abs=0.01)  # the file has four digits
    assert found["structure"]["log_bayes_factor"] == pytest.approx(
        pal.evidence.compare(post).log_bayes_factor, abs=0.02
    )
    assert (found["model"]["name"], found["model"]["dimension"]) == ("contrasts", 3.0)
    assert found["model"]["averaged_over"].keys() == {"a", "b"}
    _, out, _ = run("hierarchies", "few.csv", "--class", "kind", "--exact-leaves", 8, "--sweeps", 50)
    assert re.search(r"Model: contrasts of points in 3 columns, a = [\d.]+, b = [\d.]+", out)


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
    assert found["model"].keys() == {"name", "dimension", "columns", "a", "b"}


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
    found = as_json("partitions", "gaps.csv", "--class", "kind", "--model", "dirichlet-process", "--best", 1)
    assert found["exact"] is True
    assert math.isfinite(found["log_evidence"])
    assert len(found["best"]) == 1


def test_binary_data_are_not_standardised(as_json, folder):
    (folder / "bits.csv").write_text("name,x,y\na,0,1\nb,0,1\nc,1,\n", encoding="utf-8")
    found = as_json("partitions", "bits.csv", "--model", "dirichlet-process", "--likelihood", "binary")
    x = np.array([[0, 1], [0, 1], [1, np.nan]])
    post = pal.PartitionPosterior(pal.models.DirichletProcess(x, 1.0, pal.likelihoods.BetaBernoulli()))
    assert found["log_evidence"] == pytest.approx(post.log_evidence)


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


def test_too_many_leaves_go_on_with_a_sparse_trellis_and_say_so(run, as_json):
    words = ("hierarchies", *WORLDS, *DASGUPTA, "--exact-leaves", 8, "--beyond", "sparse", "--coverage")
    code, out, err = run(*words)
    assert code == 0
    assert "12 leaves are more than the 8" in err
    assert "given that the hierarchy is in it" in err
    assert all(line.startswith("Note: ") for line in err.splitlines())
    assert "(a lower bound)" in out
    assert "The trellis misses" in out
    sparse, full = as_json(*words), as_json("hierarchies", *WORLDS, *DASGUPTA)
    assert (sparse["exact"], full["exact"]) == (False, True)
    assert sparse["trellis"]["kind"] == "sparse"
    assert sparse["log_partition"] <= full["log_partition"]
    missed = -math.expm1(sparse["log_partition"] - full["log_partition"])
    assert sparse["missed"]["value"] == pytest.approx(missed, abs=1e-9)
    assert sparse["best"][0]["newick"].count("(") == 11


def test_an_average_over_parameters_misses_nothing(as_json):
    found = as_json("hierarchies", *WORLDS, "--coverage")
    assert found["missed"] == {"value": 0.0, "kind": "exact", "standard_error": 0.0}


def test_what_a_large_sparse_trellis_misses_is_told_by_chains(run, as_json, monkeypatch):
    monkeypatch.setattr("palmette.models.split_model.DEFAULTS", Defaults(separable_leaves=8))
    sums = ("hierarchies", *WORLDS, *DASGUPTA)
    words = (*sums, "--exact-leaves", 8, "--beyond", "sparse", "--coverage", "--sweeps")
    code, out, _ = run(*words, 100)
    assert code == 0
    assert re.search(r"The trellis misses \d+\.\d\d % \(± \d\.\d\d %\) of the posterior", out)
    sparse, full = as_json(*words, 400), as_json(*sums, "--exact-leaves", 12)
    missed, exact = sparse["missed"], -math.expm1(sparse["log_partition"] - full["log_partition"])
    assert missed["kind"] == "estimate"
    assert abs(missed["value"] - exact) < 4 * missed["standard_error"]


def test_too_many_leaves_are_sampled_and_every_number_has_an_error(run, as_json, folder):
    words = ("hierarchies", *WORLDS, *DASGUPTA, "--exact-leaves", 8, "--sweeps")
    code, out, err = run(*words, 40, "--report", "sampled.html", "--table", "sampled.csv", "--newick", "sampled.nwk")
    assert code == 0
    assert "going on with Markov chains for 40 sweeps at most" in err
    assert "Sampled, " in out
    assert " ± " in out
    assert "log Z" not in out
    found, exact = as_json(*words, 400, "--draws", 2), as_json("hierarchies", *WORLDS, *DASGUPTA)
    assert found["exact"] is False
    assert found["sampled"]["n_chains"] == 6
    assert len(found["draws"]) == 2
    known = {tuple(row["members"]): row["probability"] for row in exact["clusters"]}
    for row in found["clusters"][:10]:
        assert abs(row["probability"] - known[tuple(row["members"])]) < 6 * row["standard_error"]
    page = (folder / "sampled.html").read_text(encoding="utf-8")
    assert "exact" not in page.partition("<main>")[2].partition("provenance")[0]
    assert "Certain" not in page
    assert rows_of(folder / "sampled.csv")[0].keys() == {"members", "size", "probability", "standard_error"}
    assert pal.Hierarchy.from_newick((folder / "sampled.nwk").read_text(encoding="utf-8")).n_leaves == 12


def test_too_little_memory_does_the_same(run):
    code, _, err = run("hierarchies", *WORLDS, *DASGUPTA, "--max-memory", "100K", "--beyond", "sparse")
    assert code == 0
    assert "100 KB are allowed; going on with a sparse trellis" in err
    code, _, err = run(
        "hierarchies", *WORLDS, *DASGUPTA, "--max-memory", "300K", "--beyond", "sparse"
    )  # enough for log Z, not for probabilities
    assert code == 0
    assert "more memory than is allowed; going on with a sparse trellis" in err


def test_a_sparse_trellis_has_a_temperature_too(as_json):
    found = as_json("hierarchies", *WORLDS, *DASGUPTA, "--exact-leaves", 8, "--beyond", "sparse", "--perplexity", 30)
    assert found["perplexity"] == pytest.approx(30, rel=1e-3)


@pytest.mark.parametrize("model", ["correlation", "dirichlet-process"])
def test_many_leaves_in_partitions(model, run, as_json, folder):
    x = np.random.default_rng(2).normal(size=(30, 2)) + np.repeat([[0, 0], [5, 5], [0, 9]], 10, axis=0)
    (folder / "many.csv").write_text("\n".join(["x,y", *(f"{a},{b}" for a, b in x)]), encoding="utf-8")
    words = ("partitions", "many.csv", "--model", model)
    code, out, err = run(*words, "--beyond", "sparse")
    assert code == 0
    assert "30 leaves are more than the 22" in err
    assert "given that the partition is made of them" in err
    assert "How many clusters?" in out
    assert as_json(*words, "--beyond", "sparse")["trellis"]["kind"] == "sparse"
    code, out, err = run(*words, "--sweeps", 40)
    assert code == 0
    assert "30 leaves are more than the 22 up to which everything is summed over; going on with Markov chains" in err
    assert any(line.startswith("Sampled, ") for line in out.splitlines()[2:5])
    assert out.index("How many clusters?") < out.index(" ± ", out.index("How many clusters?"))
    assert "log Z" not in out
    found = as_json(*words, "--sweeps", 40)
    assert found["sampled"]["n_chains"] == 6
    assert sum(found["n_clusters_probabilities"]) == pytest.approx(1.0)


def test_sampled_partitions_are_near_the_exact_ones_in_every_form(run, as_json, folder):
    words = ("partitions", *WORLDS, "--model", "dirichlet-process")
    files = ("--table", "t.csv", "--membership", "m.csv", "--plot", "p.png", "--report", "r.html")
    sampled = (*words, "--exact-leaves", 8, "--sweeps", 300)
    code, out, err = run(*sampled, *files)
    assert code == 0
    assert "going on with Markov chains for 300 sweeps at most" in err
    assert "The most probable partition that was drawn" in out
    found, exact = as_json(*sampled, "--draws", 2), as_json(*words)
    assert found["exact"] is False
    assert not {"log_partition", "log_evidence", "entropy", "trellis"} & found.keys()
    assert [row.keys() for row in found["draws"]] == 2 * [{"membership", "clusters"}]
    assert found["best"][0]["membership"] == exact["best"][0]["membership"]
    known = {tuple(row["members"]): row["probability"] for row in exact["clusters"]}
    for row in found["clusters"][:10]:
        assert abs(row["probability"] - known[tuple(row["members"])]) < 6 * row["standard_error"]
    numbers = (found[name] for name in ("n_clusters_probabilities", "n_clusters_errors"))
    for share, error, right in zip(*numbers, exact["n_clusters_probabilities"], strict=True):
        assert abs(share - right) <= 6 * error
    assert rows_of(folder / "t.csv")[0].keys() == {"members", "size", "probability", "standard_error"}
    membership = [int(row["cluster"]) - 1 for row in rows_of(folder / "m.csv")]
    assert membership == found["best"][0]["membership"]
    assert (folder / "p.png").stat().st_size > 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "log Z" not in page
    assert "exact" not in page.partition("<main>")[2].partition("provenance")[0]


@pytest.mark.parametrize(("option", "value"), [("--perplexity", 20), ("--clusters", 3)])
def test_partitions_that_chains_cannot_draw_stay_sparse_and_say_so(option, value, run, as_json):
    words = ("partitions", *WORLDS, "--exact-leaves", 8, option, value)
    code, out, err = run(*words)
    assert code == 0
    assert f"going on with partitions into chosen clusters, since with {option} they are not sampled" in err
    assert "(a lower bound)" in out
    assert as_json(*words)["trellis"]["kind"] == "sparse"


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


def test_leaves_without_a_class_have_no_mark_and_are_not_counted(run, folder):
    (folder / "some.csv").write_text("name,kind,x\na,u,1\nb,,2\nc,v,9\n", encoding="utf-8")
    for command in ("hierarchies", "partitions"):
        code, out, _ = run(command, "some.csv", "--class", "kind")
        assert (code, "2 classes" in out, "[]" in out) == (0, True, False)


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
