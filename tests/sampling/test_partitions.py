"""Sampled partitions: right within their errors, the same however they are run, and honest when they are not."""

import functools
import math

import numpy as np
import pytest
from partition_cases import Charged, affinities

import palmette as pal
from palmette.models import CorrelationClusters, DirichletProcess
from palmette.sampling import anneal_partitions, sample_partitions
from palmette.sampling.annealed import anneal
from palmette.sampling.anywhere import any_partition, log_bell_number
from palmette.sampling.ladder import pilot
from palmette.sampling.partitions.chain import PartitionChains
from palmette.sampling.partitions.clusters import find_clusters, occurrences
from palmette.sampling.partitions.moves import PartitionMoves
from palmette.sampling.partitions.pairs import gains, pair_distances
from palmette.sampling.partitions.reference import reference_of
from palmette.sampling.run import fingerprint
from palmette.trellis.counting import bell_number

RNG = np.random.default_rng(4)


def correlation(n, beta=0.7):
    w = np.random.default_rng(n).normal(size=(n, n))
    return CorrelationClusters(w + w.T, beta=beta)


POINTS = RNG.normal(size=(10, 2)) + 3.0 * (np.arange(10) % 3)[:, None]
MODEL = DirichletProcess(POINTS, 1.5, pal.likelihoods.NormalGamma(pseudo_count=0.2))
EXACT = pal.PartitionPosterior(MODEL, progress=False)
MODELS = {"mixture": MODEL, "pairs": correlation(11)}


@functools.cache
def sampled_to_a_hundredth(name):
    return sample_partitions(MODELS[name], seconds=None, precision=0.01)


@pytest.fixture(scope="module")
def post():
    return sampled_to_a_hundredth("mixture")


@pytest.mark.parametrize("name", MODELS)
def test_every_probability_is_right_within_its_error(name):
    exact = pal.PartitionPosterior(MODELS[name], progress=False)
    sampled = sampled_to_a_hundredth(name)
    assert sampled.verdict.agree
    assert sampled.verdict.standard_error <= 0.01
    assert np.isfinite(sampled.log_potentials).all()
    rows = [(row, exact.cluster_probability(row.members)) for row in sampled.cluster_probabilities(0.0)]
    clusters = np.array([(row.probability - p) / row.standard_error for row, p in rows if 0.005 < p < 0.995])
    assert len(clusters) > 20
    got, truth = sampled.coclustering(), exact.coclustering()
    is_open = np.triu((truth > 0.005) & (truth < 0.995), 1)
    pairs = (got.values - truth)[is_open] / got.standard_errors[is_open]
    for z in (clusters, pairs):
        assert np.abs(z).max() < 4.5
    assert 0.6 < np.sqrt((np.concatenate([clusters, pairs]) ** 2).mean()) < 1.4
    assert (np.abs(got.values - truth) <= 4.5 * got.standard_errors).all()


def test_verbs_answer_as_the_exact_posterior_does(post):
    best = EXACT.map()
    assert post.map() == best
    assert post.best(3)[0][1] == pytest.approx(MODEL.log_potential(best), rel=1e-12)
    assert [p for p, _ in post.best(3)] == [p for p, _ in EXACT.best(3)]
    assert len({p for p, _ in post.best(50)}) == 50
    assert post.consensus() == EXACT.consensus()
    assert post.log_potential(best) == MODEL.log_potential(best)
    for group in ([0, 3], [1, 4, 7], [0, 1]):
        estimate = post.together_probability(group)
        assert abs(float(estimate) - EXACT.together_probability(group)) < 5 * estimate.standard_error
    assert post.together_probability([4]).kind == "exact"
    numbers = post.n_clusters_probabilities()
    assert numbers.values.sum() == pytest.approx(1.0)
    assert (np.abs(numbers.values - EXACT.n_clusters_probabilities()) <= 5 * numbers.standard_errors).all()
    for partition in (best, EXACT.best(5)[-1][0]):
        level = post.credible_level(partition)
        assert abs(float(level) - float(EXACT.credible_level(partition))) < 5 * level.standard_error
    assert "SampledPartitions(DirichletProcess" in repr(post)


