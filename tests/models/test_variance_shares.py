"""Shares of variance: the formula, a density, what must not change the answer, profiles, and what is ordinary."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import group_shares
from random_hierarchies import hierarchies
from scipy import stats
from scipy.special import expit

from palmette import Hierarchy, HierarchyPosterior, SparseTrellis
from palmette.models import (
    LAWS,
    BetaSplitting,
    Contrasts,
    GradualShares,
    GroupShares,
    ShareLaw,
    VarianceShares,
    with_prior,
)
from palmette.models.profiles import profiles_of
from palmette.models.share_law import Line, SignalShape
from palmette.models.variance_shares import leaves_law_open

GROUPS = np.concatenate([np.random.default_rng(0).normal(c, 0.7, (4, 2)) for c in ([0, 0], [5, 0], [2.5, 6])])
OF_GROUPS = [GroupShares(), GroupShares(0.5, spread=9.0), GroupShares(0.01, first=2.0, second=0.6, excess=1.5)]
EVERY = [*LAWS.values(), GradualShares(2.0, within=0.5, evenness=0.2, power=0.7), *OF_GROUPS[1:]]


def points(n, seed, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def square(x, cluster):
    rows = x[sorted(cluster)]
    return float(np.square(rows - rows.mean(axis=0)).sum())


def log_share(law, h):
    """log density of u in a cluster of m leaves, with what it adds up to by quadrature if it is cut off."""
    if isinstance(law, GradualShares):
        return lambda m, u: stats.beta.logpdf(u, h * (1 + law.excess * (m - 2)), law.within * h * (m - 2))
    density = group_shares(h, law.excess, law.first, law.second)
    return lambda m, u: density(m, math.log(u), math.log1p(-u))


def log_psi(x, law, d):
    """The formula of a split, by its words."""
    h, n = law.half_dimension(d), len(x)
    share, tau = log_share(law, h), law.evenness_of(h)
    total = square(x, range(n))

    def of(left, right):
        m, whole = len(left | right), square(x, left | right)
        if m == 2:
            return 0.0
        one, two = square(x, left), square(x, right)
        u, q = 1 - (one + two) / whole, one / (one + two)
        gain = share(m, u) - stats.beta.logpdf(u, h, h * (m - 2))
        if min(len(left), len(right)) > 1:
            own = [h * (len(part) - 1) for part in (left, right)]
            gain += stats.beta.logpdf(q, *(tau * size for size in own)) - stats.beta.logpdf(q, *own)
        with np.errstate(divide="ignore"):  # no noise level
            log_odds = h * (m - 1) * np.log(law.noise_level / (whole / (m - 1) / (total / (n - 1))))
        noise = expit(log_odds)
        return float(np.log((1 - noise) * np.exp(gain) + noise)) if gain < 600 else gain + np.log1p(-noise)

    return of


@given(
    h=hierarchies(max_leaves=12, binary=True),
    seed=st.integers(0, 2**16),
    law=st.sampled_from(EVERY),
    d=st.sampled_from([0.3, 1.0, 3.0, 11.0]),
)
def test_a_potential_is_its_formula(h, seed, law, d):
    x = points(h.n_leaves, seed)
    of_split = log_psi(x, law, d)
    expected = sum(of_split(left, right) for left, right in h.splits())
    model = VarianceShares(x, law, dimension=d)
    assert model.log_potential(h) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_noise_says_nothing():
    x = points(7, 1)
    post = HierarchyPosterior(VarianceShares(x, "noise"))
    assert post.log_evidence == pytest.approx(0.0, abs=1e-11)
    for hierarchy in post.sample(9, rng=0):
        assert post.model.log_potential(hierarchy) == pytest.approx(0.0, abs=1e-11)
    assert HierarchyPosterior(with_prior(post.model, "yule")).log_evidence == pytest.approx(0.0, abs=1e-11)


# It is a density: relative to noise, so that what noise makes of the ratio adds up to one.

NODES, STEP = np.linspace(-30.0, 30.0, 601, retstep=True)  # log odds of a share
DIGITS = 12 * math.log(10)  # log odds from which on a part has no digits left, and what the law has there is lost


def placed(*splits):
    """Points whose contrasts, one for each split (left, right, squared length), are at right angles to each other."""
    x = np.zeros((1 + len(splits), len(splits)))
    for column, (left, right, squared) in zip(x.T, splits, strict=True):
        column[[*left, *right]] = np.repeat([1 / len(left), -1 / len(right)], [len(left), len(right)])
        column *= math.sqrt(squared / np.square(column).sum())
    return x


def ratio(x, law, left, right):
    """ψ of one split, given as bit masks."""
    return float(np.exp(VarianceShares(x, law, dimension=5.0).log_potentials([left], [right])[0]))


def mean_in_noise(values, a, b):
    """E[value] where log odds x are those of Beta(a, b), by the trapezoidal rule."""
    logs = -a * np.logaddexp(0.0, -NODES) - b * np.logaddexp(0.0, NODES) + math.lgamma(a + b)
    return STEP * float(values @ np.exp(logs - math.lgamma(a) - math.lgamma(b)))


def three(x):
    return placed(((0,), (1, 2), expit(x)), ((1,), (2,), expit(-x)))


def comb(x, y):
    return placed(
        ((0,), (1, 2, 3), expit(x)), ((1,), (2, 3), expit(-x) * expit(y)), ((2,), (3,), expit(-x) * expit(-y))
    )


def pairs(x, y):
    return placed(((0, 1), (2, 3), expit(x)), ((0,), (1,), expit(-x) * expit(y)), ((2,), (3,), expit(-x) * expit(-y)))


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_the_share_of_a_split_is_a_density(law):
    h = law.half_dimension(5.0)
    of_three = np.array([ratio(three(x), law, 0b001, 0b110) for x in NODES])
    assert mean_in_noise(of_three, h, h) == pytest.approx(1.0, abs=2e-6)
    of_four = np.array([ratio(comb(x, 0.3), law, 0b0001, 0b1110) for x in NODES])
    assert mean_in_noise(of_four, h, 2 * h) == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize("law", EVERY, ids=repr)
@pytest.mark.parametrize("x", [-2.0, 0.5, 4.0])
def test_the_split_of_a_part_is_a_density_however_much_is_left_for_it(law, x):
    h = law.half_dimension(5.0)
    of_part = np.array([ratio(comb(x, y), law, 0b0010, 0b1100) for y in NODES])
    assert mean_in_noise(of_part, h, h) == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize("law", EVERY, ids=repr)
@pytest.mark.parametrize("x", [-2.0, 0.5, 4.0])
def test_how_parts_share_the_rest_is_a_density(law, x):
    """So a split into two and two that takes as much is worth the same, but for that, as one into one and three."""
    h = law.half_dimension(5.0)
    of_pairs = np.array([ratio(pairs(x, y), law, 0b0011, 0b1100) for y in NODES])
    lost = 2 * math.exp(-law.evenness_of(h) * h * (DIGITS - abs(x)))
    assert mean_in_noise(of_pairs, h, h) == pytest.approx(ratio(comb(x, 0.0), law, 0b0001, 0b1110), rel=1e-6 + lost)


# What does not matter, and what is ordinary.


def answers(x, law="groups", **options):
    post = HierarchyPosterior(with_prior(VarianceShares(x, law, **options), "yule"))
    return np.array([post.log_evidence, *post.cluster_probability_array()])


@pytest.mark.parametrize("law", ["gradual", "groups"])
def test_units_turns_and_shifts_do_not_matter(law):
    x = points(7, 4)
    turn = np.linalg.qr(points(3, 5))[0]
    for other in (1e-9 * x, 1e9 * x, x @ turn, x + np.array([3.0, -40.0, 7.0]), x[:, ::-1]):
        np.testing.assert_allclose(answers(other, law), answers(x, law), atol=1e-9)
    with_constant = np.column_stack([x, np.full(7, 3.0), np.zeros(7)])
    np.testing.assert_array_equal(answers(with_constant, law), answers(x, law))
    assert VarianceShares(with_constant, dimension=None).dimension == 3


def test_points_in_another_order_have_the_same_evidence():
    order = np.random.default_rng(1).permutation(12)
    assert answers(GROUPS[order])[0] == pytest.approx(answers(GROUPS)[0], rel=1e-12)


def test_few_leaves_and_equal_points_are_ordinary():
    for law in LAWS:
        for few in ([[3.0, 1.0]], [[0.0], [1.0]], [[2.0, 2.0], [2.0, 2.0]], np.ones((5, 2)), np.zeros((4, 0))):
            assert HierarchyPosterior(VarianceShares(few, law)).log_evidence == pytest.approx(0.0, abs=1e-12)
            assert HierarchyPosterior(VarianceShares(few, law, profiles=0.5)).log_evidence == pytest.approx(0.0)
    assert np.exp(HierarchyPosterior(VarianceShares(np.ones((4, 2)))).entropy) == pytest.approx(15.0)
    three = HierarchyPosterior(VarianceShares([[0.0], [0.1], [5.0]], "groups"))
    assert three.cluster_probability([0, 1]) > 0.5


@pytest.mark.parametrize("law", LAWS)
def test_duplicates_are_finite(law):
    for x in (
        np.repeat(points(3, 0), 3, axis=0),
        [[0.0], [0.0], [1.0], [1.0], [1.0]],
        1e-7 * points(4, 0) + [5.0, 0, 0],
    ):
        post = HierarchyPosterior(VarianceShares(x, law))
        assert np.isfinite(post.log_evidence)
        assert np.isfinite(post.cluster_probability_array()).all()


def test_duplicates_are_groups():
    twice = HierarchyPosterior(VarianceShares(np.repeat(points(3, 0), 3, axis=0), "groups"))
    assert min(twice.cluster_probability(range(k, k + 3)) for k in (0, 3, 6)) > 0.99
    pairs = HierarchyPosterior(VarianceShares([[0.0], [0.0], [1.0], [1.0], [1.0]], "groups"))
    assert pairs.cluster_probability([0, 1]) > 0.9
    assert pairs.cluster_probability([0, 2]) < 0.01


@pytest.mark.parametrize("law", LAWS)
def test_many_more_columns_than_rows_are_finite(law):
    x = points(6, 2, d=4000)
    x[:3] += 0.5
    for dimension in (None, 1e6):
        post = HierarchyPosterior(VarianceShares(x, law, dimension=dimension))
        assert np.isfinite(post.log_evidence)
        assert post.cluster_probability([0, 1, 2]) > 0.9 or law == "noise"


def test_groups_are_found_on_a_line_and_the_outer_two_are_not_joined():
    x = points(12, 0, d=1) + np.repeat([0.0, 8.0, 16.0], 4)[:, None]
    post = HierarchyPosterior(VarianceShares(x, "groups"))
    assert min(post.cluster_probability(range(k, k + 4)) for k in (0, 4, 8)) > 0.7
    assert post.cluster_probability([*range(4), *range(8, 12)]) < 0.05


def test_columns_that_hang_together_count_for_less():
    x = points(8, 3, d=2)
    x[:4] += 1.5
    copies = np.tile(x, 10)
    sure, plain, effective = (
        HierarchyPosterior(VarianceShares(rows, dimension=dimension))
        for rows, dimension in ((copies, None), (x, "effective"), (copies, "effective"))
    )
    np.testing.assert_allclose(effective.cluster_probability_array(), plain.cluster_probability_array(), atol=0.05)
    assert sure.entropy < effective.entropy
    assert VarianceShares(copies, dimension=2.5).dimension == 2.5
    assert "dimension=2.5" in repr(VarianceShares(copies, dimension=2.5))


# Profiles.


def test_levels_of_rows_do_not_matter_to_profiles():
    x = points(6, 1, d=9)
    level = points(6, 2, d=1)
    for other in (x + 7.0 * level, 1e6 * x, x + np.arange(9.0)):
        np.testing.assert_allclose(answers(other, profiles=1.0), answers(x, profiles=1.0), atol=1e-8)
    assert np.abs(answers(x + 7.0 * level, profiles=0.5) - answers(x, profiles=0.5)).max() > 0.01


def test_scales_of_rows_do_not_matter_to_profiles():
    """If the mean of each column stays: a row and its opposite are scaled alike."""
    half = points(3, 1, d=9)
    x, scale = np.vstack([half, -half]), np.tile([0.1, 1.0, 20.0], 2)[:, None]
    np.testing.assert_allclose(answers(scale * x, profiles=1.0), answers(x, profiles=1.0), atol=1e-8)
    assert np.abs(answers(scale * x) - answers(x)).max() > 0.1


def test_distances_of_profiles_are_correlations():
    x = points(6, 3, d=10)
    r = np.corrcoef(x - x.mean(axis=0))
    model = VarianceShares(x, profiles=1.0)
    found = model.pairwise[0]
    np.testing.assert_allclose(found / found.sum(), (1 - r) / (1 - r).sum(), atol=1e-12)
    np.testing.assert_array_equal(profiles_of(np.array([[1.0, 2.0], [1.0, 2.0]])), 0.0)


def test_distances_are_mixed_as_shares_of_their_sums():
    x = points(7, 5, d=40)
    one, two, mixed = VarianceShares(x), VarianceShares(x, profiles=1.0), VarianceShares(x, profiles=0.3)
    first, second = (model.pairwise[0] / model.pairwise[0].sum() for model in (one, two))
    np.testing.assert_allclose(mixed.pairwise[0], 0.7 * first + 0.3 * second, atol=1e-15)
    assert mixed.dimension == pytest.approx(0.7 * one.dimension + 0.3 * two.dimension)
    again = one.mixed_with(one.as_profiles(), 0.3)
    assert (again.profiles, again.law) == (pytest.approx(0.3), one.law)
    np.testing.assert_allclose(again.theta, mixed.theta, rtol=1e-12)
    assert "profiles=0.3" in repr(again)


def test_profiles_are_open_if_they_make_sense():
    x = points(7, 5, d=40)
    assert VarianceShares(x).as_profiles().profiles == 1.0
    assert VarianceShares(x[:, :15], dimension=None).as_profiles() is None
    assert VarianceShares(x[:, :16], dimension=None).as_profiles() is not None
    assert VarianceShares(np.column_stack([x[:, :15], np.ones((7, 3))]), dimension=None).as_profiles() is None
    hanging_together = points(7, 5, d=2) @ points(2, 6, d=40)
    assert VarianceShares(hanging_together).as_profiles() is None
    assert VarianceShares(x, profiles=0.0).as_profiles() is None  # somebody has said what is wanted
    assert VarianceShares(x).of_rows([0, 1, 2]).as_profiles() is None
    with_flat_row = np.vstack([x - x.mean(axis=0), np.zeros((1, 40))])
    assert VarianceShares(with_flat_row).as_profiles() is None


# The same points, in other words.


def test_some_of_the_rows_keep_the_dimension_of_all():
    x = points(9, 2, d=4)
    rows = [7, 0, 3, 4]
    model = VarianceShares(x, "groups", labels=[*"abcdefghi"]).of_rows(rows)
    assert model.labels == ("h", "a", "d", "e")
    alone = VarianceShares(x[rows], "groups", dimension=VarianceShares(x).dimension)
    np.testing.assert_allclose(model.pairwise[0], alone.pairwise[0], rtol=1e-12)
    np.testing.assert_allclose(model.theta, alone.theta, rtol=1e-12)


def test_another_law_is_a_model_of_the_same_points():
    x = points(7, 6, d=9)
    for name, law in LAWS.items():
        made, new = VarianceShares(x, profiles=0.4).with_law(name), VarianceShares(x, law, profiles=0.4)
        assert (made.law, made.labels, made.dimension) == (law, new.labels, new.dimension)
        np.testing.assert_array_equal(made.theta, new.theta)
        assert repr(name) in repr(made)
    first = VarianceShares(x)
    first.with_law("groups")
    assert first.law == LAWS["gradual"]  # and is left as it was
    assert "GradualShares(excess=0.3" in repr(first.with_law(GradualShares(0.3)))


def test_a_noise_level_is_a_parameter_where_there_is_one():
    x = points(7, 6)
    assert VarianceShares(x).parameter_ranges == VarianceShares(x).free_parameters == {}
    model = VarianceShares(x, GroupShares(0.2))
    assert model.free_parameters == {"noise_level": 0.2}
    low, high = model.parameter_ranges["noise_level"]
    assert low < 0.2 < high
    assert model.with_parameters(noise_level=0.3).law == GroupShares(0.3)
    assert model.with_parameters().noise_level == model.noise_level == 0.2
    assert VarianceShares(x).fitted_to(list(HierarchyPosterior(model).sample(3, rng=0))).law == LAWS["gradual"]


def test_the_noise_level_that_is_fitted_is_the_most_probable_one():
    model = VarianceShares(GROUPS, "groups")
    draws = list(HierarchyPosterior(model).sample(20, rng=0))
    sums = lambda one: sum(map(one.log_potential, draws))  # noqa: E731
    fitted = model.fitted_to(draws)
    others = [model.with_parameters(noise_level=level) for level in np.geomspace(0.002, 0.9, 50).tolist()]
    assert sums(fitted) > max(map(sums, others)) - 1.0
    assert sums(fitted) >= sums(model.with_parameters(noise_level=0.9)) + 1.0


@given(h=hierarchies(max_leaves=9, binary=True), seed=st.integers(0, 2**16), level=st.sampled_from([0.03, 0.4, 1.0]))
def test_how_probable_it_is_that_a_cluster_is_noise(h, seed, level):
    n, x = h.n_leaves, points(h.n_leaves, seed)
    trellis = SparseTrellis.from_hierarchies([h])
    found = VarianceShares(x, GroupShares(level), dimension=3).log_noise(trellis)
    for i, log_noise in enumerate(found):
        cluster = trellis.members(i)
        if (m := len(cluster)) < 3:
            assert log_noise == 0.0
        else:
            share = square(x, cluster) / (m - 1) / (square(x, range(n)) / (n - 1))
            noise, signal = level ** (1.5 * (m - 1)), share ** (1.5 * (m - 1))
            assert math.exp(log_noise) == pytest.approx(noise / (noise + signal), rel=1e-8)
    without = VarianceShares(x).log_noise(trellis)
    np.testing.assert_array_equal(without, np.where(trellis.sizes > 2, -np.inf, 0.0))


class Halves(ShareLaw):
    """A law of a person's own: u ~ Beta(2h, h (m − 2)), parts as in noise."""

    noise_level = 0.1

    def shape(self, h):
        """No cut."""
        return SignalShape(Line(2 * h, 0.0), Line(0.0, h))

    def evenness_of(self, h):
        """As in noise."""
        return 1.0


