"""Fitting an ultrametric to a graph by gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.checks import check_integer, check_positive
from palmette.progress import Progress
from palmette.ultrametric.adam import Adam
from palmette.ultrametric.average import average_linkage
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.losses import Loss
from palmette.ultrametric.subdominant import Fitted, Subdominant, check_edge_values

__all__ = ["Fit", "fit"]

STARTS = ("weights", "average")


@dataclass(frozen=True)
class _Settings:
    learning_rate: float
    tolerance: float | None
    window: int
    scale: float
    progress: bool | None


@dataclass(frozen=True)
class Fit(Fitted):
    """The best ultrametric that a fit came by, and how it got there. `resume` goes on from the last iterate."""

    loss: Loss
    """What was made small."""
    best_loss: float
    """The loss of the best iterate, which is the one that is returned."""
    best_iteration: int
    """Its number: ``history[best_iteration] == best_loss``."""
    history: Floats
    """The loss of every iterate, shape (number of iterations,)."""
    converged: bool
    """Whether the loss had settled, rather than the iterations run out."""
    start: str
    """Where the descent began: "weights", "average", or "given"."""
    _settings: _Settings = field(repr=False)
    _optimiser: Adam = field(repr=False, compare=False)

    def _facts(self) -> list[tuple[str, object]]:
        return [
            ("loss", f"{self.best_loss:.6g}, of {self.loss!r}"),
            ("iterations", f"{len(self.history):,}, the best is {self.best_iteration:,}; from {self.start!r}"),
            ("converged", self.converged),
        ]

    def __repr__(self) -> str:
        how = "converged" if self.converged else "not converged"
        return f"Fit({self.loss!r}, best_loss={self.best_loss:.6g} after {len(self.history)} iterations, {how})"

    def resume(self, iterations: int = 500) -> Fit:
        """So many iterations more, from where this fit ended; the same as if it had never been interrupted.

        >>> from palmette.ultrametric import Closest
        >>> graph = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])
        >>> half = fit(graph, Closest(), iterations=50, tolerance=None)
        >>> whole = fit(graph, Closest(), iterations=100, tolerance=None)
        >>> bool((half.resume(50).history == whole.history).all())
        True
        """
        return _descend(self, check_integer("iterations", iterations, 1))


def fit(
    graph: Graph,
    loss: Loss,
    *,
    start: str | npt.ArrayLike | Sequence[str] = "weights",
    iterations: int = 500,
    learning_rate: float = 0.1,
    tolerance: float | None = 0.005,
    window: int = 30,
    scale: float | None = None,
    progress: bool | None = None,
) -> Fit:
    """The ultrametric u = subdominant(w̃) with the smallest loss that gradient descent on the edge weights w̃ finds.

    The problem is not convex, and NP-hard for most losses: the answer is a good one, without a guarantee. The descent
    is deterministic. w̃ = scale · log(1 + exp(v)) is positive; v moves by Adam with AMSGrad.

    Parameters
    ----------
    graph
        What the ultrametric lives on.
    loss
        For example ``Closest() + 10 * ClusterSize(top=10)``.
    start
        "weights": v = w / scale. "average": exactly at average linkage on the graph. Or weights to begin at, one per
        edge. Of several names, ``("weights", "average")``, all are tried and the best fit is returned.
    iterations
        At most so many evaluations of the loss.
    learning_rate
        The length of a step, in units of `scale`.
    tolerance, window
        The descent stops when the mean losses of the last `window` iterations and of the `window` before differ by less
        than this share; never early if `tolerance` is None.
    scale
        The unit of weights: their mean unless given. With it, fits do not depend on the unit that weights come in,
        as far as the loss does not.
    progress
        Whether to draw a progress bar on stderr; by default, on a terminal.

    Examples
    --------
    >>> from palmette.ultrametric import Closest
    >>> graph = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])
    >>> found = fit(graph, Closest(), tolerance=None)
    >>> found.ultrametric.round(3), round(found.best_loss, 3)
    (array([5., 3., 5.]), 0.667)

    """
    settings = _Settings(
        check_positive("learning_rate", learning_rate),
        None if tolerance is None else check_positive("tolerance", tolerance),
        check_integer("window", window, 1),
        _scale_of(graph) if scale is None else check_positive("scale", scale),
        progress,
    )
    check_integer("iterations", iterations, 1)
    if not isinstance(loss, Loss):
        raise TypeError(f"loss must be a Loss, such as Closest() or a class of your own, not {loss!r}")
    loss.check(graph)
    fits = [_begin(graph, loss, place, settings, iterations) for place in _places(start)]
    return min(fits, key=lambda found: found.best_loss)


def _places(start: Any) -> list[Any]:
    names = [start] if isinstance(start, str) else start
    if not (isinstance(names, list | tuple) and any(isinstance(name, str) for name in names)):
        return [start]
    unknown = [name for name in names if name not in STARTS]
    if unknown:
        raise ValueError(f'start is {unknown[0]!r}; it may be "weights", "average", both in a tuple, or edge weights')
    return list(names)


def _begin(graph: Graph, loss: Loss, place: Any, settings: _Settings, iterations: int) -> Fit:
    scale = settings.scale
    if isinstance(place, str) and place == "weights":
        optimiser = Adam.from_variables(graph.weights / scale, scale)
    elif isinstance(place, str):
        optimiser = Adam.at(average_linkage(graph).values, scale)
    else:
        given = check_edge_values(graph, place, "start")
        if (given < 0).any():
            raise ValueError(f"start must not be negative, but that of edge {int(given.argmin())} is {given.min()}")
        optimiser = Adam.at(given, scale)
    here = Subdominant._of(graph, read_only(optimiser.weights.copy()))
    name = place if isinstance(place, str) else "given"
    nothing = Fit(here, loss, np.inf, 0, np.empty(0), False, name, settings, optimiser)
    return _descend(nothing, iterations)


def _descend(before: Fit, iterations: int) -> Fit:
    # The loop: a loss, its gradient, a step. An iterate that is the best so far is kept before the step is made.
    graph, loss, settings = before.subdominant.graph, before.loss, before._settings
    optimiser = deepcopy(before._optimiser)
    best, best_loss, best_iteration = before.subdominant, before.best_loss, before.best_iteration
    history = before.history.tolist()
    bar = Progress("fitting", iterations, settings.progress, unit="iterations")
    converged = False
    try:
        while not converged and len(history) < len(before.history) + iterations:
            here = Subdominant._of(graph, read_only(optimiser.weights.copy()))
            value, gradient = _evaluate(loss, here)
            if value < best_loss:
                best, best_loss, best_iteration = here, value, len(history)
            history.append(value)
            optimiser.step(here.scatter(gradient), settings.learning_rate)
            converged = _has_settled(history, settings)
            bar.advance(1)
    finally:
        bar.close()
    return replace(
        before, subdominant=best, best_loss=best_loss, best_iteration=best_iteration, converged=converged,
        history=read_only(np.array(history)), _optimiser=optimiser,
    )  # fmt: skip


def _evaluate(loss: Loss, here: Subdominant) -> tuple[float, Floats]:
    value, gradient = loss.evaluate(here)
    if np.shape(gradient) != here.altitudes.shape:
        raise ValueError(
            f"the gradient of {loss} has shape {np.shape(gradient)}; give one number per merge, {here.altitudes.shape}"
        )
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise ValueError(f"{loss} is {value}, or its gradient is not finite; rescale the weights, or mend the loss")
    return float(value), gradient


def _has_settled(history: list[float], settings: _Settings) -> bool:
    window, tolerance = settings.window, settings.tolerance
    if tolerance is None or len(history) < 2 * window:
        return False
    now, then = np.mean(history[-window:]), np.mean(history[-2 * window : -window])
    return bool(abs(then - now) <= tolerance * abs(then))


def _scale_of(graph: Graph) -> float:
    mean = float(graph.weights.mean()) if graph.n_edges else 1.0
    return mean if mean > 0 else 1.0
