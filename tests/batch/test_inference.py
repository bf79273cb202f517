"""Batches against enumeration, a slow recursion, single posteriors and golden numbers."""

from __future__ import annotations

import functools
import math
from collections import Counter

import golden
import numpy as np
import pytest
from cases import BATCH_KINDS, OfSizes, Tilted, alike, draw_batch
from hypothesis import given
from hypothesis import strategies as st
from oracle import dasgupta, members, splits_of

from palmette import HierarchyPosterior, ImpossibleData, batch
from palmette import threads as schedule
from palmette.hierarchy import Hierarchy
from palmette.models import Correlation, Dasgupta, Ginkgo, SplitFunction, Uniform


def slow_answers(n, log_psi):
    """log Z, log M and the best hierarchy, by the recursion as it is written; of equal splits the lowest mask."""

    @functools.cache
    def solve(mask):
        if mask & (mask - 1) == 0:
            return 0.0, 0.0, mask.bit_length() - 1
        values, best = [], (-math.inf, None)
        for left, right in sorted(splits_of(mask)):
            (z_left, m_left, h_left), (z_right, m_right, h_right) = solve(left), solve(right)
            psi = log_psi(members(left), members(right))
            values.append(psi + z_left + z_right)
            if psi + m_left + m_right > best[0]:
                best = psi + m_left + m_right, (h_left, h_right)
        return float(np.logaddexp.reduce(values)), *best

    return solve((1 << n) - 1)


def spread(seed, sizes):
    """Similarities without ties, of different sizes, in [0, 1)."""
    rng = np.random.default_rng(seed)
    return [(w + w.T) / 2 for w in (rng.random((n, n)) for n in sizes)]


@pytest.mark.parametrize("kinds", BATCH_KINDS)
@given(data=st.data())
def test_every_problem_matches_enumeration(kinds, data):
    problems = draw_batch(data, kinds)
    result = batch.infer([case.model for case in problems], threads=1)
    assert result.n_leaves.tolist() == [case.model.n_leaves for case in problems]
    for i, (model, oracle) in enumerate(problems):
        tolerance = problems[i].tolerance
        assert result.log_partition[i] == pytest.approx(oracle.log_z, abs=tolerance)
        assert result.map_log_potential[i] == pytest.approx(oracle.log_potentials.max(), abs=tolerance)
        if oracle.log_z > -np.inf:
            assert model.log_potential(result.map(i)) == pytest.approx(result.map_log_potential[i], abs=tolerance)
        else:
            with pytest.raises(ImpossibleData, match=f"problem {i} "):
                result.map(i)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_mixed_sizes_match_the_slow_recursion(sizes, seed):
    matrices = spread(seed, sizes)
    result = batch.infer([Dasgupta(w, beta=2.0) for w in matrices])
    for i, w in enumerate(matrices):
        log_z, log_m, nested = slow_answers(len(w), dasgupta(w, 2.0))
        assert result.log_partition[i] == pytest.approx(log_z, abs=1e-11)
        assert result.map_log_potential[i] == pytest.approx(log_m, abs=1e-11)
        assert result.map(i) == Hierarchy.from_nested(nested, [str(j) for j in range(len(w))])


def tilted_log_psi(slope, x, w):
    def log_psi(left, right):
        gap = abs(x[list(left)].mean() - x[list(right)].mean())
        return -slope * gap + 0.1 * w[np.ix_(left, right)].sum()

    return log_psi


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 2**32 - 1), st.booleans())
def test_a_users_model_with_its_own_or_a_shared_theta(sizes, seed, shared):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    x, weights = rng.random((offsets[-1], 1)), spread(seed, sizes)
    theta = rng.random((1 if shared else len(sizes), 1)) * [3.0, 0.0]
    law = Tilted(1, theta=theta[0], additive=[[0.0]], pairwise=[[[0.0]]])
    data = {"additive": x, "pairwise": np.concatenate([w.ravel() for w in weights])}
    problems = batch.Problems.like(law, offsets, **data, theta=None if shared else theta)
    result = batch.infer(problems, threads=1)
    for i in range(len(sizes)):
        own = x[offsets[i] : offsets[i + 1], 0]
        log_psi = tilted_log_psi(theta[0 if shared else i, 0], own, weights[i])
        log_z, log_m, nested = slow_answers(sizes[i], log_psi)
        assert result.log_partition[i] == pytest.approx(log_z, abs=1e-11)
        assert result.map_log_potential[i] == pytest.approx(log_m, abs=1e-11)
        assert result.map(i) == Hierarchy.from_nested(nested, [str(j) for j in range(sizes[i])])


