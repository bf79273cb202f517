"""Every verb of HierarchyPosterior against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import oracle as formulas
import pytest
from cases import Case, cases
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Oracle, clusters_of, members, splits_of

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, ImpossibleData
from palmette.models import Dasgupta, Uniform
from palmette.passes.hierarchies import full
from palmette.passes.hierarchies.protocol import Normalised


@pytest.fixture(params=["serial", pytest.param("by level", marks=pytest.mark.slow)], autouse=True)
def path(request, monkeypatch):
    """Small problems take one serial kernel, large ones go level by level; here small ones go both ways.

    The two are different kernels for log Z and log M. All else is read from these, by the same kernels.
    """
    if request.param == "by level":
        monkeypatch.setattr(full, "SERIAL", 0)
    return request.param


both_ways = pytest.mark.parametrize("path", ["serial", "by level"], indirect=True)


def possible(case: Case) -> tuple[HierarchyPosterior, Oracle]:
    assume(case.oracle.log_z > -np.inf)
    return HierarchyPosterior(case.model), case.oracle


def as_splits(hierarchy: Hierarchy) -> frozenset[tuple[int, int]]:
    mask = lambda cluster: sum(1 << i for i in cluster)  # noqa: E731
    return frozenset((mask(left), mask(right)) for left, right in hierarchy.splits())


def as_hierarchy(splits, labels) -> Hierarchy:
    if not splits:
        return Hierarchy.from_clusters([[0]], n=1)
    return Hierarchy.from_splits([(members(left), members(right)) for left, right in splits], labels)


@both_ways
@given(case=cases(max_leaves=6))
def test_log_partition_and_count_match_enumeration(case):
    post = HierarchyPosterior(case.model)
    assert post.log_partition == pytest.approx(case.oracle.log_z, rel=1e-12, abs=1e-10)
    assert post.count == case.oracle.count


@both_ways
@given(case=cases(max_leaves=6))
def test_map_reaches_the_largest_log_potential(case):
    post, oracle = possible(case)
    best = post.map()
    assert oracle.log_potential(as_splits(best)) == pytest.approx(oracle.log_potentials.max(), rel=1e-12, abs=1e-10)
    assert post.log_potential(best) == pytest.approx(oracle.log_potentials.max(), rel=1e-12, abs=1e-10)


@both_ways
@given(case=cases())
def test_all_cluster_probabilities_match_enumeration(case):
    post, oracle = possible(case)
    found = post.cluster_probability_array()
    expected = [0.0] + [oracle.cluster_probability(mask) for mask in range(1, 1 << oracle.n)]
    np.testing.assert_allclose(found, expected, atol=max(1e-10, 10 * case.tolerance))
    assert found.min() >= 0.0
    assert found.max() <= 1.0


@given(case=cases(max_leaves=4), data=st.data())
def test_split_and_subtree_probabilities_match_enumeration(case, data):
    post, oracle = possible(case)
    mask = data.draw(st.sampled_from([m for m in range(1, 1 << oracle.n) if oracle.cluster_probability(m) > 1e-6]))
    tolerance = max(1e-9, 10 * case.tolerance / oracle.cluster_probability(mask))
    for row in post.split_probabilities(members(mask)):
        split = tuple(sum(1 << int(label) for label in side) for side in (row.left, row.right))
        assert row.probability == pytest.approx(oracle.split_probability(split), abs=tolerance)
    hierarchy = data.draw(st.sampled_from(oracle.hierarchies))
    inside = frozenset(split for split in hierarchy if (split[0] | split[1]) & mask == split[0] | split[1])
    if mask in clusters_of(hierarchy, oracle.n) and inside:
        nested = as_hierarchy(inside, None) if mask == oracle.root else _sub_hierarchy(inside, mask)
        assert post.subtree_probability(nested) == pytest.approx(
            oracle.subtree_probability(inside), abs=max(1e-9, 10 * case.tolerance)
        )


def _sub_hierarchy(splits, mask) -> Hierarchy:
    names = [str(i) for i in members(mask)]
    return Hierarchy.from_splits(
        [([str(i) for i in members(a)], [str(i) for i in members(b)]) for a, b in splits], names
    )


@given(case=cases())
def test_entropy_matches_enumeration(case):
    post, oracle = possible(case)
    assert post.entropy == pytest.approx(oracle.entropy, abs=max(1e-9, 100 * case.tolerance))


@pytest.mark.slow
@given(case=cases(kinds="l"))
def test_other_likelihoods_of_jets_match_enumeration(case):
    post, oracle = possible(case)
    assert post.log_partition == pytest.approx(oracle.log_z, rel=1e-12, abs=1e-10)
    assert post.count == oracle.count
    assert post.entropy == pytest.approx(oracle.entropy, abs=max(1e-9, 100 * case.tolerance))
    assert post.log_potential(post.map()) == pytest.approx(oracle.log_potentials.max(), rel=1e-12, abs=1e-10)
    expected = [0.0] + [oracle.cluster_probability(mask) for mask in range(1, 1 << oracle.n)]
    np.testing.assert_allclose(post.cluster_probability_array(), expected, atol=max(1e-10, 10 * case.tolerance))


# A kernel for every two kinds of models, the same both ways: separable ones and tables in every run, all at times.
@pytest.mark.parametrize("path", ["serial"], indirect=True)
@pytest.mark.parametrize("kinds", ["dcf", pytest.param("udcskhgft", marks=pytest.mark.slow)])
@given(n=st.integers(1, 5), data=st.data())
def test_kl_matches_enumeration(kinds, n, data):
    case, other_case = (data.draw(cases(n=n, kinds=kinds)) for _ in range(2))
    post, oracle = possible(case)
    other, other_oracle = possible(other_case)
    # Probabilities that float64 cannot hold are 0, also where the other forbids what has one.
    assume(not 0.0 < oracle.p[other_oracle.log_potentials == -np.inf].sum() < 1e-300)
    tolerance = 1e-9 + 1e-13 * (case.scale + other_case.scale)
    assert post.kl(other) == pytest.approx(oracle.kl(other_oracle), rel=1e-9, abs=tolerance)
    assert post.kl(post) == pytest.approx(0.0, abs=tolerance)


@pytest.mark.parametrize("betas", [(1.0, 3.0), (3.0, 1.0), (2.0, 0.0), (0.0, 2.0), (1.0, 1.0 + 1e-9), (500.0, 700.0)])
@pytest.mark.parametrize("n", [6, 13])
def test_kl_between_two_temperatures_is_that_of_a_walk(n, betas):
    w = np.random.default_rng(n).random((n, n))
    one, two = (HierarchyPosterior(Dasgupta(w + w.T, beta)) for beta in betas)
    walked = one.passes.divergence(one._inside, one.passes.outside(one._inside).mu, Normalised(two.passes, two._inside))
    assert one.kl(two) == pytest.approx(walked, rel=1e-8, abs=1e-12)
    assert one.condition(forbid=[[0, 1]]).kl(two) > 0.0  # another question: not between temperatures alone


@given(case=cases())
def test_expected_lca_size_matches_enumeration(case):
    post, oracle = possible(case)
    found = post.expected_lca_size()
    for i, j in itertools.combinations(range(oracle.n), 2):
        assert found[i, j] == pytest.approx(oracle.lca_size(i, j), abs=max(1e-8, 100 * case.tolerance))
    np.testing.assert_array_equal(np.diag(found), 1.0)


@given(case=cases())
def test_expected_lca_depth_matches_enumeration(case):
    post, oracle = possible(case)
    found = post.expected_lca_depth()
    for i, j in itertools.combinations_with_replacement(range(oracle.n), 2):
        pair = 1 << i | 1 << j
        depths = [sum(c & pair == pair for c in clusters) - 1 for clusters in oracle.clusters]
        assert found[i, j] == found[j, i] == pytest.approx(oracle.p @ depths, abs=max(1e-8, 100 * case.tolerance))


@given(case=cases(), data=st.data())
def test_the_support_of_a_hierarchy_is_the_probability_of_its_clusters(case, data):
    post, oracle = possible(case)
    given = as_hierarchy(data.draw(st.sampled_from(oracle.hierarchies)), None)
    order = data.draw(st.permutations(given.labels))
    supported = post.support(given.aligned_to(order))
    assert supported == given
    for cluster, support in zip(supported.clusters(), supported.support, strict=True):
        assert support == post.cluster_probability([supported.labels[leaf] for leaf in cluster])


@given(case=cases(), most=st.integers(1, 20))
def test_the_likeliest_splits_are_the_first_of_all_splits(case, most):
    post, oracle = possible(case)
    if oracle.n > 1:
        every = post.split_probabilities(range(oracle.n))
        assert list(post.split_probabilities(range(oracle.n), most=most)) == list(every[:most])


@both_ways
@given(case=cases(), k=st.integers(1, 120))
def test_k_best_matches_the_sorted_enumeration(case, k):
    post, oracle = possible(case)
    best = post.best(k)
    expected = np.sort(oracle.log_potentials[oracle.log_potentials > -np.inf])[::-1][:k] - oracle.log_z
    np.testing.assert_allclose([log_prob for _, log_prob in best], expected, atol=10 * case.tolerance)
    assert len({hierarchy for hierarchy, _ in best}) == len(best)
    for hierarchy, log_prob in best[:3]:
        assert post.log_prob(hierarchy) == pytest.approx(log_prob, abs=10 * case.tolerance)


@given(case=cases(max_leaves=4), data=st.data())
def test_rank_and_credible_level_match_enumeration(case, data):
    post, oracle = possible(case)
    i = data.draw(st.integers(0, len(oracle.hierarchies) - 1))
    better = oracle.log_potentials > oracle.log_potentials[i] + 1e-11 * max(1.0, case.scale)
    hierarchy = as_hierarchy(oracle.hierarchies[i], post.labels)
    assert post.rank(hierarchy) == pal.Estimate(better.sum() + 1, "exact")
    level = post.credible_level(hierarchy)
    assert level.kind == "exact"
    assert level.value == pytest.approx(oracle.p[better].sum(), abs=1e-8)


@both_ways
@given(case=cases(max_leaves=4), data=st.data())
def test_conditioning_matches_enumeration_of_what_is_left(case, data):
    post, oracle = possible(case)
    masks = st.sets(st.integers(1, oracle.root), max_size=2)
    require, forbid = data.draw(masks), data.draw(masks)
    left = oracle.conditioned(list(require), list(forbid))
    try:
        conditioned = post.condition([members(m) for m in require], [members(m) for m in forbid])
    except ImpossibleData:
        assert left.log_z == -np.inf
        return
    assert conditioned.log_partition == pytest.approx(left.log_z, rel=1e-12, abs=1e-9)
    assert conditioned.count == left.count
    if left.log_z > -np.inf:
        expected = [0.0] + [left.cluster_probability(mask) for mask in range(1, 1 << oracle.n)]
        np.testing.assert_allclose(
            conditioned.cluster_probability_array(), expected, atol=max(1e-10, 10 * case.tolerance)
        )
        assert all(clusters_of(as_splits(conditioned.map()), oracle.n) >= {m} for m in require)


@both_ways
@given(case=cases(max_leaves=5))
def test_centroid_has_the_most_expected_correct_clusters(case):
    post, oracle = possible(case)
    scores = [oracle.expected_correct(clusters) for clusters in oracle.clusters]
    found = oracle.expected_correct(clusters_of(as_splits(post.centroid()), oracle.n))
    assert found == pytest.approx(max(scores), abs=max(1e-9, 100 * case.tolerance))


@given(case=cases(max_leaves=5), threshold=st.sampled_from([0.5, 0.5, 0.7, 0.95]))
def test_consensus_holds_exactly_the_clusters_above_the_threshold(case, threshold):
    post, oracle = possible(case)
    probabilities = {mask: oracle.cluster_probability(mask) for mask in range(1, 1 << oracle.n)}
    assume(not any(0 < abs(p - threshold) < 1e-6 for p in probabilities.values()))
    found = {int(mask) for mask in post.consensus(threshold).cluster_masks()}
    assert found == {mask for mask, p in probabilities.items() if p > threshold + 1e-12}


def test_consensus_below_one_half_is_greedy_by_probability():
    w = np.array([[0, 3, 2, 0], [3, 0, 2, 0], [2, 2, 0, 1], [0, 0, 1, 0.0]])
    post = HierarchyPosterior(pal.models.Dasgupta(w, 0.4))
    chosen: list[int] = []
    for row in post.cluster_probabilities(0.0):
        mask = sum(1 << int(label) for label in row.members)
        if row.probability > 0.1 and all(mask & c in (0, mask, c) for c in chosen):
            chosen.append(mask)
    found = {int(mask) for mask in post.consensus(0.1).cluster_masks() if 1 < int(mask).bit_count() < 4}
    assert found == set(chosen)


@pytest.mark.parametrize(
    "contracted", [((0, 1), 2), ((1, 3), (2, 4)), (0, 4)], ids=["cluster of three", "cluster of four", "pair"]
)
def test_contracting_a_cluster_and_running_again_gives_the_marginal(contracted):
    """The papers' own way: replace a cluster (or a sub-hierarchy) by one leaf of weight Z (or φ)."""
    rng = np.random.default_rng(5)
    n, beta = 6, 0.7
    w = np.triu(rng.random((n, n)), 1)
    model = pal.models.Dasgupta(w + w.T, beta)
    post = HierarchyPosterior(model)
    subtree = Hierarchy.from_nested(_named(contracted))
    cluster = [int(label) for label in subtree.labels]
    groups = [cluster, *([i] for i in range(n) if i not in cluster)]

    def log_psi(left, right):
        left, right = ([i for g in side for i in groups[g]] for side in (left, right))
        return -beta * (len(left) + len(right)) * sum((w + w.T)[i, j] for i in left for j in right)

    rest = Oracle(len(groups), log_psi)
    inner = w + w.T
    inside = HierarchyPosterior(pal.models.SplitFunction(len(cluster), _inner_psi(inner, cluster, beta))).log_partition
    log_z = post.log_partition
    assert post.cluster_probability(cluster) == pytest.approx(np.exp(rest.log_z + inside - log_z), rel=1e-12)
    sub = _inner_psi(inner, cluster, beta)
    order = {str(leaf): i for i, leaf in enumerate(cluster)}
    phi = pal.models.SplitFunction(len(cluster), sub, labels=[str(i) for i in cluster]).log_potential(subtree)
    assert order
    assert post.subtree_probability(subtree) == pytest.approx(np.exp(rest.log_z + phi - log_z), rel=1e-12)


