"""The exact closest ultrametric against all hierarchies of a few vertices, each with its best altitudes."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.errors import TrellisTooLarge
from palmette.ultrametric.exact import _Ladder, _levels, _Merge, _polished, closest_exact
from palmette.ultrametric.graph import Graph


def merges_of(hierarchy: frozenset[oracle.Split], graph: Graph) -> list[tuple[int, list[int]]]:
    """(cluster, edges that meet in it) of each split that some edges cross."""
    ends = [1 << x | 1 << y for x, y in graph.edges.tolist()]
    found = [(one | two, [e for e, pair in enumerate(ends) if pair & one and pair & two]) for one, two in hierarchy]
    return [merge for merge in found if merge[1]]


def best_altitudes(merges: list[tuple[int, list[int]]], weights: np.ndarray) -> float:
    """Least Σ (u − w)²: of all ways to let nested clusters share an altitude, the best in which none falls."""
    merges = sorted(merges, key=lambda merge: -merge[0].bit_count())
    parents = parents_of([cluster for cluster, _ in merges])
    inner = [i for i, parent in enumerate(parents) if parent >= 0]
    least = np.inf
    for chosen in itertools.product((False, True), repeat=len(inner)):
        pool = list(range(len(merges)))
        for i in itertools.compress(inner, chosen):
            pool[i] = pool[parents[i]]
        groups = {p: [e for i, (_, edges) in enumerate(merges) if pool[i] == p for e in edges] for p in pool}
        mean = {p: weights[edges].mean() for p, edges in groups.items()}
        if all(mean[pool[i]] <= mean[pool[parents[i]]] for i in inner):
            least = min(least, sum(((weights[edges] - mean[p]) ** 2).sum() for p, edges in groups.items()))
    return float(least)


def parents_of(clusters: list[int]) -> list[int]:
    """The number of the smallest cluster around each, −1 if there is none; large clusters come first."""
    return [max((j for j in range(i) if clusters[j] & own == own), default=-1) for i, own in enumerate(clusters)]


def least_loss(graph: Graph) -> float:
    """By listing every binary hierarchy."""
    trees = oracle.hierarchies_over((1 << graph.n_vertices) - 1)
    return min(best_altitudes(merges_of(tree, graph), graph.weights) for tree in trees) / graph.n_edges


def least_on_levels(graph: Graph, levels: list[float]) -> float:
    """The recursion as it is written, over all splits, connected or not."""

    @functools.cache
    def f(cluster: int, level: int) -> float:
        if cluster & (cluster - 1) == 0:
            return 0.0
        if level < 0:
            return np.inf
        costs = [f(cluster, level - 1)]
        for one, two in oracle.splits_of(cluster):
            across = [w for (_, edges) in merges_of(frozenset({(one, two)}), graph) for w in graph.weights[edges]]
            costs.append(sum((levels[level] - w) ** 2 for w in across) + f(one, level) + f(two, level))
        return min(costs)

    return f((1 << graph.n_vertices) - 1, len(levels) - 1)


weight_kinds = st.sampled_from([st.integers(0, 4).map(float), st.floats(0, 10, allow_subnormal=False)])


@st.composite
def graphs(draw: st.DrawFn, most: int = 5, forest: bool = False) -> Graph:
    n = draw(st.integers(2, most))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    edges = draw(st.lists(pairs, min_size=1, max_size=10))
    if not forest:
        edges += [(draw(st.integers(0, x - 1)), x) for x in range(1, n)]
    weights = draw(weight_kinds.flatmap(lambda kind: st.lists(kind, min_size=len(edges), max_size=len(edges))))
    return Graph(edges, weights, n_vertices=n, forest=forest)


def complete(n: int, seed: int) -> Graph:
    edges = list(itertools.combinations(range(n), 2))
    return Graph(edges, np.random.default_rng(seed).random(len(edges)))


@given(graphs())
def test_loss_and_bound_enclose_that_of_all_hierarchies(graph):
    found, truth = closest_exact(graph), least_loss(graph)
    assert found.lower_bound <= truth * (1 + 1e-12) + 1e-12
    assert truth <= found.loss * (1 + 1e-12) + 1e-12
    assert found.loss <= truth * (1 + 2e-5) + 1e-8


@given(graphs(forest=True))
def test_components_are_fitted_on_their_own(graph):
    found = closest_exact(graph)
    assert found.lower_bound - 1e-12 <= least_loss(graph) <= found.loss + 1e-12
    # Of a small loss the tolerance would take more levels than there may be, which leave a billionth of the range.
    assert found.gap <= 1e-5 * found.loss + 1e-9 * np.ptp(graph.weights) ** 2
    assert len(found.subdominant.altitudes) == graph.n_vertices - graph.n_components


@given(graphs(most=6))
def test_the_result_is_an_ultrametric_with_the_loss_it_states(graph):
    found = closest_exact(graph)
    assert (found.subdominant.weights == found.ultrametric).all()  # its own subdominant ultrametric
    assert (np.diff(found.subdominant.altitudes) >= 0).all()
    assert found.loss == pytest.approx(np.mean((found.ultrametric - graph.weights) ** 2), rel=1e-12, abs=1e-300)
    assert 0 <= found.lower_bound <= found.loss
    heights = found.hierarchy.heights[graph.n_vertices :]
    assert sorted(heights) == sorted(found.subdominant.altitudes)


@given(graphs(), st.integers(2, 9))
def test_the_recursion_on_levels_matches_its_formula(graph, n_levels):
    top = max(graph.weights.max(), 1.0)
    scaled = graph.with_weights(graph.weights / top)
    least = _Ladder(scaled, scaled.weights).climb(_levels(n_levels))
    assert least == pytest.approx(least_on_levels(scaled, np.linspace(0, 1, n_levels).tolist()), abs=1e-12)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_polishing_is_the_best_for_its_tree(n, seed):
    rng = np.random.default_rng(seed)
    graph = complete(n, seed)
    trees = oracle.hierarchies_over((1 << n) - 1)
    merges = merges_of(trees[rng.integers(len(trees))], graph)
    merges.sort(key=lambda merge: -merge[0].bit_count())
    parents = parents_of([cluster for cluster, _ in merges])
    values = _polished(graph, [_Merge(p, np.array(edges)) for p, (_, edges) in zip(parents, merges, strict=True)])
    assert ((values - graph.weights) ** 2).sum() == pytest.approx(best_altitudes(merges, graph.weights), abs=1e-12)


def test_gap_shrinks_with_the_levels():
    graph = complete(8, seed=3)
    gaps = [closest_exact(graph, n_levels=n, tolerance=np.inf).gap for n in (11, 101, 1001)]
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2] > 0
    assert closest_exact(graph, n_levels=2).gap <= 1e-5 * closest_exact(graph).loss


def test_connected_clusters_suffice_on_sparse_graphs():
    ring = Graph([(i, (i + 1) % 6) for i in range(6)], [3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    ladder = _Ladder(ring, ring.weights / 9)
    least = ladder.climb(_levels(5))
    assert least == pytest.approx(least_on_levels(ring.with_weights(ring.weights / 9), [0, 0.25, 0.5, 0.75, 1]))
    assert (
        ladder.n_splits == 75
    )  # of 301: k = 2 … 5 vertices in a row in 6 places, k − 1 splits each, and 15 of the ring


@pytest.mark.parametrize("weights", [[2.0, 5.0, 5.0], [0.1, 0.1, 0.1], [0.0, 0.0, 0.0], [1e-200, 3e-200, 3e-200]])
def test_an_ultrametric_is_its_own_closest(weights):
    found = closest_exact(Graph([(0, 1), (1, 2), (0, 2)], weights), n_levels=4)
    assert (found.loss, found.lower_bound) == (0.0, 0.0)
    assert found.ultrametric.tolist() == weights


@pytest.mark.parametrize("tolerance", [0.0, np.inf])
def test_any_tolerance_ends(tolerance):
    path, triangle = Graph([(0, 1), (1, 2)], [1, 2]), Graph([(0, 1), (1, 2), (0, 2)], [1, 2, 4])
    assert closest_exact(path, tolerance=tolerance).gap == 0
    assert closest_exact(triangle, tolerance=tolerance).loss == pytest.approx(2 / 3)


def test_a_path_keeps_its_weights():
    found = closest_exact(Graph([(0, 1), (1, 2), (2, 3)], [3.0, 1.0, 2.0]))
    assert found.loss == 0.0
    assert found.ultrametric.tolist() == [3.0, 1.0, 2.0]


def test_one_vertex_and_no_edges():
    found = closest_exact(Graph([], [], n_vertices=1))
    assert (found.loss, found.gap, len(found.ultrametric), found.hierarchy.n_leaves) == (0.0, 0.0, 0, 1)


def test_two_parallel_edges_share_their_mean():
    found = closest_exact(Graph([(0, 1), (1, 0)], [1.0, 2.0]))
    assert found.ultrametric.tolist() == [1.5, 1.5]
    assert found.loss == 0.25


def test_large_and_shifted_weights_change_nothing_else():
    graph = complete(6, seed=1)
    found = closest_exact(graph)
    large = closest_exact(graph.with_weights(1e100 * graph.weights))
    assert large.loss == pytest.approx(1e200 * found.loss)
    shifted = closest_exact(graph.with_weights(1e6 + graph.weights))
    assert shifted.ultrametric == pytest.approx(1e6 + found.ultrametric, rel=1e-12)


def test_too_many_vertices_are_refused():
    path = Graph([(i, i + 1) for i in range(14)], np.ones(14))
    with pytest.raises(TrellisTooLarge, match=r"15 vertices.* up to 14.*palmette\.ultrametric\.fit"):
        closest_exact(path)


@pytest.mark.parametrize(
    ("how", "message"), [({"n_levels": 1}, "n_levels"), ({"tolerance": float("nan")}, "tolerance")]
)
def test_bad_arguments_are_refused(how, message):
    with pytest.raises(ValueError, match=message):
        closest_exact(Graph([(0, 1)], [1.0]), **how)
