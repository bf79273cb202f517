"""How far the mean of a Markov chain is to be trusted: R̂, effective sizes, standard errors.

The formulas are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and
localization: an improved R̂" (2021). `values` has the shape (chains, draws), for one number in return, or
(chains, draws, k), for k of them; it may be boolean. Every formula sees each chain as two, its first and its last half,
so that a chain which drifts disagrees with itself; of an odd number of draws the middle one is left out.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy.fft
from scipy.special import ndtri

from palmette.array_types import Floats, Ints
from palmette.checks import check_number, check_positive

__all__ = [
    "MORE_SEEN",
    "batch_edges",
    "effective_number",
    "effective_size",
    "indicator_error",
    "is_open",
    "rank_effective_size",
    "rank_r_hat",
    "smoothed_error",
    "split_frequency_deviation",
    "split_r_hat",
    "standard_error",
]

_BLOCK = 1_000_000  # numbers worked on at once: about 60 bytes each, spectra included
_OPEN = 0.02  # events nearer to 0 or 1 than this are too rare for a variance of their own
_BATCHES = 12  # of each chain
MORE_SEEN = 1.5  # by simulation: with 1, errors are up to a fifth too small where few sightings are expected


def is_open(shares: Floats) -> npt.NDArray[np.bool_]:
    """Which probabilities are not so near to 0 or 1 that they say little about how fast chains are."""
    return np.asarray((shares > _OPEN) & (shares < 1.0 - _OPEN))


def batch_edges(n_draws: int) -> Ints:
    """Where the batches of a chain begin and end, whose spread tells the error of a mean over all draws."""
    return np.linspace(0, n_draws, min(_BATCHES, n_draws) + 1).astype(np.int64)


def effective_number(weights: Floats) -> float:
    """(Σ w)² / Σ w²: as many things of equal weight would be worth as much.

    >>> effective_number(np.array([1.0, 1.0, 0.0]))
    2.0
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def split_r_hat(values: npt.ArrayLike) -> float | Floats:
    """R̂ = √((n−1)/n + B/W) over half chains of n draws: W their mean variance, B the variance of their means.

    Near 1 if the chains agree. A quantity constant everywhere gives 1, chains constant but different give infinity.

    >>> split_r_hat([[2, 2, 2, 2], [3, 3, 3, 3]])
    inf
    """
    return _each(values, lambda block: _r_hat(_halves(block)))


def rank_r_hat(values: npt.ArrayLike) -> float | Floats:
    """The larger R̂ of the normal scores of `values` and of |values − median|: of where chains are, and how wide.

    For real quantities with any tails, such as log potentials: only their order counts, and −inf is the lowest.

    >>> rank_r_hat([[-np.inf, -9.0, -1.0, -2.0], [-1.0, -2.0, -np.inf, -9.0]]) > 1.5
    True
    """

    def larger(block: Floats) -> Floats:
        halves = _halves(block)
        return np.maximum(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(_fold(halves))))

    return _each(values, larger, minus_infinity=True)


def effective_size(values: npt.ArrayLike) -> float | Floats:
    """N / τ with τ = 1 + 2 Σ ρ_t: the number of independent draws whose mean is as good as that of these N.

    Autocorrelations ρ_t are relative to the variance over all chains: chains stuck at different values count for about
    one draw each. At most N log10 N, for draws that alternate; N for a constant, of which the draws tell nothing.

    >>> effective_size(np.ones((2, 50)))
    100.0
    """
    return _each(values, lambda block: _size(_halves(block), block[0].size))


def rank_effective_size(values: npt.ArrayLike) -> float | Floats:
    """The effective size of the normal scores of `values`: for tails so wide that there may be no variance."""
    return _each(values, lambda block: _size(_normal_scores(_halves(block)), block[0].size), minus_infinity=True)