def _inner_psi(w, cluster, beta):
    def one(left, right):
        left, right = [cluster[i] for i in members(int(left))], [cluster[i] for i in members(int(right))]
        return -beta * (len(left) + len(right)) * sum(w[i, j] for i in left for j in right)

    return lambda left, right: [one(a, b) for a, b in zip(left, right, strict=True)]


def _named(nested):
    return str(nested) if isinstance(nested, int) else tuple(_named(part) for part in nested)


@both_ways
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_problems_answer_everything(n):
    post = HierarchyPosterior(Uniform(n))
    assert post.log_partition == pytest.approx(np.log([1, 1, 3][n - 1]))
    assert post.count == [1, 1, 3][n - 1]
    assert post.entropy == pytest.approx(np.log(post.count))
    assert post.map().n_leaves == n
    assert len(post.best(10)) == post.count
    assert len(post.sample(4, rng=0)) == 4
    assert post.sample(4, rng=0)[3].n_leaves == n
    assert post.consensus().n_leaves == post.centroid().n_leaves == n
    assert post.expected_lca_size().shape == (n, n)
    assert post.kl(post) == 0.0
    assert post.log_prob(post.map()) == pytest.approx(-np.log(post.count))
    assert post.rank(post.map()).value == 1
    assert post.cluster_probability([0]) == 1.0


