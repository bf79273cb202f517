"""Rivals with a law of splits of their own, a function of masks that is asked about all splits: for a dozen leaves.

Each is averaged over a few constants by their evidence, under Yule's prior. Its other constants did best of a few on
other draws than those of the page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import numpy as np
from _linkages import Support
from _posterior_rivals import named
from scipy.special import betaln, gammaln, logsumexp, softmax

import palmette as pal
from palmette.models.effective_dimension import effective_dimension

Law = Callable[[np.ndarray, np.ndarray], np.ndarray]  # log ψ of splits by the masks of their parts

REAL = (0.1, 0.4, 1.0)  # π: of the columns, in which a split is real
SIGNALS = 2.0 ** np.arange(-1, 4)  # g, equally likely
SPREADS = 2.0 ** -np.arange(4)  # t, equally likely
COUNTED = 0.5  # of the effective dimension
INSIDE = 1e-9  # the least share, and the least that is left of one

TIES = (0.1, 0.3, 1.0)  # κ
SCALES = (0.03, 0.1, 0.3, 1.0)  # b, of the mean square of an entry of a contrast
TAIL = 0.5  # a, as that of `Contrasts`
WIDER = (1.0, 2.0, 4.0, 8.0)  # g, equally likely


def averaged(n: int, laws: Iterable[Law]) -> Support:
    """The mean of the posteriors of laws for n leaves, by Z."""
    models = [pal.models.with_prior(pal.models.SplitFunction(n, law), "yule") for law in laws]
    posts = [pal.HierarchyPosterior(model, progress=False) for model in models]
    weights = softmax([post.log_partition for post in posts])
    found = Support()
    for weight, post in zip(weights.tolist(), posts, strict=True):
        for cluster, p in named(post).items():
            found[cluster] = found.get(cluster, 0.0) + weight * p
    return found


def sums_of_squares(x: np.ndarray) -> np.ndarray:
    """(2^n, d): SSE of every cluster by its mask, in each column."""
    n, d = x.shape
    sums, squares = np.zeros((1 << n, d)), np.zeros((1 << n, d))
    for i, row in enumerate(x - x.mean(axis=0)):
        sums[1 << i : 2 << i] = sums[: 1 << i] + row
        squares[1 << i : 2 << i] = squares[: 1 << i] + row**2
    sizes = np.maximum(np.bitwise_count(np.arange(1 << n)), 1)[:, None]
    return np.maximum(squares - sums**2 / sizes, 0.0)


def column_shares(x: np.ndarray, _: np.random.Generator) -> Support:
    """Shares column by column, for a few π."""
    sse, power = sums_of_squares(x), COUNTED * effective_dimension(x) / x.shape[1]
    return averaged(len(x), (column_law(sse, power, real) for real in REAL))


def column_law(sse: np.ndarray, power: float, real: float) -> Law:
    """log ψ(L, R) = power · Σ_j log[(1 − π) + π · S(u_j) · T(w_j)]: real in some columns, and noise in others.

    In column j, u = Δ / SSE(P) and w = SSE(L) / (SSE(L) + SSE(R)). S and T are densities over those of noise, which are
    Beta(½, (m − 2)/2) and Beta((l − 1)/2, (r − 1)/2), with l, r and m leaves. Where the split is real u is
    Beta(½ + g(m − 2)/2, (m − 2)/2), so that it takes more than noise, and w is Beta(t(l − 1)/2, t(r − 1)/2), so that
    spreads may differ; g and t have a few values, equally likely. The power is half of the effective
    dimension over d.
    """

    def law(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        free = np.bitwise_count(np.array([left, right])) - 1.0  # contrasts within either part
        within = sse[left] + sse[right]
        taken = _share(sse[left | right] - within, sse[left | right])
        ratio = more_than_noise(taken, free.sum(axis=0) / 2.0)
        ratio *= spreads_that_differ(_share(sse[left], within), *free / 2.0)
        return power * np.log((1.0 - real) + real * ratio).sum(axis=1)

    return law


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.clip(part / np.maximum(whole, np.finfo(float).tiny), INSIDE, 1.0 - INSIDE)


def more_than_noise(u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """S(u): the mean over g of u^(g b) · B(½, b) / B(½ + g b, b), b = (m − 2)/2; 1 of two leaves."""
    has_law = b > 0.0
    b = np.where(has_law, b, 1.0)
    power = u ** (SIGNALS[0] * b)[:, None]
    ratio = np.zeros_like(u)
    for g in SIGNALS:
        ratio += power * np.exp(betaln(0.5, b) - betaln(0.5 + g * b, b))[:, None]
        power *= power  # each g is twice the last
    return np.where(has_law[:, None], ratio / len(SIGNALS), 1.0)


def spreads_that_differ(w: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """T(w): the mean over t of (w^a (1 − w)^b)^(t − 1) · B(a, b) / B(t a, t b), a = (l − 1)/2, b = (r − 1)/2; or 1."""
    has_law = (a > 0.0) & (b > 0.0)
    a, b = np.where(has_law, (a, b), 1.0)
    noise = a[:, None] * np.log(w) + b[:, None] * np.log1p(-w)
    ratio = sum(np.exp((t - 1.0) * noise + (betaln(a, b) - betaln(t * a, t * b))[:, None]) for t in SPREADS)
    return np.where(has_law[:, None], ratio / len(SPREADS), 1.0)


def tied_contrasts(x: np.ndarray, _: np.random.Generator) -> Support:
    """Contrasts tied to their own cluster, for a few κ and b."""
    sse, d = sums_of_squares(x).sum(axis=1), effective_dimension(x)
    unit = sse[-1] / ((len(x) - 1) * d)
    return averaged(len(x), (tied_law(sse, d, tie, b * unit) for tie, b in itertools.product(TIES, SCALES)))


def tied_law(sse: np.ndarray, d: float, tie: float, b: float) -> Law:
    """log ψ(L, R) = log mean_g p(Δ | g): the density of a contrast given the spread within both parts.

    Its d entries are normal with the variance g σ². A priori σ² ~ InverseGamma(a, b), and what is within L and R tells
    of it, for as much as κ: σ² ~ InverseGamma(a + κ d (m − 2)/2, b + κ (SSE(L) + SSE(R))/2), of m leaves. Call the two
    α and β, then

        log p(Δ | g) = log Γ(α + d/2) − log Γ(α) − (d/2) log 2πgβ − (α + d/2) log(1 + Δ / 2gβ).

    With κ = 0 and g = 1 these are `Contrasts`. No g is below 1: nothing is narrower than its own parts.
    """

    def law(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        whole, within = left | right, sse[left] + sse[right]
        alpha = TAIL + tie * d * (np.bitwise_count(whole) - 2.0) / 2.0
        scales = np.multiply.outer(WIDER, b + tie * within / 2.0)
        taken = np.maximum(sse[whole] - within, 0.0) / 2.0
        logs = -(d / 2.0) * np.log(2.0 * np.pi * scales) - (alpha + d / 2.0) * np.log1p(taken / scales)
        return gammaln(alpha + d / 2.0) - gammaln(alpha) + logsumexp(logs, axis=0) - np.log(len(WIDER))

    return law
