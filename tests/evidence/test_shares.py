"""Points without a parameter: what is found and what is not, weights by enumeration, one answer at all doors."""

from __future__ import annotations

import csv
import json
import math
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, gradual_shares, group_shares, members, variance_shares
from scipy.special import logsumexp

from palmette import HierarchyPosterior, datasets, simulate
from palmette.cli import palmette as command
from palmette.evidence import compare, posterior, shares, weights_of_readings
from palmette.models import LAWS, BetaSplitting, Contrasts, GradualShares, GroupShares, VarianceShares, with_prior
from palmette.models.effective_dimension import effective_dimension
from palmette.models.with_prior import without_prior
from palmette.posterior import HierarchyMixture
from palmette.sampling import SampledPosterior
from palmette.similarity import standardised

THREE = [range(4), range(4, 8), range(8, 12)]
OUTER = [*range(4), *range(8, 12)]
LEVELS = (0.5, 0.25, 0.12, 0.06, 0.03)


def noise(n, d, seed):
    return np.random.default_rng(seed).normal(size=(n, d))


def on_a_line(d, gap, seed):
    """Three groups of four in a row, next ones `gap` standard deviations apart in every column, standardised."""
    return standardised(noise(12, d, seed) + gap * np.repeat([0.0, 1.0, 2.0], 4)[:, None])


def in_a_triangle(seed, d=5, gap=10.0):
    """Three groups of four in a plane, any two of them `gap` standard deviations apart."""
    corners = gap * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
    return noise(12, d, seed) + np.repeat(np.pad(corners, ((0, 0), (0, d - 2))), 4, axis=0)


def asked(x, **options):
    return posterior(x, progress=False, **options)


def least(post, clusters):
    return min(post.cluster_probability(cluster) for cluster in clusters)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("d", "gap"), [(7, 3.0), (2, 5.0), (5, 4.0)])
def test_three_groups_on_a_line_are_found_and_the_outer_two_are_not_one(d, gap, seed):
    post = asked(on_a_line(d, gap, seed))
    assert least(post, THREE) > 0.6
    assert post.cluster_probability(OUTER) < 0.1
    closer = asked(on_a_line(d, gap / math.sqrt(d), seed))
    assert closer.cluster_probability(OUTER) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_three_groups_in_a_triangle_are_found(seed):
    post = asked(in_a_triangle(seed))
    assert least(post, THREE) > 0.8
    assert weights_of_readings(post)["groups"] > 0.99


def test_three_groups_in_two_columns_are_found_in_nine_tables_of_ten():
    lines = [asked(on_a_line(2, 5.0, seed)) for seed in range(20)]
    triangles = [asked(in_a_triangle(seed, d=2)) for seed in range(20)]
    assert sum(least(post, THREE) >= 0.6 for post in lines) >= 18
    assert sum(least(post, THREE) >= 0.8 for post in triangles) >= 18
    assert max(post.cluster_probability(OUTER) for post in lines) < 0.1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [1, 5, 40])
def test_noise_has_no_cluster(d, seed):
    post = asked(noise(12, d, seed))
    assert max(row.probability for row in post.cluster_probabilities(0.0)) < 0.5
    assert weights_of_readings(post)["noise"] > 0.4


def test_the_tumours_are_of_four_subtypes():
    data = datasets.load_tumours()
    post = asked(data.points, labels=data.labels)
    subtypes = [
        [label for label, kind in zip(data.labels, data.classes, strict=True) if kind == one] for one in data.classes
    ]
    assert least(post, subtypes) > 0.9
    assert compare(post).strength == "very strong"


# The same answer at all doors.


def told_by_the_command(x, tmp_path, *options):
    path = tmp_path / "points.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["name", *range(x.shape[1])], *([f"r{i}", *map(repr, row)] for i, row in enumerate(x.tolist()))]
        )
    words = [
        "hierarchies",
        str(path),
        "--json",
        "--quiet",
        "--no-standardise",
        "--header",
        "--min-probability",
        "0.01",
        *options,
    ]
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    return json.loads(result.stdout)


