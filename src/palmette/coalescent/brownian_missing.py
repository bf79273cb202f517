"""Brownian motion with missing entries: a lineage knows some of the dimensions, each of them to its own precision.

Where both lineages know k dimensions, log Z takes the form

    log Z(s) = −½ Σ_k [ log(2π(s_k + s)) + e_k/(s_k + s) ] − ½ log|Λ_c|

with Λ_c = Λ on those dimensions. If Λ is diagonal, s_k = v_lk + v_rk and e_k = (ŷ_lk − ŷ_rk)²/Λ_kk. If it is not,
a lineage has a covariance V, and s_k, e_k are the eigenvalues of V_l + V_r relative to Λ on the shared dimensions, and
the squared coordinates of ŷ_l − ŷ_r in that basis. Either way a meeting is (k, log|Λ_c|, e_1 …, s_1 …).
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, maker, reduction
from palmette.array_types import Floats
from palmette.coalescent.process import Prepared, Process
from palmette.numeric import LOG_2_PI

__all__ = ["ByColumn", "Coupled"]


class ByColumn(Process):
    """Diagonal Λ, whitened: the message is (v_1 …, ŷ_1 …), v = inf where nothing is known; theta (D, root?, κ, μ)."""

    has_units = True

    @staticmethod
    def messages(white: Floats, theta: Floats, leaf_variance: float, log_constant: float) -> Prepared:
        """The messages of whitened data with NaN where missing."""
        known = ~np.isnan(white)
        leaves = np.hstack([np.where(known, leaf_variance, np.inf), np.where(known, white, 0.0)])
        return Prepared(ByColumn, theta, leaves, 2 + 2 * white.shape[1], log_constant)

    @staticmethod
    def meet(theta, left, right, out):
        """(k, 0, e, s) of the k dimensions that both know."""
        n = np.int64(theta[0])
        count = 0
        for d in range(n):
            total = left[d] + right[d]
            if total < np.inf:
                out[2 + count] = (left[n + d] - right[n + d]) ** 2
                out[2 + n + count] = total
                count += 1
        out[0], out[1] = count, 0.0
        return np.float64(count)

    @staticmethod
    def log_z(theta, meeting, s):
        """Σ_k log N(√e_k; 0, s_k + s) − ½ log|Λ_c|."""
        n, count = np.int64(theta[0]), np.int64(meeting[0])
        log_total, quadratic, product, n_zero = 0.0, 0.0, 1.0, 0
        for k in range(count):
            total = meeting[2 + n + k] + s
            if total > 0.0:
                quadratic += meeting[2 + k] / total
                product *= total
            elif meeting[2 + k] > 0.0:
                quadratic = np.inf
            else:
                n_zero += 1
            if not 1e-100 < product < 1e100:  # one logarithm for many factors
                log_total += math.log(product)
                product = 1.0
        if n_zero > 0 and quadratic < np.inf:
            # e^(−e/2s) of another dimension at the same distance 0 would win, but then quadratic is inf.
            return np.inf
        return -0.5 * (count * LOG_2_PI + log_total + math.log(product) + quadratic + meeting[1])

    @staticmethod
    def slopes(theta, meeting, s):
        """½ Σ_k (e_k/S_k² − 1/S_k) and Σ_k (½/S_k² − e_k/S_k³) with S_k = s_k + s; their limits where an S_k is 0."""
        n, count = np.int64(theta[0]), np.int64(meeting[0])
        squares, totals = meeting[2 : 2 + count], meeting[2 + n : 2 + n + count]
        limit = 0.0 if s > 0.0 else _slope_at_zero(squares, totals)
        if limit != 0.0:
            return limit, -np.inf
        return _sum_slopes(squares, totals, s)

    @staticmethod
    def longest(theta, meeting, rate):
        """max_k (e_k − s_k): beyond, every term falls."""
        n, count = np.int64(theta[0]), np.int64(meeting[0])
        largest = 0.0
        for k in range(count):
            largest = max(largest, meeting[2 + k] - meeting[2 + n + k])
        return largest

    @staticmethod
    def join(theta, left, l_left, right, l_right, out):
        """The product of the two Gaussians in each dimension; what one side does not know, the other passes on."""
        n = np.int64(theta[0])
        for d in range(n):
            a, b = left[d] + l_left, right[d] + l_right
            if a == np.inf:
                out[d], out[n + d] = b, right[n + d]
            elif b == np.inf:
                out[d], out[n + d] = a, left[n + d]
            else:
                share = b / (a + b) if a + b > 0.0 else 0.5
                out[d] = a * share
                out[n + d] = share * left[n + d] + (1.0 - share) * right[n + d]

    @staticmethod
    def log_root(theta, message):
        """Σ_d log N(ŷ_d; μ_d, v_d + κ) over the known dimensions for a Gaussian root, 0 for a flat one."""
        n = np.int64(theta[0])
        value = 0.0
        is_sharp = False
        for d in range(n):
            total, distance = message[d] + theta[2], (message[n + d] - theta[3 + d]) ** 2
            if theta[1] == 0.0 or total == np.inf:
                continue
            if total > 0.0:
                value -= 0.5 * (LOG_2_PI + math.log(total) + distance / total)
            elif distance > 0.0:
                return -np.inf
            else:
                is_sharp = True
        return np.inf if is_sharp else value

    @staticmethod
    def root_message(theta: Floats) -> Floats | None:
        """(κ …, μ) of a Gaussian root."""
        n = int(theta[0])
        return np.concatenate([np.full(n, theta[2]), theta[3:]]) if theta[1] else None


class Coupled(ByColumn):
    """Λ a correlation matrix: the message is (known?, ŷ, V) of lengths D, D and D²; theta (D, root?, κ, μ, Λ)."""

    @staticmethod
    def messages(points: Floats, theta: Floats, leaf_variance: float, log_constant: float) -> Prepared:
        """The messages of scaled data with NaN where missing."""
        n, n_columns = points.shape
        known = ~np.isnan(points)
        both = known[:, :, None] & known[:, None, :]
        covariance = np.where(both, leaf_variance * theta[-(n_columns**2) :].reshape(n_columns, n_columns), 0.0)
        leaves = np.hstack([known, np.where(known, points, 0.0), covariance.reshape(n, -1)])
        return Prepared(Coupled, theta, leaves, 2 + 2 * n_columns, log_constant)

    @staticmethod
    def meet(theta, left, right, out):
        """(k, log|Λ_c|, e, s) of the k dimensions that both know, from the eigenvalues of V_l + V_r relative to Λ."""
        return _meet_coupled(theta, left, right, out)

    @staticmethod
    def join(theta, left, l_left, right, l_right, out):
        """Two Gaussians on the dimensions that each knows, conditioned on agreeing where both do."""
        _join_coupled(theta, left, l_left, right, l_right, out)

    @staticmethod
    def log_root(theta, message):
        """log N(ŷ; μ, V + κ Λ) on the known dimensions for a Gaussian root, 0 for a flat one."""
        return _log_root_coupled(theta, message)

    @staticmethod
    def root_message(theta: Floats) -> Floats | None:
        """(1 …, μ, κ Λ) of a Gaussian root."""
        n = int(theta[0])
        return np.concatenate([np.ones(n), theta[3 : 3 + n], theta[2] * theta[3 + n :]]) if theta[1] else None


@inline
def _slope_at_zero(squares, totals):
    # ±inf: the limit of the slope as s falls to 0; 0 if every S_k stays positive.
    limit = 0.0
    for k in range(totals.size):
        if not totals[k] > 0.0:
            limit = np.inf if squares[k] > 0.0 or limit > 0.0 else -np.inf
    return limit


@reduction
def _sum_slopes(squares, totals, s):
    first, second = 0.0, 0.0
    for k in range(totals.size):
        inverse = 1.0 / (totals[k] + s)
        ratio = squares[k] * inverse
        first += inverse * (ratio - 1.0)
        second += inverse * inverse * (0.5 - ratio)
    return 0.5 * first, second


@inline
def _factor(matrix):
    # The lower Cholesky factor, in place; what is above the diagonal stays as it was.
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(total) if i == j else total / matrix[j, j]


@inline
def _divide(root, columns):
    # root⁻¹ columns, in place.
    for i in range(root.shape[0]):
        for c in range(columns.shape[1]):
            total = columns[i, c]
            for k in range(i):
                total -= root[i, k] * columns[k, c]
            columns[i, c] = total / root[i, i]


@inline
def _add_known(message, n, where, count):
    # The dimensions that a message knows, put behind the first `count` of `where`; how many these are now.
    for d in range(n):
        if message[d] > 0.0:
            where[count] = d
            count += 1
    return count


# These are kernels of their own, not made part of others: they are long, and take as long to compile. With loops, since
# most of NumPy's functions take longer than all that is written here.


@maker
def _meet_coupled(theta, left, right, out):
    n = np.int64(theta[0])
    shared = np.empty(n, np.int64)
    count = 0
    for d in range(n):
        if left[d] > 0.0 and right[d] > 0.0:
            shared[count] = d
            count += 1
    out[0], out[1] = count, 0.0
    if count == 0:
        return 0.0
    scale, total, gap = np.empty((count, count)), np.empty((count, count)), np.empty((count, 1))
    for i in range(count):
        gap[i, 0] = left[n + shared[i]] - right[n + shared[i]]
        for j in range(count):
            at = shared[i] * n + shared[j]
            scale[i, j] = theta[3 + n + at]
            total[i, j] = left[2 * n + at] + right[2 * n + at]
    _factor(scale)
    _divide(scale, gap)
    _divide(scale, total)
    for i in range(count):
        for j in range(i):
            total[i, j], total[j, i] = total[j, i], total[i, j]
    _divide(scale, total)
    values, vectors = np.linalg.eigh(total)
    for k in range(count):
        out[1] += 2.0 * math.log(scale[k, k])
        coordinate = 0.0
        for i in range(count):
            coordinate += vectors[i, k] * gap[i, 0]
        out[2 + k] = coordinate * coordinate
        out[2 + n + k] = max(values[k], 0.0)
    return np.float64(count)


@maker
def _join_coupled(theta, left, l_left, right, l_right, out):
    n = np.int64(theta[0])
    where = np.empty(2 * n, np.int64)
    first = _add_known(left, n, where, 0)
    size = _add_known(right, n, where, first)
    mean, covariance = np.empty(size), np.empty((size, size))
    for i in range(size):
        is_left = i < first
        mean[i] = left[n + where[i]] if is_left else right[n + where[i]]
        for j in range(size):
            at = where[i] * n + where[j]
            if is_left != (j < first):
                covariance[i, j] = 0.0
            elif is_left:
                covariance[i, j] = left[2 * n + at] + l_left * theta[3 + n + at]
            else:
                covariance[i, j] = right[2 * n + at] + l_right * theta[3 + n + at]
    _condition(where, first, mean, covariance)
    out[:] = 0.0
    for i in range(size - 1, -1, -1):  # of a shared dimension the left copy stays; they agree by now
        out[where[i]], out[n + where[i]] = 1.0, mean[i]
        for j in range(size - 1, -1, -1):
            out[2 * n + where[i] * n + where[j]] = covariance[i, j]


@maker
def _condition(where, first, mean, covariance):
    # Of two independent Gaussians, entries 0 … first − 1 and the rest, on their copies of the same dimension agreeing.
    size = mean.size
    pairs = np.empty((size, 2), np.int64)
    count, largest = 0, 0.0
    for i in range(first):
        for j in range(first, size):
            if where[i] == where[j]:
                pairs[count, 0], pairs[count, 1] = i, j
                count += 1
                largest = max(largest, covariance[i, i] + covariance[j, j])
    if not largest > 0.0:  # nothing to agree on, or both are certain
        return
    root, spread, gap = np.empty((count, count)), np.empty((count, size)), np.empty((count, 1))
    for a in range(count):
        i, j = pairs[a, 0], pairs[a, 1]
        gap[a, 0] = mean[i] - mean[j]
        for b in range(size):
            spread[a, b] = covariance[i, b] - covariance[j, b]
        for b in range(count):
            root[a, b] = covariance[i, pairs[b, 0]] + covariance[j, pairs[b, 1]]
    _factor(root)
    _divide(root, spread)
    _divide(root, gap)
    for i in range(size):
        for a in range(count):
            mean[i] -= spread[a, i] * gap[a, 0]
            for j in range(size):
                covariance[i, j] -= spread[a, i] * spread[a, j]


@maker
def _log_root_coupled(theta, message):
    n = np.int64(theta[0])
    known = np.empty(n, np.int64)
    count = _add_known(message, n, known, 0)
    if theta[1] == 0.0 or count == 0:
        return 0.0
    total, gap = np.empty((count, count)), np.empty((count, 1))
    largest, widest = -np.inf, 0.0
    for i in range(count):
        gap[i, 0] = message[n + known[i]] - theta[3 + known[i]]
        widest = max(widest, abs(gap[i, 0]))
        for j in range(count):
            at = known[i] * n + known[j]
            total[i, j] = message[2 * n + at] + theta[2] * theta[3 + n + at]
            largest = max(largest, total[i, j])
    if not largest > 0.0:
        return np.inf if not widest > 0.0 else -np.inf
    _factor(total)
    _divide(total, gap)
    value = -0.5 * count * LOG_2_PI
    for k in range(count):
        value -= 0.5 * gap[k, 0] ** 2 + math.log(total[k, k])
    return value