def test_a_trellis_and_the_share_of_draws_in_it_tell_log_z(post):
    trellis = pal.PartitionTrellis.from_partitions([partition for partition, _ in EXACT.best(12)])
    sparse, share = pal.PartitionPosterior(MODEL, trellis=trellis), post.share_in(trellis)
    expected = math.exp(sparse.log_partition - EXACT.log_partition)
    assert 0.05 < expected < 0.95
    assert abs(float(share) - expected) < 4 * share.standard_error
    log_z = post.log_partition_by(sparse)
    assert abs(float(log_z) - EXACT.log_partition) < 4 * log_z.standard_error < 0.2
    assert post.log_partition_by(EXACT).kind == "exact"
    with pytest.raises(ValueError, match="different leaves or conditions"):
        post.log_partition_by(EXACT.condition(n_clusters=2))


def test_the_map_is_better_than_all_draws():
    short = sample_partitions(correlation(40, beta=0.3), seconds=None, sweeps=20)
    best, value = short.best(1)[0]
    assert best == short.map()
    assert value == pytest.approx(short.model.log_potential(best), rel=1e-12)
    assert value > short.log_potentials.max()


def test_tables_are_those_of_the_draws(post):
    table = post.draws.cluster_probabilities(0.02)
    rows = post.cluster_probabilities(0.02)
    assert {(row.members, row.probability) for row in table} == {(row.members, row.probability) for row in rows}
    assert [row.probability for row in rows] == [row.probability for row in table]
    np.testing.assert_allclose(post.coclustering().values, post.draws.coclustering(), atol=1e-12)
    assert len(post.sample(7, rng=0)) == 7
    assert len(post.draws) == post.n_chains * post.n_draws
    assert np.isnan(post.draws.log_probs).all()


def test_what_was_never_seen_is_not_certain(post):
    unseen = post.cluster_probability([0, 1, 2, 9])
    assert unseen.kind == "estimate"
    assert float(unseen) < 0.001
    assert unseen.standard_error > 0.0


def test_the_number_of_threads_does_not_matter():
    one, two = (sample_partitions(MODEL, seconds=None, sweeps=60, threads=threads) for threads in (1, 2))
    assert one.draws.memberships.tobytes() == two.draws.memberships.tobytes()
    assert one.log_potentials.tobytes() == two.log_potentials.tobytes()
    other = sample_partitions(MODEL, seconds=None, sweeps=60, rng=1)
    assert not (one.draws.memberships == other.draws.memberships).all()


def test_a_resumed_run_is_the_run_that_never_stopped(tmp_path):
    model = correlation(11)
    whole = sample_partitions(model, seconds=None, sweeps=250, precision=1e-9)
    parts = sample_partitions(model, seconds=None, sweeps=60, precision=1e-9)
    parts = parts.resume(seconds=None, sweeps=190, precision=1e-9)
    place = tmp_path / "chains.npz"
    sample_partitions(model, seconds=None, sweeps=115, precision=1e-9, checkpoint=place)
    again = sample_partitions(model, seconds=None, sweeps=135, precision=1e-9, checkpoint=place)
    for other in (parts, again):
        assert whole.draws.memberships.tobytes() == other.draws.memberships.tobytes()
        assert whole.log_potentials.tobytes() == other.log_potentials.tobytes()
    for changed in ({"model": correlation(11, 0.6)}, {"rng": 1}, {"starts": [whole.map()]}, {"reference": comb(11)}):
        with pytest.raises(ValueError, match="another model, seed or number of chains"):
            sample_partitions(**{"model": model, "seconds": None, "sweeps": 20, "checkpoint": place, **changed})


def comb(n):
    """Leaves joined one after the other, from the last on."""
    nested = n - 1
    for leaf in reversed(range(n - 1)):
        nested = (leaf, nested)
    return pal.Hierarchy.from_nested(nested)