@pytest.mark.parametrize("d", [3, 9])
def test_all_doors_lead_to_the_same_posterior(d, tmp_path):
    x = noise(9, d, 5) + np.repeat([0.0, 3.0, 6.0], 3)[:, None]
    labels = [f"r{i}" for i in range(9)]
    first = asked(x, labels=labels)
    second = asked(with_prior(VarianceShares(x, labels=labels), "yule"))
    np.testing.assert_array_equal(first.cluster_probability_array(), second.cluster_probability_array())
    assert (first.log_evidence, first.parameters) == (second.log_evidence, second.parameters)
    third = asked(with_prior(VarianceShares(x, "groups", labels=labels), "yule"))  # its law is left open
    np.testing.assert_array_equal(first.cluster_probability_array(), third.cluster_probability_array())
    told = told_by_the_command(x, tmp_path)
    assert len(told["clusters"]) > 3
    for row in told["clusters"]:
        assert row["probability"] == pytest.approx(first.cluster_probability(row["members"]), abs=1e-9)
    assert told["structure"]["log_bayes_factor"] == pytest.approx(first.log_evidence, abs=1e-9)
    assert told["model"]["weights"] == pytest.approx(weights_of_readings(first), abs=1e-9)


def test_the_prior_of_a_model_stays():
    x = noise(8, 3, 1)
    one, two = asked(VarianceShares(x)), asked(with_prior(VarianceShares(x), BetaSplitting(3.0)))
    assert {without_prior(part.model)[1] for part in one.parts} == {"uniform"}
    assert {without_prior(part.model)[1] for part in two.parts} == {BetaSplitting(3.0)}
    assert without_prior(asked(x).parts[0].model)[1] == BetaSplitting(0.0)


def test_a_dimension_is_handed_on():
    x = noise(8, 3, 1)
    assert {without_prior(part.model)[0].dimension for part in asked(x, dimension=2.5).parts} == {2.5}
    with pytest.raises(TypeError, match="dimension and labels go with points"):
        asked(VarianceShares(x), dimension=2.0)


# Weights.


def yule(left, right):
    """log p(L, R | P)."""
    m = len(left) + len(right)
    return math.log(2) - math.log(m - 1) - math.log(math.comb(m, len(left)))


def enumerated(squared, h, signal, evenness, level=0.0):
    """The posterior of one law under the Yule prior, by listing; its log Z is the evidence."""
    log_psi = variance_shares(squared, h, signal, evenness, level)
    return Oracle(len(squared), lambda left, right: log_psi(left, right) + yule(left, right))


def readings_of(squared, d):
    """Degrees as weighed, and as answered; then groups by noise level."""
    h, counted = d / 2, d**0.85 / 2
    slight = enumerated(squared, h, gradual_shares(h, 0.05, 0.8), 0.4)
    gradual = enumerated(squared, counted, gradual_shares(counted, 0.08, 0.6), 0.1)
    signal = group_shares(h, 0.3)
    groups = [enumerated(squared, h, signal, min(1.0, 0.2 / h), level) for level in LEVELS]
    return [slight, *groups], [gradual, *groups]


def distances(x):
    return np.square(x[:, None] - x[None]).sum(axis=2)


def by_listing(x):
    """(log evidence, {(noise level, profiles): weight}, probabilities of clusters), by the words of the page."""
    n = len(x)
    views = [x]
    if effective_dimension(x) >= 16:
        centred = x - x.mean(axis=0)
        centred = centred - centred.mean(axis=1, keepdims=True)
        views.append(centred / centred.std(axis=1, keepdims=True))
    weighed, answered = zip(*(readings_of(distances(view), effective_dimension(view)) for view in views), strict=True)
    beforehand = np.log([0.5] + [0.1] * 5)
    logs = np.array([[one.log_z for one in view] for view in weighed]) + beforehand
    totals = logsumexp(logs, axis=1)
    share = [1.0]
    if len(views) == 2:
        behind = min(0.0, totals[1] - totals[0]) / (n - 1)
        share = [1 - 1 / (1 + math.exp(-behind)), 1 / (1 + math.exp(-behind))]
    log_evidence = float(logsumexp(totals) - math.log(len(views)))
    parts = {(1.0, 0.0): (math.log(2 / 3), Oracle(n, yule))}
    for which, (view, own) in enumerate(zip(answered, logs, strict=True)):
        for level, one, log_weight in zip((0.0, *LEVELS), view, own, strict=True):
            parts[level, float(which)] = (math.log(share[which] / 3) + log_evidence + log_weight - totals[which], one)
    return log_evidence, parts


