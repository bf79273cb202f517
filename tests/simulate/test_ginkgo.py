import itertools
import math
import sys

import numpy as np
import pytest
from scipy import integrate, stats

from palmette.hierarchy import Hierarchy
from palmette.numeric import unit_draw
from palmette.simulate import GinkgoJets, Jet, ginkgo

ONE = {"momentum": 100.0, "mass": 20.0, "rate": 2.0, "t_cut": 4.0}


def mass_squared(p):
    momentum = np.sqrt(np.square(p[..., 1:]).sum(axis=-1))
    return (p[..., 0] - momentum) * (p[..., 0] + momentum)


def node_momenta(jet):
    """The momentum of every node, leaves first, from the leaves up."""
    p = list(jet.momenta)
    for left, right in jet.children:
        p.append(p[left] + p[right])
    return np.array(p)


def slow_shower(seed, jet, p, t, rates, t_cut):
    """The shower by recursion, drawing in the same order; nested leaf numbers, and the leaves' momenta."""
    steps = itertools.count()
    leaves = []

    def fraction(rate):
        return -math.log(1 - unit_draw(seed, jet, next(steps)) * (1 - math.exp(-0.999 * rate))) / rate

    def boost(energy, q, p, t):
        if not p[1:].any():
            return np.array([energy, *q])
        axis = p[1:] / np.linalg.norm(p[1:])
        gamma, gamma_beta = p[0] / math.sqrt(t), np.linalg.norm(p[1:]) / math.sqrt(t)
        vector = q + (gamma - 1) * (q @ axis) * axis + gamma_beta * energy * axis
        return np.array([gamma * energy + gamma_beta * (q @ axis), *vector])

    def node(p, t, rate):
        if t <= t_cut:
            leaves.append(p)
            return len(leaves) - 1
        cosine = 2 * unit_draw(seed, jet, next(steps)) - 1
        angle = 2 * math.pi * unit_draw(seed, jet, next(steps))
        sine = math.sqrt(1 - cosine**2)
        r = np.array([sine * math.cos(angle), sine * math.sin(angle), cosine])
        t_left = t * fraction(rate)
        t_right = (math.sqrt(t) - math.sqrt(t_left)) ** 2 * fraction(rate)
        half = math.sqrt(t) / 2
        size = half * math.sqrt(1 - 2 * (t_left + t_right) / t + (t_left - t_right) ** 2 / t**2)
        left = boost(half * (1 + t_left / t - t_right / t), size * r, p, t), t_left
        right = boost(half * (1 + t_right / t - t_left / t), -size * r, p, t), t_right
        first, second = (right, left) if unit_draw(seed, jet, next(steps)) < 0.5 else (left, right)
        return node(*first, rates[1]), node(*second, rates[1])

    return node(p, t, rates[0]), np.array(leaves)