def test_any_reference_and_any_start_give_the_same_posterior():
    flat = pal.Hierarchy.from_parents([11] * 11 + [-1])
    exact = pal.PartitionPosterior(MODELS["pairs"], progress=False).coclustering()
    for reference in (flat, comb(11)):
        starts = [pal.Partition(range(11)), pal.Partition([0] * 11)]
        sampled = sample_partitions(
            MODELS["pairs"], seconds=None, sweeps=400, precision=1e-9, reference=reference, starts=starts
        )
        got = sampled.coclustering()
        assert (np.abs(got.values - exact) <= 4.5 * got.standard_errors).all()


def test_diagnostics_are_those_of_the_verdict(post):
    rows, frequencies, occurs = post.cluster_diagnostics(), post.cluster_frequencies(), post.cluster_indicators()
    assert len(rows) > 5
    assert occurs.shape == (post.n_chains, post.n_draws, len(rows))
    np.testing.assert_allclose(frequencies.mean(axis=0), [row.probability for row in rows])
    r_hat = [row.r_hat for row in rows]
    assert r_hat == sorted(r_hat, reverse=True)
    assert r_hat[0] <= post.verdict.r_hat
    for row in rows:
        found = post.cluster_probability(row.members)
        assert (row.probability, row.standard_error) == (found.value, found.standard_error)
        assert 0.02 < row.probability < 0.98
        assert row.effective_size >= post.verdict.effective_size


# log Z, by annealing.


@pytest.mark.parametrize("name", MODELS)
def test_annealing_is_unbiased_and_its_errors_are_honest(name, monkeypatch):
    ladder = pilot(PartitionMoves(MODELS[name], reference_of(MODELS[name])), 0)  # takes as long as an annealing
    monkeypatch.setattr("palmette.sampling.annealed.pilot", lambda *_, **__: ladder)
    exact = pal.PartitionPosterior(MODELS[name], progress=False)
    found = [anneal_partitions(MODELS[name], steps=60, n_runs=16, rng=seed) for seed in range(12)]
    log_z = [run.log_partition for run in found]
    z = np.array([(one.value - exact.log_partition) / one.standard_error for one in log_z])
    assert (np.abs(z) < 2.0).sum() >= 9
    ratios = np.exp([one.value - exact.log_partition for one in log_z])
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std(ddof=1) / np.sqrt(12)
    entropies = [run.entropy for run in found]
    assert (np.abs([(one.value - exact.entropy) / one.standard_error for one in entropies]) < 3.0).sum() >= 9


def test_log_z_evidence_entropy_and_divergence(post, monkeypatch):
    monkeypatch.setattr("palmette.sampling.sampled.anneal", functools.partial(anneal, steps=150))
    other_model = DirichletProcess(POINTS, 0.3, MODEL.likelihood)
    other = sample_partitions(other_model, seconds=None, sweeps=100)
    for name in ("log_partition", "log_evidence", "entropy"):
        found = getattr(post, name)
        assert abs(float(found) - getattr(EXACT, name)) < 4 * found.standard_error
    found = post.kl(other)
    assert abs(float(found) - EXACT.kl(pal.PartitionPosterior(other_model, progress=False))) < 4 * found.standard_error
    with pytest.raises(TypeError, match="another SampledPartitions"):
        post.kl(EXACT)
    pairs = sample_partitions(MODELS["pairs"], seconds=None, sweeps=20)
    with pytest.raises(TypeError, match="no evidence"):
        pairs.log_evidence  # noqa: B018
    with pytest.raises(TypeError, match="ClusterModel"):
        anneal_partitions(pal.models.ClusterFunction(4, lambda clusters: np.zeros(len(clusters))))
    with pytest.raises(TypeError, match="reference must be"):
        anneal_partitions(MODEL, reference=[0, 1])


