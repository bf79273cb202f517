"""A compiled function of two clusters is the same model as its table, and goes where no table does."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from random_hierarchies import random_merges

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, SparseTrellis
from palmette.clusters import size_of
from palmette.models import CompiledSplitFunction, Dasgupta, SplitFunction
from palmette.models.arguments import pack, unpack, unpacking
from palmette.passes.hierarchies.full import FullHierarchyPasses

# Every function is compiled anew with all that it goes into: there is one of masks, and one of members.


def tight(left, right, weights, beta, most):
    """−β · (mean of w across), impossible above a limit, and a little for the size of the part with the lowest leaf."""
    total = 0.0
    for i in range(len(weights)):
        for j in range(len(weights)):
            if left >> i & 1 and right >> j & 1:
                total += weights[i, j]
    mean = total / (size_of(left) * size_of(right))
    return -beta * mean + 0.01 * size_of(left) if mean <= most else -np.inf


def plain_tight(left, right, weights, beta, most):
    """The same from the leaves themselves; not compiled."""
    total = 0.0
    for i in left:
        for j in right:
            total += weights[i, j]
    mean = total / (len(left) * len(right))
    return -beta * mean + 0.01 * len(left) if mean <= most else -np.inf


@njit
def cost(left, right, beta, weights, bonus):
    """−β · Dasgupta's, and a bonus for every leaf of the part with the lowest one."""
    total = 0.0
    for i in left:
        for j in right:
            total += weights[i, j]
    return -beta * (len(left) + len(right)) * total + bonus * len(left)


def zero(left, right):
    return 0.0


def weights(n, seed=0):
    w = np.random.default_rng(seed).random((n, n))
    return w + w.T


def members(mask):
    return [i for i in range(int(mask).bit_length()) if mask >> i & 1]


def vectorised(function, *args):
    """The same function of members, as a `SplitFunction` takes it."""
    return lambda left, right: [
        function(members(one), members(two), *args) for one, two in zip(left.tolist(), right.tolist(), strict=True)
    ]


def hierarchy(n, seed):
    return Hierarchy.from_merges(random_merges(n, np.random.default_rng(seed)))


def both(n, most=9.0, seed=0):
    """A compiled model, and the same from a table."""
    args = (weights(n, seed), 2.0, most)
    return CompiledSplitFunction(n, tight, args=args), SplitFunction(n, vectorised(plain_tight, *args))


def dasgupta(n, w, beta=1.0, bonus=0.0):
    return CompiledSplitFunction(n, cost, args=[beta, w, bonus], members=True)


@given(st.integers(1, 6), st.integers(0, 2**16), st.sampled_from([0.0, 0.3, 0.9]))
def test_every_answer_is_that_of_the_table(n, seed, forbidden):
    one, two = map(HierarchyPosterior, both(n, np.quantile(weights(n, seed), 1.0 - forbidden), seed))
    assert one.log_partition == pytest.approx(two.log_partition, rel=1e-12, abs=1e-12)
    assert one.count == two.count
    if two.count:
        assert one.map() == two.map()
        assert one.entropy == pytest.approx(two.entropy, abs=1e-10)
        assert [h for h, _ in one.best(3)] == [h for h, _ in two.best(3)]
        assert list(one.sample(5, rng=0)) == list(two.sample(5, rng=0))
        np.testing.assert_allclose(one.cluster_probability_array(), two.cluster_probability_array(), atol=1e-12)


# From masks, a few leaves are above; what is compiled for many is the same around another function.
@pytest.mark.parametrize(
    ("n", "sees"), [(13, "members"), *(pytest.param(n, "masks", marks=pytest.mark.slow) for n in (13, 14))]
)
def test_tables_of_many_leaves_are_those_of_the_table(n, sees):
    w = weights(n)
    inner = np.array([w[np.ix_(members(m), members(m))].sum() / 2 for m in range(1 << n)])

    def from_sums(left, right):
        k, m = np.bitwise_count(left).astype(float), np.bitwise_count(right).astype(float)
        total = inner[left | right] - inner[left] - inner[right]
        return (-2.0 * total / (k * m) if sees == "masks" else -0.02 * (k + m) * total) + 0.01 * k

    compiled = both(n)[0] if sees == "masks" else dasgupta(n, w, 0.02, 0.01)
    one, two = FullHierarchyPasses(compiled), FullHierarchyPasses(SplitFunction(n, from_sums))
    assert one.memory_needed < 50 * 2**n < two.memory_needed
    Z = two.inside()
    np.testing.assert_allclose(one.inside(), Z, rtol=1e-10)
    np.testing.assert_allclose(one.maximum(), two.maximum(), rtol=1e-10)
    np.testing.assert_allclose(one.outside(Z).mu, two.outside(Z).mu, rtol=1e-8, atol=1e-14)


