"""Many jets: log Z, the most probable history, draws and searches of each, chunk by chunk, as one table.

A chunk is worth about a second. Jet number i has the random stream i, so nothing depends on how jets were grouped or
who did the work. A jet that cannot be inferred is a row with an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from palmette._extras import require
from palmette.batch.engines import Engine
from palmette.batch.inference import FEWEST_LEAVES, Beyond
from palmette.batch.run import run
from palmette.checks import check_choice, check_integer, check_whole
from palmette.defaults import DEFAULTS
from palmette.jets.chunks import SEARCHES, Chunk, Inference
from palmette.jets.files import batches, count
from palmette.jets.jet import Jets, joined
from palmette.sampling.run import FEWEST_SWEEPS

__all__ = ["infer"]

_LARGEST = 2048


def infer(
    jets: Jets | str | os.PathLike[str] | Iterable[Jets],
    folder: str | os.PathLike[str] | None = None,
    *,
    rate: float,
    t_cut: float | None = None,
    root_rate: float | None = None,
    likelihood: str = "ordered",
    searches: Sequence[str] = (),
    n_draws: int = 0,
    seed: int = 0,
    max_leaves: int = DEFAULTS.jet_leaves,
    exact_leaves: int = DEFAULTS.batch_leaves,
    sweeps: int = DEFAULTS.batch_sweeps,
    beyond: Beyond = DEFAULTS.beyond,
    geometry: str = "pp",
    by: str | Sequence[str] | None = None,
    engine: Engine = None,
    chunk_seconds: float = 1.0,
    overwrite: bool = False,
    progress: bool | None = None,
) -> Any:
    """A row for every jet: log Z, the most probable history, `n_draws` draws, and what searches find.

    `jets` are `Jets`, a file that `palmette.jets.stream` can read, or any iterable of `Jets`, of which a few are held
    at a time. The parameters are those of `palmette.models.Ginkgo`. `searches` are some of "greedy", "beam", "kt",
    "cambridge", "antikt"; the last three need fastjet, and know the `geometry` "pp" or "ee". `by` are the columns of a
    file that name a jet, as in `palmette.jets.stream`.

    With a `folder`, the table goes there as Parquet parts, and `Results` come back: see `palmette.batch.run` for
    engines, for how a stopped run goes on, and for `overwrite`. Without one it comes back as a `pyarrow.Table`.

    =====================  ======================================================================================
    (ids)                  the columns that name the jet
    n_leaves               number of particles
    log_partition          log Z: likelihoods summed over histories, −inf if none is possible; a log density of the
                           particles, and comparable between laws, under "density" only
    map_log_potential      log likelihood of the most probable history
    map                    its merges: 2(n − 1) numbers in SciPy's order, two for each inner node
    true_log_potential     log likelihood of the true history, if the jets have one; `truth` are its merges
    greedy_log_potential   … and `greedy` the merges, for each of `searches`
    draw_log_probs         log-probability of each draw; `draws` are their merges, one draw after another
    kind                   "exact", "sampled" by chains, or "sparse" on a grown trellis; `map` is then the best history
                           that was found
    log_partition_error    standard error of log Z; 0 if it is exact, ∞ if it is a lower bound, as on a sparse trellis
    r_hat                  how far the chains agree: near 1 if they do; null if there are none
    error                  why there is nothing else in this row, or no log Z and MAP (and draws); null if all is there
    =====================  ======================================================================================

    A jet becomes an error if a number is not finite or an energy negative, if a particle or the whole has E² < |p|²
    by more than rounding, or if it has no particles, or more than 16,384. Jets of more than `exact_leaves` (22 at most,
    and three times the work for each) are sampled, with `sweeps`, or with `beyond` "sparse" given a trellis that is
    grown, both as in `palmette.batch.infer`: some seconds each. Those of more than `max_leaves` are not even that: they
    have what searches find, and the log potential of the truth.

    >>> import palmette as pal
    >>> simulated = pal.simulate.ginkgo(3, max_leaves=6, rng=1)
    >>> table = infer(simulated, rate=1.5, t_cut=16.0, searches=["greedy"])
    >>> table["n_leaves"].to_pylist()
    [6, 6, 4]
    """
    pyarrow = require("pyarrow", "parquet")
    if not chunk_seconds > 0:
        raise ValueError(f"chunk_seconds is {chunk_seconds!r}; expected how long a chunk should take, a number above 0")
    law = {"rate": rate, "t_cut": t_cut, "root_rate": root_rate, "likelihood": likelihood}
    work = Inference(
        tuple(law.items()),
        _check_searches(searches),
        check_whole("n_draws", n_draws),
        check_whole("seed", seed),
        _check_most("max_leaves", max_leaves, _LARGEST),
        max(FEWEST_LEAVES, _check_most("exact_leaves", exact_leaves, DEFAULTS.most_batch_leaves)),
        check_integer("sweeps", sweeps, FEWEST_SWEEPS),
        None if engine is None else 1,
        geometry,
        beyond,
    )
    chunks = _chunks(batches(jets, by), work, 1e9 * chunk_seconds)
    if folder is None:
        return pyarrow.concat_tables([pyarrow.table(work(chunk)) for chunk in chunks])
    names = ("n_draws", "seed", "max_leaves", "sweeps", "beyond", "geometry")
    settings = {**law, "searches": list(work.searches), **{name: getattr(work, name) for name in names}}
    settings |= {"exact_leaves": int(exact_leaves), "chunk_seconds": chunk_seconds}
    bar: dict[str, Any] = {"total": count(jets), "unit": "jets", "progress": progress}
    how: dict[str, Any] = {"engine": engine, "overwrite": overwrite, "content": Chunk.content}
    return run(work, chunks, folder, settings=settings, **how, **bar)


def _check_searches(searches: Sequence[str]) -> tuple[str, ...]:
    given = (searches,) if isinstance(searches, str) else tuple(searches)
    for name in given:
        check_choice("a search", name, SEARCHES)
    return given


def _check_most(name: str, leaves: int, most: int) -> int:
    if not 1 <= check_whole(name, leaves) <= most:
        raise ValueError(f"{name} is {leaves}; it must lie between 1 and {most}")
    return int(leaves)


def _chunks(parts: Iterable[Jets], work: Inference, nanoseconds: float) -> Iterator[Chunk]:
    # Every chunk but the last is the shortest one that is worth so much, however the jets were read.
    first, waiting = 0, None
    for batch in parts:
        waiting = batch if waiting is None else joined([waiting, batch])
        spent = np.cumsum(work.cost(waiting.n_leaves))
        begin = 0
        while len(spent) and spent[-1] >= nanoseconds:
            end = int(np.searchsorted(spent, nanoseconds)) + 1
            yield Chunk(first, waiting[begin : begin + end])
            first, begin = first + end, begin + end
            spent = spent[end:] - spent[end - 1]
        waiting = waiting[begin:]
    if waiting is not None and (len(waiting) or first == 0):  # no jets at all: a table without rows, but with columns
        yield Chunk(first, waiting)
