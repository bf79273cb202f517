"""Conditions on a sparse trellis, what it does not hold (impossible, infinitely far), and what is asked wrongly."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import clusters_of, members
from sparse_cases import all_probabilities, as_splits, complete, mask_of, problems

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, ImpossibleData, SparseTrellis
from palmette.models import SplitFunction, SumOfSquares, Uniform


@pytest.fixture
def chosen():
    """Four leaves; the trellis holds ((a,b),c),d), ((a,b),(c,d)) and no more."""
    sample = [Hierarchy.from_newick(text) for text in ["(((a,b),c),d);", "((a,b),(c,d));"]]
    model = SumOfSquares([[0.0], [1.0], [3.0], [3.5]], 0.5, labels=list("abcd"))
    return HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(sample))


STRANGER = Hierarchy.from_newick("((a,b),(c,d));"), Hierarchy.from_newick("(a,(b,(c,d)));")


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


def test_a_hierarchy_that_is_not_in_the_trellis_is_impossible(chosen):
    inside, outside = STRANGER
    assert chosen.log_prob(inside) > -1.0
    assert chosen.log_potential(outside) == -np.inf
    assert chosen.log_prob(outside) == -np.inf
    assert chosen.rank(outside) == pal.Estimate(chosen.count + 1, "exact")
    assert chosen.credible_level(outside) == pal.Estimate(1.0, "exact")


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
        HierarchyPosterior(Uniform(4), trellis=chosen.trellis)
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


def test_the_memory_that_was_allowed_holds_for_every_verb(monkeypatch):
    monkeypatch.setattr("palmette.passes.resources._default_memory", lambda: 100)
    post = HierarchyPosterior(Uniform(4), trellis=complete(4), max_memory=10_000)
    assert post.centroid().is_binary


def test_an_impossible_trellis_says_so():
    model = SplitFunction(3, lambda left, right: np.where(left == 0b011, -np.inf, 0.0))
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies([Hierarchy.from_newick("((0,1),2);")]))
    assert post.log_partition == -np.inf
    assert post.count == 0
    with pytest.raises(ImpossibleData, match="every hierarchy over these 3 leaves has probability zero"):
        post.map()