@pytest.mark.parametrize("momentum", [0.0, 400.0, [0.0, -30.0, 4.0]])
def test_showers_match_a_recursion_that_follows_the_recipe(momentum):
    jets = ginkgo(20, preset="w", momentum=momentum, rng=5)
    seed = np.random.default_rng(5).integers(0, 2**64, dtype=np.uint64)
    vector = np.array(momentum) if np.ndim(momentum) else np.full(3, momentum / math.sqrt(3))
    start = np.array([math.sqrt(80.0**2 + vector @ vector), *vector])
    for i, jet in enumerate(jets):
        nested, momenta = slow_shower(seed, i, start, 80.0**2, (3.0, 1.5), 16.0)
        assert jet.hierarchy == Hierarchy.from_nested(nested)
        assert np.allclose(jet.momenta, momenta, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("preset", ["qcd", "w"])
def test_momentum_is_conserved(preset):
    jets = ginkgo(300, preset=preset, rng=2)
    mass = {"qcd": 30.0, "w": 80.0}[preset]
    total = np.array([math.hypot(400.0, mass), *[400.0 / math.sqrt(3)] * 3])
    assert np.allclose(np.add.reduceat(jets.momenta, jets.offsets[:-1]), total, rtol=1e-12, atol=0)
    assert mass_squared(total) == pytest.approx(mass**2)


def test_truth_obeys_the_law_of_the_shower():
    for jet in ginkgo(300, rng=3):
        t, n = mass_squared(node_momenta(jet)), jet.n_leaves
        assert (t > -1e-8).all()
        assert (t[:n] <= 16 + 1e-8).all()
        assert (t[n:] > 16 - 1e-8).all()
        parents, children = t[n:], np.maximum(t[jet.children], 0)
        assert (children < 0.999 * parents[:, None] + 1e-8).all()
        assert (np.sqrt(children).sum(axis=1) <= np.sqrt(parents) + 1e-6).all()


def test_the_same_seed_gives_the_same_jets():
    first, second, other = ginkgo(50, rng=7), ginkgo(50, rng=np.random.default_rng(7)), ginkgo(50, rng=8)
    assert np.array_equal(first.momenta, second.momenta)
    assert np.array_equal(first.children, second.children)
    assert not np.array_equal(first.momenta[:5], other.momenta[:5])


def test_no_seed_gives_new_jets():
    assert not np.array_equal(ginkgo(1).momenta[0], ginkgo(1).momenta[0])


@pytest.mark.parametrize("bounds", [{}, {"min_leaves": 8, "max_leaves": 9}])
def test_a_jet_does_not_depend_on_how_many_are_asked_for(bounds):
    few, many = ginkgo(10, rng=4, **bounds), ginkgo(100, rng=4, **bounds)[:10]
    assert np.array_equal(few.offsets, many.offsets)
    assert np.array_equal(few.momenta, many.momenta)
    assert np.array_equal(few.children, many.children)


def test_jets_across_chunks_are_whole(monkeypatch):
    whole = ginkgo(100, rng=6)
    monkeypatch.setattr(sys.modules[ginkgo.__module__], "_CHUNK", 7)
    parts = ginkgo(100, rng=6)
    assert np.array_equal(whole.momenta, parts.momenta)
    assert np.array_equal(whole.children, parts.children)


def test_jets_of_one_batch_differ():
    jets = ginkgo(1000, rng=0)
    assert len(np.unique(jets.momenta[:, 0])) == len(jets.momenta)


def test_qcd_jets_have_about_7_6_leaves():
    sizes = ginkgo(4000, rng=9).n_leaves
    assert abs(sizes.mean() - 7.6) < 4 * sizes.std() / math.sqrt(len(sizes))
    assert sizes.min() >= 2
    assert sizes.max() < 20


def test_w_jets_have_about_14_leaves():
    assert abs(ginkgo(5000, preset="w", rng=9).n_leaves.mean() - 14) < 0.5


def fraction_law(x, rate):
    return -np.expm1(-rate * np.clip(x, 0, 0.999)) / -np.expm1(-0.999 * rate)


def test_masses_of_the_first_split_follow_their_law():
    # The first child is, with probability 1/2 each, the one drawn first (u) or second ((1 − √u)² u').
    rate, jets = 1.5, ginkgo(2000, momentum=0.0, rng=10)
    t = [mass_squared(node_momenta(jet)[jet.children[-1, 0]]) / 900.0 for jet in jets]
    density = lambda u: rate * math.exp(-rate * u) / -math.expm1(-0.999 * rate)  # noqa: E731
    grid = np.linspace(0, 0.999, 200)
    second = [
        integrate.quad(lambda u, x=x: density(u) * fraction_law(x / (1 - math.sqrt(u)) ** 2, rate), 0, 0.999)[0]
        for x in grid
    ]
    law = 0.5 * fraction_law(grid, rate) + 0.5 * np.array(second)
    assert stats.kstest(t, lambda x: np.interp(x, grid, law)).pvalue > 0.01


def test_directions_are_uniform_on_the_sphere():
    first = [node_momenta(jet)[jet.children[-1, 0]] for jet in ginkgo(4000, momentum=0.0, rng=11)]
    directions = np.array(first)[:, 1:] / np.linalg.norm(np.array(first)[:, 1:], axis=1, keepdims=True)
    for axis in range(3):
        assert stats.kstest(directions[:, axis], stats.uniform(-1, 2).cdf).pvalue > 0.01


def test_root_rate_acts_on_the_first_split_only():
    slow, fast = ginkgo(2000, root_rate=0.1, rng=1), ginkgo(2000, root_rate=20.0, rng=1)
    light = [
        np.mean([mass_squared(node_momenta(jet))[jet.children[-1]].sum() for jet in jets]) for jets in (slow, fast)
    ]
    assert light[0] > 3 * light[1]
    assert (slow.rate, slow.root_rate) == (1.5, 0.1)


def test_bounds_on_leaves_are_kept():
    sizes = ginkgo(500, min_leaves=5, max_leaves=10, rng=1).n_leaves
    assert set(sizes) == {5, 6, 7, 8, 9, 10}


def test_bounds_on_leaves_leave_the_other_jets_alone():
    free, bound = ginkgo(200, rng=1), ginkgo(200, min_leaves=5, max_leaves=10, rng=1)
    kept = [i for i, n in enumerate(free.n_leaves) if 5 <= n <= 10]
    assert 50 < len(kept) < 200
    for i in kept:
        assert np.array_equal(free[i].momenta, bound[i].momenta)


def test_a_light_jet_is_a_single_leaf():
    jets = ginkgo(3, mass=4.0, rng=0)  # mass² = t_cut
    assert jets.n_leaves.tolist() == [1, 1, 1]
    assert jets[2].hierarchy.n_leaves == 1
    assert jets[2].children.shape == (0, 2)


def test_no_jets_are_legal():
    jets = ginkgo(0)
    assert (len(jets), jets.momenta.shape, jets.children.shape) == (0, (0, 4), (0, 2))
    assert jets.hierarchies == []


def test_jets_are_a_sequence_over_a_few_arrays():
    jets = ginkgo(10, rng=1)
    assert isinstance(jets[-1], Jet)
    assert np.array_equal(jets[-1].momenta, jets[9].momenta)
    assert np.shares_memory(jets[3].momenta, jets.momenta)
    assert [jet.n_leaves for jet in jets] == jets.n_leaves.tolist()
    assert len(jets.children) == len(jets.momenta) - 10
    assert jets.hierarchies == [jet.hierarchy for jet in jets]
    every_third = jets[::3]
    assert isinstance(every_third, GinkgoJets)
    assert [jet.hierarchy for jet in every_third] == [jets[i].hierarchy for i in (0, 3, 6, 9)]
    assert not jets.momenta.flags.writeable
    with pytest.raises(IndexError):
        jets[10]


def test_without_a_preset_everything_is_given():
    jets = ginkgo(5, preset=None, **ONE, rng=1)
    assert (jets.rate, jets.root_rate, jets.t_cut) == (2.0, 2.0, 4.0)
    total = jets[0].momenta.sum(axis=0)
    assert np.allclose(total, [math.hypot(100, 20), *[100 / math.sqrt(3)] * 3])


@pytest.mark.parametrize("missing", list(ONE))
def test_without_a_preset_a_missing_value_is_named(missing):
    with pytest.raises(ValueError, match=f"give {missing}"):
        ginkgo(5, preset=None, **{name: value for name, value in ONE.items() if name != missing})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_jets": -1}, "n_jets is -1; it must be at least 0"),
        ({"preset": "top"}, "preset is 'top'; give one of 'qcd', 'w', or None"),
        ({"mass": 0.0}, "mass is 0.0; it must be positive"),
        ({"rate": -1.0}, "rate is -1.0"),
        ({"root_rate": math.nan}, "root_rate is nan"),
        ({"t_cut": 0.0}, "t_cut is 0.0"),
        ({"momentum": -1.0}, "momentum is -1.0; expected a magnitude"),
        ({"momentum": math.inf}, "momentum is inf"),
        ({"momentum": [1.0, 2.0]}, "expected a magnitude of at least 0, or a vector"),
        ({"min_leaves": 0}, "min_leaves is 0; it must be at least 1"),
        ({"min_leaves": 5, "max_leaves": 4}, "max_leaves is 4; it must be at least 5"),
        ({"mass": 3.0, "min_leaves": 2}, "none of 100000 showers drawn for jet 0"),
        ({"t_cut": 1e-9, "rate": 1e-3}, "jet 0 grew beyond 4096 particles"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ginkgo(**{"n_jets": 3, "rng": 0, **arguments})


@pytest.mark.parametrize(
    "arguments",
    [{"n_jets": 1.5}, {"n_jets": True}, {"min_leaves": "5"}, {"rate": "fast"}, {"momentum": "fast"}],
)
def test_arguments_of_a_wrong_kind_are_refused(arguments):
    with pytest.raises(TypeError, match=next(iter(arguments))):
        ginkgo(**{"n_jets": 3, **arguments})


def test_a_stretch_of_jets_is_the_same_stretch_of_the_whole():
    whole = ginkgo(30, rng=3)
    part = ginkgo(12, first=10, rng=3)
    np.testing.assert_array_equal(part.momenta, whole[10:22].momenta)
    np.testing.assert_array_equal(part.children, whole[10:22].children)
    assert part.ids["jet"].tolist() == list(range(10, 22))
    with pytest.raises(ValueError, match="first is -1"):
        ginkgo(1, first=-1)
