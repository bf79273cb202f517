"""Every verb of HierarchyPosterior on a sparse trellis: against the full trellis, and against enumeration."""

from __future__ import annotations

import functools
import itertools
import pickle
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from cases import Case, cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import Oracle, clusters_of, members, sum_of_squares
from random_hierarchies import caterpillar, random_merges
from scipy.stats import chisquare

import palmette as pal
from palmette import Draws, Hierarchy, HierarchyPosterior, ImpossibleData, SparseTrellis
from palmette.models import Dasgupta, SplitFunction, SumOfSquares, Uniform
from palmette.posterior import ConditionalClusters

KINDS = {
    "uniform": "u",
    "Dasgupta": "d",
    "correlation": "c",
    "sum of squares": "s",
    "Ginkgo": "g",
    "function": "f",
    "own": "t",
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def mask_of(cluster) -> int:
    return sum(1 << int(leaf) for leaf in cluster)


def as_splits(hierarchy) -> frozenset[tuple[int, int]]:
    return frozenset((mask_of(left), mask_of(right)) for left, right in hierarchy.splits())


def as_hierarchy(splits, n) -> Hierarchy:
    return Hierarchy.from_splits([(members(left), members(right)) for left, right in splits], names(n))


def names(n):
    return tuple(str(i) for i in range(n))


def some_hierarchies(n, count, seed):
    """Random ones, most of them with the leaves in a row, so that they share clusters."""
    rng = np.random.default_rng(seed)

    def cut(a, b):
        c = int(rng.integers(a + 1, b)) if b - a > 1 else b
        return a if c == b else (cut(a, c), cut(c, b))

    in_a_row = lambda: Hierarchy.from_nested(cut(0, n), names(n))  # noqa: E731
    return [in_a_row() if rng.random() < 0.7 else Hierarchy.from_merges(random_merges(n, rng)) for _ in range(count)]


@functools.cache
def complete(n) -> SparseTrellis:
    return SparseTrellis.from_clusters([members(mask) for mask in range(1, 1 << n)], names(n))


class Problem(NamedTuple):
    """A model on a sparse trellis, and the enumeration of what that holds."""

    post: HierarchyPosterior
    oracle: Oracle
    sample: list[Hierarchy]
    tolerance: float
    case: Case

    def inside(self) -> list[int]:
        return np.flatnonzero(self.oracle.log_potentials > -np.inf).tolist()


@st.composite
def problems(draw, kinds="udcsgft", max_leaves=6, closed=None):
    """Hierarchies that the trellis does not hold have probability zero in the enumeration."""
    n = draw(st.integers(2, max_leaves))
    case = draw(cases(n=n, kinds=kinds))
    sample = some_hierarchies(n, draw(st.integers(1, 5)), draw(st.integers(0, 2**16)))
    closed = draw(st.booleans()) if closed is None else closed
    splits = frozenset().union(*map(as_splits, sample))
    family = frozenset().union(*(clusters_of(as_splits(h), n) for h in sample))
    allowed = (lambda split: family >= set(split)) if closed else splits.__contains__

    def log_psi(left, right):
        return case.oracle.log_psi(left, right) if allowed((mask_of(left), mask_of(right))) else -np.inf

    oracle = Oracle(n, log_psi)
    assume(oracle.log_z > -np.inf)
    trellis = SparseTrellis.from_hierarchies(sample, closed=closed)
    return Problem(HierarchyPosterior(case.model, trellis=trellis), oracle, sample, 10 * case.tolerance, case)


def both(case) -> tuple[HierarchyPosterior, HierarchyPosterior]:
    assume(case.oracle.log_z > -np.inf)
    return HierarchyPosterior(case.model), HierarchyPosterior(case.model, trellis=complete(case.model.n_leaves))


def all_probabilities(post):
    return [post.cluster_probability(members(mask)) for mask in range(1, 1 << post.n_leaves)]


def table(rows):
    return {tuple(row[:-1]): row.probability for row in rows}


# A trellis of all clusters is the full one.


def assert_same_numbers(full, sparse, tolerance):
    assert sparse.log_partition == pytest.approx(full.log_partition, rel=1e-12, abs=tolerance)
    assert sparse.count == full.count
    assert sparse.entropy == pytest.approx(full.entropy, abs=100 * tolerance)
    np.testing.assert_allclose(all_probabilities(sparse), full.cluster_probability_array()[1:], atol=10 * tolerance)
    np.testing.assert_allclose(sparse.expected_lca_size(), full.expected_lca_size(), atol=100 * tolerance)
    mine, theirs = (table(post.cluster_probabilities(1e-7)) for post in (sparse, full))
    assert all(
        mine.get(row, 1e-7) == pytest.approx(theirs.get(row, 1e-7), abs=10 * tolerance) for row in {*mine, *theirs}
    )
    assert sparse.kl(full) == pytest.approx(0.0, abs=100 * tolerance)
    assert full.kl(sparse) == pytest.approx(0.0, abs=100 * tolerance)


def assert_same_hierarchies(full, sparse, tolerance, k=30):
    best = full.log_potential(full.map())
    assert full.log_potential(sparse.map()) == pytest.approx(best, rel=1e-12, abs=tolerance)
    mine, theirs = sparse.best(k), full.best(k)
    np.testing.assert_allclose([value for _, value in mine], [value for _, value in theirs], atol=tolerance)
    assert len({h for h, _ in mine}) == len(mine)
    for h, value in mine[:: 1 + k // 4]:
        assert sparse.log_prob(h) == pytest.approx(value, abs=tolerance)
        assert sparse.rank(h) == full.rank(h)
        assert sparse.credible_level(h).value == pytest.approx(full.credible_level(h).value, abs=1e-8)
    if full.count == HierarchyPosterior(Uniform(full.n_leaves)).count:
        assert_same_centroid(full, sparse, 100 * tolerance)


def assert_same_centroid(full, sparse, tolerance):
    mine, theirs = (sum(map(full.cluster_probability, post.centroid().clusters())) for post in (sparse, full))
    assert mine == pytest.approx(theirs, abs=tolerance)


@every_kind
@settings(max_examples=8)
@given(data=st.data())
def test_all_clusters_give_the_numbers_of_the_full_trellis(kind, data):
    case = data.draw(cases(n=data.draw(st.integers(1, 6)), kinds=kind))
    assert_same_numbers(*both(case), case.tolerance)


@every_kind
@settings(max_examples=8)
@given(data=st.data())
def test_all_clusters_give_the_hierarchies_of_the_full_trellis(kind, data):
    case = data.draw(cases(n=data.draw(st.integers(1, 6)), kinds=kind))
    assert_same_hierarchies(*both(case), 10 * case.tolerance)


@every_kind
@settings(max_examples=6)
@given(data=st.data())
def test_all_clusters_give_the_splits_and_subtrees_of_the_full_trellis(kind, data):
    case = data.draw(cases(n=data.draw(st.integers(1, 5)), kinds=kind))
    full, sparse = both(case)
    for mask in range(1, 1 << full.n_leaves):
        if full.cluster_probability(members(mask)) > 1e-6:
            mine, theirs = (table(post.split_probabilities(members(mask))) for post in (sparse, full))
            for split in {*mine, *theirs}:
                assert mine.get(split, 0.0) == pytest.approx(theirs.get(split, 0.0), abs=1e4 * case.tolerance)
    for subtree in subtrees(full.n_leaves)[::5]:
        expected = full.subtree_probability(subtree)
        assert sparse.subtree_probability(subtree) == pytest.approx(expected, abs=10 * case.tolerance)


@functools.cache
def subtrees(n):
    """All hierarchies over two or three of the leaves, and one over each leaf."""
    pairs = [(str(i), str(j)) for i, j in itertools.combinations(range(n), 2)]
    triples = [((a, b), c) for a, b, c in itertools.permutations(map(str, range(n)), 3) if a < b]
    return [Hierarchy.from_nested(nested) for nested in [*map(str, range(n)), *pairs, *triples]]


@settings(max_examples=25)
@given(case=cases(max_leaves=5), threshold=st.sampled_from([0.3, 0.5, 0.8]))
def test_all_clusters_give_the_consensus_of_the_full_trellis(case, threshold):
    full, sparse = both(case)
    values = np.sort(full.cluster_probability_array())
    assume(np.abs(values - threshold).min() > 1e-6)
    if threshold < 0.5:
        assume(np.diff(values[values > threshold]).min(initial=1.0) > 1e-6)  # ties may fall either way
    one, two = full.consensus(threshold), sparse.consensus(threshold)
    assert one == two
    np.testing.assert_allclose(np.sort(two.support), np.sort(one.support), atol=100 * case.tolerance)


@settings(max_examples=25)
@given(n=st.integers(1, 5), data=st.data())
def test_divergences_on_all_clusters_are_those_of_the_full_trellis(n, data):
    case, other_case = data.draw(cases(n=n)), data.draw(cases(n=n))
    (full, sparse), (other_full, other_sparse) = both(case), both(other_case)
    expected = full.kl(other_full)
    tolerance = 1e-9 + 1e-13 * (case.scale + other_case.scale)
    for one, two in [(sparse, other_sparse), (sparse, other_full), (full, other_sparse)]:
        assert one.kl(two) == pytest.approx(expected, rel=1e-9, abs=tolerance)


@settings(max_examples=25)
@given(case=st.integers(1, 5).flatmap(lambda n: cases(n=n)), data=st.data())
def test_conditions_on_all_clusters_are_those_of_the_full_trellis(case, data):
    full, sparse = both(case)
    clusters = st.sets(st.integers(1, (1 << full.n_leaves) - 1).map(members), max_size=2)
    conditions = data.draw(clusters), data.draw(clusters)
    try:
        full = full.condition(*conditions)
    except ImpossibleData:
        with pytest.raises(ImpossibleData):
            sparse.condition(*conditions)
        return
    sparse = sparse.condition(*conditions)
    assert sparse.log_partition == pytest.approx(full.log_partition, rel=1e-12, abs=case.tolerance)
    if full.log_partition > -np.inf:
        assert_same_numbers(full, sparse, case.tolerance)
        assert_same_hierarchies(full, sparse, 10 * case.tolerance, k=10)


def test_all_clusters_give_the_centroid_of_the_full_trellis_where_splits_are_forbidden():
    table = np.where(np.random.default_rng(0).random((64, 64)) < 0.3, -np.inf, 0.0)
    model = SplitFunction(6, lambda left, right: table[left, right])
    assert_same_centroid(HierarchyPosterior(model), HierarchyPosterior(model, trellis=complete(6)), 1e-9)


def test_eight_leaves_with_all_clusters_answer_like_the_full_trellis():
    model = SumOfSquares(np.random.default_rng(3).normal(size=(8, 2)), 0.7)
    full, sparse = HierarchyPosterior(model), HierarchyPosterior(model, trellis=complete(8))
    assert_same_numbers(full, sparse, 1e-10)
    assert_same_hierarchies(full, sparse, 1e-10, k=200)
    assert sparse.map() == full.map()
    assert sparse.consensus() == full.consensus()
    assert sparse.centroid() == full.centroid()
    poor = full.best(3000)[-1][0]
    assert sparse.rank(poor, limit=100) == pal.Estimate(101, "bound")
    rough = sparse.credible_level(poor, limit=100, n_draws=4000, rng=3)
    assert abs(rough.value - full.credible_level(poor).value) < 4 * rough.standard_error


def large_clusters(clusters):
    return frozenset(c for c in clusters if c & (c - 1))


def assert_exact_frequencies(draws, expected):
    size = len(draws)
    found = Counter(frozenset(row) for row in draws.masks.tolist())
    assert all(expected.get(h, 0.0) > 0 for h in found)
    common = [h for h, p in expected.items() if p * size >= 5]
    observed, wanted = np.array([found[h] for h in common]), size * np.array([expected[h] for h in common])
    rest = size - wanted.sum()
    if rest > 1e-6:
        observed, wanted = np.append(observed, size - observed.sum()), np.append(wanted, rest)
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


@pytest.mark.parametrize("trellis", ["all clusters", "observed", "closed"])
def test_draws_have_the_exact_frequencies(trellis):
    x = np.random.default_rng(1).normal(size=(5, 2))
    sample = some_hierarchies(5, 6, seed=2)
    closed = trellis == "closed"
    on = complete(5) if trellis == "all clusters" else SparseTrellis.from_hierarchies(sample, closed=closed)
    splits = {(on.masks[left], on.masks[right]) for left, right in zip(on.left, on.right, strict=True)}
    oracle = Oracle(5, sum_of_squares(x, 0.3))
    inside = {h: p for h, p in zip(oracle.hierarchies, oracle.p, strict=True) if h <= splits}
    assert len(inside) == on.count > 5
    expected = {large_clusters(clusters_of(h, 5)): p / sum(inside.values()) for h, p in inside.items()}
    assert_exact_frequencies(HierarchyPosterior(SumOfSquares(x, 0.3), trellis=on).sample(20_000, rng=4), expected)


# Chosen clusters, against enumeration of the hierarchies that are in the trellis.


@settings(max_examples=100)
@given(problem=problems())
def test_one_number_each_matches_enumeration(problem):
    post, oracle = problem.post, problem.oracle
    assert post.log_partition == pytest.approx(oracle.log_z, rel=1e-12, abs=1e-10)
    assert post.count == oracle.count
    assert post.entropy == pytest.approx(oracle.entropy, abs=10 * problem.tolerance)
    assert not post.is_exact


@settings(max_examples=60)
@given(problem=problems())
def test_clusters_match_enumeration(problem):
    post, oracle = problem.post, problem.oracle
    expected = [oracle.cluster_probability(mask) for mask in range(1, 1 << oracle.n)]
    found = all_probabilities(post)
    np.testing.assert_allclose(found, expected, atol=problem.tolerance)
    assert 0.0 <= min(found) <= max(found) <= 1.0
    rows = post.cluster_probabilities(1e-3)
    assert all(row.size == len(row.members) and 1 < row.size < oracle.n for row in rows)
    assert [row.probability for row in rows] == sorted((row.probability for row in rows), reverse=True)
    listed = {mask_of(row.members): row.probability for row in rows}
    likely = {m: p for m, p in enumerate(expected, 1) if p >= 1e-3 and 1 < m.bit_count() < oracle.n}
    assert all(
        listed.get(m, 1e-3) == pytest.approx(likely.get(m, 1e-3), abs=problem.tolerance) for m in {*listed, *likely}
    )


@settings(max_examples=60)
@given(problem=problems())
def test_the_best_hierarchies_match_enumeration(problem):
    post, oracle, inputs = problem.post, problem.oracle, problem.sample
    top = oracle.log_potentials.max()
    assert oracle.log_potential(as_splits(post.map())) == pytest.approx(top, rel=1e-12, abs=1e-10)
    assert top >= max(post.log_potential(h) for h in inputs) - problem.tolerance
    best = post.best(20)
    expected = np.sort(oracle.log_potentials[problem.inside()])[::-1][:20] - oracle.log_z
    np.testing.assert_allclose([value for _, value in best], expected, atol=problem.tolerance)
    assert len({h for h, _ in best}) == len(best)
    for h, value in best:
        assert oracle.log_potential(as_splits(h)) - oracle.log_z == pytest.approx(value, abs=problem.tolerance)
        assert post.log_prob(h) == pytest.approx(value, abs=problem.tolerance)


@settings(max_examples=40)
@given(problem=problems(max_leaves=5))
def test_splits_and_subtrees_match_enumeration(problem):
    post, oracle = problem.post, problem.oracle
    for mask in range(1, 1 << oracle.n):
        p = oracle.cluster_probability(mask)
        if p > 1e-6 and mask.bit_count() > 1:
            found = {
                (mask_of(row.left), mask_of(row.right)): row.probability
                for row in post.split_probabilities(members(mask))
            }
            assert sum(found.values()) == pytest.approx(1.0)
            for split, value in found.items():
                assert value == pytest.approx(oracle.split_probability(split), abs=problem.tolerance / p)
    for subtree in subtrees(oracle.n)[:: 1 + oracle.n // 3]:
        splits = frozenset((mask_of(map(subtree.labels.__getitem__, s)) for s in pair) for pair in subtree.splits())
        splits = frozenset(tuple(sorted(split, key=lambda m: m & -m)) for split in map(tuple, splits))
        expected = oracle.subtree_probability(splits)
        assert post.subtree_probability(subtree) == pytest.approx(expected, abs=problem.tolerance)


@settings(max_examples=40)
@given(problem=problems(max_leaves=5), data=st.data())
def test_rank_and_credible_level_match_enumeration(problem, data):
    post, oracle = problem.post, problem.oracle
    i = data.draw(st.sampled_from(problem.inside()))
    better = oracle.log_potentials > oracle.log_potentials[i] + 1e-11 * max(1.0, problem.case.scale)
    hierarchy = as_hierarchy(oracle.hierarchies[i], oracle.n)
    assert post.rank(hierarchy) == pal.Estimate(better.sum() + 1, "exact")
    assert post.credible_level(hierarchy).value == pytest.approx(oracle.p[better].sum(), abs=1e-8)


@settings(max_examples=40)
@given(problem=problems(max_leaves=5), threshold=st.sampled_from([0.5, 0.7]))
def test_consensus_and_centroid_match_enumeration(problem, threshold):
    post, oracle = problem.post, problem.oracle
    probabilities = {mask: oracle.cluster_probability(mask) for mask in range(1, 1 << oracle.n)}
    assume(not any(0 < abs(p - threshold) < 1e-6 for p in probabilities.values()))
    consensus = post.consensus(threshold)
    found = {int(mask) for mask in consensus.cluster_masks()}
    assert found == {mask for mask, p in probabilities.items() if p > threshold + 1e-12}
    supports = [probabilities[int(mask)] for mask in consensus.cluster_masks()][oracle.n :]
    np.testing.assert_allclose(consensus.support[oracle.n :], supports, atol=problem.tolerance)
    if problem.case.oracle.count < len(oracle.hierarchies):  # the model forbids some on its own account
        return
    scores = [oracle.expected_correct(oracle.clusters[i]) for i in problem.inside()]
    centroid = post.centroid()
    assert oracle.log_potential(as_splits(centroid)) > -np.inf
    score = oracle.expected_correct(clusters_of(as_splits(centroid), oracle.n))
    assert score == pytest.approx(max(scores), abs=10 * problem.tolerance)


@settings(max_examples=30)
@given(problem=problems(max_leaves=5))
def test_expected_lca_size_matches_enumeration(problem):
    found = problem.post.expected_lca_size()
    for i, j in itertools.combinations(range(problem.oracle.n), 2):
        assert found[i, j] == found[j, i] == pytest.approx(problem.oracle.lca_size(i, j), abs=10 * problem.tolerance)
    np.testing.assert_array_equal(np.diag(found), 1.0)


@settings(max_examples=60)
@given(problem=problems(max_leaves=5), data=st.data())
def test_conditions_match_enumeration_of_what_is_left(problem, data):
    post, oracle = problem.post, problem.oracle
    # Mostly clusters of the trellis, or nothing would be left.
    known = st.sampled_from([mask_of(c) for h in problem.sample for c in h.clusters()])
    masks = st.sets(known | st.integers(1, oracle.root), max_size=2)
    require, forbid = data.draw(masks), data.draw(masks)
    left = oracle.conditioned(list(require), list(forbid))
    try:
        given_that = post.condition([members(m) for m in require], [members(m) for m in forbid])
    except ImpossibleData:
        assert left.log_z == -np.inf
        return
    assert given_that.log_partition == pytest.approx(left.log_z, rel=1e-12, abs=1e-9)
    assert given_that.count == left.count
    if left.log_z == -np.inf:
        with pytest.raises(ImpossibleData):
            given_that.map()
        return
    expected = [left.cluster_probability(mask) for mask in range(1, 1 << oracle.n)]
    np.testing.assert_allclose(all_probabilities(given_that), expected, atol=problem.tolerance)
    assert given_that.entropy == pytest.approx(left.entropy, abs=10 * problem.tolerance)
    for h in (given_that.map(), given_that.centroid(), given_that.sample(1, rng=0)[0]):
        clusters = clusters_of(as_splits(h), oracle.n)
        assert clusters >= require
        assert not clusters & forbid


@settings(max_examples=60)
@given(n=st.integers(2, 5), data=st.data())
def test_divergences_match_enumeration(n, data):
    one, two = (data.draw(problems(max_leaves=n).filter(lambda p: p.oracle.n == n)) for _ in range(2))
    tolerance = 1e-8 + 1e-13 * (one.case.scale + two.case.scale)
    full = HierarchyPosterior(two.case.model)
    for post, other, p, q in [
        (one.post, two.post, one.oracle, two.oracle),
        (one.post, full, one.oracle, two.case.oracle),
        (full, one.post, two.case.oracle, one.oracle),
        (one.post, one.post, one.oracle, one.oracle),
    ]:
        underflow = (p.p == 0.0) & (p.log_potentials > -np.inf)  # below the range of float64 the two disagree
        if p.log_z > -np.inf and q.log_z > -np.inf and not underflow.any():
            assert post.kl(other) == pytest.approx(p.kl(q), rel=1e-9, abs=tolerance)


@settings(max_examples=50)
@given(problem=problems())
def test_what_a_trellis_holds_is_a_part_of_everything(problem):
    post = problem.post
    full = HierarchyPosterior(problem.case.model)
    closed = HierarchyPosterior(post.model, trellis=SparseTrellis.from_hierarchies(problem.sample, closed=True))
    assert post.log_partition <= closed.log_partition + problem.tolerance
    assert closed.log_partition <= full.log_partition + problem.tolerance
    assert post.count <= closed.count <= full.count
    for h in problem.sample:
        assert post.log_prob(h) >= full.log_prob(h) - problem.tolerance


# Hierarchies and clusters that are not in the trellis.


@pytest.fixture
def chosen():
    """Four leaves; the trellis holds ((a,b),c),d), ((a,b),(c,d)) and no more."""
    sample = [Hierarchy.from_newick(text) for text in ["(((a,b),c),d);", "((a,b),(c,d));"]]
    model = SumOfSquares([[0.0], [1.0], [3.0], [3.5]], 0.5, labels=list("abcd"))
    return HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(sample))


STRANGER = Hierarchy.from_newick("((a,b),(c,d));"), Hierarchy.from_newick("(a,(b,(c,d)));")


def test_a_hierarchy_that_is_not_in_the_trellis_is_impossible(chosen):
    inside, outside = STRANGER
    assert chosen.log_prob(inside) > -1.0
    assert chosen.log_potential(outside) == -np.inf
    assert chosen.log_prob(outside) == -np.inf
    assert chosen.rank(outside) == pal.Estimate(chosen.count + 1, "exact")
    assert chosen.credible_level(outside) == pal.Estimate(1.0, "exact")


@settings(max_examples=40)
@given(problem=problems(max_leaves=5))
def test_the_probabilities_of_all_hierarchies_match_enumeration(problem):
    post, oracle = problem.post, problem.oracle
    found = [post.log_prob(as_hierarchy(h, oracle.n)) for h in oracle.hierarchies]
    np.testing.assert_allclose(found, oracle.log_potentials - oracle.log_z, atol=problem.tolerance)


def test_clusters_that_are_not_in_the_trellis_have_probability_zero(chosen):
    assert chosen.cluster_probability(["a", "c"]) == 0.0
    assert chosen.subtree_probability(Hierarchy.from_newick("(a,c);")) == 0.0
    assert chosen.subtree_probability(Hierarchy.from_newick("((a,c),b);")) == 0.0
    assert chosen.cluster_probability(["a"]) == chosen.cluster_probability(range(4)) == 1.0
    assert chosen.subtree_probability(Hierarchy.from_nested("a")) == 1.0
    assert chosen.subtree_probability(Hierarchy.from_newick("(b,a);")) == 1.0
    with pytest.raises(ValueError, match=r"the cluster \['a', 'c'\] cannot occur"):
        chosen.split_probabilities(["a", "c"])
    with pytest.raises(TypeError, match="for the full trellis; ask cluster_probabilities"):
        chosen.cluster_probability_array()


def test_requiring_a_cluster_that_is_not_in_the_trellis_is_impossible(chosen):
    given_that = chosen.condition(require=[["a", "c"]])
    assert given_that.log_partition == -np.inf
    assert given_that.count == 0
    verbs = ["map", "consensus", "centroid", "expected_lca_size", "cluster_probabilities"]
    for verb in [*(getattr(given_that, name) for name in verbs), lambda: given_that.best(1)]:
        with pytest.raises(ImpossibleData, match="given 1 required and 0 forbidden clusters"):
            verb()
    for verb in [lambda: given_that.entropy, lambda: given_that.sample(3), lambda: given_that.log_prob(STRANGER[0])]:
        with pytest.raises(ImpossibleData, match="every hierarchy over these 4 leaves has probability zero"):
            verb()


def test_conditions_add_up_and_keep_the_trellis(chosen):
    rest = chosen.condition(forbid=[["c", "d"]])
    assert rest.count == 1
    assert rest.map() == Hierarchy.from_newick("(((a,b),c),d);")
    assert rest.entropy == 0.0
    assert rest.condition(forbid=[["a", "b", "c"]]).log_partition == -np.inf
    assert chosen.count == 2
    log_p = rest.log_partition - chosen.log_partition
    assert np.exp(log_p) == pytest.approx(chosen.cluster_probability(["a", "b", "c"]))
    with pytest.raises(ImpossibleData, match="overlap"):
        chosen.condition(require=[["a", "b"], ["b", "c"]])


def test_a_divergence_is_infinite_where_the_other_trellis_holds_less(chosen):
    one = HierarchyPosterior(chosen.model, trellis=SparseTrellis.from_hierarchies([STRANGER[0]]))
    full = HierarchyPosterior(chosen.model)
    assert one.kl(chosen) == pytest.approx(-chosen.log_prob(STRANGER[0]))
    assert chosen.kl(one) == full.kl(chosen) == np.inf
    assert chosen.kl(full) == pytest.approx(full.log_partition - chosen.log_partition)
    with pytest.raises(ValueError, match="different leaves"):
        chosen.kl(HierarchyPosterior(Uniform(4)))


# Names of leaves, sizes, and what is asked wrongly.


@settings(max_examples=20)
@given(problem=problems(kinds="ds", max_leaves=6), seed=st.integers(0, 99), closed=st.booleans())
def test_model_and_trellis_may_number_the_leaves_differently(problem, seed, closed):
    n = problem.oracle.n
    rng = np.random.default_rng(seed)
    mixed = [h.aligned_to([str(i) for i in rng.permutation(n)]) for h in problem.sample]
    model = problem.case.model
    same, other = (
        HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(sample, closed=closed))
        for sample in (problem.sample, mixed)
    )
    assert other.labels == model.labels
    assert other.log_partition == same.log_partition
    assert all_probabilities(other) == all_probabilities(same)
    assert other.map() == same.map()
    assert [h for h, _ in other.best(5)] == [h for h, _ in same.best(5)]
    np.testing.assert_array_equal(other.sample(20, rng=1).splits, same.sample(20, rng=1).splits)
    for h in mixed:
        assert other.log_prob(h) == same.log_prob(h)


@settings(max_examples=20)
@given(problem=problems())
def test_duplicates_of_hierarchies_change_nothing(problem):
    again = SparseTrellis.from_hierarchies(problem.sample * 3, closed=problem.post.trellis.is_closed)
    twice = HierarchyPosterior(problem.post.model, trellis=again)
    assert twice.log_partition == problem.post.log_partition
    assert twice.entropy == problem.post.entropy


@pytest.mark.parametrize("make", [caterpillar, None], ids=["caterpillar", "random"])
@pytest.mark.parametrize("n", [2, 3, 64, 200])
def test_one_hierarchy_is_certain(make, n):
    h = caterpillar(n) if make else some_hierarchies(n, 1, seed=n)[0]
    model = SumOfSquares(np.random.default_rng(n).normal(size=(n, 2)), 0.1)
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies([h, h]))
    assert post.log_partition == pytest.approx(model.log_potential(h), rel=1e-12)
    assert post.count == 1
    assert post.entropy == 0.0
    assert post.map() == post.consensus() == post.centroid() == post.sample(2, rng=0)[1] == h
    assert [x for x, _ in post.best(5)] == [h]
    assert post.log_prob(h) == pytest.approx(0.0, abs=1e-9)
    assert all(post.cluster_probability(c) == 1.0 for c in h.clusters()[:: 1 + n // 10])
    np.testing.assert_allclose(post.expected_lca_size()[0], [h.sizes[lca(h, 0, j)] for j in range(n)])


def lca(h, i, j):
    above = {i}
    while h.parents[i] >= 0:
        above.add(i := int(h.parents[i]))
    while j not in above:
        j = int(h.parents[j])
    return j


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_problems_answer_everything(n):
    post = HierarchyPosterior(Uniform(n), trellis=complete(n))
    assert post.log_partition == pytest.approx(np.log([1, 1, 3][n - 1]))
    assert post.count == [1, 1, 3][n - 1]
    assert post.entropy == pytest.approx(np.log(post.count))
    assert post.map().n_leaves == post.consensus().n_leaves == post.centroid().n_leaves == n
    assert len(post.best(10)) == post.count
    draws = post.sample(4, rng=0)
    assert len(draws) == len(list(draws)) == 4
    assert draws.masks.shape == draws.splits.shape == (4, n - 1)
    assert draws.map().n_leaves == draws.consensus().n_leaves == n
    assert sum(count for _, count in draws.counts()) == 4
    assert post.expected_lca_size().shape == (n, n)
    assert post.kl(post) == post.kl(HierarchyPosterior(Uniform(n))) == 0.0
    assert post.log_prob(post.map()) == pytest.approx(-np.log(post.count))
    assert post.rank(post.map()).value == 1
    assert post.cluster_probability([0]) == 1.0
    assert len(post.cluster_probabilities(0.0)) == [0, 0, 3][n - 1]


def test_a_posterior_travels_without_its_tables(chosen):
    given_that = chosen.condition(forbid=[["c", "d"]])
    for post in (chosen, given_that):
        twin = pickle.loads(pickle.dumps(post))
        assert twin.log_partition == post.log_partition
        assert twin.map() == post.map()
        assert twin.count == post.count
        before = post.entropy
        post.clear()
        assert post.entropy == before
    assert "trellis=SparseTrellis(<4 leaves, 8 clusters, 5 splits, observed splits>)" in repr(chosen)


def test_wrong_trellises_are_refused(chosen):
    with pytest.raises(TypeError, match="trellis must be a SparseTrellis or None"):
        HierarchyPosterior(Uniform(4), trellis=STRANGER[0])
    with pytest.raises(ValueError, match="labels do not match"):
        HierarchyPosterior(Uniform(4), trellis=chosen._sparse)
    with pytest.raises(ValueError, match="labels do not match"):
        HierarchyPosterior(Uniform(5), trellis=complete(4))
    with pytest.raises(ValueError, match="threads is 0"):
        HierarchyPosterior(Uniform(4), trellis=complete(4), threads=0)


def test_a_subtree_with_a_strange_leaf_is_refused(chosen):
    with pytest.raises(ValueError, match="'z'"):
        chosen.subtree_probability(Hierarchy.from_newick("(a,z);"))


def test_memory_is_refused_beforehand():
    with pytest.raises(pal.TrellisTooLarge):
        HierarchyPosterior(Uniform(4), trellis=complete(4), max_memory=100)
    post = HierarchyPosterior(Uniform(4), trellis=complete(4), max_memory=10_000)
    assert 0 < post.memory_needed < 10_000
    assert post.log_partition == pytest.approx(np.log(15))


def test_an_impossible_trellis_says_so():
    model = SplitFunction(3, lambda left, right: np.where(left == 0b011, -np.inf, 0.0))
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies([Hierarchy.from_newick("((0,1),2);")]))
    assert post.log_partition == -np.inf
    assert post.count == 0
    with pytest.raises(ImpossibleData, match="every hierarchy over these 3 leaves has probability zero"):
        post.map()


@pytest.mark.parametrize("n", [62, 63])
def test_split_functions_see_masks_of_up_to_sixty_three_leaves(n):
    h = caterpillar(n)
    post = HierarchyPosterior(
        SplitFunction(n, lambda left, right: -1.0 * np.bitwise_count(left) - 2.0 * np.bitwise_count(right)),
        trellis=SparseTrellis.from_hierarchies([h]),
    )
    assert post.log_partition == -sum(range(1, n)) - 2.0 * (n - 1)


@pytest.mark.parametrize("n", [64, 70])
def test_split_functions_of_more_leaves_are_refused(n):
    model = SplitFunction(n, lambda left, right: np.zeros(len(left)))
    with pytest.raises(ValueError, match=r"6[23] leaves"):
        HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies([caterpillar(n)])).map()