SEARCHES = {
    "log potential": lambda model: model.log_potential(hierarchy(7, 3)),
    "sparse": lambda model: (
        HierarchyPosterior(
            model, trellis=SparseTrellis.from_hierarchies([hierarchy(7, seed) for seed in range(4)], closed=True)
        ).log_partition
    ),
    "greedy": lambda model: pal.search.greedy(model).log_potential,
    "beam": lambda model: pal.search.beam(model, 5).log_potential,
    "a_star": lambda model: pal.search.a_star(model).log_potential,
    "refine": lambda model: pal.search.refine(model, hierarchy(7, 1), rounds=2, seconds=None, rng=0).log_potential,
    "grow": lambda model: (
        pal.search.grow(model, SparseTrellis.from_hierarchies([hierarchy(7, 1)]), min_share=0.05).n_clusters
    ),
}


# What takes long to compile is done below for a function of members, or in tests/search for a user's model.
@pytest.mark.parametrize(
    "what",
    [pytest.param(name, marks=[] if name in ("log potential", "sparse") else pytest.mark.slow) for name in SEARCHES],
)
def test_searches_take_a_function_of_masks(what):
    compiled, black_box = both(7)
    assert SEARCHES[what](compiled) == pytest.approx(SEARCHES[what](black_box), rel=1e-10)


@pytest.mark.slow
def test_batches_take_it():
    models = [CompiledSplitFunction(n, tight, args=[weights(7), 2.0, 9.0]) for n in (2, 5, 7)]
    found = pal.batch.infer(models).log_partition
    np.testing.assert_allclose(found, [HierarchyPosterior(model).log_partition for model in models], rtol=1e-12)


@pytest.mark.slow
def test_chains_take_it_also_under_conditions():
    compiled, black_box = both(6)
    sampled = pal.sampling.sample_hierarchies(compiled, seconds=None, sweeps=400, require=[[0, 1]], rng=1)
    exact = HierarchyPosterior(black_box).condition(require=[[0, 1]])
    for pair in ([2, 3], [4, 5], [2, 5]):
        estimate = sampled.cluster_probability(pair)
        assert abs(estimate.value - exact.cluster_probability(pair)) < 5 * estimate.standard_error + 1e-9


@pytest.mark.parametrize("n", [52, 53, 54, 63])
def test_masks_of_up_to_sixty_three_leaves_are_exact(n):
    h = hierarchy(n, n)
    compiled, black_box = both(n)
    assert compiled.log_potential(h) == pytest.approx(black_box.log_potential(h), rel=1e-12)


@pytest.mark.parametrize("n", [54, 64, 371])
def test_members_are_seen_of_more_leaves_than_a_mask_has(n):
    w, h = weights(n), hierarchy(n, 3)
    assert dasgupta(n, w).log_potential(h) == pytest.approx(Dasgupta(w).log_potential(h), rel=1e-12)


def test_searches_and_sparse_trellises_take_more_leaves_than_a_mask_has():
    n = 70
    w = weights(n)
    model, same = dasgupta(n, w), Dasgupta(w)
    trellis = SparseTrellis.from_hierarchies([hierarchy(n, seed) for seed in range(3)], closed=True)
    one, two = (HierarchyPosterior(each, trellis=trellis) for each in (model, same))
    assert one.log_partition == pytest.approx(two.log_partition, rel=1e-12)
    found = pal.search.greedy(model)
    assert found.log_potential == pytest.approx(same.log_potential(found.hierarchy), rel=1e-12)


@pytest.mark.slow
def test_refining_takes_more_leaves_than_a_mask_has():
    n = 70
    w, start = weights(n), hierarchy(n, 3)
    better = pal.search.refine(dasgupta(n, w), start, rounds=1, seconds=None, rng=0)
    assert better.log_potential > Dasgupta(w).log_potential(start)
    assert better.log_potential == pytest.approx(Dasgupta(w).log_potential(better.hierarchy), rel=1e-12)


def test_other_arguments_need_no_other_kernels():
    one, two = (CompiledSplitFunction(n, tight, args=[weights(n), beta, 9.0]) for n, beta in ((4, 1.0), (6, 3.0)))
    assert type(one) is type(two)
    assert type(one) is not type(CompiledSplitFunction(4, zero))
    assert repr(one) == "CompiledSplitFunction(n_leaves=4)"
    assert one.is_compiled
    assert one.split_table_bytes == 0


