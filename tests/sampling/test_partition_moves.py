"""The moves over partitions against every partition of a few leaves, and against exact posteriors."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from partition_cases import Charged
from partition_oracle import mask_of, partitions_of
from scipy.stats import chi2

from palmette import Hierarchy, Partition, PartitionPosterior
from palmette._plain import IS_PLAIN
from palmette.errors import ImpossibleData
from palmette.likelihoods import NormalGamma
from palmette.models import ClusterModel, CorrelationClusters, DirichletProcess
from palmette.sampling import anneal_partitions, sample_partitions
from palmette.sampling.chance import new_stream
from palmette.sampling.ladder import pilot
from palmette.sampling.partitions.moves import PartitionMoves, advance
from palmette.sampling.partitions.state import (
    IS_WRONG,
    N_CLUSTERS,
    REDRAWN,
    Groups,
    groups_of,
    membership,
    model_data,
    totals,
)
from palmette.sampling.partitions.units import Units, choose_units, units_of
from palmette.sampling.partitions.weights import Redraw, empty_redraw

NESTED = {4: (((0, 2), 1), 3), 5: (((0, 3), 1), (2, 4))}
LIMIT = 1.23  # no sum of the charges below comes so close to it that rounding decides


def weights(n: int) -> np.ndarray:
    w = np.random.default_rng(n).normal(size=(n, n))
    return w + w.T


def guarded(n: int, limit: float = LIMIT, pairs: np.ndarray | None = None, first: float = 0.1) -> Charged:
    additive = np.random.default_rng(n).normal(size=(n, 2))
    additive[:, 1] = np.linspace(0.1, 1.0, n)
    additive[0, 1] = first
    return Charged(n, theta=[1.0, limit], additive=additive, pairwise=[3.0 * weights(n) if pairs is None else pairs])


def overflowing(n: int) -> Charged:
    """A few leaves together score infinity."""
    return guarded(n, limit=100.0, pairs=np.full((n, n), 1e308))


def impossible(n: int) -> Charged:
    """The first leaf may be alone, or with another; no other cluster is possible."""
    return guarded(n, limit=0.05, first=-0.2)


def dirichlet_process(n: int) -> DirichletProcess:
    x = np.random.default_rng(n).normal(size=(n, 1)) + 2.0 * (np.arange(n) % 3)[:, None]
    return DirichletProcess(x, 1.5, NormalGamma(pseudo_count=0.2))


def correlation(n: int) -> CorrelationClusters:
    return CorrelationClusters(weights(n), beta=0.7)


MODELS = [dirichlet_process, correlation, guarded]


def reference(n: int) -> Hierarchy:
    if n in NESTED:
        return Hierarchy.from_nested(NESTED[n])
    rng = np.random.default_rng(n)
    nodes: list[Any] = list(range(n))
    while len(nodes) > 1:
        i, j = sorted(rng.choice(len(nodes), size=2, replace=False))
        nodes.append((nodes.pop(j), nodes.pop(i)))
    return Hierarchy.from_nested(nodes[0])


class Chain(NamedTuple):
    model: ClusterModel
    groups: Groups
    units: Units
    work: Redraw
    stream: np.ndarray

    def advance(self, n_moves: int, temper: float = 1.0, penalty: float = np.inf) -> Chain:
        run = (self.groups, self.units, self.work, self.stream, temper, penalty, n_moves)
        advance(model_data(self.model), *run)
        return self

    @property
    def membership(self) -> np.ndarray:
        out = np.empty(self.model.n_leaves, dtype=np.int32)
        membership(self.groups, out)
        return out

    @property
    def clusters(self) -> frozenset[int]:
        return clusters_of(self.membership)


def chain(model: ClusterModel, start: Any = None, seed: int = 0, **rule: Any) -> Chain:
    units = units_of(model, reference(model.n_leaves), **{"leaf_share": 0.6, "most": 3, **rule})
    partition = Partition(range(model.n_leaves) if start is None else start)
    return Chain(model, groups_of(model, partition), units, empty_redraw(model, units), new_stream(seed, 3))


def clusters_of(numbers: np.ndarray) -> frozenset[int]:
    return frozenset(mask_of(np.flatnonzero(numbers == c).tolist()) for c in set(numbers.tolist()))


def membership_of(clusters: frozenset[int], n: int) -> list[int]:
    return [next(c for c in clusters if c >> i & 1) for i in range(n)]


# A plain twin of the rule: the probability of every set of units.


def node_masks(hierarchy: Hierarchy) -> list[int]:
    return [mask_of(hierarchy.leaf_order[a:b].tolist()) for a, b in hierarchy.intervals]


def largest_within(hierarchy: Hierarchy, leaf: int, limit: int) -> int:
    """The mask of the largest node above a leaf that has at most so many leaves."""
    masks = [m for m in node_masks(hierarchy) if m >> leaf & 1 and m.bit_count() <= limit]
    return max(masks, key=int.bit_count)


@functools.cache
def unit_choices(n: int, leaf_share: float, most: int) -> Counter[frozenset[int]]:
    hierarchy, top = reference(n), (n - 1).bit_length()
    at = [[largest_within(hierarchy, leaf, 1 << e) for leaf in range(n)] for e in range(top + 1)]
    found: Counter[frozenset[int]] = Counter()
    scales = {0: leaf_share, **dict.fromkeys(range(1, top), (1 - leaf_share) / (top - 1))}
    for e, w in itertools.product(scales, range(top + 1)):
        p_window = 0.5 * (w == top) + 0.5 * (w > e) / (top - e)
        for leaf, draws in itertools.product(range(n), range(1, most + 1)):
            window = [i for i in range(n) if at[w][leaf] >> i & 1]
            for more in itertools.product(window, repeat=draws - 1):
                units = frozenset(at[e][i] for i in (leaf, *more))
                found[units] += scales[e] * p_window / (n * most) / len(window) ** (draws - 1)
    return found


# The conditionals, by going through all partitions.


class Small:
    """All partitions of n leaves, and what a move from one to another has to be."""

    def __init__(self, model: ClusterModel, temper: float = 1.0) -> None:
        self.n = model.n_leaves
        masks = np.arange(1, 1 << self.n)
        table = dict(zip(masks.tolist(), model.mask_log_potentials(masks).tolist(), strict=True))
        self.log_psi = lambda c: -np.inf if table[c] == -np.inf else temper * table[c]
        self.partitions = [x for x in partitions_of(self.n) if all(table[c] > -np.inf for c in x)]
        self.weight = np.array([sum(map(self.log_psi, x)) for x in self.partitions])
        self.pi = np.exp(self.weight - np.logaddexp.reduce(self.weight))

    def whole(self, x: frozenset[int], units: frozenset[int]) -> frozenset[int]:
        return frozenset(u for u in units if any(c & u == u for c in x))

    def rests(self, x: frozenset[int], units: frozenset[int]) -> frozenset[int]:
        return frozenset(c & ~sum(units) for c in x) - {0}

    def conditional(self, x: frozenset[int], units: frozenset[int]) -> np.ndarray:
        """π given that the rests are these, and that the units which are whole in x stay so."""
        units = self.whole(x, units)
        allowed = [
            self.whole(y, units) == units and self.rests(y, units) == self.rests(x, units) for y in self.partitions
        ]
        return np.where(allowed, self.pi, 0.0) / self.pi[allowed].sum()

    def transitions(self, leaf_share: float = 0.6, most: int = 3) -> np.ndarray:
        choices = unit_choices(self.n, leaf_share, most)
        return np.array([sum(p * self.conditional(x, units) for units, p in choices.items()) for x in self.partitions])


def chi_square_p(counts: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """χ² and its degrees of freedom; cells where little is expected count as one."""
    rare = expected < 5
    counts, expected = (np.append(a[~rare], a[rare].sum()) for a in (counts, expected))
    counts, expected = counts[expected > 0], expected[expected > 0]
    return float(((counts - expected) ** 2 / expected).sum()), len(expected) - 1


def test_the_twin_gives_the_units_that_are_chosen() -> None:
    units, expected = units_of(correlation(5), reference(5), leaf_share=0.6, most=3), unit_choices(5, 0.6, 3)
    assert np.isclose(sum(expected.values()), 1.0)
    stream, chosen, found = new_stream(1, 0), np.zeros(3, dtype=np.int64), Counter()
    masks = node_masks(reference(5))
    for _ in range(10_000):
        found[frozenset(masks[v] for v in chosen[: choose_units(units, stream, chosen)])] += 1
    assert set(found) == set(expected)
    counts, p = np.array([[found[u], expected[u]] for u in expected]).T
    value, freedom = chi_square_p(counts, 10_000 * p)
    assert chi2.sf(value, freedom) > 1e-3


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("n", [4, 5])
def test_the_transition_matrix_leaves_the_posterior_as_it_is(make: Any, n: int) -> None:
    small = Small(make(n))
    matrix = small.transitions()
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(small.pi @ matrix, small.pi, atol=1e-12)
    flow = small.pi[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)
    assert (np.linalg.matrix_power(matrix, 200) > 0).all()  # it gets everywhere


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("temper", [1.0, 0.4, 0.0])
def test_compiled_weights_are_the_conditionals(make: Any, temper: float) -> None:
    model = make(5)
    small = Small(model, temper)
    masks = node_masks(reference(5))
    for number, x in enumerate(small.partitions):
        for seed in range(4):
            here = chain(model, membership_of(x, 5), seed=10 * number + seed)
            slot_of = {c: int(here.groups.cluster[(c & -c).bit_length() - 1]) for c in x}
            k = here.advance(1, temper).groups.counts[REDRAWN]
            if k == 0:
                continue
            units = [masks[v] for v in here.work.units[:k]]
            probabilities = small.conditional(x, frozenset(units))
            assert probabilities[small.partitions.index(here.clusters)] > 0
            slots = {c & ~sum(units): s for c, s in slot_of.items()}
            rests = {slots[r]: r for r in small.rests(x, frozenset(units))}
            for j in np.flatnonzero(probabilities):
                found = compiled_log_probability(here.work, small.partitions[j], units, rests)
                assert np.isclose(found, np.log(probabilities[j]), rtol=0, atol=1e-11)


def compiled_log_probability(work: Redraw, y: frozenset[int], units: list[int], rests: dict[int, int]) -> float:
    """What the tables of a move say of an outcome."""
    m = len(rests)
    assert set(work.rests[:m].tolist()) == set(rests)
    row = {rests[s]: r for r, s in enumerate(work.rests[:m].tolist())}
    total = -work.log_f[m, (1 << len(units)) - 1]
    for cluster in y:
        joined = sum(1 << u for u, unit in enumerate(units) if cluster & unit)
        total += work.gains[row.get(cluster & ~sum(units), m), joined]
    return float(total)


@pytest.mark.parametrize("make", MODELS)
def test_every_cluster_that_a_move_could_make_is_scored(make: Any) -> None:
    """More of them than are asked about in one call; leaf i begins in slot i, so whole units are leaves."""
    model = make(50)
    for seed in range(8):
        here = chain(model, seed=seed).advance(1)
        k, work = here.groups.counts[REDRAWN], here.work
        taken = [int(here.units.order[here.units.first[v]]) for v in work.units[:k]]
        rests = [[int(leaf)] for leaf in work.rests[: 50 - k]] if k else []
        for r, rest in enumerate([*rests, []]):
            for A in range(0 if rest else 1, 1 << k):
                members = rest + [leaf for u, leaf in enumerate(taken) if A >> u & 1]
                expected = model.log_potentials(np.array([0, len(members)]), np.array(members))[0]
                np.testing.assert_allclose(work.joined[r, A], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", MODELS)
def test_compiled_moves_have_the_transition_matrix(make: Any) -> None:
    small, here = Small(make(4)), chain(make(4), seed=5)
    index = {x: i for i, x in enumerate(small.partitions)}
    counts = np.zeros((len(index), len(index)))
    before = index[here.clusters]
    for _ in range(10_000):
        after = index[here.advance(1).clusters]
        counts[before, after] += 1
        before = after
    expected = counts.sum(axis=1, keepdims=True) * small.transitions()
    assert not counts[expected == 0].any()
    value, freedom = np.sum([chi_square_p(*rows) for rows in zip(counts, expected, strict=True)], axis=0)
    assert chi2.sf(value, freedom) > 1e-3


@pytest.mark.parametrize("make", MODELS)
def test_long_runs_agree_with_the_exact_posterior(make: Any) -> None:
    model, n_batches = make(11), 50
    exact = PartitionPosterior(model).coclustering()
    here = chain(model, seed=2).advance(500)
    together = np.zeros((n_batches, 11, 11))
    for batch, _ in itertools.product(range(n_batches), range(150)):
        numbers = here.advance(8).membership
        together[batch] += (numbers[:, None] == numbers) / 150
    error = together.std(axis=0, ddof=1) / np.sqrt(n_batches)
    gap = np.abs(together.mean(axis=0) - exact)
    assert (gap <= 4.5 * error + 1e-3).all()
    assert gap.mean() < 0.02


@pytest.mark.parametrize("make", MODELS)
def test_the_state_is_that_of_its_membership(make: Any) -> None:
    model = make(40)
    here = chain(model, seed=1).advance(20_000)
    groups, anew = here.groups, groups_of(model, Partition(here.membership))
    used = groups.slots[: groups.counts[N_CLUSTERS]]
    order = here.groups.cluster[[np.argmax(anew.cluster == c) for c in range(len(used))]]
    assert sorted(used) == sorted(order)
    assert sorted(groups.slots) == list(range(40))
    assert (groups.slots[groups.place] == np.arange(40)).all()
    assert not here.work.held.any()
    for name in ("size", "sums", "pairs", "log_psi"):
        np.testing.assert_allclose(
            getattr(groups, name)[order], getattr(anew, name)[: len(used)], rtol=1e-9, atol=1e-9, err_msg=name
        )
    assert np.isclose(totals(groups)[0], model.log_potential(Partition(here.membership)), rtol=1e-9)
    assert groups.counts[IS_WRONG] == 0


class Raising(ClusterModel):
    """From three leaves on, the features raise something, or the score does."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        if theta[0] == 0.0 and size > 2:
            raise ValueError("too many")
        out[0] = size

    @staticmethod
    def score(theta, cluster):
        if cluster[0] > 2.0:
            raise ValueError("too many")
        return cluster[0] * cluster[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_what_a_model_raises_is_not_taken_for_a_number(theta: float) -> None:
    moves = PartitionMoves(Raising(8, theta=[theta]), reference(8))
    with pytest.raises(ValueError, match=r"returned NaN or inf|too many"):
        moves.run(moves.start(Partition(range(8)), 1, 0), 200)


def test_one_kernel_moves_all_models() -> None:
    for make in MODELS:
        chain(make(6)).advance(1)
    assert IS_PLAIN or len(advance.signatures) == 1


def test_calls_may_be_cut_anywhere() -> None:
    model = guarded(30)
    whole, cut = chain(model, seed=4).advance(3000), chain(model, seed=4)
    for n_moves in [1, 0, 7, 992, 2000]:
        cut.advance(n_moves)
    for one, two in zip(whole.groups, cut.groups, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(whole.stream, cut.stream)
    other = chain(model, seed=5).advance(3000)
    assert (whole.membership != other.membership).any()


def test_temper_zero_is_uniform_over_what_is_possible() -> None:
    for model in (correlation(4), guarded(4)):
        small, here, found = Small(model), chain(model, seed=6), Counter()
        for _ in range(4000):
            found[here.advance(12, temper=0.0).clusters] += 1
        counts = np.array([found[x] for x in small.partitions])
        assert counts.sum() == 4000
        assert len(counts) == 15 or model.may_forbid
        value, freedom = chi_square_p(counts, np.full(len(counts), 4000 / len(counts)))
        assert chi2.sf(value, freedom) > 1e-3


def test_a_finite_penalty_leads_out_of_what_is_forbidden() -> None:
    model = guarded(12)
    here = chain(model, start=[0] * 12)
    assert totals(here.groups)[1] > 0
    here.advance(400, penalty=30.0)
    assert totals(here.groups)[1] == 0
    for _ in range(50):
        assert totals(here.advance(10).groups)[1] == 0


def test_scores_that_are_no_numbers_are_counted() -> None:
    here = chain(overflowing(12)).advance(200)
    assert here.groups.counts[IS_WRONG] > 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_leaves_are_ordinary(n: int) -> None:
    here = chain(correlation(n), most=4)
    small, found = Small(here.model), Counter()
    for _ in range(2000):
        found[here.advance(3).clusters] += 1
    np.testing.assert_allclose([found[x] / 2000 for x in small.partitions], small.pi, atol=0.06)


def test_membership_is_numbered_by_first_leaves() -> None:
    here = chain(correlation(20), seed=3).advance(200)
    np.testing.assert_array_equal(here.membership, Partition(here.groups.cluster).membership)


# A user's model is compiled anew in each process: its chains are here, where its moves are.


def test_chains_of_a_model_that_forbids_are_right_within_their_errors() -> None:
    model = guarded(9)
    exact = PartitionPosterior(model, progress=False).coclustering()
    sampled = sample_partitions(model, seconds=None, sweeps=800, precision=1e-9)
    assert np.isfinite(sampled.log_potentials).all()
    got = sampled.coclustering()
    is_open = np.triu((exact > 0.005) & (exact < 0.995), 1)
    z = (got.values - exact)[is_open] / got.standard_errors[is_open]
    assert len(z) > 20
    assert np.abs(z).max() < 4.5
    assert 0.6 < np.sqrt((z**2).mean()) < 1.4
    assert (np.abs(got.values - exact) <= 4.5 * got.standard_errors).all()


def test_annealing_where_much_is_forbidden_is_unbiased(monkeypatch: pytest.MonkeyPatch) -> None:
    model = guarded(9)
    ladder = pilot(PartitionMoves(model, reference(9)), 0)  # takes as long as an annealing
    monkeypatch.setattr("palmette.sampling.annealed.pilot", lambda *_, **__: ladder)
    exact = PartitionPosterior(model, progress=False)
    found = [anneal_partitions(model, steps=60, n_runs=16, rng=seed).log_partition for seed in range(12)]
    assert (np.abs([(one.value - exact.log_partition) / one.standard_error for one in found]) < 2.0).sum() >= 9
    ratios = np.exp([one.value - exact.log_partition for one in found])
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std(ddof=1) / np.sqrt(12)


def test_what_is_forbidden_at_the_start_is_left() -> None:
    post = sample_partitions(guarded(60, limit=3.0), seconds=None, sweeps=20, n_chains=3)
    assert np.isfinite(post.log_potentials).all()


def test_what_is_impossible_or_no_number_is_refused() -> None:
    with pytest.raises(ImpossibleData, match="no possible partition"):
        sample_partitions(impossible(9), seconds=None, sweeps=20)
    with pytest.raises(ImpossibleData, match="none of 4 runs found a partition"):
        anneal_partitions(impossible(9), steps=20, n_runs=4)
    with pytest.raises(ValueError, match="NaN or inf"):
        sample_partitions(overflowing(9), seconds=None, sweeps=20)