@pytest.mark.parametrize("likelihood", ["ordered", "symmetric", "literal"])
def test_jets_match_the_golden_numbers(likelihood):
    jets = [jet.momenta for jet in golden.JETS]
    offsets = np.cumsum([0, *map(len, jets)])
    law = Ginkgo(jets[0], golden.RATE, golden.T_CUT, likelihood=likelihood)
    result = batch.infer(batch.Problems.like(law, offsets, additive=np.concatenate(jets)))
    for i, jet in enumerate(golden.JETS):
        known = getattr(jet, likelihood)
        assert result.log_partition[i] == pytest.approx(known.log_partition, abs=1e-8)
        assert result.map_log_potential[i] == pytest.approx(known.map_log_potential, abs=1e-8)
        assert result.map(i) == Hierarchy.from_nested(known.map_tree)


@pytest.mark.parametrize("model_type", [Dasgupta, pytest.param(Correlation, marks=pytest.mark.slow)])
def test_beyond_one_block_of_clusters_a_batch_agrees_with_the_posterior(model_type):
    models = [model_type(w - 0.5, beta=0.3) for w in spread(3, [12, 11])]
    result = batch.infer(models)
    for i, model in enumerate(models):
        posterior = HierarchyPosterior(model)
        assert result.log_partition[i] == pytest.approx(posterior.log_partition, abs=1e-10)
        assert model.log_potential(result.map(i)) == pytest.approx(model.log_potential(posterior.map()), abs=1e-10)


def test_of_equal_hierarchies_the_lowest_mask_wins_at_every_split():
    w = np.random.default_rng(5).integers(-1, 2, (40, 6, 6)).astype(float)
    w[0] = 0.0
    models = [Dasgupta(np.triu(x, 1) + np.triu(x, 1).T) for x in w]
    result = batch.infer(models)
    assert result.map(0) == Hierarchy.from_nested((0, (1, (2, (3, (4, 5))))))
    for i, model in enumerate(models):
        log_psi = dasgupta(model.pairwise[0], model.beta)
        assert result.map(i) == Hierarchy.from_nested(slow_answers(6, log_psi)[2], list("012345"))


def test_results_depend_neither_on_threads_nor_on_slices_nor_on_neighbours(monkeypatch):
    sizes = np.random.default_rng(2).integers(1, 10, 300)
    models = [Dasgupta(w) for w in spread(2, sizes)]
    one = batch.infer(models, threads=1)
    monkeypatch.setattr(schedule, "_SHORTEST", 1e3)
    many = batch.infer(models, threads=5)
    turned = batch.infer(models[::-1], threads=2)
    for name in ("log_partition", "map_log_potential"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
        np.testing.assert_array_equal(getattr(one, name), getattr(turned, name)[::-1])
        np.testing.assert_array_equal(
            getattr(one, name)[:20], [getattr(batch.infer([m]), name)[0] for m in models[:20]]
        )
    np.testing.assert_array_equal(one.children, many.children)
    assert all(one.map(i) == turned.map(299 - i) for i in range(0, 300, 7))


def test_stacked_models_and_ragged_arrays_are_the_same_problems():
    models = [Dasgupta(w, beta=0.5 + i) for i, w in enumerate(spread(4, [3, 1, 5, 2]))]
    stacked = batch.Problems.of(models)
    flat = np.concatenate([model.pairwise.ravel() for model in models])
    like = batch.Problems.like(models[0], [0, 3, 4, 9, 11], pairwise=flat, theta=[[0.5], [1.5], [2.5], [3.5]])
    np.testing.assert_array_equal(batch.infer(stacked).log_partition, batch.infer(like).log_partition)
    assert repr(like) == "Problems(4 × Dasgupta, 11 leaves)"
    assert len(like) == 4


def test_one_leaf_is_certain_and_no_problems_give_empty_arrays():
    one = batch.infer([alike(1), alike(2)])
    assert one.log_partition.tolist() == one.map_log_potential.tolist() == [0.0, 0.0]
    assert one.map(0) == Hierarchy.from_clusters([], n=1)
    none = batch.infer(batch.Problems.like(alike(2), [0]))
    assert len(none) == len(none.log_partition) == len(none.children) == 0


def test_labels_of_stacked_models_are_kept():
    w = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0.0]])
    assert batch.infer([Dasgupta(w, labels=["x", "y", "z"])]).map(0) == Hierarchy.from_newick("((x,z),y);")


