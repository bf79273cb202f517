"""Histories with data at their leaves, and a process of a user's own, for tests of coalescents."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from palmette._jit import kernel
from palmette.coalescent import Brownian, Prepared, Process, c_functions
from palmette.simulate.coalescent import coalescent

NAN = float("nan")
FULL = np.array([[1.0, 0.4, 0.1], [0.4, 0.8, -0.2], [0.1, -0.2, 0.5]])
EQUILIBRIA = [[0.2, 0.8], [0.5, 0.3, 0.2], [0.25, 0.25, 0.25, 0.25]]


@kernel
def call_meet(process, messages, i, j, out):
    return c_functions.meet(process, messages, i, messages, j, out, 0)


@kernel
def call_log_z(process, meeting, s):
    return c_functions.log_z(process, meeting, 0, s)


@kernel
def call_best_length(process, meeting, rate, length, log_z):
    c_functions.best_lengths(process, meeting, np.zeros(1, np.int64), 1, rate, length, log_z)


@kernel
def call_log_integral(process, meeting, s0, rate):
    return c_functions.log_integral(process, meeting, 0, s0, rate)


@kernel
def call_propose_length(process, meeting, s0, rate, seed, item, step):
    return c_functions.propose_length(process, meeting, 0, s0, rate, seed, item, step)


@kernel
def call_log_survival(process, meeting, s0, rate, delta):
    return c_functions.log_survival(process, meeting, 0, s0, rate, delta)


class Functions:
    """The functions of a kind of process, called by Python as kernels call them: through their addresses.

    `general` are some to take in place of its own.
    """

    def __init__(self, kind: type[Process], **general: Any) -> None:
        self.kind = kind
        self._general = {name: c_functions.general_address(name, each) for name, each in general.items()}

    def _compiled(self, theta: Any, meeting: Any, *more: str) -> Any:
        found = Prepared(self.kind, theta, np.zeros((1, 1)), meeting.size).compiled(*more)
        return found._replace(**self._general)

    def slopes(self, theta: Any, meeting: Any, s: float) -> Any:
        return self.kind.slopes(theta, meeting, s)  # type: ignore[attr-defined]

    def log_z(self, theta: Any, meeting: Any, s: float) -> float:
        return float(call_log_z(self._compiled(theta, meeting, "log_z"), meeting, s))

    def best_length(self, theta: Any, meeting: Any, s0: float, rate: float) -> float:
        length, log_z = np.array([s0]), np.empty(1)
        call_best_length(self._compiled(theta, meeting, "best_length", "log_z"), meeting, rate, length, log_z)
        assert log_z[0] == self.log_z(theta, meeting, length[0])
        return float(length[0])

    def log_integral(self, theta: Any, meeting: Any, *how: float) -> float:
        return float(call_log_integral(self._compiled(theta, meeting, "log_integral", "log_z"), meeting, *how))

    def propose_length(self, theta: Any, meeting: Any, *how: float) -> tuple[float, float]:
        s, log_density = call_propose_length(self._compiled(theta, meeting, "propose_length"), meeting, *how)
        return float(s), float(log_density)

    def log_survival(self, theta: Any, meeting: Any, *how: float) -> float:
        return float(call_log_survival(self._compiled(theta, meeting, "log_survival"), meeting, *how))


def meeting_of(prepared: Prepared, i: int, j: int) -> tuple[float, np.ndarray]:
    """How much rows i and j know in common, and their meeting."""
    out = np.empty(prepared.n_meeting)
    return float(call_meet(prepared.compiled("meet"), prepared.leaves, i, j, out)), out


def data_of(n, d, seed):
    return coalescent(n, Brownian(), rng=seed, n_columns=d).x


def random_case(seed, n, n_columns=3, missing=0.3):
    rng = np.random.default_rng(seed)
    history = coalescent(n, rng=rng).hierarchy
    x = rng.normal(size=(n, n_columns))
    x[rng.random(x.shape) < missing] = np.nan
    return history, x, rng


def random_states(seed, n, missing=0.3):
    history, x, rng = random_case(seed, n, 3, missing)
    codes = np.column_stack([rng.integers(0, len(q), n) for q in EQUILIBRIA])
    return history, np.where(np.isnan(x), -1, codes), rng


class FairCoins(Process):
    """One fair coin per site, copied or tossed again: the least that a process must define."""

    def prepare(self, x: Any) -> Prepared:
        heads = np.asarray(x, dtype=float)
        return Prepared(FairCoins, np.array([0.8]), 2.0 * heads, heads.shape[1], heads.size * math.log(0.5))

    @staticmethod
    def meet(theta, left, right, out):  # type: ignore[no-untyped-def]
        for d in range(out.size):
            out[d] = 0.5 * (left[d] * right[d] + (2.0 - left[d]) * (2.0 - right[d]))
        return out.size

    @staticmethod
    def log_z(theta, meeting, s):  # type: ignore[no-untyped-def]
        kept = math.exp(-theta[0] * s)
        total = 0.0
        for d in range(meeting.size):
            z = (1.0 - kept) + kept * meeting[d]
            total += math.log(z) if z > 0.0 else -np.inf
        return total

    @staticmethod
    def join(theta, left, l_left, right, l_right, out):  # type: ignore[no-untyped-def]
        for d in range(out.size):
            a = 1.0 + math.exp(-theta[0] * l_left) * (left[d] - 1.0)
            b = 1.0 + math.exp(-theta[0] * l_right) * (right[d] - 1.0)
            out[d] = 2.0 * a * b / (a * b + (2.0 - a) * (2.0 - b))