def test_any_partition_comes_up_alike():
    rng, tries = np.random.default_rng(3), 3000
    drawn = [tuple(any_partition(4, tuple("abcd"), rng).membership.tolist()) for _ in range(tries)]
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 15
    assert (np.abs(counts - tries / 15) < 4.5 * np.sqrt(tries / 15)).all()
    assert all(
        log_bell_number(n) == pytest.approx(math.log(bell_number(n)), rel=1e-12, abs=1e-12) for n in (1, 2, 9, 80)
    )


def test_a_checkpoint_knows_the_likelihood(tmp_path):
    class Others(pal.likelihoods.BetaBernoulli):
        @staticmethod
        def log_marginal(theta, size, sums):
            return 0.0

    x = np.arange(8.0)[:, None] % 2
    one, other = (DirichletProcess(x, 1.0, likelihood()) for likelihood in (pal.likelihoods.BetaBernoulli, Others))
    assert (one.theta == other.theta).all()
    assert fingerprint(one, [], (1,)) == fingerprint(DirichletProcess(x, 1.0, one.likelihood), [], (1,))
    assert fingerprint(one, [], (1,)) != fingerprint(other, [], (1,))


def test_a_checkpoint_of_a_score_that_was_edited_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "palmette.sampling.partitions.sample.fingerprint", lambda *_: "only the body of a function differs"
    )
    options = {"seconds": None, "sweeps": 20, "n_chains": 2, "checkpoint": tmp_path / "chains.npz"}
    sample_partitions(correlation(11), **options)
    with pytest.raises(ValueError, match="another model, seed or number of chains"):
        sample_partitions(correlation(11, 0.6), **options)


def test_a_given_start_is_where_a_chain_begins():
    names = [str(i) for i in range(12)]
    start = pal.Partition([0] * 5 + [1] * 7, labels=names[::-1])
    own = start.aligned_to(names).membership
    model = CorrelationClusters(np.where(own[:, None] == own, 50.0, -50.0))
    post = sample_partitions(model, seconds=None, sweeps=10, starts=[start] * 4)
    assert [p for p, _ in post.best(9)] == [start]


def test_no_start_is_made_for_nobody(monkeypatch):
    alone = PartitionChains(MODEL, reference_of(MODEL), [], seed=0, n_chains=1)
    monkeypatch.setattr(alone, "sweep", None)  # there is nothing to choose from, so nothing is to settle
    alone.begin(0)
    monkeypatch.setattr(PartitionChains, "_dispersed", None)
    sample_partitions(MODEL, seconds=None, sweeps=8, n_chains=2, starts=[EXACT.map()] * 2)


def rows_and_columns(beta):
    """A grid of four by four: leaves attract in a row, as much in a column, and repel otherwise: two best answers."""
    row, column = np.divmod(np.arange(16), 4)
    return CorrelationClusters(1.0 * (row[:, None] == row) + 1.0 * (column[:, None] == column) - 0.5, beta=beta)