def standard_error(values: npt.ArrayLike, *, least_size: float | None = None) -> float | Floats:
    """√(variance / S) with S the effective size: the Monte-Carlo standard error of the mean over all chains and draws.

    An indicator, all 0 and 1 with mean p, has √(variance / S + 3/2 ((1−2p)/s)²) with s = min(S, least_size): 3/2
    sightings more, as Agresti and Coull add 2. `least_size` is the effective size to assume of indicators that seldom
    change: all draws unless given, which is true of independent draws only. A slow chain looks fast after a few short
    visits, and the error comes out several times too small: give the least effective size among quantities often seen.

    (mean − truth) / error has standard deviation 0.9 to 1.15 from S = 50 on; for indicators if `least_size` is right
    and S p and S (1−p) reach 4; below, their errors are too large. Trust none while R̂ is well above 1, nor where all
    chains may have missed the same region. S holds the spread of chain means, which by itself is noise if they are few.

    >>> standard_error(np.zeros((4, 100), bool)) < standard_error(np.zeros((4, 100), bool), least_size=50)
    True
    """
    assumed = np.inf if least_size is None else check_positive("least_size", least_size, ", or None for all draws")

    def error(block: Floats) -> Floats:
        flat = block.reshape(len(block), -1)
        size = _size(_halves(block), flat.shape[1])
        least = np.minimum(size, min(assumed, flat.shape[1]))
        indicator = ((flat == 0) | (flat == 1)).all(axis=1)
        variance = (flat - flat[:, :1]).var(axis=1, ddof=1)  # of a constant 0, without rounding
        errors: Floats = np.sqrt(variance / size + indicator * MORE_SEEN * ((1 - 2 * flat.mean(axis=1)) / least) ** 2)
        return errors

    return _each(values, error)


def indicator_error(shares: Floats, sizes: Floats, n_draws: int, least_size: float) -> Floats:
    """`standard_error` of indicators with these means among all draws, whose effective sizes are known already."""
    variance = shares * (1 - shares) * n_draws / (n_draws - 1)
    least = np.minimum(sizes, min(least_size, n_draws))
    return np.asarray(np.sqrt(variance / sizes + MORE_SEEN * ((1 - 2 * shares) / least) ** 2))


def smoothed_error(values: Floats, sizes: Floats, least_size: float, least_sighting: Floats | float = 0.0) -> Floats:
    """√(variance / S + 3/2 (v (1−2p)/s)²) of the means p of (chains, draws, k) numbers in [0, 1].

    S are their `sizes`, and s is min(S, least_size), as in `indicator_error`, where a sighting counts 1. Here it counts
    what is seen when something is: v = Σ x² / Σ x, or that of 1 − x if p is above one half, and no less than
    `least_sighting`.
    """
    flat = values.reshape(-1, values.shape[2])
    shares = flat.mean(axis=0)
    rarer = np.where(shares <= 0.5, flat, 1 - flat)
    sums = rarer.sum(axis=0)
    sighting = np.divide((rarer**2).sum(axis=0), sums, out=np.ones_like(sums), where=sums > 0)
    least = np.minimum(sizes, min(least_size, len(flat)))
    more = np.maximum(sighting, least_sighting) * (1 - 2 * shares) / least
    return np.asarray(np.sqrt(flat.var(axis=0, ddof=1) / sizes + MORE_SEEN * more**2))


def split_frequency_deviation(frequencies: npt.ArrayLike, *, least: float = 0.1) -> float:
    """The average standard deviation of split frequencies: over chains, of clusters that reach `least` in one of them.

    `frequencies` has the shape (chains, clusters); the default of `least` is that of MrBayes. 0 if none reaches it.

    >>> round(split_frequency_deviation([[0.5, 1.0, 0.05], [0.7, 1.0, 0.01]]), 4)
    0.0707
    """
    array = np.asarray(frequencies, dtype=np.float64)
    if array.ndim != 2 or len(array) < 2:
        raise ValueError(f"frequencies has the shape {array.shape}; expected (chains, clusters) of 2 chains or more")
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError("frequencies holds numbers outside 0 to 1; divide counts by the number of draws of each chain")
    seen = array[:, array.max(axis=0, initial=0.0) >= check_number("least", least)]
    return float(seen.std(axis=0, ddof=1).mean()) if seen.size else 0.0