def test_shares_of_draws_are_the_support_of_a_hierarchy():
    post = HierarchyPosterior(pal.models.SumOfSquares([[0.0], [1.0], [1.5], [5.0]], labels=list("abcd")))
    draws = post.sample(200, rng=0)
    shown = draws.support(Hierarchy.from_newick("((a,(c,b)),d);"))
    pair = draws.cluster_probability(["b", "c"])
    assert 0 < pair < 1
    assert shown.support.tolist() == [1.0, 1.0, 1.0, 1.0, pair, draws.cluster_probability(["a", "b", "c"]), 1.0]


def test_a_number_of_splits_that_is_none_is_refused():
    post = HierarchyPosterior(pal.models.Uniform(4))
    with pytest.raises(ValueError, match="most is 0; it must be at least 1"):
        post.split_probabilities(range(4), most=0)


def test_a_hierarchy_is_aligned_by_label_and_strangers_are_refused():
    x = [[0.0], [1.0], [5.0]]
    post = HierarchyPosterior(pal.models.SumOfSquares(x, labels=["a", "b", "c"]))
    same = Hierarchy.from_newick("(c,(b,a));")
    assert post.log_potential(same) == -0.5
    with pytest.raises(ValueError, match="labels do not match"):
        post.log_prob(Hierarchy.from_newick("((a,b),d);"))


