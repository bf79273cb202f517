"""One call for any number of leaves: exact where it can be, and honest about it where it cannot."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from budget_cases import Clock
from sampling_cases import rows_and_columns

import palmette as pal
from palmette.models import CorrelationClusters, Dasgupta, DirichletProcess, SplitFunction, SumOfSquares, Uniform
from palmette.search.sampled_posteriors import _ends, _refined, _rungs_for
from palmette.similarity import centred, distances, linkages, of_points

RNG = np.random.default_rng(0)
CENTRES = np.repeat([[0.0, 0.0], [4.0, 0.0], [2.0, 4.0]], 9, axis=0)
POINTS = (CENTRES + RNG.normal(0, 0.5, size=(27, 2)))[RNG.permutation(27)]
FEW = POINTS[:9]


def mixture(points):
    return DirichletProcess(points, 1.0, pal.likelihoods.NormalGamma(pseudo_count=0.1, rate=0.25))


def sparse(model, **options):
    return pal.search.posterior(model, beyond="sparse", **options)


def test_few_leaves_are_summed_over():
    found = pal.search.posterior(SumOfSquares(FEW))
    assert found.is_exact
    assert found.log_partition == pal.HierarchyPosterior(SumOfSquares(FEW)).log_partition
    flat = pal.search.posterior(CorrelationClusters(centred(of_points(FEW))))
    assert flat.is_exact
    assert flat.count == 21147


def test_more_leaves_are_sampled():
    model = SumOfSquares(POINTS)
    found = pal.search.posterior(model, sweeps=30)
    assert isinstance(found, pal.sampling.SampledPosterior)
    assert not found.is_exact
    assert found.cluster_probability([0, 1]).kind == "estimate"
    assert found.log_potentials[0, 0] > found.log_potentials.min()  # begins near the best
    again = pal.search.posterior(model, sweeps=30)
    assert (found.trees.parents == again.trees.parents).all()
    flat = pal.search.posterior(mixture(POINTS), sweeps=30)
    assert isinstance(flat, pal.sampling.SampledPartitions)
    assert flat.n_leaves == 27


def test_what_cannot_be_sampled_is_sparse():
    affinity = centred(of_points(POINTS))
    assert pal.search.posterior(CorrelationClusters(affinity), perplexity=5).trellis is not None
    assert pal.search.posterior(mixture(POINTS), n_clusters=3).trellis is not None
    function = SplitFunction(6, lambda left, right: np.zeros(len(left)))
    assert pal.search.posterior(function, exact_leaves=5).trellis is not None


def test_the_time_is_shared_out_and_frozen_chains_get_several_temperatures(monkeypatch):
    asked, clock = [], Clock(monkeypatch)

    def by_sweeps(model, *, seconds, **options):  # in all the time they are given
        asked.append((seconds, options.get("n_rungs", 1)))
        clock.time += seconds
        return pal.sampling.sample_hierarchies(model, seconds=None, sweeps=60, **options)

    def refined(model, ends, seed, seconds, progress):
        asked.append((seconds, "refined"))
        clock.time += seconds
        return ends

    slow = clock.after(pal.search.greedy, 6.0)
    for name, function in (("greedy", slow), ("sample_hierarchies", by_sweeps), ("_refined", refined)):
        monkeypatch.setattr(f"palmette.search.sampled_posteriors.{name}", function)
    rows = pal.search.posterior(rows_and_columns(5.0), exact_leaves=15, seconds=66.0)
    assert asked == [(20.0, 1), (10.0, "refined"), (30.0, 16)]
    assert rows.verdict.n_chains == 6
    row, column = (float(rows.cluster_probability(part)) for part in (range(4), range(0, 16, 4)))
    assert not rows.verdict.agree or abs(row - column) < 0.1


def test_few_draws_do_not_tell_that_chains_are_frozen(monkeypatch):
    asked = []

    def by_sweeps(model, *, seconds, **options):
        asked.append(options.get("n_rungs", 1))
        return pal.sampling.sample_hierarchies(model, seconds=None, sweeps=9, **options)

    monkeypatch.setattr("palmette.search.sampled_posteriors.sample_hierarchies", by_sweeps)
    found = pal.search.posterior(rows_and_columns(5.0), exact_leaves=15, seconds=0.0)
    assert asked == [1]
    assert (found.n_rungs, found.n_kept) == (1, 9)


def test_parts_of_the_start_get_shares_as_well(monkeypatch):
    asked, clock = {}, Clock(monkeypatch)

    def noted(name, function):
        def call(model, *rest, seconds, **options):
            asked.setdefault(name, seconds)
            clock.time += 5.0
            return function(model, *rest, seconds=0.0, **options)

        return call

    for name in ("at_perplexity", "refine", "sample_hierarchies"):
        function = getattr(sys.modules["palmette.search.sampled_posteriors"], name)
        monkeypatch.setattr(f"palmette.search.sampled_posteriors.{name}", noted(name, function))
    with pytest.warns(UserWarning, match="β is a rough guess"):
        pal.search.posterior(SumOfSquares(POINTS[:12]), exact_leaves=11, perplexity=1000, seconds=15.0)
    assert asked == {"at_perplexity": 5.0, "refine": 1.0, "sample_hierarchies": pytest.approx(5.0 / 3)}


def test_chains_that_are_precise_enough_at_the_first_look_are_the_answer(monkeypatch):
    def long_enough(model, *, seconds, **options):
        return pal.sampling.sample_hierarchies(model, seconds=None, precision=0.005, **options)

    monkeypatch.setattr("palmette.search.sampled_posteriors.sample_hierarchies", long_enough)
    monkeypatch.setattr(pal.sampling.SampledPosterior, "resume", None)
    found = pal.search.posterior(SumOfSquares(POINTS[:7], beta=20.0), exact_leaves=6, seconds=600.0)
    assert found.verdict.standard_error <= 0.005


@pytest.mark.parametrize(("beta", "sweeps", "n_rungs"), [(0.2, 200, 1), (0.3, 1500, 4), (0.6, 200, 16)])
def test_slow_chains_get_a_few_rungs_and_frozen_ones_many(beta, sweeps, n_rungs):
    model = rows_and_columns(beta)
    found = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=sweeps, precision=1e-9, progress=False)
    assert _rungs_for(found) == n_rungs


def test_the_ends_of_frozen_chains_are_refined_each_by_itself():
    model = SumOfSquares(FEW)
    post = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=20, n_chains=3, progress=False)
    ends = _ends(post)
    refined = _refined(model, ends, 7, 0.1, False)
    assert len(refined) == 3
    for end, better in zip(ends, refined, strict=True):
        assert model.log_potential(better) >= model.log_potential(end)
    assert any(model.log_potential(b) > model.log_potential(a) for a, b in zip(ends, refined, strict=True))


@pytest.mark.slow
def test_a_perplexity_is_reached_by_annealing():
    found = pal.search.posterior(SumOfSquares(POINTS[:12]), exact_leaves=11, perplexity=1000, seconds=9.0)
    exact = pal.HierarchyPosterior(found.model, progress=False)
    assert abs(exact.entropy - math.log(1000)) < 1.0
    assert not found.is_exact


def test_more_leaves_are_not_on_a_sparse_trellis():
    model = SumOfSquares(POINTS)
    found = sparse(model)
    assert not found.is_exact
    assert found.trellis is not None
    best = model.log_potential(found.map())
    assert best >= pal.search.greedy(model).log_potential - 1e-9
    assert found.log_partition >= best


def test_a_sparse_trellis_of_few_leaves_holds_nearly_everything():
    model = SumOfSquares(FEW)
    exact, few = (sparse(model, exact_leaves=n, min_share=1e-8) for n in (9, 8))
    assert not few.is_exact
    assert exact.log_partition - 0.01 < few.log_partition <= exact.log_partition + 1e-9
    assert few.map() == exact.map()


def test_given_hierarchies_are_in_the_trellis():
    model = SumOfSquares(POINTS)
    given = linkages(-distances(POINTS))
    found = sparse(model, hierarchies=given, min_share=0.5)
    assert all(math.isfinite(found.log_prob(hierarchy)) for hierarchy in given)


def test_a_trellis_that_does_not_fit_into_memory_is_sparse():
    model = SumOfSquares(POINTS[:14])
    assert sparse(model).is_exact
    assert not sparse(model, max_memory=300_000).is_exact
    flat = CorrelationClusters(centred(of_points(POINTS[:14])))
    assert not sparse(flat, max_memory=100_000).is_exact


def test_there_is_memory_for_probabilities_if_it_is_exact():
    model = SumOfSquares(POINTS[:14])
    least = pal.HierarchyPosterior(model).memory_needed
    assert not sparse(model, max_memory=least, min_share=0.1).is_exact  # enough for log Z only
    for memory in (2 * least, 4 * least):
        found = sparse(model, max_memory=memory, min_share=0.1)
        assert len(found.cluster_probabilities()) > 13
        assert found.consensus().n_leaves == 14


@pytest.mark.parametrize("n", [9, 27])
def test_the_perplexity_is_reached(n):
    hierarchies = sparse(SumOfSquares(POINTS[:n]), exact_leaves=12, perplexity=40, min_share=0.01)
    assert hierarchies.is_exact == (n == 9)
    assert math.exp(hierarchies.entropy) == pytest.approx(40, rel=1e-3)
    affinity = centred(of_points(POINTS[:n]))
    flat = sparse(CorrelationClusters(affinity), exact_leaves=12, perplexity=5)
    assert math.exp(flat.entropy) == pytest.approx(5, rel=1e-3)


@pytest.mark.parametrize("make", [lambda x: CorrelationClusters(centred(of_points(x))), mixture])
def test_partitions_into_clusters_of_several_hierarchies_or_of_the_best(make, monkeypatch):
    model = make(POINTS)
    given = linkages(-distances(POINTS))
    alone = [pal.PartitionTrellis.from_hierarchy(h) for h in (pal.search.greedy(model).hierarchy, *given)]
    bounds = [pal.PartitionPosterior(model, trellis=trellis).log_partition for trellis in alone]
    several = sparse(model, hierarchies=given)
    assert not several.is_exact
    assert several.log_partition >= max(bounds)
    monkeypatch.setattr("palmette.search.posteriors._MOST_REMAINDERS", 3)
    single = sparse(model, hierarchies=given)
    assert single.log_partition == pytest.approx(max(bounds), abs=1e-12)


@pytest.mark.parametrize("n", [9, 27])
def test_the_number_of_clusters_can_be_given(n):
    found = sparse(mixture(POINTS[:n]), n_clusters=4)
    assert found.is_exact == (n == 9)
    assert found.map().n_clusters == 4


def test_the_same_seed_gives_the_same_result():
    model = Dasgupta(of_points(POINTS), beta=3.0)
    one, two = (sparse(model, rng=3, min_share=0.01) for _ in range(2))
    assert one.log_partition == two.log_partition
    assert one.trellis.n_clusters == two.trellis.n_clusters
    assert one.map() == two.map()


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("exact_leaves", [0, 20])
def test_one_leaf_and_two_are_ordinary(n, exact_leaves):
    for model in (SumOfSquares(POINTS[:n]), mixture(POINTS[:n]), Uniform(n)):
        given = linkages(-distances(POINTS[:n]), model.labels)
        found = sparse(model, exact_leaves=exact_leaves, hierarchies=given)
        assert found.is_exact == (exact_leaves > 0)
        assert found.count == (n if isinstance(model, DirichletProcess) else 1)


@pytest.mark.parametrize("exact_leaves", [0, 20])
def test_what_is_impossible_has_no_weight(exact_leaves):
    never = SplitFunction(5, lambda left, right: np.full(len(left), -np.inf))
    assert sparse(never, exact_leaves=exact_leaves).log_partition == -math.inf


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sparse(FEW), TypeError, "expected a model, such as"),
        (lambda: sparse(Uniform(4), n_clusters=2), TypeError, "n_clusters is 2, but .* of hierarchies"),
        (lambda: sparse(Uniform(4), exact_leaves=-1), ValueError, "exact_leaves is -1"),
        (lambda: sparse(Uniform(4), perplexity=2), TypeError, "has no temperature"),
        (
            lambda: sparse(SumOfSquares(FEW), exact_leaves=0, min_share=2.0),
            ValueError,
            "min_share is 2.0",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_chains_of_many_leaves_begin_at_what_was_given(monkeypatch):
    monkeypatch.setattr("palmette.search.sampled_posteriors._COOLED", 26)
    model = SumOfSquares(POINTS)
    given = linkages(of_points(POINTS), model.labels)
    starts = {pal.search.greedy(model).hierarchy, *given}
    assert pal.search.posterior(model, sweeps=20, hierarchies=given).n_chains in (len(starts), len(starts) + 1)
    assert pal.search.posterior(model, sweeps=20).n_chains == 2
