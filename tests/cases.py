"""Models of every kind beside their plain formulas, made by Hypothesis, awkward ones included."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from ginkgo_formulas import log_psi_of
from hypothesis import strategies as st
from numba import njit
from oracle import (
    Oracle,
    contrasts,
    correlation,
    dasgupta,
    gradual_shares,
    group_shares,
    normal_pairs,
    poisson_pairs,
    random_graph,
    sum_of_squares,
    variance_shares,
)

import palmette as pal
from palmette.models import GradualShares, GroupShares, Model, ShareLaw, SplitModel


class Case(NamedTuple):
    model: Model
    oracle: Oracle

    @property
    def scale(self) -> float:
        """How large the numbers are that an answer is the difference of."""
        finite = self.oracle.log_potentials[np.isfinite(self.oracle.log_potentials)]
        return float(np.abs(finite).max(initial=1.0)) * max(1, self.model.n_leaves)

    @property
    def tolerance(self) -> float:
        return 1e-10 + 1e-14 * self.scale


BETAS = st.sampled_from([0.0, 0.05, 1.0, 7.5, 1e3, 1e6])
# Halves tie exactly and sum exactly; the others do neither.
WEIGHTS = st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.5]) | st.floats(0.0, 2.0)


class OfSizes(SplitModel):
    """A user's model whose score, which a subclass has, knows nothing but sizes."""

    n_features = 1

    @staticmethod
    def features(theta: Any, n: int, size: int, sums: Any, pairs: Any, out: Any) -> None:
        out[0] = size


class Tilted(SplitModel):
    """A user's model: log ψ = −θ₀·|gap between the means| + 0.1·(pair sum across), forbidden if the gap is below θ₁."""

    n_features = 2

    @staticmethod
    def features(theta: Any, n: int, size: int, sums: Any, pairs: Any, out: Any) -> None:
        out[0] = sums[0] / size
        out[1] = pairs[0] + size

    @staticmethod
    @njit
    def score(theta: Any, parent: Any, left: Any, right: Any) -> float:
        gap = abs(left[0] - right[0])
        if gap < theta[1]:
            return -np.inf
        return -theta[0] * gap + 0.1 * (parent[1] - left[1] - right[1])


def as_function(model: Tilted) -> pal.models.SplitFunction:
    """The formula of a `Tilted` over arrays of masks: a user's model is compiled anew in each process, this is not."""
    x, w, (slope, least) = model.additive[:, 0], model.pairwise[0], model.theta

    def log_psi(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        one, two = (masks[:, None] >> np.arange(model.n_leaves) & 1 for masks in (left, right))
        gap = np.abs(one @ x / one.sum(axis=1) - two @ x / two.sum(axis=1))
        return np.where(gap < least, -np.inf, -slope * gap + 0.1 * ((one @ w) * two).sum(axis=1))

    return pal.models.SplitFunction(model.n_leaves, log_psi)


def symmetric(draw: Any, n: int, entries: st.SearchStrategy[float]) -> np.ndarray:
    matrix = np.zeros((n, n))
    values = draw(st.lists(entries, min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    matrix[np.triu_indices(n, 1)] = values
    return matrix + matrix.T


def points(draw: Any, n: int) -> np.ndarray:
    row = st.lists(st.sampled_from([0.0, 1.0, -3.0]) | st.floats(-5, 5), min_size=2, max_size=2)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)))


@st.composite
def cases(draw: Any, max_leaves: int = 5, kinds: str = "udcskvhgft", n: int | None = None) -> Case:
    """One of some kinds of model.

    u uniform, d Dasgupta, c correlation, s sums of squares, k contrasts, v shares of variance, h random graph, g
    Ginkgo, f split function, t a user's model; if asked for, p counts of pairs, w similarities of pairs and l the other
    likelihoods of Ginkgo.
    """
    n = draw(st.integers(1, max_leaves)) if n is None else n
    kind = draw(st.sampled_from(kinds))
    beta = draw(BETAS)
    if kind == "u":
        return Case(pal.models.Uniform(n), Oracle(n, lambda left, right: 0.0))
    if kind == "d":
        w = symmetric(draw, n, WEIGHTS)
        return Case(pal.models.Dasgupta(w, beta), Oracle(n, dasgupta(w, beta)))
    if kind == "c":
        w = symmetric(draw, n, WEIGHTS.map(lambda x: x - 1.0))
        return Case(pal.models.Correlation(w, beta), Oracle(n, correlation(w, beta)))
    if kind == "s":
        x = points(draw, n)
        return Case(pal.models.SumOfSquares(x, beta), Oracle(n, sum_of_squares(x, beta)))
    if kind == "k":
        x = points(draw, n)
        a, b = draw(st.sampled_from([0.25, 1.0, 30.0])), draw(st.sampled_from([0.01, 1.0, 50.0]))
        varying = x[:, (x != x[:1]).any(axis=0)]
        return Case(pal.models.Contrasts(x, a, b), Oracle(n, contrasts(varying, a, b)))
    if kind == "v":
        return shares_case(draw, n)
    if kind in "hpw":
        return pair_case(draw, n, kind)
    if kind in "gl":  # every verb is compiled anew for each; the second of both is scored eight splits at a time
        return ginkgo_case(draw, n, {"g": ["ordered", "symmetric"], "l": ["literal", "density"]}[kind])
    if kind == "f":
        return split_function_case(draw, n, beta)
    return tilted_case(draw, n)