@both_ways
def test_impossible_data_say_so():
    post = HierarchyPosterior(pal.models.SplitFunction(3, lambda left, right: np.full(len(left), -np.inf)))
    assert post.log_partition == -np.inf
    assert post.count == 0
    for verb in (post.map, post.consensus, post.centroid, lambda: post.sample(1), lambda: post.best(1)):
        with pytest.raises(ImpossibleData, match="every hierarchy over these 3 leaves has probability zero"):
            verb()


def test_conditions_that_no_hierarchy_meets_are_named():
    post = HierarchyPosterior(Uniform(4, labels=list("abcd")))
    with pytest.raises(ImpossibleData, match=r"\{'a', 'b'\} and \{'b', 'c'\} overlap"):
        post.condition(require=[["a", "b"], ["b", "c"]])
    with pytest.raises(ImpossibleData, match="both required and forbidden"):
        post.condition(require=[["a", "b"]], forbid=[[0, 1]])
    with pytest.raises(ImpossibleData, match="occurs in every hierarchy"):
        post.condition(forbid=[["a"]])


def test_a_condition_gives_log_probabilities_that_underflow():
    x = np.array([[0.0], [1.0], [50.0], [51.0]])
    post = HierarchyPosterior(pal.models.SumOfSquares(x))
    given = post.condition(require=[[0, 2]])
    log_p = given.log_partition - post.log_partition
    assert -3000 < log_p < -700
    assert post.cluster_probability([0, 2]) == 0.0


