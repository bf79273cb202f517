"""Every move leaves the posterior as it is, and the compiled ones do what the rules say."""

import functools

import numpy as np
import pytest
from cases import Tilted, as_function
from move_twin import transition_matrix
from oracle import Oracle, dasgupta, sum_of_squares

import palmette as pal
from palmette._plain import IS_PLAIN
from palmette.hierarchy.arrays import cluster_bits
from palmette.hierarchy.masks import hierarchy_of_masks
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.sampling import sample_hierarchies
from palmette.sampling.anywhere import any_hierarchy
from palmette.sampling.hierarchies import moves as moves_module
from palmette.sampling.hierarchies import state
from palmette.sampling.hierarchies.conditioned import conditioned
from palmette.sampling.hierarchies.moves import HierarchyMoves
from palmette.search import refine, refine_moves

N = 5
RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(N, 2))
SIMILARITY = pal.similarity.of_points(POINTS)
REQUIRED, FORBIDDEN = [[0, 2, 3]], [[0, 2], [1, 4]]


def admits(clusters):
    return 0b01101 in clusters and not {0b00101, 0b10010} & clusters


def tilted():
    points = np.array([[0.0], [0.4], [1.0], [1.3], [2.0]])
    pairs = np.abs(points - points.T)

    def log_psi(left, right):
        gap = abs(points[list(left)].mean() - points[list(right)].mean())
        across = pairs[np.ix_(left, right)].sum()
        return -np.inf if gap < 0.35 else -1.5 * gap + 0.1 * across

    return Tilted(N, theta=[1.5, 0.35], additive=points, pairwise=[pairs]), Oracle(N, log_psi)


def problems():
    yield "dasgupta", pal.models.Dasgupta(SIMILARITY, 2.0), Oracle(N, dasgupta(SIMILARITY, 2.0))
    model, oracle = pal.models.SumOfSquares(POINTS, beta=1.5), sum_of_squares(POINTS, 1.5)
    yield "squares", model, Oracle(N, oracle)
    conditions = HierarchyConditions(model.labels).and_also(REQUIRED, FORBIDDEN)
    yield "squares, with conditions", conditioned(model, conditions), Oracle(N, oracle, admits)
    yield "forbidden splits", *tilted()


PROBLEMS = {name: (model, oracle) for name, model, oracle in problems()}


def everything(oracle):
    """All hierarchies as sets of masks, and their weights: 0 for those that the oracle does not have."""
    every = Oracle(oracle.n, lambda left, right: 0.0)
    p = dict(zip(oracle.clusters, oracle.p, strict=True))
    return every.clusters, np.array([p.get(clusters, 0.0) for clusters in every.clusters])


@functools.cache
def matrix(name, n_stops, patch_share):
    trees, p = everything(PROBLEMS[name][1])
    return trees, p, transition_matrix(trees, p, N, patch_share=patch_share, n_stops=n_stops)


@pytest.mark.parametrize("patch_share", [0.0, 1.0])
@pytest.mark.parametrize("n_stops", [3, 4])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_move_leaves_the_posterior_as_it_is(name, n_stops, patch_share):
    _, p, K = matrix(name, n_stops, patch_share)
    assert K.min() >= -1e-15
    assert np.abs(K.sum(axis=1) - 1.0).max() < 1e-12
    flow = p[:, None] * K
    assert np.abs(flow - flow.T).max() < 1e-15  # detailed balance, and so p K = p


@pytest.mark.parametrize("patch_share", [0.0, 1.0])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_compiled_move_follows_the_matrix(name, patch_share):
    model = PROBLEMS[name][0]
    trees, p, K = matrix(name, 4, patch_share)
    number = {tree: t for t, tree in enumerate(trees)}
    moves = HierarchyMoves(model, patches=patch_share, n_stops=4)
    state = moves.start(hierarchy_of_masks(trees[int(np.argmax(p))], model.labels), 7, 0)
    counts, steps = np.zeros_like(K), 12_000
    out, now = np.empty(2 * N - 1, dtype=np.int32), int(np.argmax(p))
    for _ in range(steps):
        moves.run(state, 1)
        moves.record(state, out)
        then = number[frozenset(cluster_bits(out, range(N)))]
        counts[now, then] += 1
        now = then
    expected = counts.sum(axis=1, keepdims=True) * K
    assert counts[K == 0.0].sum() == 0
    often = (expected > 5.0) & (K < 1.0)
    z = (counts - expected)[often] / np.sqrt((expected * (1.0 - K))[often])
    assert len(z) >= 5
    assert np.abs(z).max() < 5.0
    assert abs(np.sqrt((z**2).mean()) - 1.0) < 0.1 + 1.5 / np.sqrt(len(z))


@pytest.mark.skipif(IS_PLAIN, reason="nothing is compiled")
def test_moves_are_compiled_once_whatever_the_model():
    for model, _ in PROBLEMS.values():
        moves = HierarchyMoves(model)
        start = any_hierarchy(N, model.labels, RNG)
        moves.run(moves.start(start, 0, 0), 10)
        refine(model, start, rounds=1, seconds=None)
    assert len({model.n_features for model, _ in PROBLEMS.values()}) > 1
    for compiled in (moves_module._advance, state.restate, refine_moves._advance_compiled):
        assert len(compiled.signatures) == 1


# A user's model is compiled anew in each process: its chains are here, where its moves are.


def nine_in_a_line(pairs):
    points = np.linspace(0.0, 2.0, 9)[:, None]
    return Tilted(9, theta=[1.5, 0.21], additive=points, pairwise=[pairs(points - points.T)])


def test_forbidden_splits_are_never_drawn():
    model = nine_in_a_line(np.abs)
    sampled = sample_hierarchies(model, seconds=None, sweeps=200)
    assert np.isfinite(sampled.log_potentials).all()
    exact = pal.HierarchyPosterior(as_function(model), progress=False)
    for verb in ("expected_lca_size", "expected_lca_depth"):
        got, above = getattr(sampled, verb)(), np.triu_indices(9, 1)
        z = (got.values - getattr(exact, verb)())[above] / got.standard_errors[above]
        assert np.abs(z).max() < 4.5
        assert np.sqrt((z**2).mean()) < 1.3


def test_a_score_that_is_no_number_is_refused():
    model = nine_in_a_line(lambda gaps: np.full(gaps.shape, 1e308))
    with pytest.raises(ValueError, match="NaN or inf"):
        sample_hierarchies(model, seconds=None, sweeps=20)