def test_impossible_problems_give_minus_infinity_and_leave_the_others_alone():
    cold = [[5.0, 0.0, 0.0, 5.0], [7.0, 0.0, 0.0, 7.0]]  # parallel and massless: no shower makes them
    result = batch.infer([Ginkgo(momenta, 1.5, 16.0) for momenta in (golden.JETS[0].momenta, cold)])
    assert result.log_partition[0] == pytest.approx(golden.JETS[0].ordered.log_partition)
    assert result.log_partition[1] == result.map_log_potential[1] == -np.inf
    assert result.children[-1].tolist() == [-1, -1]
    with pytest.raises(ImpossibleData, match="every hierarchy of problem 1 has probability zero"):
        result.map(-1)


def test_a_problem_that_does_not_exist_is_named():
    result = batch.infer([alike(2)])
    assert repr(result) == "BatchResult(1 problems)"
    for i in (1, -2):
        with pytest.raises(IndexError, match=f"problem {i} does not exist; the problems are 0 to 0"):
            result.map(i)


def test_results_cannot_be_written_to():
    result = batch.infer([alike(3)])
    with pytest.raises(ValueError, match="read-only"):
        result.log_partition[0] = 1.0


class Plain(OfSizes):
    """It is given two columns and one parameter, and never compiled."""

    @staticmethod
    def score(theta, parent, left, right):
        return theta[0] * parent[0]


def test_models_that_do_not_share_functions_are_refused():
    with pytest.raises(ValueError, match=r"problem 1 is Uniform.* but problem 0 is Dasgupta.*one batch for each kind"):
        batch.infer([Dasgupta(np.zeros((2, 2))), Uniform(2)])
    with pytest.raises(ValueError, match=r"additive of problem 1 has shape \(2, 3\).* \(2, 2\); they must match"):
        batch.infer([Plain(2, theta=[1], additive=np.zeros((2, d))) for d in (2, 3)])
    with pytest.raises(TypeError, match="problem 0 is a SplitFunction; a batch takes models with compiled features"):
        batch.infer([SplitFunction(2, lambda left, right: np.zeros(len(left)))])
    with pytest.raises(ValueError, match="no models were given"):
        batch.infer([])