def test_tables_print_and_convert():
    x = [[0.0], [1.0], [5.0], [5.5]]
    post = HierarchyPosterior(pal.models.SumOfSquares(x, labels=["<b>", "x\ny", 'q"', "d"]))
    table = post.cluster_probabilities()
    assert table.columns == ("members", "size", "probability")
    assert table[0].members == ('q"', "d")
    frame = table.to_pandas()
    assert list(frame.columns) == list(table.columns)
    assert len(frame) == len(table)
    assert "<b>" not in table._repr_html_()
    assert "&lt;b&gt;" in table._repr_html_()
    assert len(repr(table).splitlines()) == len(table) + 1
    assert table[-1] == list(table)[-1]
    assert table[:2] == list(table)[:2]


@pytest.mark.parametrize(
    ("verb", "message"),
    [
        (lambda post: post.best(0), "k is 0"),
        (lambda post: post.sample(-1), "size is -1"),
        (lambda post: post.consensus(1.0), "threshold is 1.0"),
        (lambda post: post.cluster_probability([9]), "leaf 9 does not exist"),
        (lambda post: post.cluster_probability(["z"]), "no leaf is called 'z'"),
        (lambda post: post.cluster_probability([]), "cluster is empty"),
        (lambda post: post.rank(post.map(), limit=0), "limit is 0"),
        (lambda post: post.log_prob(Hierarchy.from_newick("(0,1,2);")), "three children or more"),
        (lambda post: post.subtree_probability(Hierarchy.from_newick("(0,1,2);")), "three children or more"),
        (lambda post: HierarchyPosterior(post.model, threads=0), "threads is 0"),
        (lambda post: post.kl(HierarchyPosterior(Uniform(4))), "different leaves"),
    ],
)
def test_bad_questions_are_answered_kindly(verb, message):
    with pytest.raises(ValueError, match=message):
        verb(HierarchyPosterior(Uniform(3)))


