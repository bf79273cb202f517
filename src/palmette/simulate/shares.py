"""Points whose splits take shares of variance, from the law that `models.VarianceShares` is the density of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import expit

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.checks import check_integer
from palmette.models.priors import Prior
from palmette.models.share_law import ShareLaw, check_law
from palmette.simulate.splits import Rng, SplitDraw, move_apart, random_hierarchy

__all__ = ["variance_shares"]

_FAR = 60.0  # nats below which nothing is left of a density
_NODES = 4000  # at which the law of log odds is added up; between, it is a line


def variance_shares(
    n: int,
    n_columns: int,
    law: ShareLaw | str,
    *,
    prior: Prior = "uniform",
    rng: Any = None,
    labels: Iterable[str] | None = None,
) -> SplitDraw:
    """Points of mean 0 and sum of squares 1, whose splits share it out from the root down by a `ShareLaw`.

    A cluster of three leaves or more is noise with the odds that `models.VarianceShares` gives it, and else follows the
    law; directions of contrasts are uniform in `n_columns`. Posteriors of that model with ``dimension=None`` are
    calibrated. Laws that count only a part of the columns, such as "gradual", are no laws of points.

    >>> draw = variance_shares(5, 2, "groups", rng=1)
    >>> draw.x.shape, round(float(np.square(draw.x).sum()), 12)
    ((5, 2), 1.0)
    """
    chosen, d = check_law(law), check_integer("n_columns", n_columns, 1)
    h = _half_dimension(chosen, d)
    generator = np.random.default_rng(rng)
    hierarchy = random_hierarchy(n, prior, rng=generator, labels=labels)
    x, squares = np.zeros((n, d)), np.zeros(hierarchy.n_nodes)
    squares[-1] = 1.0
    for node in range(hierarchy.n_nodes - 1, n - 1, -1):  # children come before parents
        parts = hierarchy.children[node - n]
        left, right = map(hierarchy.leaves_below, parts.tolist())
        sizes = len(left), len(right)
        mean_square = squares[node] * (n - 1) / (sum(sizes) - 1)
        u, q = _shares(chosen, h, sizes, mean_square, generator)
        squares[parts] = (1.0 - u) * squares[node] * np.array([q, 1.0 - q])
        direction = generator.standard_normal(d)
        move_apart(x, left, right, np.sqrt(u * squares[node]) * direction / np.linalg.norm(direction))
    return SplitDraw(hierarchy, read_only(x))


def _half_dimension(law: ShareLaw, d: int) -> float:
    h = law.half_dimension(d)
    if h != d / 2:
        raise ValueError(
            f"{law!r} counts {d} columns as {2 * h:.4g}: it is no law of points. Give one that counts all of them, "
            'such as "slight" or "groups", or a GradualShares of power 1'
        )
    return h


def _shares(law: ShareLaw, h: float, sizes: tuple[int, int], mean_square: float, rng: Rng) -> tuple[float, float]:
    # (u, q) of a split into parts of these sizes. The mean square of the cluster is a share of that of all points.
    m = sum(sizes)
    if m == 2 or mean_square == 0.0:
        return 1.0, 0.5
    is_noise = _is_noise(law.noise_level, h * (m - 1), mean_square, rng)
    u = rng.beta(h, h * (m - 2)) if is_noise else _signal(law, h, m, rng)
    tau = 1.0 if is_noise else law.evenness_of(h)
    if 1 in sizes:  # one leaf has no variance
        return u, float(sizes[1] == 1)
    first, second = (tau * h * (size - 1) for size in sizes)
    return u, rng.beta(first, second)


def _is_noise(level: float, exponent: float, mean_square: float, rng: Rng) -> bool:
    return level > 0.0 and bool(rng.logistic() < exponent * np.log(level / mean_square))


def _signal(law: ShareLaw, h: float, m: int, rng: Rng) -> float:
    first, second, cut = law.shape(h)
    a, b = first.at + first.slope * (m - 2), second.at + second.slope * (m - 2)
    if cut is None:
        return float(rng.beta(a, b))
    odds = cut + 1.0 / (m - 2)
    return _cut_beta(a, b, h * odds * (m - 2), np.log(odds), rng)


def _cut_beta(a: float, b: float, steepness: float, cut: float, rng: Rng) -> float:
    # Of density ∝ u^(a−1) (1−u)^(b−1) / (1 + e^(K (ℓ − x))), x = logit u, by its distribution function on a grid of x
    # that is fine at the cut ℓ, and wide beyond.
    scale = max(steepness, 1.0)
    end = np.arcsinh(scale * (_FAR / min(a + steepness, b, 1.0) + abs(cut)))
    t = np.linspace(-end, end, _NODES)
    x = cut + np.sinh(t) / scale
    logs = -a * np.logaddexp(0.0, -x) - b * np.logaddexp(0.0, x) - np.logaddexp(0.0, steepness * (cut - x))
    density = np.cosh(t) * np.exp(logs - logs.max())
    below: Floats = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    drawn = np.interp(rng.random() * below[-1], below, x)
    return float(expit(drawn))
