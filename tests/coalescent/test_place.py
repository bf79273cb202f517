"""Where new rows join: the integral over branches and ages, row by row and history by history."""

import functools
import itertools
import math

import numpy as np
import pytest
from coalescent_cases import EQUILIBRIA, FULL, NAN, random_case, random_states
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from palmette.coalescent.brownian import Brownian, Gaussian
from palmette.coalescent.joint import ages_of, log_joint
from palmette.coalescent.place import place
from palmette.coalescent.process import Prepared, Process
from palmette.coalescent.sites import IndependentSites
from palmette.hierarchy import Hierarchy
from palmette.simulate.coalescent import coalescent

POINTS = [[-0.026, 0.482], [0.309, 0.055], [-1.705, 0.919], [0.613, 1.373], [0.94, 0.374]]
HISTORY = Hierarchy.from_merges([[3, 2], [1, 0], [5, 6], [4, 7]], heights=[0.0045, 0.0225, 0.0475, 1.944])


def extended(history, branch, age):
    """The history with one more leaf, the last one, that joins the branch above a node at this age."""
    n, ages = history.n_leaves, ages_of(history)
    events = {n + i: (ages[n + i], list(pair)) for i, pair in enumerate(history.children.tolist())}
    for _, pair in events.values():
        pair[:] = ["new" if child == branch else child for child in pair]
    events["new"] = (age, [branch, "leaf"])
    number = {**{i: i for i in range(n)}, "leaf": n}
    order = sorted(events, key=lambda name: (events[name][0], math.inf if name == "new" else name))
    if branch in events:  # ties: children first
        order.remove("new")
        order.insert(order.index(branch) + 1 + sum(events[k][0] < age for k in order[order.index(branch) + 1 :]), "new")
    number |= {name: n + 1 + k for k, name in enumerate(order)}
    merges = [[number[child] for child in events[name][1]] for name in order]
    return Hierarchy.from_merges(merges, heights=[events[name][0] for name in order])


def placed_slowly(x, history, process, row):
    """∫ p(x, row, extended history) / p(x, history) over the age, for each branch and between any two events."""
    n, ages = history.n_leaves, ages_of(history)
    parents = {child: n + i for i, pair in enumerate(history.children.tolist()) for child in pair}
    base, both = log_joint(x, history, process), np.vstack([x, row])
    # Both integrals ask for the same places first.
    density = functools.cache(lambda t, b: math.exp(log_joint(both, extended(history, b, t), process) - base))
    masses, means = np.zeros(2 * n - 1), np.zeros(2 * n - 1)
    for b in range(2 * n - 1):
        end = ages[parents[b]] if b in parents else ages[-1] + 60.0
        cuts = np.unique([ages[b], *ages[(ages > ages[b]) & (ages < end)], end])
        if b not in parents:
            cuts = np.concatenate([cuts[:1], cuts[0] + np.array([0.5, 2.0, 6.0, 15.0, 60.0])])
        for low, high in itertools.pairwise(cuts):
            masses[b] += quad(density, low, high, (b,), epsabs=1e-12, epsrel=1e-9, limit=200)[0]
            means[b] += quad(lambda t, b=b: t * density(t, b), low, high, epsabs=1e-12, epsrel=1e-7, limit=200)[0]
    return masses, means / np.maximum(masses, 1e-300)


def test_new_rows_have_their_known_density():
    found = place(POINTS, HISTORY, Brownian([1.0, 1.0]), [[0.0, 0.0], [1.0, -1.0], [2.5, 3.0]])
    np.testing.assert_allclose(
        found.log_density, [-2.048462766816156, -3.732256277461405, -6.608989871457632], atol=2e-8
    )
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "row"),
    [
        (Brownian(0.7), [0.4, -0.5, 0.2]),
        (Brownian(FULL, "flat", 0.1), [0.4, -0.5, 0.2]),
        (Brownian([0.5, 1.0, 2.0], Gaussian([0.3, 0.0, 0.1], 1.5)), [0.4, NAN, 0.2]),
        (Brownian(FULL, Gaussian(0.1, 0.6)), [0.4, NAN, 0.2]),
    ],
    ids=repr,
)
def test_places_are_integrals_of_the_ratio_of_joint_densities(process, row):
    history, x, _ = random_case(7, 4, missing=0.0)
    check_place(x, history, process, row)
    x[1, 2] = x[3, 0] = np.nan
    check_place(x, history, process, row)


@pytest.mark.parametrize("rate", [0.6, (0.3, 1.0, 4.0)])
def test_places_of_states_are_integrals_of_the_ratio_of_joint_densities(rate):
    history, x, _ = random_states(2, 4)
    check_place(x, history, IndependentSites(rate, EQUILIBRIA), [1, -1, 2])


def check_place(x, history, process, row):
    found = place(x, history, process, row)
    masses, means = placed_slowly(x, history, process, row)
    np.testing.assert_allclose(found.log_density, math.log(masses.sum()), atol=1e-7)
    np.testing.assert_allclose(found.probabilities[0], masses / masses.sum(), atol=1e-7)
    certain = masses > 1e-6 * masses.sum()
    np.testing.assert_allclose(found.ages[0][certain], means[certain], rtol=1e-4)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 30))