# Draws.


@pytest.fixture(scope="module")
def sampled():
    labels = ["ant", "bee", "cat", "dog", "eel", "fox"]
    sample = [Hierarchy.from_parents(h.parents, labels) for h in some_hierarchies(6, 6, seed=11)]
    model = SumOfSquares(np.random.default_rng(2).normal(size=(6, 2)), 0.2, labels=labels)
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(sample))
    return post, post.sample(400, rng=3)


def test_draws_are_hierarchies_of_the_trellis(sampled):
    post, draws = sampled
    trellis = post.trellis
    assert len(draws) == len(list(draws)) == 400
    assert draws.splits.shape == draws.masks.shape == (400, 5)
    for h, splits, masks in zip(draws, draws.splits, draws.masks.tolist(), strict=True):
        assert h.labels == post.labels
        assert trellis.holds(h)
        assert sorted(trellis.find_hierarchy(h)) == splits.tolist()
        assert masks == sorted(m for m in h.cluster_masks().tolist() if m & (m - 1))
    np.testing.assert_allclose(draws.log_probs, [post.log_prob(h) for h in draws], atol=1e-12)
    for array in (draws.splits, draws.log_probs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_draws_answer_by_shares(sampled):
    post, draws = sampled
    assert dict(draws.counts()) == Counter(draws)
    counts = [count for _, count in draws.counts()]
    assert counts == sorted(counts, reverse=True)
    found = Counter(itertools.chain(*(h.clusters() for h in draws)))
    for mask in range(1, 1 << 6):
        cluster = frozenset(members(mask))
        assert draws.cluster_probability(cluster) == pytest.approx(found[cluster] / 400)
    rows = draws.cluster_probabilities(0.05)
    shares = [row.probability for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) >= 0.05
    assert all(draws.cluster_probability(row.members) == row.probability and 1 < row.size < 6 for row in rows)
    assert set(draws.consensus().clusters()) == {c for c, count in found.items() if count > 200}
    assert draws.map() == post.map()
    assert draws.cluster_probability(["fox"]) == 1.0


def test_a_slice_of_draws_is_draws(sampled):
    _, draws = sampled
    part = draws[10:50:2]
    assert isinstance(part, Draws)
    assert list(part) == list(draws)[10:50:2]
    np.testing.assert_array_equal(part.splits, draws.splits[10:50:2])
    assert draws[-1] == draws[399]
    with pytest.raises(IndexError):
        draws[400]
    with pytest.raises(ValueError, match="there are no draws"):
        draws[:0].consensus()
    with pytest.raises(ValueError, match="full trellis, which does not number its splits"):
        _ = HierarchyPosterior(Uniform(3)).sample(1, rng=0).splits


def test_draws_depend_on_their_seed_and_number_only():
    n = 40
    model = SumOfSquares(np.random.default_rng(0).normal(size=(n, 2)), 0.05)
    trellis = SparseTrellis.from_hierarchies(some_hierarchies(n, 10, seed=0), closed=True)
    posts = [HierarchyPosterior(model, trellis=trellis, threads=threads) for threads in (1, 2, 3)]
    one, *others = (post.sample(3000, rng=11) for post in posts)
    assert len(np.unique(one.splits, axis=0)) > 10
    for other in others:
        np.testing.assert_array_equal(one.splits, other.splits)
        np.testing.assert_array_equal(one.log_probs, other.log_probs)
    np.testing.assert_array_equal(posts[1].sample(100, rng=11).splits, one.splits[:100])
    np.testing.assert_array_equal(posts[0].sample(9, rng=np.random.default_rng(11)).splits, one.splits[:9])
    assert not np.array_equal(posts[0].sample(100, rng=12).splits, one.splits[:100])


# Many leaves: a small problem in which every leaf has become a group of leaves.


class Blown(NamedTuple):
    """Leaf i of the small problem is groups[i] of the large one, a caterpillar of log potential 0."""

    small: HierarchyPosterior
    large: HierarchyPosterior
    groups: list[list[int]]

    def leaves(self, mask):
        return [leaf for i in members(mask) for leaf in self.groups[i]]

    def hierarchy(self, h):
        return _blown(h, self.groups)


def _blown(h, groups):
    chain = lambda leaves: functools.reduce(lambda a, b: (a, b), leaves)  # noqa: E731
    inner = lambda nested: chain(groups[int(nested)]) if isinstance(nested, str) else tuple(map(inner, nested))  # noqa: E731
    return Hierarchy.from_nested(inner(h.to_nested()), names(sum(map(len, groups))))


def blown(seed, n_large, closed, n=5):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, n_large), n - 1, replace=False))
    groups = [part.tolist() for part in np.split(rng.permutation(n_large), cuts)]
    group_of = np.empty(n_large, int)
    for i, group in enumerate(groups):
        group_of[group] = i
    sample = some_hierarchies(n, 5, seed)
    table: dict[frozenset[int], float] = {}

    def log_psi(trellis, group_of):
        sides = [
            [mask_of(set(group_of[list(trellis.members(c))])) for c in side] for side in (trellis.left, trellis.right)
        ]
        keys = [frozenset(pair) for pair in zip(*sides, strict=True)]
        return np.array([0.0 if len(key) == 1 else table.setdefault(key, float(rng.normal())) for key in keys])

    posts = []
    for hierarchies, where in ((sample, np.arange(n)), ([_blown(h, groups) for h in sample], group_of)):
        trellis = SparseTrellis.from_hierarchies(hierarchies, closed=closed)
        posts.append(HierarchyPosterior(ConditionalClusters(trellis, log_psi(trellis, where)), trellis=trellis))
    return Blown(*posts, groups)