@pytest.mark.parametrize("d", [2, 40])
@given(seed=st.integers(0, 99), gap=st.sampled_from([0.0, 2.0, 8.0]))
def test_an_average_is_the_weighted_mean_of_enumerations(d, seed, gap):
    x = noise(5, d, seed)
    x[:2] += gap
    log_evidence, parts = by_listing(x)
    post = asked(x)
    assert post.log_evidence == pytest.approx(log_evidence, abs=1e-8)
    told = [(part["noise_level"], part["profiles"]) for part in post.parameters]
    assert post.weights.sum() == pytest.approx(1.0)
    everything = logsumexp([log_weight for log_weight, _ in parts.values()])
    kept = np.exp([parts[one][0] - everything for one in told])
    assert 0.995 - 1e-9 <= kept.sum() <= 1.0 + 1e-9  # the lightest are dropped
    np.testing.assert_allclose(post.weights, kept / kept.sum(), atol=1e-8)
    for mask in range(1, 1 << 5):
        mean = sum(w * parts[one][1].cluster_probability(mask) for w, one in zip(post.weights, told, strict=True))
        assert post.cluster_probability(members(mask)) == pytest.approx(mean, abs=1e-8)


def test_weights_of_readings_are_sums_of_weights():
    post = asked(noise(9, 9, 3) + np.repeat([0.0, 1.0, 2.0], 3)[:, None])
    weights = weights_of_readings(post)
    assert sum(weights[name] for name in ("noise", "degrees", "groups")) == pytest.approx(1.0)
    assert 0.0 <= weights["profiles"] <= 0.5 + 1e-9
    by_level = {}
    for weight, told in zip(post.weights.tolist(), post.parameters, strict=True):
        by_level[told["noise_level"]] = by_level.get(told["noise_level"], 0.0) + weight
    assert weights["noise"] == pytest.approx(by_level.pop(1.0, 0.0))
    assert weights["degrees"] == pytest.approx(by_level.pop(0.0, 0.0))
    assert weights["groups"] == pytest.approx(sum(by_level.values()))


def test_the_evidence_is_the_bayes_factor_of_all_but_noise():
    for x in (noise(8, 3, 2), in_a_triangle(0)[::2]):
        post = asked(x)
        found = compare(post)
        assert found.log_bayes_factor == post.log_evidence
        assert found.log_evidence_without_structure == 0.0
        odds = math.exp(post.log_evidence) / 2  # noise is twice as probable beforehand
        assert post.log_partition == pytest.approx(math.log(2 / 3 * (1 + odds)), abs=0.006)
        assert weights_of_readings(post)["noise"] == pytest.approx(1 / (1 + odds), abs=0.006)


def test_conditions_gain_what_they_were_worth():
    post = asked(in_a_triangle(1)[::2])
    given = post.condition(require=[[0, 1]])
    gain = math.log(post.cluster_probability([0, 1]))
    assert given.log_partition - post.log_partition == pytest.approx(gain, abs=1e-9)
    assert given.log_evidence - post.log_evidence == pytest.approx(gain, abs=1e-9)
    assert given.cluster_probability([0, 1]) == pytest.approx(1.0)
    both = given.condition(forbid=[[2, 3]])
    assert both.log_evidence - given.log_evidence == pytest.approx(
        math.log1p(-given.cluster_probability([2, 3])), abs=1e-8
    )


def test_a_mixture_that_is_told_its_evidence_keeps_it():
    post = asked(noise(7, 2, 3))
    again = pickle.loads(pickle.dumps(post))
    assert (again.log_evidence, again.log_partition) == (post.log_evidence, post.log_partition)
    parts = [HierarchyPosterior(Contrasts(noise(4, 1, 0), a)) for a in (0.5, 1.0)]
    logs = [part.log_evidence for part in parts]
    plain, told = HierarchyMixture(parts, logs), HierarchyMixture(parts, logs, log_evidence=-3.0)
    assert plain.log_evidence == plain.log_partition == told.log_partition
    assert told.log_evidence == -3.0
    np.testing.assert_array_equal(plain.cluster_probability_array(), told.cluster_probability_array())