def test_a_row_without_entries_goes_where_the_prior_sends_it(seed, n):
    history, x, _ = random_case(seed, n)
    found = place(x, history, Brownian(FULL), [NAN, NAN, NAN])
    np.testing.assert_allclose(found.log_density, 0.0, atol=1e-10)
    assert found.probabilities.min() >= 0
    events = np.concatenate([[0.0], np.sort(ages_of(history)[n:])])
    hazard = np.concatenate([[0.0], np.cumsum(np.arange(n, 1, -1) * np.diff(events))])
    np.testing.assert_allclose(found.probabilities[0, -1], math.exp(-hazard[-1]), rtol=1e-9)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), scale=st.sampled_from([1e-6, 1.0, 1e3]))
def test_placement_never_fails(seed, n, scale):
    history, x, rng = random_case(seed, n, 2)
    row = scale * rng.normal(size=2)
    for process in (Brownian(), Brownian(1.0, Gaussian(), 0.1)):
        found = place(x, history, process, row)
        assert np.isfinite(found.log_density).all()
        np.testing.assert_allclose(found.probabilities.sum(), 1.0)
        assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()
        assert ((found.ages >= 0) & (found.ages < np.inf)).all()


def test_many_dimensions_have_narrow_peaks():
    rng = np.random.default_rng(1)
    draw = coalescent(6, Brownian(np.ones(500)), rng=rng)
    new = draw.x[2] + 0.1 * rng.normal(size=500)
    found = place(draw.x, draw.hierarchy, Brownian(), new)
    assert found.clusters[found.probabilities[0].argmax()] == (2,)
    # The same by a sum over a fine grid in log age, on that branch.
    ages = np.exp(np.linspace(-8, math.log(draw.hierarchy.branch_lengths[2]) - 1e-9, 1200))
    base = log_joint(draw.x, draw.hierarchy, Brownian())
    both = np.vstack([draw.x, new])
    logs = [log_joint(both, extended(draw.hierarchy, 2, t), Brownian()) - base for t in ages]
    total = np.trapezoid(np.exp(np.array(logs) - max(logs)) * ages, np.log(ages))
    np.testing.assert_allclose(
        found.log_density + np.log(found.probabilities[0, 2]), max(logs) + math.log(total), atol=1e-5
    )


def test_copies_of_rows_have_infinite_density_unless_leaves_have_variance():
    history, x, _ = random_case(3, 4, missing=0.0)
    found = place(x, history, Brownian(), x[1])
    assert found.log_density[0] == np.inf
    assert found.probabilities[0, 1] == 1.0
    assert found.ages[0, 1] == 0.0
    found = place(x, history, Brownian(1.0, "flat", 0.01), x[1])
    assert np.isfinite(found.log_density[0])
    twice = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.0, 0.5])
    for process in (Brownian(), Brownian(1.0, "flat", 0.1)):
        found = place([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], twice, process, [[0.5, 0.5]])
        assert np.isfinite(found.log_density).all()
    with pytest.raises(ValueError, match="leaf_variance"):
        place([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], twice, Brownian(FULL[:2, :2]), [0.5, NAN])


class Rooted(Process):
    """One column of Brownian motion from a root at N(0, 1), written by a user: messages (v, ŷ)."""

    def prepare(self, x):
        x = np.asarray(x, dtype=np.float64)
        return Prepared(type(self), np.zeros(1), np.column_stack([np.zeros(len(x)), x]), 2)

    @staticmethod
    def meet(theta, left, right, out):
        out[0], out[1] = (left[1] - right[1]) ** 2, left[0] + right[0]
        return 1.0

    @staticmethod
    def log_z(theta, meeting, s):
        total = meeting[1] + s
        return -0.5 * (math.log(2 * math.pi * total) + meeting[0] / total) if total > 0.0 else -np.inf

    @staticmethod
    def join(theta, left, l_left, right, l_right, out):
        a, b = left[0] + l_left, right[0] + l_right
        out[0], out[1] = a * b / (a + b), (b * left[1] + a * right[1]) / (a + b)

    @staticmethod
    def log_root(theta, message):
        return -0.5 * (math.log(2 * math.pi * (1.0 + message[0])) + message[1] ** 2 / (1.0 + message[0]))


class Told(Rooted):
    @staticmethod
    def root_message(theta):
        return [1.0, 0.0]


def test_a_process_of_ones_own_can_be_placed_if_its_root_has_a_message():
    history, x, _ = random_case(1, 5, 1, missing=0.0)
    with pytest.raises(TypeError, match="root_message"):
        place(x, history, Rooted(), [0.3])
    one, two = (place(x, history, process, [0.3]) for process in (Told(), Brownian(1.0, Gaussian(0.0, 1.0))))
    np.testing.assert_allclose(one.log_density, two.log_density, rtol=1e-9)
    np.testing.assert_allclose(one.probabilities, two.probabilities, rtol=1e-8, atol=1e-12)