many_leaves = pytest.mark.parametrize(("n", "closed"), [(63, False), (64, True), (65, False), (90, True), (150, False)])


@many_leaves
def test_many_leaves_give_the_numbers_of_the_small_problem(n, closed):
    problem = blown(n, n, closed)
    small, large = problem.small, problem.large
    assert large.count == small.count > 1
    assert large.log_partition == pytest.approx(small.log_partition, abs=1e-12)
    assert large.entropy == pytest.approx(small.entropy, abs=1e-12)
    for mask in range(1, 1 << small.n_leaves):
        expected = small.cluster_probability(members(mask))
        assert large.cluster_probability(problem.leaves(mask)) == pytest.approx(expected, abs=1e-12)
    mine = table(small.split_probabilities(range(small.n_leaves)))
    theirs = {mask_of(row.left): row.probability for row in large.split_probabilities(range(n))}
    for (left, right), p in mine.items():
        sides = [mask_of(problem.leaves(mask_of(side))) for side in (left, right)]
        assert theirs[min(sides, key=lambda m: m & -m)] == pytest.approx(p)


@many_leaves
def test_many_leaves_give_the_hierarchies_of_the_small_problem(n, closed):
    problem = blown(n, n, closed)
    small, large = problem.small, problem.large
    assert large.map() == problem.hierarchy(small.map())
    for (mine, p), (theirs, q) in zip(small.best(10), large.best(10), strict=True):
        assert theirs == problem.hierarchy(mine)
        assert q == pytest.approx(p, abs=1e-12)
        assert large.log_prob(theirs) == pytest.approx(p, abs=1e-12)
        assert large.rank(theirs) == small.rank(mine)
        assert large.credible_level(theirs).value == pytest.approx(small.credible_level(mine).value)
    inner = {frozenset(problem.leaves(mask_of(c))) for c in small.consensus().clusters()}
    chains = {frozenset(group[:k]) for group in problem.groups for k in range(1, len(group) + 1)}
    assert set(large.consensus().clusters()) == inner | chains | {frozenset([leaf]) for leaf in range(n)}
    draws = large.sample(2000, rng=1)
    for mask in range(1, 1 << small.n_leaves):
        p = small.cluster_probability(members(mask))
        assert abs(draws.cluster_probability(problem.leaves(mask)) - p) <= 5 * np.sqrt(p * (1 - p) / 2000) + 1e-9
    assert draws.map() == large.map()
    with pytest.raises(ValueError, match="bit masks hold at most 62 leaves"):
        _ = draws.masks