def test_a_cluster_that_is_no_collection_is_refused():
    with pytest.raises(TypeError, match="must be a collection"):
        HierarchyPosterior(Uniform(3)).cluster_probability("ab")
    with pytest.raises(TypeError, match="expected a model"):
        HierarchyPosterior(np.eye(3))


def test_rank_and_credible_level_beyond_the_limit_are_bound_and_estimate():
    post = HierarchyPosterior(pal.models.SumOfSquares(np.random.default_rng(2).random((7, 2)), 3.0))
    poor, _ = post.best(3000)[-1]
    assert post.rank(poor, limit=100) == pal.Estimate(101, "bound")
    exact = post.credible_level(poor)
    rough = post.credible_level(poor, limit=100, n_draws=4000, rng=3)
    assert exact.kind == "exact"
    assert rough.kind == "estimate"
    assert abs(rough.value - exact.value) < 4 * rough.standard_error


@both_ways
@pytest.mark.parametrize("kind", ["dasgupta", "correlation", "sum_of_squares"])
def test_seven_leaves_match_enumeration(kind):
    rng = np.random.default_rng(7)
    w = np.triu(rng.normal(size=(7, 7)), 1)
    w += w.T
    data = rng.normal(size=(7, 2)) if kind == "sum_of_squares" else w
    names = {"dasgupta": "Dasgupta", "correlation": "Correlation", "sum_of_squares": "SumOfSquares"}
    post = HierarchyPosterior(getattr(pal.models, names[kind])(data, 0.8))
    oracle = Oracle(7, getattr(formulas, kind)(data, 0.8))
    assert post.count == oracle.count == 10_395
    assert post.log_partition == pytest.approx(oracle.log_z, rel=1e-12)
    assert post.entropy == pytest.approx(oracle.entropy, rel=1e-10)
    assert post.log_potential(post.map()) == pytest.approx(oracle.log_potentials.max(), rel=1e-12)
    for row in post.cluster_probabilities(0.2):
        mask = sum(1 << int(label) for label in row.members)
        assert row.probability == pytest.approx(oracle.cluster_probability(mask), rel=1e-10)


def test_splits_of_the_oracle_are_all_of_them():
    assert len(list(splits_of(0b10111))) == 7


def test_expected_values_need_the_same_leaves_and_a_possible_hierarchy():
    posterior = HierarchyPosterior(Uniform(4, labels=list("abcd")))
    with pytest.raises(ValueError, match="other leaves than the posterior"):
        posterior.expected(Uniform(4, labels=list("dcba")))
    with pytest.raises(ValueError, match="returned nan"):
        posterior.expected(lambda left, right: np.full(len(left), np.nan))
    assert posterior.expected(lambda left, right: np.ones(len(left))) == pytest.approx(3.0)
    together = posterior.condition(require=[["a", "b"]])
    is_ab = lambda left, right: (left | right) == 0b11  # noqa: E731
    assert together.expected(is_ab) == pytest.approx(1.0)
    assert posterior.expected(is_ab) == pytest.approx(posterior.cluster_probability(["a", "b"]))
    assert HierarchyPosterior(Uniform(1)).expected(is_ab) == 0.0
