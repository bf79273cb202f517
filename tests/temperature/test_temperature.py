"""A perplexity that is asked for is the one that is found, by counting every hierarchy and every partition."""

from __future__ import annotations

import math

import numpy as np
import partition_oracle
import pytest
from cases import WEIGHTS, symmetric
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, correlation, dasgupta, sum_of_squares
from partition_oracle import PartitionOracle

import palmette as pal
from palmette import temperature
from palmette.temperature import at_perplexity, curve, support_curve
from palmette.temperature.scan import Scan
from palmette.temperature.solving import Landscape, State, solve

MODELS = {
    "dasgupta": (pal.models.Dasgupta, dasgupta),
    "correlation": (pal.models.Correlation, correlation),
    "squares": (pal.models.SumOfSquares, sum_of_squares),
    "partitions": (pal.models.CorrelationClusters, partition_oracle.correlation),
}


@st.composite
def problems(draw, max_leaves=6):
    """(model, counting at a given β): data of every model with a temperature, ties and equal entries included."""
    kind, n = draw(st.sampled_from(sorted(MODELS))), draw(st.integers(1, max_leaves))
    shift = 0.0 if kind == "dasgupta" else 1.0
    entries = symmetric(draw, n, WEIGHTS.map(lambda w: w - shift))
    data = entries[:, :2] if kind == "squares" and n > 1 else entries
    make, formula = MODELS[kind]
    count = PartitionOracle if kind == "partitions" else Oracle
    return make(data, draw(st.sampled_from([0.0, 1.0, 30.0]))), lambda beta: count(n, formula(data, beta))


def best_and_count(oracle):
    """How many clusterings are best, and how many there are; numbers nearer than rounding are the same."""
    top = oracle.log_potentials.max()
    return int((oracle.log_potentials >= top - 1e-10 * max(1.0, abs(top))).sum()), oracle.count


@given(problems(), st.floats(0.0, 1.0))
def test_the_perplexity_that_is_asked_for_is_found(problem, share):
    model, count_at = problem
    best, count = best_and_count(count_at(1.0))
    wanted = best ** (1 - share) * count**share
    found = at_perplexity(model, wanted)
    assert type(found) is type(model)
    assert found.labels == model.labels
    assert math.exp(count_at(found.beta).entropy) == pytest.approx(wanted, rel=1.01e-3)
    precisely = at_perplexity(model, wanted, tolerance=1e-6)
    assert math.exp(count_at(precisely.beta).entropy) == pytest.approx(wanted, rel=2e-6)


def test_the_least_perplexity_that_ties_leave_is_found_whatever_rounding_says():
    w = np.ones((6, 6))
    w[0, 2] = w[2, 0] = 0.0
    model = at_perplexity(pal.models.Correlation(-w), 12, tolerance=1e-6)
    assert math.exp(Oracle(6, correlation(-w, model.beta)).entropy) == pytest.approx(12.0, rel=1e-6)


@given(problems(5), st.floats(0.0, 0.9))
def test_what_ties_forbid_is_refused_and_they_are_counted(problem, share):
    model, count_at = problem
    best, count = best_and_count(count_at(1.0))
    if best == 1:
        assert math.exp(count_at(at_perplexity(model, 1, tolerance=1e-6).beta).entropy) == pytest.approx(1.0, abs=2e-6)
        return
    number = f"all {count:,}" if best == count else f": {best:,} (hierarchies|partitions) are equally good and best"
    with pytest.raises(ValueError, match=number):
        at_perplexity(model, 1 + share * (best - 1))


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_the_scale_of_the_data_does_not_matter(scale):
    similarity = pal.datasets.load_worlds().points @ pal.datasets.load_worlds().points.T
    one, other = (
        at_perplexity(pal.models.Dasgupta(similarity[:7, :7] * s), 20.0, tolerance=1e-7).beta for s in (1.0, scale)
    )
    assert other * scale == pytest.approx(one, rel=1e-5)


def test_a_large_offset_of_all_similarities_does_not_matter():
    data = pal.datasets.load_numerals().similarity[:8, :8]
    one, other = (at_perplexity(pal.models.Dasgupta(data + shift), 20.0, tolerance=1e-7).beta for shift in (0.0, 1e5))
    assert other == pytest.approx(one, rel=1e-4)


def test_all_hierarchies_are_beta_zero_and_nearly_all_are_not():
    model = pal.models.SumOfSquares(np.arange(5.0)[:, None] ** 2)
    assert at_perplexity(model, 105).beta == 0.0
    assert at_perplexity(model, 104.99).beta > 0.0


def test_an_affinity_without_negative_entries_is_said_to_say_nothing():
    data = pal.datasets.load_numerals()
    with pytest.raises(ValueError, match=r"all 13,749,310,575 hierarchies are equally good.*not centred"):
        at_perplexity(pal.models.Correlation(data.similarity), 100)
    with pytest.raises(ValueError, match="all 15 hierarchies are equally good"):
        at_perplexity(pal.models.Dasgupta(np.ones((4, 4))), 3)