@many_leaves
def test_many_leaves_under_conditions_are_the_small_problem_under_conditions(n, closed):
    problem = blown(n, n, closed)
    row = next(row for row in problem.small.cluster_probabilities(0.0) if 0.0 < row.probability < 1.0)
    mask = mask_of(row.members)
    for verb in ("require", "forbid"):
        small = problem.small.condition(**{verb: [members(mask)]})
        large = problem.large.condition(**{verb: [problem.leaves(mask)]})
        assert large.log_partition == pytest.approx(small.log_partition, abs=1e-12)
        assert large.count == small.count
        assert large.map() == problem.hierarchy(small.map())
        assert large.kl(problem.large) == pytest.approx(small.kl(problem.small), abs=1e-12)
        assert problem.large.kl(large) == problem.small.kl(small) == np.inf


def random_hierarchy(n, rng):
    free, rows = list(range(n)), []
    for i in range(n - 1):
        rows.append([free.pop(rng.integers(len(free))) for _ in range(2)])
        free.append(n + i)
    return Hierarchy.from_merges(rows)


def test_two_thousand_leaves():
    n = 2000
    rng = np.random.default_rng(0)
    sample = [random_hierarchy(n, rng) for _ in range(5)]
    trellis = SparseTrellis.from_hierarchies(sample)
    assert all(trellis.holds(h) for h in sample)
    assert trellis.n_clusters <= n + 5 * (n - 1)
    model = SumOfSquares(rng.normal(size=(n, 2)), 0.01)
    post = HierarchyPosterior(model, trellis=trellis)
    inputs = max(model.log_potential(h) for h in sample)
    assert model.log_potential(post.map()) >= inputs - 1e-9 * abs(inputs)
    assert post.log_partition >= inputs - 1e-9 * abs(inputs)
    best = post.best(3)
    assert 0.0 >= best[0][1] >= best[1][1] >= best[2][1]
    draws = post.sample(5, rng=1)
    assert all(trellis.holds(h) for h in draws)
    assert post.consensus().n_leaves == n