@pytest.mark.parametrize(("beta", "sweeps"), [(1.5, 6400), (30.0, 400)])
def test_of_two_far_apart_answers_both_are_found_or_chains_are_said_to_disagree(beta, sweeps):
    post = sample_partitions(rows_and_columns(beta), seconds=None, sweeps=sweeps, precision=0.01)
    row, column = (float(post.together_probability(part)) for part in ([0, 1], [0, 4]))
    assert not post.verdict.agree or abs(row - column) < 0.1
    if not post.verdict.agree:
        assert "disagree on whether {" in str(post.verdict)
    assert post.verdict.agree == (beta < 10.0)


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 40), marks=pytest.mark.slow)], ids=["few", "many"])
def test_chains_begin_at_both_of_two_answers_whatever_the_seed(seeds):
    for seed in seeds:
        post = sample_partitions(rows_and_columns(20.0), seconds=None, sweeps=8, rng=seed)
        together = post._rows[:, -1, [1, 4]] == post._rows[:, -1, [0]]
        assert together.any(axis=0).all()
        assert not post.verdict.agree


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_leaves(n):
    model = correlation(n)
    post = sample_partitions(model, seconds=None, sweeps=400)
    exact = pal.PartitionPosterior(model, progress=False)
    assert post.map().n_leaves == n
    assert np.abs(post.coclustering().values - exact.coclustering()).max() < 0.1
    assert len(post.cluster_probabilities(0.03)) == len(exact.cluster_probabilities(0.03))
    assert post.consensus().n_leaves == n


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="ClusterModel"):
        sample_partitions(pal.models.ClusterFunction(4, lambda clusters: np.zeros(len(clusters))))
    with pytest.raises(TypeError, match="partitions"):
        sample_partitions(pal.models.SumOfSquares(POINTS))
    with pytest.raises(ValueError, match="seconds is -1"):
        sample_partitions(MODEL, seconds=-1)
    with pytest.raises(ValueError, match="sweeps is 2"):
        sample_partitions(MODEL, sweeps=2)
    with pytest.raises(ValueError, match="needs an end"):
        sample_partitions(MODEL, seconds=None, precision=0.0)
    with pytest.raises(TypeError, match="reference must be"):
        sample_partitions(MODEL, reference=[0, 1])
    with pytest.raises(ValueError, match="labels do not match"):
        sample_partitions(MODEL, reference=comb(9))
    with pytest.raises(ValueError, match="labels do not match"):
        sample_partitions(MODEL, starts=[pal.Partition([0, 1])])


# The counts, against what a person would write.


def plain_distance(one, two):
    return int((np.triu(one[:, None] == one, 1) != np.triu(two[:, None] == two, 1)).sum())


def test_counts_over_many_partitions_are_right():
    partitions = [pal.Partition(RNG.integers(1 + t % 5, size=8)) for t in range(60)]
    rows = np.array([p.membership for p in partitions], dtype=np.int16)
    seen = find_clusters(rows, 3, 0.05)
    members = [frozenset(seen.members(i, rows)) for i in range(len(seen.keys))]
    counts = {c: sum(c in p.clusters() for p in partitions) for p in partitions for c in p.clusters()}
    assert dict(zip(members, seen.counts.sum(axis=0), strict=True)) == {c: k for c, k in counts.items() if k >= 3}
    expected = [[c in p.clusters() for c in members] for p in partitions]
    np.testing.assert_array_equal(occurrences(rows, seen.keys), expected)
    np.testing.assert_array_equal(seen.counts, np.reshape(expected, (3, 20, -1)).sum(axis=1))
    np.testing.assert_array_equal(pair_distances(rows, rows[7]), [plain_distance(row, rows[7]) for row in rows])
    w = RNG.normal(size=(8, 8))
    together = np.tril(rows[:, :, None] == rows[:, None], -1)
    np.testing.assert_allclose(gains(rows, w), (together * w).sum(axis=(1, 2)), atol=1e-12)


def test_a_reference_is_made_of_what_the_model_sums(monkeypatch):
    three = pal.Partition(np.arange(12) % 3)
    x = 5.0 * three.membership[:, None] + np.random.default_rng(0).normal(size=(12, 1))
    mixture = DirichletProcess(x, 1.0, pal.likelihoods.NormalGamma())
    affinity = CorrelationClusters(np.where(three.membership[:, None] == three.membership, 1.0, -1.0))
    assert reference_of(mixture).cut(3) == three
    assert reference_of(affinity).cut(3) == three
    assert reference_of(pal.models.UniformPartitions(5)).is_binary
    given = pal.Hierarchy.from_nested(("1", ("0", "2")))
    assert reference_of(correlation(3), given) == given
    assert reference_of(correlation(3), given).labels == ("0", "1", "2")
    monkeypatch.setattr("palmette.sampling.partitions.reference._MOST", 8)
    rising = np.linspace(0.0, 1.0, 12)[:, None] + np.zeros(2)
    halves = reference_of(Charged(12, theta=[1.0, 1.0], additive=rising, pairwise=[affinities(12)]))
    assert halves.is_binary
    assert halves.leaf_order.tolist() == list(range(12))