@pytest.mark.parametrize("perplexity", [0.99, 0, -3, math.nan, math.inf, 106, 1e30])
def test_a_perplexity_is_from_one_to_the_number_of_hierarchies(perplexity):
    with pytest.raises(ValueError, match="from 1 to 105, which is how many there are"):
        at_perplexity(pal.models.SumOfSquares(np.arange(5.0)[:, None] ** 2), perplexity)


@pytest.mark.parametrize("perplexity", ["3", None, True, [3]])
def test_a_perplexity_is_a_number(perplexity):
    with pytest.raises(TypeError, match="perplexity must be a number"):
        at_perplexity(pal.models.SumOfSquares([[0.0], [1.0]]), perplexity)


@pytest.mark.parametrize(
    "model",
    [
        pal.models.Uniform(3),
        pal.models.Ginkgo([[2.0, 0, 0, 1], [3.0, 1, 1, 1]], 1.5, 1.0),
        pal.models.DirichletProcess([[0.0], [1.0]], 1.0, pal.likelihoods.NormalGamma()),
    ],
)
def test_models_without_a_temperature_are_told_which_have_one(model):
    with pytest.raises(TypeError, match=r"no temperature to set.*Dasgupta, SumOfSquares, Correlation"):
        at_perplexity(model, 2)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="expected a model"):
        at_perplexity(np.eye(3), 2)


def test_on_a_sparse_trellis_the_hierarchies_in_it_count():
    data = pal.datasets.load_numerals()
    model = pal.models.Dasgupta(data.similarity, beta=4.0, labels=data.labels)
    trellis = pal.SparseTrellis.from_hierarchies(list(pal.HierarchyPosterior(model).sample(40, rng=0)))
    found = at_perplexity(model, 25, trellis=trellis)
    assert math.exp(pal.HierarchyPosterior(found, trellis=trellis).entropy) == pytest.approx(25, rel=1e-3)
    count = pal.HierarchyPosterior(model, trellis=trellis).count
    with pytest.raises(ValueError, match=f"from 1 to {count:,},"):
        at_perplexity(model, count + 1, trellis=trellis)


def test_many_leaves_have_a_bar(capsys):
    model = pal.models.SumOfSquares(np.random.default_rng(0).normal(size=(40, 2)))
    trellis = pal.SparseTrellis.from_hierarchies([pal.search.greedy(model.with_beta(b)).hierarchy for b in (1.0, 2.0)])
    with pytest.raises(ValueError, match="from 1 to 1,"):
        at_perplexity(model, 2, trellis=trellis, progress=False)
    assert at_perplexity(model, 1, trellis=trellis, progress=True).beta == 0.0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("perplexity", [10, 100, 1e4])
@pytest.mark.parametrize("kind", ["dasgupta", "squares", "correlation"])
def test_a_perplexity_takes_few_posteriors(kind, perplexity):
    rng = np.random.default_rng(3)
    points = 2.0 * rng.normal(size=(4, 5))[rng.integers(4, size=12)] + rng.normal(size=(12, 5))
    alike = np.corrcoef(points)
    data = {"dasgupta": alike + 1.0, "squares": points, "correlation": alike - 1.0}[kind]
    scan = Scan(MODELS[kind][0](data), None, False)
    beta = scan.beta_at(scan.check(perplexity))
    assert scan.n_posteriors <= 7
    assert scan.row(beta).perplexity == pytest.approx(perplexity, rel=1e-3)
    at_hand = scan.n_posteriors
    scan.beta_at(scan.check(perplexity))
    assert scan.n_posteriors == at_hand  # what is known is not computed again


def gamma_state(landscape, log_beta):
    """What a posterior comes to if log potentials are gamma distributed, as `solving` takes them to be at first."""
    t = math.exp(log_beta + landscape.log_scale)
    excess = landscape.log_count - landscape.shape * math.log1p(t)
    return State(log_beta, excess, excess + landscape.shape * t / (1 + t))


@pytest.mark.parametrize("target", [0.5, 5.0, 30.0])
def test_a_gamma_distribution_is_hit_at_once(target):
    landscape = Landscape(40.0, 9.0, -2.0)
    asked = []

    def evaluate(log_beta):
        asked.append(gamma_state(landscape, log_beta))
        return asked[-1]

    found = solve(evaluate, [], landscape, target, 1e-9)
    assert len(asked) == 1
    assert gamma_state(landscape, found).entropy == pytest.approx(target, abs=1e-9)
    guess = landscape.guess_from(gamma_state(landscape, 3.0), target)
    assert gamma_state(landscape, guess).entropy == pytest.approx(target, abs=1e-6)


@pytest.mark.parametrize("wrong", [Landscape(40.0, 200.0, 9.0), Landscape(40.0, 1.0, -12.0)])
def test_a_bad_guess_costs_a_few_more(wrong):
    truth = Landscape(40.0, 9.0, -2.0)
    asked = []

    def evaluate(log_beta):
        asked.append(log_beta)
        return gamma_state(truth, log_beta)

    found = solve(evaluate, [], wrong, 5.0, 1e-6)
    assert gamma_state(truth, found).entropy == pytest.approx(5.0, abs=1e-6)
    assert len(asked) <= 16


