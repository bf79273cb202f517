"""What a process is: how a state wanders along the branches of a history, as a few small compiled functions.

A *lineage* (a leaf, or all that two lineages have become since they met) is summed up in a *message*, a vector. Where
two lineages meet, an event, all that matters is their *meeting*, another vector, and the total length s of the two
branches that lead to the event: every process here is reversible, so it does not matter how s is shared out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._jit import inline
from palmette._static import compile_static
from palmette.array_types import Floats
from palmette.checks import check_points
from palmette.coalescent import durations
from palmette.coalescent.c_functions import CompiledProcess, address_of, general_address
from palmette.coalescent.prediction import Prediction
from palmette.coalescent.priors import Prior
from palmette.hierarchy import Hierarchy

__all__ = ["Prepared", "Process", "States", "Walk", "check_process", "defines", "known_rows"]

States: TypeAlias = npt.NDArray[Any]  #: numbers of a Brownian motion, or codes of the states at sites
Walk: TypeAlias = Callable[[list[int], Floats, np.random.Generator], States]
"""(parents, lengths, rng) → (2n − 1, D): the state of every node; the branch above node v has the length lengths[v]."""


@inline
def no_root(theta, message):
    """0: a flat or stationary root adds nothing to the log likelihood."""
    return 0.0


@dataclass(frozen=True, eq=False)
class Prepared:
    """The data as messages: what the recursions run on.

    ``kind`` is the class whose compiled functions understand these messages (a process may choose among several by the
    data it gets), ``theta`` (k,) the parameters they receive, ``leaves`` (n, n_message) the messages of the leaves,
    ``n_meeting`` the length of a meeting, and ``log_constant`` what is added to the log likelihood of every hierarchy.
    """

    kind: type[Process]
    theta: Floats
    leaves: Floats
    n_meeting: int
    log_constant: float = 0.0

    def __post_init__(self) -> None:
        for name, n_axes in (("theta", 1), ("leaves", 2)):
            array = np.array(getattr(self, name), dtype=np.float64, order="C")
            if array.ndim != n_axes or np.isnan(array).any():
                raise ValueError(f"{name} of shape {array.shape} must have {n_axes} axes and no NaN")
            object.__setattr__(self, name, read_only(array))
        if len(self.leaves) == 0 or self.n_meeting < 1:
            raise ValueError("there must be at least one leaf, and at least one number in a meeting")

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    @property
    def n_message(self) -> int:
        """The length of a message."""
        return int(self.leaves.shape[1])

    def compiled(self, *names: str) -> CompiledProcess:
        """The process as kernels take it that call these functions."""
        kind: Any = self.kind
        return CompiledProcess(self.theta, self.n_meeting, **_addresses(kind, names))


class Process:
    """Z(s) = ∫∫ M_l(y) k_s(y, z) M_r(z) dy dz: how well two lineages agree, s apart along the branches between them.

    `Brownian` and `IndependentSites` are ready to use. For one of your own, subclass this and define

    ``prepare(self, x)``
        the `Prepared` data: checks x and makes one message per row. ``kind`` is usually ``type(self)``.
    ``meet(theta, left, right, out)``
        writes into ``out`` all that Z of two messages depends on besides s, and returns how many entries of the data
        both know something about (0: the data say nothing on when, or whether, they meet).
    ``log_z(theta, meeting, s)``
        log Z for s ≥ 0; −inf if impossible, inf for a density of identical things at distance 0; never NaN.
    ``join(theta, left, l_left, right, l_right, out)``
        writes the message of the new lineage at its event, which lies l_left and l_right above the two.

    All but ``prepare`` are static methods, compiled for you. These may be left out:

    ``log_root(theta, message)``
        what the state of the last lineage adds to the log likelihood; 0. `place` and predictions then need
        ``root_message(theta)`` too, a plain static method that returns the distribution of the root's state as a
        message, or None if nothing is known of it.
    ``slopes(theta, meeting, s)`` and ``longest(theta, meeting, rate)``
        the first two derivatives of log Z in s, and an s beyond which −rate/2 + d log Z/ds is negative. If both are
        there, ``best_length`` uses them.
    ``best_length(theta, meeting, s0, rate)``
        the s ≥ s0 that maximises −rate (s − s0)/2 + log Z(s).
    ``log_integral(theta, meeting, s0, rate)``
        log ∫_0^∞ e^(−rate δ) Z(s0 + 2δ) dδ, with s = s0 + 2δ since time adds to both branches.
    ``propose_length(theta, meeting, s0, rate, seed, item, step)``
        (s, log density of δ): a draw of s = s0 + 2δ from about e^(−rate δ) Z(s0 + 2δ), and the exact log density of the
        distribution that it was drawn from. Importance weights need no more. For Brownian motion on complete data the
        draw is from that very distribution.
    ``log_survival(theta, meeting, s0, rate, delta)``
        the log-probability that such a draw is longer than δ.
    ``predict_entries(self, points, hierarchy)`` and ``draw_entries(self, points, hierarchy, size, rng)``
        the `Prediction` of the entries that are NaN in ``points``, each by itself, and (size, n, D) points with draws
        of them all; for `predict` and `impute`.
    ``walk(self, n_columns, start)``
        a function (parents, lengths, rng) that draws the state of every node, from the root down, with so many columns;
        for `palmette.simulate.coalescent`, which hands both arguments on, None if they were not given.
    ``missing_code`` and ``given(self, x)``
        a number that stands for a missing entry, besides NaN, and the process with all that it takes from the data
        spelled out; itself if there is nothing.
    ``has_units``
        whether log Z is a density whose unit depends on which entries two lineages have in common; False. `greedy` does
        not break ties by it then.
    ``leaf_variance``
        how much leaves vary about their lineages; NaN. At 0, rows that are the same have infinite density, and `smc`
        refuses them.
    ``with_density(self, x)``
        the process with a root that has a density, which `flat_clusters` compares with; itself.
    ``first_guess(self, points, scale, leaf_ages)`` and ``refitted(self, points, hierarchy, prior, scale)``
        the process that `fit` begins with, and the one whose parameters are the best given a history.

    What is left out is made from ``log_z`` by the numerical methods of `palmette.coalescent.durations`.
    """

    meet: ClassVar[Any]
    log_z: ClassVar[Any]
    join: ClassVar[Any]
    log_root: ClassVar[Any] = staticmethod(no_root)
    best_length: ClassVar[Any]
    log_integral: ClassVar[Any]
    propose_length: ClassVar[Any]
    log_survival: ClassVar[Any]
    missing_code: ClassVar[float] = np.nan
    has_units: ClassVar[bool] = False
    leaf_variance: float = np.nan

    _signatures: ClassVar[dict[str, str]] = {
        "meet": "theta, left, right, out",
        "log_z": "theta, meeting, s",
        "join": "theta, left, l_left, right, l_right, out",
        "log_root": "theta, message",
        "slopes": "theta, meeting, s",
        "longest": "theta, meeting, rate",
        "best_length": "theta, meeting, s0, rate",
        "log_integral": "theta, meeting, s0, rate",
        "propose_length": "theta, meeting, s0, rate, seed, item, step",
        "log_survival": "theta, meeting, s0, rate, delta",
    }

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        compile_static(cls, cls._signatures)

    def prepare(self, x: npt.ArrayLike) -> Prepared:
        """The rows of x, one per leaf, as messages; raises for data that the process does not take."""
        raise TypeError(f"{type(self).__name__} must define prepare, meet, log_z and join; see Process")

    def given(self, x: Floats) -> Process:
        """The process with all that it takes from the data spelled out; itself if there is nothing."""
        return self

    @classmethod
    def root_message(cls, theta: Floats) -> Any:
        """The distribution of the root's state as a message; None if it is flat or the equilibrium."""
        if defines(cls, "log_root"):
            raise TypeError(
                f"{cls.__name__} has a log_root, so that its root is a lineage of its own; give it a static method "
                "root_message(theta), too, that returns the message of that lineage"
            )

    def with_density(self, x: npt.ArrayLike) -> Process:
        """The process with a root that has a density; itself, if nothing else is said."""
        return self

    def first_guess(self, points: Floats, scale: str | None, leaf_ages: npt.ArrayLike | None) -> Process:
        """The process that `fit` begins with."""
        raise TypeError(f"{type(self).__name__} has no first_guess, so that its parameters cannot be fitted")

    def refitted(self, points: Floats, hierarchy: Hierarchy, prior: Prior | None, scale: str | None) -> Process:
        """The process with the best parameters given a history."""
        raise TypeError(f"{type(self).__name__} has no refitted, so that its parameters cannot be fitted")

    def predict_entries(self, points: Floats, hierarchy: Hierarchy) -> Prediction:
        """The distribution of each entry that is NaN in `points`, given the others."""
        raise TypeError(
            f"{type(self).__name__} does not say what its messages mean for a single entry: it has no predict_entries, "
            "as Brownian and IndependentSites have (log_predictive_entry and place take any process)"
        )

    def draw_entries(self, points: Floats, hierarchy: Hierarchy, size: int, rng: np.random.Generator) -> Floats:
        """(size, n, D): `points` with draws of what is NaN, all at once."""
        raise TypeError(f"{type(self).__name__} has no draw_entries, so what is missing cannot be drawn")

    def walk(self, n_columns: int | None, start: npt.ArrayLike | None) -> Walk:
        """(parents, lengths, rng) → (2n − 1, D): the state of every node, drawn from the root down."""
        raise TypeError(f"{self!r} has no walk, as Brownian and IndependentSites have, so data cannot be drawn from it")


