"""Fitting an ultrametric to a graph by gradient descent."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.checks import check_choice, check_integer, check_positive
from palmette.defaults import DEFAULTS
from palmette.progress import Progress
from palmette.ultrametric.adam import Adam
from palmette.ultrametric.average import average_linkage
from palmette.ultrametric.found import FoundUltrametric
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.losses import Loss
from palmette.ultrametric.rounds import Rounds
from palmette.ultrametric.subdominant import Subdominant, check_edge_values

__all__ = ["Fit", "fit"]

STARTS = ("weights", "average")
STEPS = ("rounds", "constant")


@dataclass(frozen=True)
class _Settings:
    learning_rate: float
    tolerance: float | None
    scale: float
    progress: bool | None


@dataclass(frozen=True, eq=False)
class Fit(FoundUltrametric):
    """The best ultrametric that a fit came by, and how it got there. `resume` goes on from where it ended."""

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
    _optimiser: Adam = field(repr=False)
    _rounds: Rounds = field(repr=False)

    @property
    def iterations(self) -> int:
        """How many iterates there were."""
        return len(self.history)

    def _facts(self) -> list[tuple[str, object]]:
        return [
            ("loss", f"{self.best_loss:.6g}, of {self.loss!r}"),
            ("iterations", f"{self.iterations:,}, the best is {self.best_iteration:,}; from {self.start!r}"),
            ("converged", self.converged),
        ]

    def __repr__(self) -> str:
        how = "converged" if self.converged else "not converged"
        return f"Fit({self.loss!r}, best_loss={self.best_loss:.6g} after {self.iterations} iterations, {how})"

    def resume(self, iterations: int = DEFAULTS.iterations) -> Fit:
        """So many iterations more, from where this fit ended; the same as if it had never been interrupted.

        >>> from palmette.ultrametric import Closest
        >>> graph = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])
        >>> half = fit(graph, Closest(), iterations=50, tolerance=None)
        >>> whole = fit(graph, Closest(), iterations=100, tolerance=None)
        >>> bool((half.resume(50).history == whole.history).all())
        True
        """
        return _heard(_descend(self, check_integer("iterations", iterations, 1)))


def fit(
    graph: Graph,
    loss: Loss,
    *,
    start: str | npt.ArrayLike | Sequence[str] = DEFAULTS.start,
    steps: str = "rounds",
    iterations: int = DEFAULTS.iterations,
    learning_rate: float = DEFAULTS.learning_rate,
    tolerance: float | None = DEFAULTS.tolerance,
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
        "weights": w̃ = w, exactly. "average": w̃ is average linkage on the graph. Or weights to begin at, one per
        edge. Of several names, ``("weights", "average")``, all are tried and the best fit is returned.
    steps
        "rounds": rounds of 30, 45, 67, … iterations in which steps become shorter; each next round begins at the best
        ultrametric so far, w̃ = u, where all edges that join two clusters are as high as the lowest of them, and so
        may take its place. "constant": one descent with steps of one length, as in the paper.
    iterations
        At most so many evaluations of the loss.
    learning_rate
        The length of a step, in units of `scale`.
    tolerance
        The descent stops at the end of a round if the best loss fell by less than this share of itself in the last
        three rounds, which are 70 % of all iterations; never early if `tolerance` is None. A fit that ends before
        that says so in a warning.
    scale
        The unit of steps: heights well below it move by a share of themselves, those above by a share of it. Unless
        given, twice the mean weight, or twice the `reach` of the loss (a margin) if that is larger. So fits do not
        depend on the unit that weights come in, as far as the loss does not.
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
    if not isinstance(loss, Loss):
        raise TypeError(f"loss must be a Loss, such as Closest() or a class of your own, not {loss!r}")
    settings = _Settings(
        check_positive("learning_rate", learning_rate),
        None if tolerance is None else check_positive("tolerance", tolerance),
        _scale_of(graph, loss) if scale is None else check_positive("scale", scale),
        progress,
    )
    check_choice("steps", steps, STEPS)
    rounds = Rounds(falling=steps == "rounds")
    check_integer("iterations", iterations, 1)
    loss.check(graph)
    fits = [_begin(graph, loss, place, settings, rounds, iterations) for place in _places(start)]
    return _heard(min(fits, key=lambda found: found.best_loss))


def _heard(found: Fit) -> Fit:
    # With a warning, unless the descent is over or was meant to take all iterations.
    if found._settings.tolerance is not None and not found.converged:
        share = found._rounds.fall(found.history.max())
        fell = f", and fell by {100 * share:.2g} % in the last three rounds" if np.isfinite(share) else ""
        warnings.warn(
            f"the loss had not settled after {found.iterations} iterations{fell}; "
            "go on with .resume(), or give more `iterations`",
            stacklevel=3,
        )
    return found


def _places(start: Any) -> list[Any]:
    names = [start] if isinstance(start, str) else start
    if not (isinstance(names, list | tuple) and any(isinstance(name, str) for name in names)):
        return [start]
    unknown = [name for name in names if name not in STARTS]
    if unknown:
        raise ValueError(f'start is {unknown[0]!r}; it may be "weights", "average", both in a tuple, or edge weights')
    return list(names)


def _begin(graph: Graph, loss: Loss, place: Any, settings: _Settings, rounds: Rounds, iterations: int) -> Fit:
    if isinstance(place, str):
        name, weights = place, graph.weights if place == "weights" else average_linkage(graph).values
    else:
        name, weights = "given", check_edge_values(graph, place, "start")
        if (weights < 0).any():
            raise ValueError(f"start must not be negative, but that of edge {int(weights.argmin())} is {weights.min()}")
    here, optimiser = Subdominant.of(graph, weights), Adam.at(weights, settings.scale)
    nothing = Fit(here, loss, np.inf, 0, np.empty(0), False, name, settings, optimiser, rounds)
    return _descend(nothing, iterations)


def _descend(before: Fit, iterations: int) -> Fit:
    # The loop: a loss, its gradient, a step. An iterate that is the best so far is kept before the step is made.
    graph, loss, settings = before.subdominant.graph, before.loss, before._settings
    optimiser, rounds = deepcopy(before._optimiser), deepcopy(before._rounds)
    best, best_loss, best_iteration = before.subdominant, before.best_loss, before.best_iteration
    history = before.history.tolist()
    bar = Progress("fitting", iterations, settings.progress, unit="iterations")
    converged = False
    try:
        while not converged and len(history) < len(before.history) + iterations:
            here = Subdominant.of(graph, read_only(optimiser.weights.copy()))
            value, gradient = _evaluate(loss, here)
            if value < best_loss:
                best, best_loss, best_iteration = here, value, len(history)
            history.append(value)
            optimiser.step(here.scatter(gradient), settings.learning_rate * rounds.factor)
            if rounds.count(best_loss):
                converged = settings.tolerance is not None and rounds.fall(max(history)) <= settings.tolerance
                if rounds.falling:
                    optimiser = Adam.at(best.values, settings.scale)
            bar.advance(1)
    finally:
        bar.close()
    return replace(
        before, subdominant=best, best_loss=best_loss, best_iteration=best_iteration, converged=converged,
        history=read_only(np.array(history)), _optimiser=optimiser, _rounds=rounds,
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


def _scale_of(graph: Graph, loss: Loss) -> float:
    longest = max(float(graph.weights.mean()) if graph.n_edges else 0.0, loss.reach)
    return 2.0 * longest if longest > 0 else 1.0