# Models at another temperature.


@given(problems(4), st.sampled_from([0.0, 0.5, 7.0]))
def test_with_beta_changes_beta_and_nothing_else(problem, beta):
    model, count_at = problem
    other = model.with_beta(beta)
    posterior = (pal.PartitionPosterior if isinstance(model, pal.models.PartitionModel) else pal.HierarchyPosterior)(
        other
    )
    assert other.beta == beta
    assert posterior.log_partition == pytest.approx(count_at(beta).log_z, abs=1e-9)
    assert model.with_beta(model.beta).theta.tolist() == model.theta.tolist() == [model.beta]


def test_with_beta_refuses_what_a_model_refuses():
    model = pal.models.Dasgupta(np.ones((3, 3)))
    with pytest.raises(ValueError, match="at least 0"):
        model.with_beta(-1.0)
    with pytest.raises(ValueError, match="costs overflow"):
        model.with_beta(1e300)
    with pytest.raises(TypeError, match="beta must be a number"):
        model.with_beta("cold")


def test_a_model_of_ones_own_keeps_what_else_it_has():
    class Noted(pal.models.Dasgupta):
        def __init__(self, similarity, note):
            self.note = note
            pal.models.FeatureModel.__init__(self, len(similarity), theta=[1.0, 2.0], pairwise=[similarity])

    w = pal.datasets.load_numerals().similarity[:4, :4]
    found = at_perplexity(Noted(w - np.diag(np.diag(w)), "mine"), 4.0)
    assert (found.note, found.theta.tolist()) == ("mine", [found.beta, 2.0])
    assert math.exp(pal.HierarchyPosterior(found).entropy) == pytest.approx(4.0, rel=1e-3)


# Curves.


def test_a_curve_has_what_the_posteriors_say():
    model = pal.models.SumOfSquares(np.arange(6.0)[:, None] ** 2, beta=0.1)
    table = curve(model)
    assert table.columns == ("beta", "perplexity", "entropy", "log_partition")
    betas, perplexities = (np.array([row[at] for row in table]) for at in (0, 1))
    assert (np.diff(betas) > 0).all()
    assert (np.diff(perplexities) <= 1e-9).all()
    assert perplexities[0] > 0.8 * 945
    assert perplexities[-1] < 1.1
    for row in table[::8]:
        posterior = pal.HierarchyPosterior(model.with_beta(row.beta))
        assert row[1:] == (math.exp(posterior.entropy), posterior.entropy, posterior.log_partition)


def test_a_curve_goes_through_the_perplexities_that_are_asked_for():
    affinity = pal.datasets.load_numerals().similarity[:7, :7] - 0.3
    table = curve(pal.models.CorrelationClusters(affinity), perplexities=[50, 5])
    assert [row.perplexity for row in table] == pytest.approx([50, 5], rel=1e-3)
    with pytest.raises(ValueError, match="give one of them"):
        curve(pal.models.CorrelationClusters(affinity), betas=[1], perplexities=[2])


def test_a_curve_of_data_that_say_nothing_is_level():
    assert [row.perplexity for row in curve(pal.models.Dasgupta(np.zeros((4, 4))))] == pytest.approx([15.0] * 33)


def test_support_is_that_of_the_best_clusters_and_of_those_that_compete():
    data = pal.datasets.load_numerals()
    model = pal.models.Dasgupta(data.similarity[:8, :8], beta=4.0, labels=data.labels[:8])
    found = support_curve(model, rivals=2)
    best = pal.HierarchyPosterior(model).map()
    expected = {frozenset(best.labels[leaf] for leaf in c) for c in best.clusters() if 1 < len(c) < 8}
    assert {frozenset(c) for c, own in zip(found.clusters, found.in_best, strict=True) if own} == expected
    assert (~found.in_best).sum() == 2
    assert found.probabilities.shape == (len(found.betas), len(found.clusters))
    at = len(found.betas) // 2
    posterior = pal.HierarchyPosterior(model.with_beta(found.betas[at]))
    for cluster, probability in zip(found.clusters, found.probabilities[at], strict=True):
        assert probability == posterior.cluster_probability(cluster)
    assert found.perplexities[at] == math.exp(posterior.entropy)


def test_support_of_chosen_clusters_and_of_partitions():
    affinity = pal.datasets.load_numerals().similarity[:5, :5] - 0.3
    model = pal.models.CorrelationClusters(affinity, labels=list("abcde"))
    found = support_curve(model, [2.0, 1.0], clusters=[{"b", "a"}, [4]])
    assert found.clusters == (("a", "b"), ("e",))
    assert found.betas.tolist() == [1.0, 2.0]
    posterior = pal.PartitionPosterior(model.with_beta(2.0))
    assert found.probabilities[1].tolist() == [posterior.cluster_probability(c) for c in found.clusters]
    best = pal.PartitionPosterior(model).map()
    assert support_curve(model, [1.0], rivals=0).in_best.tolist() == [True] * best.n_clusters


def test_public_names():
    assert set(temperature.__all__) == {"SupportCurve", "TemperatureRow", "at_perplexity", "curve", "support_curve"}