def known_rows(x: npt.ArrayLike, process: Process, name: str = "x") -> tuple[Floats, Process]:
    """x with NaN where an entry is missing, and the process with all that it takes from x spelled out."""
    points = check_points(x, name, missing=True)
    check_process(process)
    points[points == process.missing_code] = np.nan
    return points, process.given(points)


def check_process(process: Any) -> None:
    """Refuse what is no process."""
    if not isinstance(process, Process):
        raise TypeError(f"expected a process, such as palmette.coalescent.Brownian(), not {process!r}")


@functools.cache
def _addresses(kind: type[Process], names: tuple[str, ...]) -> dict[str, int]:
    # What the process does not define is made from others.
    has_slopes = defines(kind, "slopes") and defines(kind, "longest")
    general = {
        "best_length": durations.best_by_slopes if has_slopes else durations.best_by_values,
        "log_integral": durations.log_integral,
        "propose_length": durations.propose_length,
        "log_survival": durations.log_survival,
    }
    made = [name for name in names if name in general and not defines(kind, name)]
    parts = {"log_z", "slopes", "longest"} if has_slopes and "best_length" in made else {"log_z"} if made else set()
    found = {name: general_address(name, general[name]) for name in made}
    return found | {name: address_of(name, kind) for name in parts.union(names).difference(made)}


def defines(process: type[Process], name: str) -> bool:
    """Whether a class in the line below `Process` has this of its own."""
    line = process.__mro__[: process.__mro__.index(Process)]
    return any(name in base.__dict__ for base in line)