def test_a_law_of_ones_own_is_a_law():
    x = points(5, 8)
    law, h = Halves(), 1.5
    tree = Hierarchy.from_newick("((0,1),(2,(3,4)));")
    found = VarianceShares(x, law, dimension=3).log_potential(tree)
    expected, total = 0.0, square(x, range(5))
    for left, right in ((({0, 1}), {2, 3, 4}), ({2}, {3, 4})):
        m, whole = len(left | right), square(x, left | right)
        u = 1 - (square(x, left) + square(x, right)) / whole
        gain = stats.beta.logpdf(u, 2 * h, h * (m - 2)) - stats.beta.logpdf(u, h, h * (m - 2))
        noise = expit(h * (m - 1) * math.log(0.1 * total / 4 / (whole / (m - 1))))
        expected += math.log((1 - noise) * math.exp(gain) + noise)
    assert found == pytest.approx(expected, rel=1e-10)


# Without what the law does not have.


@pytest.mark.parametrize("law", ["gradual", "slight", "noise"])
def test_a_lean_model_is_the_same_model(law):
    x = points(8, 3, d=40)
    model = VarianceShares(x, law)
    lean = model.lean()
    assert type(lean) is not VarianceShares
    assert (lean.labels, repr(lean), lean.parameter_ranges) == (model.labels, repr(model), {})
    one, two = (HierarchyPosterior(with_prior(kind, "yule")) for kind in (model, lean))
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-11)
    np.testing.assert_allclose(one.cluster_probability_array(), two.cluster_probability_array(), atol=1e-12)
    assert pickle.loads(pickle.dumps(lean)).log_potential(one.map()) == lean.log_potential(one.map())
    np.testing.assert_array_equal(lean.as_profiles().theta, model.as_profiles().theta)
    np.testing.assert_array_equal(lean.of_rows([1, 4, 5]).theta, model.of_rows([1, 4, 5]).theta)


