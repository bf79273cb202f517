"""What a likelihood is: the marginal likelihood of a cluster from sums over its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._static import compile_static
from palmette.array_types import Floats
from palmette.checks import check_points
from palmette.likelihoods.marginals import fill_marginals, marginals_of

__all__ = [
    "Likelihood",
    "Parameter",
    "check_parameter",
    "check_single",
    "checked_statistics",
    "log_rising",
    "per_column",
    "refuse_entries",
    "rising_tables",
]

Parameter = float | Sequence[float] | npt.NDArray[np.float64]  # one number, or one per column

_SMALLEST, _LARGEST = 1e-100, 1e100  # squares and quotients of parameters stay within the range of float64


class Likelihood:
    """m(x_C) = ∫ Π_{i∈C} p(x_i | φ) p(φ) dφ: what the rows of a cluster have to say, their parameter φ integrated out.

    An instance holds the parameters of the prior p(φ) and no data. `NormalGamma`, `NormalInverseWishart`,
    `BetaBernoulli` and `DirichletCategorical` are ready to use. For one of your own, subclass this and define

    ``statistics(self, points)``
        (theta, additive) for an (n, d) array of which NaN entries are missing: a vector of parameters, and an (n, D)
        array of whatever is to be summed over the rows of a cluster. Raise ValueError for data you do not take.
    ``log_marginal(theta, size, sums)``
        a static method, compiled for you: log m of a cluster of ``size`` rows, where ``sums[c]`` is the sum of column c
        of ``additive`` over them. It runs once for each of 2^n clusters, so tables by count are best put into theta.
        The result is finite, or −inf if the rows cannot belong together; never NaN.

    If `palmette.evidence` is to choose parameters of it, define `free_parameters`, `parameter_ranges` and
    `with_parameters` as well.

    Counts whose rate has a Gamma(2, 1) prior:

    >>> import math, numpy as np, palmette as pal
    >>> class GammaPoisson(pal.likelihoods.Likelihood):
    ...     def statistics(self, points):
    ...         factorials = [[math.lgamma(x + 1) for x in row] for row in points]
    ...         return [2.0, 1.0], np.column_stack([points[:, 0], factorials])
    ...
    ...     @staticmethod
    ...     def log_marginal(theta, size, sums):
    ...         shape, rate = theta[0] + sums[0], theta[1] + size
    ...         constant = theta[0] * math.log(theta[1]) - math.lgamma(theta[0])
    ...         return constant + math.lgamma(shape) - shape * math.log(rate) - sums[1]
    >>> round(math.exp(GammaPoisson().log_marginal_likelihood([[0.0]])), 6)  # (1 / 2)²
    0.25
    """

    log_marginal: ClassVar[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        compile_static(cls, {"log_marginal": "theta, size, sums"})

    def statistics(self, points: Floats) -> tuple[npt.ArrayLike, npt.ArrayLike]:
        """(theta, additive): what `log_marginal` reads, and the (n, D) array of which it gets sums over a cluster."""
        raise TypeError(f"{type(self).__name__} must define statistics and log_marginal; see Likelihood")

    @property
    def free_parameters(self) -> dict[str, float]:
        """The positive parameters that `palmette.evidence` may choose, as they are; none unless it says so."""
        return {}

    def parameter_ranges(self, points: Floats) -> Mapping[str, tuple[float, float]]:
        """Between which values each of `free_parameters` is looked for, of (n, d) points with NaN for what is missing.

        None unless it says so.
        """
        return {}

    def with_parameters(self, **values: float) -> Self:
        """The same with other `free_parameters`."""
        if values:
            raise TypeError(f"{type(self).__name__} has no parameters to set, but {', '.join(map(repr, values))} came")
        return self

    def log_marginal_likelihood(self, points: npt.ArrayLike) -> float:
        """log m of all rows of an (n, d) array as one cluster; 0 if there are none.

        >>> import palmette as pal
        >>> round(pal.likelihoods.BetaBernoulli().log_marginal_likelihood([[1], [1], [0]]), 6)  # log 1/12
        -2.484907
        """
        x = check_points(points, missing=True, empty=True)
        return _log_marginals(self, x, [len(x)])[0] if len(x) else 0.0

    def log_predictive(self, new: npt.ArrayLike, points: npt.ArrayLike) -> float:
        """log p(new row | rows of the same cluster) = log m(points and new) − log m(points).

        `new` has one number per column of `points`, which may have no rows: its shape is then (0, d).

        >>> import palmette as pal
        >>> round(pal.likelihoods.BetaBernoulli().log_predictive([1], [[1], [1]]), 6)  # log 3/4
        -0.287682
        """
        x = check_points(points, missing=True, empty=True)
        if np.shape(new) not in ((x.shape[1],), (1, x.shape[1])):
            raise ValueError(f"new has shape {np.shape(new)}; expected one row of the {x.shape[1]} columns of points")
        row = check_points(np.reshape(new, (1, -1)), "new", missing=True)
        before, after = _log_marginals(self, np.concatenate([x, row]), [len(x), len(x) + 1])
        return after - before if after > -np.inf else -np.inf


def checked_statistics(likelihood: object, points: Floats) -> tuple[Floats, Floats]:
    """The (theta, additive) of a likelihood, as read-only arrays of the shapes that they must have."""
    if not isinstance(likelihood, Likelihood):
        example = "palmette.likelihoods.NormalGamma()"
        raise TypeError(f"likelihood must be an instance of a Likelihood, such as {example}, not {likelihood!r}")
    if points.shape[1] == 0:
        raise ValueError(f"points has shape {points.shape}: there are no columns; give at least one")
    name = f"{type(likelihood).__name__}.statistics"
    if not hasattr(likelihood, "log_marginal"):
        raise TypeError(f"{type(likelihood).__name__} must define statistics and log_marginal; see Likelihood")
    theta, additive = (np.array(values, dtype=np.float64) for values in likelihood.statistics(points))
    if theta.ndim != 1 or additive.ndim != 2 or len(additive) != len(points):
        raise ValueError(
            f"{name} returned arrays of shape {theta.shape} and {additive.shape}; "
            f"expected a vector theta and an array additive of shape ({len(points)}, D)"
        )
    if not (np.isfinite(theta).all() and np.isfinite(additive).all()):
        raise ValueError(f"{name} returned NaN or infinite values; a missing entry must not enter the sums")
    return read_only(theta), read_only(additive)


def _log_marginals(likelihood: Likelihood, points: Floats, sizes: list[int]) -> list[float]:
    # log m of the first rows, for each of these numbers of rows.
    theta, additive = checked_statistics(likelihood, points)
    counts = np.array([size for size in sizes if size], dtype=np.int64)
    sums, values = np.array([additive[:size].sum(axis=0) for size in counts]), np.empty(len(counts))
    fill_marginals(marginals_of(likelihood.log_marginal), theta, counts, sums, len(counts), values)
    if not np.less(values, np.inf).all():
        raise ValueError(f"{type(likelihood).__name__}.log_marginal returned NaN or inf; it must be finite or -inf")
    return [0.0] * (len(sizes) - len(counts)) + values.tolist()  # of no rows, which come first


def check_parameter(value: Any, name: str, *, positive: bool = True) -> float | tuple[float, ...]:
    """A parameter of a prior as a float, or as a tuple of one per column."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iuf" or given.ndim > 1:
            raise TypeError
        array = given.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, or a list of one per column, not {value!r}") from None
    allowed = (array >= _SMALLEST if positive else array >= -_LARGEST) & (array <= _LARGEST)
    if not allowed.all():
        bad = float(array[~allowed][0])
        least = f"positive, between {_SMALLEST:g}" if positive else f"between {-_LARGEST:g}"
        raise ValueError(f"{name} is {bad:g}; it must be {least} and {_LARGEST:g}")
    return tuple(array.tolist()) if array.ndim else float(array)