@pytest.mark.slow
def test_two_thousand_leaves_as_deep_as_they_can_be():
    n = 2000
    rng = np.random.default_rng(0)
    order = [str(i) for i in rng.permutation(n)]
    sample = [caterpillar(n), caterpillar(n, order), random_hierarchy(n, rng)]
    post = HierarchyPosterior(
        SumOfSquares(rng.normal(size=(n, 2)), 0.01), trellis=SparseTrellis.from_hierarchies(sample)
    )
    assert post.count >= 3
    assert len(post.best(3)) == 3
    assert post.sample(2, rng=0)[1].n_leaves == post.consensus().n_leaves == post.centroid().n_leaves == n
    assert post.expected_lca_size().max() == n


def test_a_pairwise_model_on_two_hundred_leaves():
    n = 200
    rng = np.random.default_rng(1)
    w = np.triu(rng.random((n, n)), 1)
    model = Dasgupta(w + w.T, 1e-4)
    sample = [caterpillar(n), *some_hierarchies(n, 4, seed=1)]
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(sample, closed=True))
    for h, p in post.best(5):
        assert model.log_potential(h) - post.log_partition == pytest.approx(p, rel=1e-9, abs=1e-9)
    assert model.log_potential(post.map()) >= max(model.log_potential(h) for h in sample) - 1e-9
