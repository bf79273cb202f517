"""Data that wander down a history, from the root to the leaves: how a `Process` is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.coalescent.motion import add_from_root, coloured, square_root
from palmette.coalescent.process import States, Walk

if TYPE_CHECKING:
    from palmette.coalescent.brownian import Brownian
    from palmette.coalescent.sites import IndependentSites

__all__ = ["walk_numbers", "walk_states"]


def walk_numbers(process: Brownian, n_columns: int | None, start: npt.ArrayLike | None) -> Walk:
    """`Brownian` motion in so many columns."""
    rate, begin = process.rate, np.asarray(0.0 if start is None else start, dtype=np.float64)
    if begin.ndim > 1 or not np.isfinite(begin).all():
        raise ValueError(f"start is {start!r}; give one finite number, or one per column")
    if process.root != "flat":
        if start is not None:
            raise ValueError("start was given, but the process has a Gaussian root, which says where it begins")
        begin = process.root.mean
    width = _agree(n_columns, rate, begin)
    root = square_root(rate)

    def walk(parents: list[int], lengths: Floats, rng: np.random.Generator) -> States:
        # The spread at the root and the noise of the leaves are motion, too.
        times = lengths.copy()
        times[-1] += process.root_variance
        times[: (len(times) + 1) // 2] += process.leaf_variance
        white = np.sqrt(times)[:, None] * rng.standard_normal((len(times), width))
        states = coloured(white, root)
        states[-1] += begin
        return add_from_root(states, parents)

    return walk


def walk_states(process: IndependentSites, n_columns: int | None, start: npt.ArrayLike | None) -> Walk:
    """Codes of states at the sites of `IndependentSites`."""
    if start is not None:
        raise ValueError("start was given, but sites begin in equilibrium; leave it out")
    if isinstance(process.equilibrium, str):
        raise ValueError(
            f'equilibrium is "{process.equilibrium}", but there are no data yet; give one probability vector per site'
        )
    shares = [np.cumsum(q)[:-1] for q in process.equilibrium]
    width = _agree(n_columns, np.zeros(len(shares)))

    def walk(parents: list[int], lengths: Floats, rng: np.random.Generator) -> States:
        shape = len(parents), width
        is_redrawn = rng.random(shape) < -np.expm1(-process.rate * lengths[:, None])
        draws = rng.random(shape)
        fresh = [np.searchsorted(q, draws[:, d], side="right") for d, q in enumerate(shares)]
        states = np.column_stack(fresh).astype(np.int64)
        for v in range(len(parents) - 2, -1, -1):
            states[v] = np.where(is_redrawn[v], states[v], states[parents[v]])
        return states

    return walk


def _agree(n_columns: int | None, *arrays: npt.NDArray[Any]) -> int:
    # The number of columns that all of these speak of.
    given = {len(array) for array in arrays if array.ndim} | ({n_columns} if n_columns else set())
    if len(given) > 1:
        raise ValueError(f"the process, start and n_columns speak of {sorted(given)} columns; they must agree")
    return given.pop() if given else 1