def check_single(value: Any, name: str) -> float:
    """A positive parameter that all columns share."""
    number = check_parameter(value, name)
    if isinstance(number, tuple):
        raise TypeError(f"{name} must be one number, not {value!r}")
    return number


def refuse_entries(points: Floats, bad: npt.NDArray[np.bool_], complaint: str) -> None:
    """Name the first entry that a likelihood does not take, if there is one."""
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(f"points holds {points[i, j]:g} at row {i}, column {j}; {complaint}")


def per_column(value: Any, name: str, n_columns: int) -> Floats:
    """(d,): a parameter for each column."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim and len(array) != n_columns:
        raise ValueError(
            f"{name} has {len(array)} entries but points has {n_columns} columns; give one number, or one per column"
        )
    return np.array(np.broadcast_to(array, n_columns))


def log_rising(start: npt.ArrayLike, n: int) -> Floats:
    """(u, n + 1): log Γ(a + k) − log Γ(a) for each a of `start` and k = 0, …, n.

    Sums of logarithms: where a is large, the two log Γ have no digits left for their difference.

    >>> log_rising([1.0], 3).round(6)
    array([[0.      , 0.      , 0.693147, 1.791759]])
    """
    base = np.asarray(start, dtype=np.float64)[:, None]
    steps = np.log(base + np.arange(n))
    return np.concatenate([np.zeros_like(base), np.cumsum(steps, axis=1)], axis=1)


def rising_tables(start: Floats, n: int) -> tuple[Floats, Floats]:
    """Where in a vector the `log_rising` table of each number begins, and that vector; equal numbers share a table."""
    distinct, which = np.unique(start, return_inverse=True)
    first = np.asarray(which.reshape(start.shape) * (n + 1), dtype=np.float64)
    return first, log_rising(distinct, n).reshape(-1)