# More leaves than can be averaged.


def law_of(post):
    return without_prior(post.model)[0].law


@pytest.mark.parametrize("averaged_leaves", [0, 11])
def test_beyond_the_average_groups_are_groups_and_noise_is_noise(averaged_leaves):
    groups, none = (asked(x, averaged_leaves=averaged_leaves) for x in (in_a_triangle(0), noise(12, 5, 1)))
    assert isinstance(groups, HierarchyPosterior)
    assert isinstance(law_of(groups), GroupShares)
    assert least(groups, THREE) > 0.8
    assert law_of(none) == LAWS["noise"]
    assert without_prior(groups.model)[1] == BetaSplitting(0.0)


@pytest.mark.parametrize(("d", "seed"), [(2, 0), (2, 1), (2, 3), (5, 3)])
def test_nothing_is_found_within_groups_whose_law_was_chosen(d, seed):
    """A level below the noise within groups would make them groups of groups."""
    x = noise(16, d, seed)
    x[:8, 0] += 8.0
    post = asked(x, averaged_leaves=0)
    assert least(post, [range(8), range(8, 16)]) > 0.9
    inside = [row.probability for row in post.cluster_probabilities(0.0) if 2 < len(row.members) < 8]
    assert max(inside) < 0.3


def chosen_law(x):
    return without_prior(shares.chosen(VarianceShares(x), "yule"))[0].law


def test_the_law_of_many_points_is_that_of_what_made_them():
    rng = np.random.default_rng(0)
    groups = np.repeat(rng.normal(0.0, 6.0, (4, 5)), 15, axis=0) + rng.normal(size=(60, 5))
    assert isinstance(chosen_law(groups), GroupShares)
    for seed in range(3):
        assert chosen_law(noise(60, 5, seed)) == LAWS["noise"]


@pytest.mark.parametrize("seed", range(3))
def test_degrees_that_no_single_split_tells_are_told_by_sets_of_rows(seed):
    law = GradualShares(0.2, within=0.8, evenness=0.5)
    assert chosen_law(simulate.variance_shares(60, 5, law, prior="yule", rng=seed).x) == LAWS["gradual"]


def test_groups_that_only_many_rows_tell_are_told_by_following_wards_hierarchy():
    x = noise(60, 1, 0)
    x[:30] += 4.0
    assert chosen_law(x[::6]) == LAWS["noise"]
    assert isinstance(chosen_law(x), GroupShares)


def test_the_choice_is_the_same_every_time():
    x = noise(30, 9, 2) + np.repeat([0.0, 2.0, 6.0], 10)[:, None]
    one, two = (without_prior(shares.chosen(VarianceShares(x), "yule"))[0] for _ in range(2))
    assert (one.law, one.profiles) == (two.law, two.profiles)
    np.testing.assert_array_equal(one.theta, two.theta)
    other = asked(x, averaged_leaves=0, exact_leaves=0, sweeps=20, seconds=None)
    assert isinstance(other, SampledPosterior)
    assert law_of(other) == one.law


def test_few_points_are_ordinary():
    for x in (
        [[1.0, 2.0]],
        [[1.0], [4.0]],
        np.ones((5, 3)),
        [[0.0], [1.0], [5.0]],
        np.repeat(noise(3, 9, 0), 2, axis=0),
    ):
        for averaged_leaves in (0, 12):
            post = asked(x, averaged_leaves=averaged_leaves)
            assert np.isfinite(post.log_evidence)
            assert np.isfinite(post.cluster_probability_array()).all()
    assert asked(np.ones((5, 3))).log_evidence == pytest.approx(0.0, abs=1e-12)
    twice = asked(np.repeat(noise(3, 2, 0), 3, axis=0))
    assert least(twice, [range(3), range(3, 6), range(6, 9)]) > 0.9


def test_a_bar_counts_the_laws(monkeypatch, capsys):
    monkeypatch.setattr("palmette.progress._PATIENCE", -1.0)
    monkeypatch.setattr("palmette.progress._INTERVAL", -1.0)
    posterior(noise(5, 2, 0), progress=True)
    assert "weighing laws by evidence" in capsys.readouterr().err
    posterior(noise(5, 2, 0), progress=False)
    assert capsys.readouterr().err == ""
