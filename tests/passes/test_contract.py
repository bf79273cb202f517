"""Every kind of passes answers the same questions in the same way: one contract, run on each that there is."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from oracle import Oracle, dasgupta, members
from partition_oracle import PartitionOracle, mask_of, meets

from palmette import Hierarchy, Partition, PartitionTrellis, SparseTrellis
from palmette.models import CorrelationClusters, Dasgupta, SplitFunction
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.hierarchies.listed import ListedHierarchyPasses
from palmette.passes.hierarchies.protocol import HierarchyPasses, Normalised
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.counted import CountedPartitionPasses
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.passes.partitions.protocol import Normalised as NormalisedPartitions
from palmette.passes.partitions.protocol import PartitionPasses
from palmette.passes.partitions.sparse import SparsePartitionPasses
from palmette.trellis.bit_sets import as_words

N = 5
LABELS = tuple("abcde")
K = 3
RNG = np.random.default_rng(4)
W, OTHER_W = (np.triu(RNG.normal(size=(N, N)), 1) for _ in range(2))
W, OTHER_W = W + W.T, OTHER_W + OTHER_W.T


def all_kinds(protocol):
    found = set()
    for kind in protocol.__subclasses__():
        found |= {kind} | all_kinds(kind)
    return {kind for kind in found if not inspect.isabstract(kind)}


# Hierarchies.


def some_of(n):
    """A third of the clusters, and what is needed to make hierarchies of them."""
    given = ["((((a,b),c),d),e);", "((a,b),((c,d),e));", "((a,(b,c)),(d,e));", "(((a,b),(d,e)),c);"]
    return SparseTrellis.from_hierarchies(map(Hierarchy.from_newick, given), closed=True)


GIVEN = HierarchyConditions(LABELS).and_also(require=[[0, 1]], forbid=[[3, 4]])

HIERARCHIES = {
    "full": (FullHierarchyPasses, lambda model: FullHierarchyPasses(model)),
    "full, given": (FullHierarchyPasses, lambda model: FullHierarchyPasses(model, GIVEN)),
    "listed": (ListedHierarchyPasses, lambda model: ListedHierarchyPasses(model)),
    "listed, given": (ListedHierarchyPasses, lambda model: ListedHierarchyPasses(model, GIVEN)),
    "sparse, all clusters": (
        SparseHierarchyPasses,
        lambda model: SparseHierarchyPasses(model, SparseTrellis.from_clusters(every_cluster(), LABELS)),
    ),
    "sparse": (SparseHierarchyPasses, lambda model: SparseHierarchyPasses(model, some_of(N))),
    "sparse, given": (SparseHierarchyPasses, lambda model: SparseHierarchyPasses(model, some_of(N), GIVEN)),
}


def every_cluster():
    return [members(mask) for mask in range(1, 1 << N)]


def oracle_of(passes, w=W):
    there = set(range(1 << N) if passes.trellis is None else passes.trellis.masks)
    given = bool(passes._conditions)
    return Oracle(N, dasgupta(w, 0.3), lambda cs: cs <= there and not (given and (0b00011 not in cs or 0b11000 in cs)))


@pytest.fixture(params=HIERARCHIES)
def hierarchies(request):
    return HIERARCHIES[request.param][1](Dasgupta(W, 0.3, labels=LABELS))


def test_every_kind_of_passes_over_hierarchies_is_held_to_the_contract():
    assert {kind for kind, _ in HIERARCHIES.values()} == all_kinds(HierarchyPasses)


def test_clusters_of_hierarchies_go_by_numbers(hierarchies):
    for number, size in enumerate(hierarchies.sizes):
        if size:
            mask = hierarchies.mask_of(number)
            assert hierarchies.number(mask) == number
            assert mask.bit_count() == size
    assert hierarchies.mask_of(hierarchies.root) == (1 << N) - 1
    assert hierarchies.n == N
    assert hierarchies.memory_needed > 0


def test_sums_maxima_and_probabilities_over_hierarchies(hierarchies):
    oracle = oracle_of(hierarchies)
    Z, M = hierarchies.inside(), hierarchies.maximum()
    mu = hierarchies.outside(Z).mu
    assert not any(table.flags.writeable for table in (Z, M, mu))
    assert Z[hierarchies.root] == pytest.approx(oracle.log_z, rel=1e-12)
    assert M[hierarchies.root] == pytest.approx(oracle.log_potentials.max(), rel=1e-12)
    for number, size in enumerate(hierarchies.sizes):
        if size:
            assert mu[number] == pytest.approx(oracle.cluster_probability(hierarchies.mask_of(number)), abs=1e-12)
    best = int(np.argmax(oracle.log_potentials))
    expected = {mask for mask in oracle.clusters[best] if mask.bit_count() > 1}
    assert set(hierarchies.best_masks(M)) == expected
    assert hierarchies.count() == oracle.count


def test_splits_add_up_to_their_cluster(hierarchies):
    Z = hierarchies.inside()
    for number, size in enumerate(hierarchies.sizes):
        if size < 2 or Z[number] == -math.inf:
            continue
        left, right, values = hierarchies.splits(number, Z)
        assert np.logaddexp.reduce(values) == pytest.approx(Z[number], rel=1e-12)
        one, two = ([hierarchies.mask_of(int(part)) for part in side] for side in (left, right))
        assert one == sorted(one, key=lambda mask: hierarchies.number(mask))
        assert all(a & -a < b & -b and a | b == hierarchies.mask_of(number) for a, b in zip(one, two, strict=True))
        some = np.flatnonzero((Z[left] > -math.inf) & (Z[right] > -math.inf))  # all, without conditions
        log_psi = values[some] - Z[left[some]] - Z[right[some]]
        np.testing.assert_allclose(hierarchies.log_psi_of(one, two)[some], log_psi, atol=1e-12)
        np.testing.assert_allclose(hierarchies.log_psi_of(two, one)[some], log_psi, atol=1e-12)
        assert len(some) == len(values) or hierarchies._conditions
        words = [as_words(masks, N) for masks in ([a | b for a, b in zip(one, two, strict=True)], one, two)]
        np.testing.assert_allclose(hierarchies.split_log_shares(*words, Z), values - Z[number], atol=1e-12)


def test_entropy_and_pairs_of_hierarchies(hierarchies):
    oracle = oracle_of(hierarchies)
    Z = hierarchies.inside()
    mu, entropy = hierarchies.outside(Z)
    exact = pytest.approx(oracle.entropy, rel=1e-10)
    assert hierarchies.entropy(Z, mu) == exact
    assert hierarchies.entropy_alone(Z) == exact
    assert entropy is None or entropy == exact
    sizes, sums = hierarchies.expected_lca_sizes(Z, mu), hierarchies.pair_sums(mu)
    for i in range(N):
        for j in range(N):
            pair = 1 << i | 1 << j
            assert sizes[i, j] == pytest.approx(oracle.lca_size(i, j) if i != j else 1.0, rel=1e-10)
            holding = [sum(c & pair == pair for c in clusters) for clusters in oracle.clusters]
            assert sums[i, j] == pytest.approx(oracle.p @ np.array(holding), rel=1e-10)


def test_expected_sums_over_the_splits_of_hierarchies(hierarchies):
    Z = hierarchies.inside()
    mu = hierarchies.outside(Z).mu
    sums = oracle_of(hierarchies, OTHER_W).log_potentials
    exact = pytest.approx(oracle_of(hierarchies).p @ sums, rel=1e-10)
    assert hierarchies.expected(Z, mu, Dasgupta(OTHER_W, 0.3, labels=LABELS)) == exact
    table = dasgupta(OTHER_W, 0.3)
    asked = SplitFunction(N, lambda L, R: [table(members(int(a)), members(int(b))) for a, b in zip(L, R, strict=True)])
    assert hierarchies.expected(Z, mu, asked) == exact


def test_what_is_expected_where_two_leaves_part(hierarchies):
    Z = hierarchies.inside()
    found = hierarchies.expected_at_parting(Z, hierarchies.outside(Z).mu, Dasgupta(OTHER_W, 0.3, labels=LABELS))
    oracle, value = oracle_of(hierarchies), dasgupta(OTHER_W, 0.3)
    for i in range(N):
        for j in range(N):
            parting = [
                sum(value(members(L), members(R)) for L, R in splits if (L >> i & R >> j | R >> i & L >> j) & 1)
                for splits in oracle.hierarchies
            ]
            assert found[i, j] == pytest.approx(oracle.p @ np.array(parting), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", HIERARCHIES)
def test_one_signature_of_divergence_between_all_kinds(hierarchies, kind):
    other = HIERARCHIES[kind][1](Dasgupta(OTHER_W, 0.3, labels=LABELS))
    Z, other_Z = hierarchies.inside(), other.inside()
    found = hierarchies.divergence(Z, hierarchies.outside(Z).mu, Normalised(other, other_Z))
    here, there = oracle_of(hierarchies), oracle_of(other, OTHER_W)
    if not set(here.hierarchies) <= set(there.hierarchies):
        assert found == math.inf
        return
    log_q = np.array([there.log_potential(h) - there.log_z for h in here.hierarchies])
    log_p = here.log_potentials - here.log_z
    assert found == pytest.approx(float(here.p @ (log_p - log_q)), rel=1e-9, abs=1e-12)


def test_draws_of_hierarchies_follow_the_probabilities(hierarchies):
    Z = hierarchies.inside()
    mu = hierarchies.outside(Z).mu
    rows, log_potentials = hierarchies.draw(Z, 4000, seed=1)
    trellis = hierarchies.trellis
    clusters = rows if trellis is None else trellis.parent[rows]
    shares = np.bincount(clusters.ravel().astype(int), minlength=len(Z)) / len(rows)
    inner = hierarchies.sizes > 1
    np.testing.assert_allclose(shares[inner], mu[inner], atol=5 * 0.5 / math.sqrt(4000))
    again, _ = hierarchies.draw(Z, 10, seed=1)
    np.testing.assert_array_equal(again, rows[:10])
    assert log_potentials.max() <= hierarchies.maximum()[hierarchies.root] + 1e-12


def test_other_sums_on_the_same_clusters(hierarchies):
    """With u = |C|² the best hierarchy is the most uneven one."""
    gain = hierarchies.with_sums(hierarchies.sizes.astype(float) ** 2)
    best = gain.best_masks(gain.maximum())
    value = sum(mask.bit_count() ** 2 for mask in best if mask != (1 << N) - 1) + N
    sums = [sum(c.bit_count() ** 2 for c in cs if c != (1 << N) - 1) for cs in oracle_of(hierarchies).clusters]
    assert value == max(sums)


# Partitions.


CHOSEN = [*([i] for i in range(N)), [0, 1], [0, 2], [2, 3], [0, 2, 3], [1, 4], [0, 1, 2, 3, 4]]
TOGETHER_AND_APART = PartitionConditions(LABELS).and_also(forbid=[[2, 3]], together=[[0, 1]], apart=[[1, 4]])

PARTITIONS = {
    "full": (FullPartitionPasses, lambda model: FullPartitionPasses(model)),
    "full, given": (FullPartitionPasses, lambda model: FullPartitionPasses(model, TOGETHER_AND_APART)),
    "counted": (
        CountedPartitionPasses,
        lambda model: CountedPartitionPasses(model, PartitionConditions(LABELS).and_also(n_clusters=K)),
    ),
    "sparse, all clusters": (
        SparsePartitionPasses,
        lambda model: SparsePartitionPasses(model, PartitionTrellis.from_clusters(every_cluster(), LABELS)),
    ),
    "sparse": (
        SparsePartitionPasses,
        lambda model: SparsePartitionPasses(model, PartitionTrellis.from_clusters(CHOSEN, LABELS)),
    ),
    "sparse, counted": (
        SparsePartitionPasses,
        lambda model: SparsePartitionPasses(
            model,
            PartitionTrellis.from_clusters(every_cluster(), LABELS),
            PartitionConditions(LABELS).and_also(n_clusters=K),
        ),
    ),
}


@pytest.fixture(params=PARTITIONS)
def kind(request):
    return request.param


@pytest.fixture
def partitions(kind):
    return PARTITIONS[kind][1](CorrelationClusters(W, labels=LABELS))


def partition_oracle(kind, w=W):
    number = K if "counted" in kind else None
    conditions = ((), [0b01100], [0b00011], [0b10010]) if "given" in kind else ((), (), (), ())
    there = set(map(mask_of, CHOSEN if kind == "sparse" else every_cluster()))
    value = lambda cluster: sum(w[i, j] for i in cluster for j in cluster if i < j)  # noqa: E731
    return PartitionOracle(N, value, lambda cs: cs <= there and meets(cs, *conditions, number))


def test_every_kind_of_passes_over_partitions_is_held_to_the_contract():
    assert {kind for kind, _ in PARTITIONS.values()} == all_kinds(PartitionPasses)


def test_sums_maxima_and_probabilities_over_partitions(kind, partitions):
    oracle = partition_oracle(kind)
    Z = partitions.inside()
    mu = partitions.outside(Z)
    assert not any(table.flags.writeable for table in (Z, partitions.maximum(), mu))
    assert partitions.log_partition(Z) == pytest.approx(oracle.log_z, rel=1e-12)
    assert partitions.count() == len(oracle.partitions)
    assert partitions.memory_needed > 0
    numbers = np.exp(partitions.log_partitions_by_number() - oracle.log_z)
    for k in range(N + 1):
        share = oracle.p[[len(clusters) == k for clusters in oracle.partitions]].sum()
        assert numbers[k] == pytest.approx(share, abs=1e-12)
    for number, size in enumerate(partitions.sizes):
        if size:
            leaves = partitions.members(number)
            assert partitions.find(leaves) == number
            share = oracle.p[[mask_of(leaves) in clusters for clusters in oracle.partitions]].sum()
            assert mu[number] == pytest.approx(share, abs=1e-12)
            assert partitions.shared([0, 2])[number] == len({0, 2} & set(leaves))


def test_the_best_partition_is_a_path(kind, partitions):
    oracle = partition_oracle(kind)
    path = partitions.best_path(partitions.maximum())
    best = oracle.partitions[int(np.argmax(oracle.log_potentials))]
    assert {mask_of(partitions.members(cluster)) for cluster in path} == best
    assert partitions.partition_of(path) == Partition.from_clusters(map(members, best), LABELS)


def test_choices_add_up_to_their_state(partitions):
    Z = partitions.inside()
    clusters, left, values = partitions.choices(partitions.start, Z)
    assert np.logaddexp.reduce(values) == pytest.approx(partitions.log_partition(Z), rel=1e-12)
    assert len(clusters) == len(left) == len(values)


def test_pairs_and_entropy_of_partitions(kind, partitions):
    oracle = partition_oracle(kind)
    Z = partitions.inside()
    mu = partitions.outside(Z)
    table = partitions.together_table(mu)
    together = partitions.coclustering(table)
    for i in range(N):
        for j in range(N):
            pair = 1 << i | 1 << j
            holds = [any(c & pair == pair for c in clusters) for clusters in oracle.partitions]
            assert together[i, j] == pytest.approx(oracle.p[holds].sum(), abs=1e-12)
            assert partitions.together(table, frozenset({i, j})) == pytest.approx(together[i, j], abs=1e-12)
    entropy = float(-(oracle.p * np.log(oracle.p)).sum())
    assert partitions.entropy(Z, mu) == pytest.approx(entropy, rel=1e-10)
    values = np.arange(len(mu)) * 1.0
    sums = [sum(values[c] for c, size in enumerate(partitions.sizes) if size and i in partitions.members(c))
            for i in range(N)]  # fmt: skip
    np.testing.assert_allclose(partitions.leaf_sums(values), sums)
    np.testing.assert_allclose(partitions.cluster_sums(np.ones(N)), partitions.sizes)


@pytest.mark.parametrize("other_kind", PARTITIONS)
def test_one_signature_of_divergence_between_all_kinds_of_partitions(kind, partitions, other_kind):
    other = PARTITIONS[other_kind][1](CorrelationClusters(OTHER_W, labels=LABELS))
    Z, other_Z = partitions.inside(), other.inside()
    found = partitions.divergence(Z, partitions.outside(Z), NormalisedPartitions(other, other_Z))
    here, there = partition_oracle(kind), partition_oracle(other_kind, OTHER_W)
    if not all(clusters in there.partitions for clusters in here.partitions):
        assert found == math.inf
        return
    at = [there.partitions.index(clusters) for clusters in here.partitions]
    log_p, log_q = here.log_potentials - here.log_z, there.log_potentials[at] - there.log_z
    assert found == pytest.approx(float(here.p @ (log_p - log_q)), rel=1e-9)


def test_joints_and_splits_of_partitions(kind, partitions):
    oracle = partition_oracle(kind)
    Z = partitions.inside()
    one, two, log_psi = partitions.splits([0, 2, 3])
    for a, b, value in zip(one, two, log_psi, strict=True):
        parts = [mask_of(partitions.members(int(cluster))) for cluster in (a, b)]
        if 0 in parts:
            assert value == -math.inf  # the empty set is no cluster
            continue
        assert sum(parts) == 0b1101
        both = oracle.log_potentials[[set(parts) <= clusters for clusters in oracle.partitions]]
        assert partitions.log_joint([int(a), int(b)], Z) == pytest.approx(np.logaddexp.reduce(both), rel=1e-10)


def test_draws_of_partitions_follow_the_probabilities(kind, partitions):
    oracle = partition_oracle(kind)
    rows, log_potentials = partitions.draw(partitions.inside(), 4000, seed=1)
    together = (rows[:, :, None] == rows[:, None]).mean(axis=0)
    expected = partitions.coclustering(partitions.together_table(partitions.outside(partitions.inside())))
    np.testing.assert_allclose(together, expected, atol=5 * 0.5 / math.sqrt(4000))
    assert set(np.round(log_potentials, 9)) <= set(np.round(oracle.log_potentials, 9))
    np.testing.assert_array_equal(partitions.draw(partitions.inside(), 10, seed=1)[0], rows[:10])
