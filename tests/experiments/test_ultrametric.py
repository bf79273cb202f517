"""The scripts run from the command line to their tables and figures, on small data, and what they compute is right."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import golden
import matplotlib
import numpy as np
import pytest
from scipy import ndimage
from scipy.cluster.hierarchy import fcluster, linkage

matplotlib.use("agg")

from palmette.ultrametric import Closest, Graph, average_linkage, closest_exact, subdominant

FOLDER = Path(__file__).parents[2] / "experiments" / "ultrametric"
MODULES = (
    "common", "clusterings", "regions", "lower_bound", "published", "toys", "descents",
    "figure2", "figure4", "figure5", "figure5_time", "figure6",
)  # fmt: skip

GOLDEN = golden.read("ultrametric")

# What makes the settings small; everything else stays as it is.
SMALL = {
    "fit": {"iterations": 20},
    "rounds": {"iterations": 20},
    "figure2": {"points": 15},
    "regions": {"seeds": [[3, 3], [4, 4], [5, 5]], "edges": [16, 33, 56]},
    "figure5": {"sizes": [4, 5], "repeats": 2, "bound_levels": 6},
    "descents": {"draws": 1, "fresh": [7]},
    "iterations": {"edges": [100, 200], "dasgupta_most": 100, "labelled": 12, "budget": 0.01},
    "figure6": {"data": ["heart_statlog", "wine"], "fractions": [0.2, 0.4], "folds": 5},
    "shaken": {"repeats": 2},
}


@pytest.fixture
def image(tmp_path):
    """A picture of noise with a bright square."""
    pixels = 0.3 * np.random.default_rng(1).random((30, 40, 3))
    pixels[8:20, 10:30] += 0.6
    path = tmp_path / "image.png"
    matplotlib.image.imsave(path, pixels)
    return path


@pytest.fixture
def data(tmp_path):
    """Two files of two and three groups that are easy to tell apart."""
    rng = np.random.default_rng(0)
    for name, k in (("heart_statlog", 2), ("wine", 3)):
        classes = np.arange(30) % k
        points = 10 * np.eye(k, 4)[classes] + rng.normal(size=(30, 4))
        rows = [",".join(map(str, [*point, kind])) for point, kind in zip(points, classes, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,c,d,label", *rows]) + "\n", encoding="utf-8")
    return tmp_path


def call(script, out, settings, capsys, *arguments):
    """What a script prints, and the files that it leaves."""
    script.main(["--out", str(out), "--settings", str(settings), *map(str, arguments)])
    return capsys.readouterr().out, {path.name for path in out.iterdir()}


# The scripts.


def test_losses_on_three_groups(load, small, tmp_path, capsys):
    text, files = call(load("figure2"), tmp_path / "out", small, capsys)
    assert files == {"figure2.png", "figure2.txt"}
    for name in ("average linkage", "Closest", "Closest + size", "Closest + triplet", "Dasgupta"):
        assert name in text


@pytest.mark.parametrize("how", ["here", pytest.param("as a command", marks=pytest.mark.slow)])
def test_regions(how, load, image, small, tmp_path, capsys):
    out = tmp_path / "out"
    if how == "here":
        call(load("figure4"), out, small, capsys, "--image", image)
    else:
        command = [sys.executable, str(FOLDER / "figure4.py"), "--out", str(out), "--settings", str(small)]
        environment = os.environ | {"MPLBACKEND": "agg", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run([*command, "--image", str(image)], capture_output=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
    assert (out / "figure4.png").stat().st_size > 1000
    assert (out / "figure4.txt").read_text(encoding="utf-8").splitlines()[1].split()[0] == "9"


def test_errors_and_times(load, image, small, tmp_path, capsys):
    text, files = call(load("figure5"), tmp_path / "out", small, capsys, "--image", image, "--bounds")
    assert files == {"figure5.png", "figure5.txt"}
    for name in ("subdominant", "average linkage", "Algorithm 1", "lower bound", "dynamic programming", "Dasgupta"):
        assert name in text


def test_accuracy_without_labels_beside_the_paper(load, data, small, tmp_path, capsys):
    text, files = call(load("figure6"), tmp_path / "out", small, capsys, "--data", data, "--only", "a")
    assert files == {"figure6a.png", "figure6a.txt"}
    assert "Digit1, the fifth data set of the paper, is missing" in text
    assert "| Ward | 1.00 (.73) | 1.00 (.98) |" in text
    assert "Closest + size, averaged weights" in text
    assert "mean |lca| / w (eq. 12)" in text


def test_accuracy_with_labels_beside_the_paper(load, data, small, tmp_path, capsys):
    pytest.importorskip("sklearn")
    text, files = call(load("figure6"), tmp_path / "out", small, capsys, "--data", data, "--only", "b")
    assert files == {"figure6b.png", "figure6b.txt"}
    assert "| SVM | all | 1.00 ± .00 (.76) | 1.00 ± .00 (.98) |" in text
    assert "| Closest + triplet | 40 % |" in text


# Descents.


def test_descents_beside_the_published_one(load, small, tmp_path, capsys, monkeypatch):
    pytest.importorskip("sklearn")
    script = load("descents")
    whole, draw = script.published, script.draw_curves
    monkeypatch.setattr(script, "published", lambda graph, loss, projection: whole(graph, loss, projection, 3))
    monkeypatch.setattr(script, "draw_curves", lambda path, runs: draw(path, dict([*runs.items()][:1])))
    text, files = call(script, tmp_path / "out", small, capsys)
    assert files == {"descents.txt", "toys.png", "convergence.png"}
    assert "at most theirs: " in text
    assert "| Closest + triplet | " in text


@pytest.mark.parametrize("projection", ["relu", "softplus"])
def test_the_published_optimiser_has_its_traces(load, projection):
    published, graph = load("published"), Graph(np.reshape(GOLDEN.iris_edges, (-1, 2)), GOLDEN.iris_weights)
    history = published.published(graph, Closest(), projection)
    stopped = history[: published.stop_of(history)]
    close = {"rel": 1e-10} if projection == "relu" else {"rel": 5e-3}
    best = GOLDEN.iris_best["closest"]
    assert history.min() == pytest.approx(best["relu" if projection == "relu" else "soft"], **close)
    assert stopped.min() == pytest.approx(best[f"{projection[:4]}, early stop"], **close)


# Lower bounds.


def test_the_lower_bound_is_below_the_best_and_near_it(load):
    bound_of, rng = load("lower_bound").closest_bound, np.random.default_rng(10)
    for size in (4, 7):
        graph = load("figure5").random_graph(size, 0.5, rng)
        best = closest_exact(graph)
        coarse, fine = bound_of(graph, 8, 20), bound_of(graph, 60, 20)
        assert coarse <= best.loss
        assert 0.9 * best.loss <= fine <= best.loss + 1e-9
        assert bound_of(graph, 60, 20, seconds=0.0) <= fine


# Accuracy.


def test_accuracy_is_that_of_the_best_matching(load):
    accuracy, rng = load("clusterings").accuracy, np.random.default_rng(2)
    for k in (1, 2, 3, 4):
        clusters, classes = rng.integers(k, size=(2, 25))
        best = max(np.mean(np.array(names)[clusters] == classes) for names in permutations(range(k)))
        assert accuracy(clusters, classes) == best


def test_accuracy_takes_more_clusters_than_classes(load):
    assert load("clusterings").accuracy(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 0])) == 0.75


def test_cuts_are_those_of_scipy(load):
    merges = linkage(np.random.default_rng(3).random((20, 3)), "average")
    for k in range(1, 21):
        ours, theirs = load("common").cut(merges[:, :2], k), fcluster(merges, k, "maxclust")
        assert len(set(zip(ours, theirs, strict=True))) == len(set(ours)) == k


def test_a_cut_of_single_linkage_is_that_of_the_subdominant(load):
    found = subdominant(Graph.from_points(np.random.default_rng(4).random((20, 2))))
    for k in (1, 2, 7, 20):
        pairs = set(zip(load("common").cut(found.children, k), found.membership(k), strict=True))
        assert len(pairs) == k


def test_folds_are_shared_out_evenly(load):
    script, classes = load("clusterings"), np.repeat([0, 1, 2], [20, 10, 30])
    fold = script.deal(classes, 10, np.random.default_rng(5))
    masks = np.array(list(script.labelled(fold, 0.3, 10)))
    assert masks.shape == (10, 60)
    assert (masks.sum(axis=0) == 3).all()  # every point is told in three of ten folds
    assert [np.bincount(classes[told]).tolist() for told in masks] == [[6, 3, 9]] * 10


def test_features_are_stretched(load, tmp_path):
    (tmp_path / "x.csv").write_text("a,b,label\n1,5,x\n3,5,y\n2,5,x\n", encoding="utf-8")
    table = load("clusterings").read_table(tmp_path / "x.csv", -1.0, 1.0)
    assert table.points.tolist() == [[-1, -1], [1, -1], [0, -1]]
    assert (table.classes.tolist(), table.n_classes) == ([0, 1, 0], 2)


def test_ward_on_wine_is_what_the_paper_has(load):
    wine = pytest.importorskip("sklearn.datasets").load_wine()
    script = load("clusterings")
    table = script.Table(script.stretched(wine.data, -1, 1), wine.target)
    ward = script.by_linkage(table, Graph.from_points(table.points))["Ward"]
    assert round(ward.accuracies[0], 2) == 0.98


def test_weights_for_dasgupta_are_positive_and_at_most_one(load):
    graph = load("common").scaled(Graph([[0, 1], [1, 2], [0, 2]], [0, 2, 4]))
    assert graph.weights.tolist() == [0.5, 0.5, 1]


# Regions.


def test_weights_are_means_along_frontiers(load):
    membership = np.array([[0, 0, 1], [0, 2, 1]])
    gradient = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 8.0]])
    graph = load("regions").region_graph(membership, gradient)
    found = dict(zip(map(tuple, graph.edges.tolist()), graph.weights.tolist(), strict=True))
    assert found == {(0, 1): 1.5, (0, 2): (2.5 + 3.5) / 2, (1, 2): 6.0}


def test_regions_are_connected_and_end_at_edges(load):
    script = load("regions")
    image = np.zeros((24, 30, 3))
    image[:, 12:] = 1.0
    gradient = script.gradient_of(image, 1.0)
    seeds = script.seeds_of(gradient, 2, 3)
    membership = script.watershed(gradient, seeds, 0.05)
    assert np.unique(membership.ravel()[seeds]).tolist() == list(range(6))
    assert all(ndimage.label(membership == region)[1] == 1 for region in range(6))
    assert not set(membership[:, 11]) & set(membership[:, 13])  # no region reaches over the edge
    assert script.region_graph(membership, gradient).n_components == 1


def test_contours_lie_between_regions(load):
    script = load("regions")
    membership = np.array([[0, 0, 1], [0, 2, 1]])
    regions = script.Regions(membership, script.region_graph(membership, np.zeros((2, 3))))
    drawn = script.contours(regions, np.array([1.0, 2.0, 3.0]))  # edges 0–1, 0–2, 1–2
    assert drawn.tolist() == [[0, 0, 0, 1, 0], [0, 2, 2, 3, 0], [0, 2, 0, 3, 0]]


# Small graphs and trees.


def test_a_part_has_all_edges_between_its_vertices(load):
    script, rng = load("figure5"), np.random.default_rng(6)
    whole = Graph.from_points(rng.random((40, 2)), 3)
    known = {weight: edge for edge, weight in enumerate(whole.weights.tolist())}
    part = script.part_of(whole, 8, rng)
    assert (part.n_vertices, part.n_components) == (8, 1)
    inside = np.unique(whole.edges[[known[weight] for weight in part.weights.tolist()]])
    assert np.isin(whole.edges, inside).all(axis=1).sum() == part.n_edges


def test_random_graphs_are_connected(load):
    graphs = [load("figure5").random_graph(7, density, np.random.default_rng(7)) for density in (0.0, 0.4, 1.0)]
    assert [graph.n_components for graph in graphs] == [1, 1, 1]
    assert graphs[0].n_edges == 6 < graphs[1].n_edges < graphs[2].n_edges == 21


def test_no_fit_is_better_than_the_best(load):
    script = load("figure5")
    how = load("common").settings()
    solved = script.solve("random", script.random_graph(6, 0.6, np.random.default_rng(8)), script.methods(how))
    assert solved.lower_bound <= solved.exact.error
    assert all(run.error >= solved.lower_bound for run in solved.runs.values())
    assert solved.runs["fit, start: both"].error <= solved.runs["fit, start: average"].error


def test_the_highest_merges_make_a_tree_of_their_own(load):
    script = load("figure2")
    joined = average_linkage(Graph.from_points(np.random.default_rng(9).random((30, 2))))
    tree = script.Tree(joined.children.astype(np.int64), joined.heights)
    small, tips = script.contracted(tree, 5)
    assert sorted(np.concatenate(tips).tolist()) == list(range(30))
    assert small.heights.tolist() == tree.heights[-5:].tolist()
    clusters = load("common").cut(tree.children, 6)
    assert sorted(map(sorted, tips)) == sorted(np.flatnonzero(clusters == each).tolist() for each in range(6))
    assert sorted(script.columns_of(small)[:6].tolist()) == [0, 1, 2, 3, 4, 5]
    assert len(script.contracted(tree, 100)[1]) == 30