@pytest.mark.parametrize(
    ("offsets", "arrays", "message"),
    [
        ([1, 3], {}, "begins with 0"),
        ([], {}, "begins with 0"),
        ([0, 2, 2], {}, r"problem 1 has 0 leaves \(offsets 2 to 2\)"),
        ([0, 2.5], {}, "offsets must hold integers"),
        ([0, 2], {}, r"the model reads additive; give an array of shape \(2, 2\)"),
        ([0, 2], {"additive": np.zeros((3, 2))}, r"additive has shape \(3, 2\); expected \(2, 2\): one row per leaf"),
        ([0, 2], {"additive": [[0, np.nan], [0, 0]]}, r"additive holds nan at \(0, 1\); entries must be finite"),
        ([0, 2], {"additive": np.zeros((2, 2)), "theta": [[1, 2]]}, r"theta has shape \(1, 2\); expected \(1, 1\)"),
        (
            [0, 2],
            {"additive": np.zeros((2, 2)), "pairwise": np.zeros(4)},
            r"pairwise has shape \(4,\); expected \(0,\)",
        ),
    ],
)
def test_ragged_arrays_that_do_not_fit_are_refused(offsets, arrays, message):
    with pytest.raises((ValueError, TypeError), match=message):
        batch.Problems.like(Plain(1, theta=[1.0], additive=[[0, 0]]), offsets, **arrays)


def test_bad_numbers_of_threads_are_refused():
    with pytest.raises(ValueError, match="threads is 0"):
        batch.infer([Uniform(2)], threads=0)


# Draws.


def test_draws_follow_the_posterior():
    models = [Dasgupta(w, beta=2.0) for w in spread(3, [4, 5, 5])]
    result = batch.infer(models, n_draws=2000, seed=5)
    for i, model in enumerate(models):
        posterior = HierarchyPosterior(model)
        draws = result.draws(i)
        counts = Counter(draws)
        for hierarchy, count in counts.items():
            p = math.exp(posterior.log_prob(hierarchy))
            assert abs(count - 2000 * p) < 5.0 * math.sqrt(2000 * p) + 3.0
        np.testing.assert_allclose(result.drawn_log_probs[i, :50], [posterior.log_prob(h) for h in draws[:50]])


@pytest.mark.parametrize("kinds", BATCH_KINDS)
@given(data=st.data())
def test_every_draw_is_possible_and_knows_its_probability(kinds, data):
    problems = draw_batch(data, kinds)
    result = batch.infer([case.model for case in problems], n_draws=3, seed=1, threads=1)
    for i, (model, oracle) in enumerate(problems):
        if oracle.log_z == -np.inf:
            assert (result.drawn_log_probs[i] == (-np.inf if model.n_leaves > 1 else 0.0)).all()
            continue
        assert (result.drawn_log_probs[i] <= 1e-9).all()
        for hierarchy, log_prob in zip(result.draws(i), result.drawn_log_probs[i], strict=True):
            known = model.log_potential(hierarchy) - oracle.log_z
            assert log_prob == pytest.approx(known, abs=problems[i].tolerance)


def test_draws_depend_on_seed_and_stream_only():
    models = [Dasgupta(w) for w in spread(1, [3, 6, 5, 7, 4, 6])]
    whole = batch.infer(models, n_draws=20, seed=3, threads=2)
    for first, last in [(0, 2), (2, 6)]:
        part = batch.infer(models[first:last], n_draws=20, seed=3, streams=range(first, last), threads=1)
        for i in range(first, last):
            assert part.draws(i - first) == whole.draws(i)
            np.testing.assert_array_equal(part.drawn_log_probs[i - first], whole.drawn_log_probs[i])
    other = batch.infer(models, n_draws=20, seed=4)
    assert other.draws(3) != whole.draws(3)
    fewer = batch.infer(models, n_draws=5, seed=3)
    assert fewer.draws(3) == whole.draws(3)[:5]


def test_one_leaf_is_drawn_surely():
    result = batch.infer([alike(1), alike(2)], n_draws=2)
    assert result.drawn_log_probs.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert [h.n_leaves for h in result.draws(0)] == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_draws": -1}, ValueError, "n_draws is -1"),
        ({"n_draws": 1.5}, TypeError, "n_draws must be a whole number"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": True}, TypeError, "seed must be a whole number"),
        ({"streams": [1]}, ValueError, r"streams has shape \(1,\)"),
        ({"streams": [0.5, 1.0]}, TypeError, "streams must hold integers"),
    ],
)
def test_wrong_numbers_of_draws_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        batch.infer([Uniform(2), Uniform(3)], **arguments)