def test_a_lean_model_may_be_given_any_law():
    model = VarianceShares(points(7, 3))
    tree = HierarchyPosterior(model).map()
    for law in LAWS.values():
        expected = model.with_law(law).log_potential(tree)
        assert model.lean().with_law(law).log_potential(tree) == pytest.approx(expected, abs=1e-12)
        assert model.with_law(law).lean().with_law("groups").log_potential(tree) == pytest.approx(
            model.with_law("groups").log_potential(tree), abs=1e-12
        )
    groups = VarianceShares(points(7, 3), "groups")
    assert groups.lean() is groups


# With a prior.


class Generic(VarianceShares):
    """The same, of which `with_prior` is not told where the prior can go."""

    constant_feature = None


def test_a_prior_goes_into_the_constant_feature_and_nothing_changes():
    x, law = points(8, 3), BetaSplitting(0.7)
    for name in ("gradual", "groups"):
        placed, generic = (with_prior(kind(x, name), law) for kind in (VarianceShares, Generic))
        assert (placed.n_features, generic.n_features) == (6, 7)
        one, two = HierarchyPosterior(placed), HierarchyPosterior(generic)
        assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-11)
        np.testing.assert_allclose(one.cluster_probability_array(), two.cluster_probability_array(), atol=1e-11)
        h = law.law(8).h
        for tree in one.sample(5, rng=1):
            sizes = [len(cluster) for cluster in tree.clusters() if len(cluster) > 1]
            expected = placed.model.log_potential(tree) + h[sizes].sum()
            assert placed.log_potential(tree) == pytest.approx(expected, abs=1e-10)
            assert generic.log_potential(tree) == pytest.approx(expected, abs=1e-10)