@pytest.mark.parametrize("copied", [copy.copy, lambda model: pickle.loads(pickle.dumps(model))])
def test_it_can_be_copied_and_pickled(copied):
    model = CompiledSplitFunction(5, tight, args=[weights(5), 2.0, 9.0], labels=list("abcde"))
    other = copied(model)
    assert type(other) is type(model)
    assert other.labels == model.labels
    assert not other.theta.flags.writeable
    assert HierarchyPosterior(other).log_partition == HierarchyPosterior(model).log_partition


class WithBeta(pal.models.Tempered, CompiledSplitFunction):
    """exp(−β · cost) from a compiled cost."""

    def __init__(self, n, beta):
        super().__init__(n, cost, args=[beta, weights(n), 0.0], members=True)


def test_it_can_have_a_temperature():
    model = WithBeta(5, 1.0)
    assert HierarchyPosterior(model.with_beta(0.0)).log_partition == pytest.approx(np.log(105))
    assert HierarchyPosterior(model.with_beta(2.0)).entropy < HierarchyPosterior(model).entropy
    assert model.with_beta(2.0).beta == 2.0
    assert model.beta_ratio(model.with_beta(2.0)) == 2.0


# Arguments.

SHAPES = st.sampled_from([(), ((),), ((3,),), ((), (2, 3)), ((0, 4), (0,), (), ())])


@given(SHAPES, st.integers(0, 2**16))
def test_arguments_come_back_from_one_vector(shapes, seed):
    rng = np.random.default_rng(seed)
    args = [rng.normal(size=shape) for shape in shapes]
    kinds, theta = pack(args)
    assert kinds == tuple(map(len, shapes))
    for back in (unpack(kinds, theta), unpacking(kinds)(theta, 0)):
        assert len(back) == len(args)
        for one, two in zip(back, args, strict=True):
            np.testing.assert_array_equal(one, two)


# What it refuses.


def of_arrays(left, right):
    return left[0] + 1.0


def unknown(left, right):
    return open(left)


def sometimes(left, right):
    if left > 3:
        return None
    return 1.0


def wrong(left, right, value):
    return value / 0.0 if right == 6 else 0.0


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (3, (), "expected a function of two clusters, plain or with @njit, not 3"),
        (max, (), "expected a function of two clusters, plain or with @njit, not <built-in function max>"),
        (tight, (), r"tight takes \(left, right, weights, beta, most\), but is called with two clusters$"),
        (tight, [1.0], "is called with two clusters and one of args$"),
        (zero, [1.0, 2.0], "is called with two clusters and 2 of args$"),
        (of_arrays, (), r"of_arrays does not compile for \(int64, int64\): No implementation .* Write it with numbers"),
        (unknown, (), r"unknown does not compile for .*: Untyped global name 'open'.* to SplitFunction$"),
        (sometimes, (), r"sometimes returns OptionalType\(float64\); expected a number"),
        (zero, ["x"], r"args\[0\] is 'x'; expected a number, a vector or a matrix"),
        (zero, [1.0, np.zeros((1, 1, 1))], r"args\[1\] is array.*; expected a number, a vector or a matrix"),
        (zero, [1j], r"args\[0\] is 1j; expected a number"),
    ],
)
def test_what_is_no_function_of_two_clusters_is_refused(function, args, message):
    with pytest.raises(TypeError, match=message):
        CompiledSplitFunction(4, function, args=args)


def test_arguments_are_finite():
    with pytest.raises(ValueError, match=r"args\[1\] holds NaN or infinite values"):
        CompiledSplitFunction(4, tight, args=[weights(4), np.nan, 9.0])


def test_there_are_not_too_many_leaves():
    with pytest.raises(ValueError, match=r"as 64-bit masks has at most 63 leaves, not 64; give members=True"):
        CompiledSplitFunction(64, zero)
    with pytest.raises(ValueError, match=r"by their members has at most 371 leaves, not 372; a SplitModel takes any"):
        CompiledSplitFunction(372, zero, members=True)


@pytest.mark.parametrize(("value", "said"), [(0.0, "nan"), (1.0, "inf")])
def test_a_value_that_is_no_log_potential_is_named_with_its_split(value, said):
    with pytest.raises(ValueError, match=rf"score returned {said} for the split into .*; a log potential is finite or"):
        _ = HierarchyPosterior(CompiledSplitFunction(3, wrong, args=[value])).log_partition