def _each(values: npt.ArrayLike, formula: Callable[[Floats], Floats], minus_infinity: bool = False) -> float | Floats:
    """formula((quantities, chains, draws)) over blocks of quantities that fit into memory."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"values must hold numbers or booleans, not {array.dtype}; convert them with astype(float)")
    if array.ndim not in (2, 3) or array.shape[0] < 1 or array.shape[1] < 4:
        shapes = "(chains, draws) or (chains, draws, k) with 4 draws or more; sample longer; one chain is values[None]"
        raise ValueError(f"values has the shape {array.shape}; expected {shapes}")
    columns = np.atleast_3d(array)
    result = np.empty(columns.shape[2])
    step = max(1, _BLOCK // (array.shape[0] * array.shape[1]))
    for first in range(0, len(result), step):
        block = np.ascontiguousarray(np.moveaxis(columns[:, :, first : first + step], 2, 0), dtype=np.float64)
        if not (np.isfinite(block) | (minus_infinity & (block == -np.inf))).all():
            others = "or -inf" if minus_infinity else "(-inf only in rank_r_hat and rank_effective_size)"
            raise ValueError(f"values holds NaN or infinity; expected finite numbers {others}: leave such draws out")
        result[first : first + step] = formula(block)
    return result if array.ndim == 3 else float(result[0])


def _halves(block: Floats) -> Floats:
    half = block.shape[2] // 2
    return np.concatenate([block[:, :, :half], block[:, :, -half:]], axis=1)


def _moments(halves: Floats) -> tuple[Floats, Floats]:
    """Deviations from the mean of each half chain, and the variance of those means; of constants 0, not rounded."""
    deviations = halves - halves[:, :, :1]
    shifts = deviations.mean(axis=2, keepdims=True)
    deviations -= shifts
    means = halves[:, :, 0] + shifts[:, :, 0]
    return deviations, (means - means[:, :1]).var(axis=1, ddof=1)


def _r_hat(halves: Floats) -> Floats:
    _, m, n = halves.shape
    deviations, between = _moments(halves)
    within = np.einsum("qmn,qmn->q", deviations, deviations) / (m * (n - 1))
    ratio = np.divide(between, within, out=np.where(between > 0, np.inf, 1 / n), where=within > 0)
    r_hat: Floats = np.sqrt((n - 1) / n + ratio)
    return r_hat


def _size(halves: Floats, draws: int) -> Floats:
    """draws / τ: τ = −1 + 2 Σ P_j, P_j = ρ_2j + ρ_2j+1 made decreasing, up to the first not positive (Geyer 1992).

    Of the pair it ends at, ρ_2j still counts once if it is positive, as in Stan; a sum that never ends counts whole, so
    that chains stuck apart do not look like alternating ones if they are short. A constant has τ = 1.
    """
    n = halves.shape[2]
    deviations, between = _moments(halves)
    length = scipy.fft.next_fast_len(2 * n, real=True)
    spectra = scipy.fft.rfft(deviations, length, axis=2)
    power = (spectra.real**2 + spectra.imag**2).mean(axis=1)
    covariances = scipy.fft.irfft(power, length, axis=1)[:, :n] / n
    variance = covariances[:, :1] + between[:, None]
    within = covariances[:, :1] * (n / (n - 1))
    lost = np.divide(within - covariances, variance, out=np.ones_like(covariances), where=variance > 0)
    lost[:, 0] = 0.0
    pairs = np.pad(1 - lost[:, : n - n % 2].reshape(len(halves), n // 2, 2), ((0, 0), (0, 1), (0, 0)))
    sums = pairs.sum(axis=2)  # the last is 0: there the sum ends at the latest
    end = np.argmax(sums <= 0, axis=1)
    kept = np.minimum.accumulate(sums, axis=1) * (np.arange(sums.shape[1]) < end[:, None])
    times: Floats = -1 + 2 * kept.sum(axis=1) + np.maximum(pairs[np.arange(len(end)), end, 0], 0.0)
    return draws / times.clip(min=1 / max(1.0, np.log10(draws)))  # N log10 N < N makes no sense below 10 draws


def _fold(halves: Floats) -> Floats:
    """|x − median|; 0 also where both are −inf."""
    median = np.median(halves, axis=(1, 2), keepdims=True)
    same = halves == median
    return abs(np.where(same, 0.0, halves) - np.where(same, 0.0, median))


def _normal_scores(halves: Floats) -> Floats:
    """Φ⁻¹((r − 3/8) / (N + 1/4)) for the ranks r of the N values of a quantity; equals share their mean rank."""
    flat = halves.reshape(len(halves), -1)
    scores = np.empty_like(flat)
    for i, row in enumerate(flat):
        _, places, counts = np.unique(row, return_inverse=True, return_counts=True)
        ranks = np.cumsum(counts) - (counts - 1) / 2
        scores[i] = ndtri((ranks - 0.375) / (len(row) + 0.25))[places]
    return scores.reshape(halves.shape)