def shares_case(draw: Any, n: int) -> Case:
    """Points on a grid: of what is left where sums of squares cancel, the logarithm is taken."""
    row = st.tuples(*[st.integers(-8, 8).map(lambda k: k / 4)] * 2)
    x = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    squared = np.square(x[:, None] - x[None]).sum(axis=2)
    d, spread = draw(st.sampled_from([1.0, 2.0, 9.0])), draw(st.sampled_from([0.2, 0.6]))
    h = d / 2
    if draw(st.booleans()):
        law: ShareLaw = GradualShares(0.4, within=0.7, evenness=spread)
        oracle = variance_shares(squared, h, gradual_shares(h, 0.4, 0.7), spread)
    else:
        law = GroupShares(draw(st.sampled_from([0.03, 0.4])), spread=spread)
        oracle = variance_shares(squared, h, group_shares(h, law.excess), min(1.0, spread / h), law.noise_level)
    return Case(pal.models.VarianceShares(x, law, dimension=d), Oracle(n, oracle))


def pair_case(draw: Any, n: int, kind: str) -> Case:
    """Values of pairs, some of them missing."""
    entries = {"h": st.sampled_from([0.0, 1.0]), "p": st.integers(0, 9).map(float), "w": st.floats(-2, 2)}[kind]
    w = symmetric(draw, n, entries | st.just(np.nan) if draw(st.booleans()) else entries)
    np.fill_diagonal(w, 0.0)
    one, two = draw(st.sampled_from([0.3, 1.0, 5.0])), draw(st.sampled_from([0.2, 1.0, 8.0]))
    if kind == "h":
        return Case(pal.models.HierarchicalRandomGraph(w, one, two), Oracle(n, random_graph(w, one, two)))
    if kind == "p":
        return Case(pal.models.PoissonPairs(w, one, two), Oracle(n, poisson_pairs(w, one, two)))
    law = (0.3, 0.7, one, two)
    return Case(pal.models.NormalPairs(w, *law), Oracle(n, normal_pairs(w, *law)))


def split_function_case(draw: Any, n: int, beta: float) -> Case:
    seed = draw(st.integers(0, 2**16))
    forbidden = draw(st.sampled_from([0.0, 0.3, 0.9]))
    rng = np.random.default_rng(seed)
    table = -beta * rng.random((1 << n, 1 << n))
    table[rng.random(table.shape) < forbidden] = -np.inf
    model = pal.models.SplitFunction(n, lambda left, right: table[left, right])
    mask = lambda cluster: sum(1 << i for i in cluster)  # noqa: E731
    return Case(model, Oracle(n, lambda left, right: table[mask(left), mask(right)]))


def ginkgo_case(draw: Any, n: int, likelihoods: list[str]) -> Case:
    # Masses well above zero: what rounding does to massless particles has tests of its own.
    row = st.tuples(st.sampled_from([0.5, 1.0, 3.0]), *[st.sampled_from([-2.0, 0.0, 2.0]) | st.floats(-3, 3)] * 3)
    particles = [(math.hypot(*row), *row[1:]) for row in draw(st.lists(row, min_size=n, max_size=n))]
    likelihood = draw(st.sampled_from(likelihoods))
    rate, t_cut = draw(st.sampled_from([0.1, 1.5, 8.0])), draw(st.sampled_from([0.7, 7.7]))
    model = pal.models.Ginkgo(particles, rate, t_cut, likelihood=likelihood)
    return Case(model, Oracle(n, log_psi_of(particles, likelihood, rate, t_cut)))


def tilted_case(draw: Any, n: int) -> Case:
    x = np.array(draw(st.lists(st.floats(0, 3) | st.just(1.0), min_size=n, max_size=n)))
    w = symmetric(draw, n, WEIGHTS)
    theta = [draw(st.sampled_from([0.0, 1.0, 50.0])), draw(st.sampled_from([0.0, 1e-3, 0.3]))]

    def log_psi(left: tuple[int, ...], right: tuple[int, ...]) -> float:
        # The same order of additions as a running sum: whether a gap is below the threshold must not hang on rounding.
        gap = abs(_running_mean(x, left) - _running_mean(x, right))
        if gap < theta[1]:
            return -np.inf
        return -theta[0] * gap + 0.1 * sum(w[i, j] for i in left for j in right)

    return Case(Tilted(n, theta=theta, additive=x[:, None], pairwise=[w]), Oracle(n, log_psi))


def _running_mean(x: np.ndarray, cluster: tuple[int, ...]) -> float:
    total = 0.0
    for i in cluster:
        total += x[i]
    return total / len(cluster)


# Kinds of problems of one batch: every answer is compiled anew for each.
BATCH_KINDS = ["dst", pytest.param("uc", marks=pytest.mark.slow)]


def alike(n: int) -> pal.models.Dasgupta:
    """All hierarchies of n leaves are worth the same, by a model whose kernels others need too."""
    return pal.models.Dasgupta(np.zeros((n, n)))


def draw_batch(data: Any, kinds: str) -> list[Case]:
    """Up to six problems of one kind."""
    kind = data.draw(st.sampled_from(kinds))
    return list(data.draw(st.lists(cases(5, kind), min_size=1, max_size=6)))