def test_another_score_has_no_constant_feature():
    class Doubled(VarianceShares):
        """Nothing of it is ever compiled."""

        @staticmethod
        def score(theta, parent, left, right):
            return 2.0 * theta[0]

    assert (Doubled.constant_feature, VarianceShares.constant_feature) == (None, 2)
    assert Doubled(GROUPS).log_evidence_offset is None


def test_with_a_prior_it_is_known_as_what_it_is():
    model = with_prior(VarianceShares(GROUPS, "groups"), "yule")
    assert model.pairwise_holds == "squared distances"
    assert model.parameter_ranges == VarianceShares(GROUPS, "groups").parameter_ranges
    assert leaves_law_open(model.model)
    assert not leaves_law_open(Contrasts(GROUPS))


def test_a_model_is_pickled_whole():
    model = VarianceShares(points(5, 1, d=40), GroupShares(0.3), labels=[*"abcde"])
    again = pickle.loads(pickle.dumps(model))
    assert (again.law, again.labels, again.dimension) == (model.law, model.labels, model.dimension)
    np.testing.assert_array_equal(again.as_profiles().theta, model.as_profiles().theta)
    prior = pickle.loads(pickle.dumps(with_prior(model, "yule")))
    assert HierarchyPosterior(prior).log_evidence == HierarchyPosterior(with_prior(model, "yule")).log_evidence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": [[0.0], [np.nan]]}, "row 1, column 0"),
        ({"points": [0.0, 1.0]}, "expected"),
        ({"points": np.empty((0, 2))}, "at least one leaf"),
        ({"points": 1e200 * GROUPS}, "too large"),
        ({"points": GROUPS, "dimension": 0}, "dimension is 0"),
        ({"points": GROUPS, "profiles": 1.5}, "profiles is 1.5; expected a probability, from 0 to 1"),
        ({"points": GROUPS, "law": "flat"}, "law is 'flat'; give one of 'gradual', 'slight', 'groups', 'noise' or"),
        ({"points": GROUPS, "labels": ["a"]}, "12"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        VarianceShares(**options)


@pytest.mark.parametrize(
    ("law", "options", "error", "message"),
    [
        (GradualShares, {"excess": -1.0}, ValueError, "excess is -1.0; it must be finite and at least 0"),
        (GradualShares, {"excess": math.inf}, ValueError, "excess is inf"),
        (GradualShares, {"excess": 0.1, "within": 1.5}, ValueError, "within is 1.5; give a number above 0, and at"),
        (GradualShares, {"excess": 0.1, "evenness": 0.0}, ValueError, "evenness is 0"),
        (GradualShares, {"excess": 0.1, "power": 1.1}, ValueError, "power is 1.1; give a number above 0, and at most"),
        (GradualShares, {"excess": 0.1, "power": "all"}, TypeError, "power must be a number, not 'all'"),
        (GroupShares, {"noise_level": 0.0}, ValueError, "noise_level is 0.0; give a share of the mean square"),
        (GroupShares, {"noise_level": 1.5}, ValueError, "noise_level is 1.5"),
        (GroupShares, {"noise_level": "low"}, TypeError, "noise_level must be a number, not 'low'"),
        (GroupShares, {"first": -1.0}, ValueError, "first is -1.0; give a positive number"),
        (GroupShares, {"spread": 0.0}, ValueError, "spread is 0.0; give a positive number"),
    ],
)
def test_constants_of_laws_that_cannot_be_are_named(law, options, error, message):
    with pytest.raises(error, match=message):
        law(**options)


@pytest.mark.parametrize("m", [3, 40])
@pytest.mark.parametrize("law", [GroupShares(), GroupShares(second=0.05), GroupShares(excess=9.0)], ids=repr)
def test_what_a_law_that_is_cut_off_adds_up_to_is_its_integral(law, m):
    for h in (0.5, 4.0, 300.0):
        u = 0.7
        twin = group_shares(h, law.excess, law.first, law.second)(m, math.log(u), math.log1p(-u))
        odds = law.excess + 1 / (m - 2)
        cut = -np.logaddexp(0.0, h * odds * (m - 2) * (math.log(odds) - math.log(u / (1 - u))))
        own = (law.first - 1) * math.log(u) + (law.second - 1) * math.log1p(-u) + cut
        assert own - twin == pytest.approx(law.log_total(h, np.array([float(m)]))[0], abs=1e-9)
