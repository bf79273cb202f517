"""How histories that were found compare: with the most probable one, and with the true one where it is known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette._jit import kernel
from palmette.array_types import Floats, Ints
from palmette.batch.run import Results
from palmette.jets.chunks import SEARCHES
from palmette.links import offsets_of
from palmette.numeric import scramble
from palmette.posterior.tables import Table

__all__ = ["ComparisonRow", "compare"]

_SAME = (
    1e-9  # log potentials that are closer, relatively, are one: of momenta added in another order, masses differ more
)


class ComparisonRow(NamedTuple):
    """One kind of history, over all jets that have it and a most probable one."""

    method: str
    jets: int
    behind_map: float  #: mean of the MAP's log potential minus this one's, over jets where this one is possible
    spread: float  #: standard deviation of the same over jets
    impossible: int  #: jets whose history has log potential −inf under the model
    is_map: float  #: share of jets where it is as good as the most probable one
    true_clusters: float  #: share of the true clusters, but leaves and the whole, that it has; NaN without truth
    is_true: float  #: share of jets with the very true history; NaN without truth


@kernel
def _names(merges: Any, out: Any) -> None:
    # The clusters of two leaves or more, from flat merges; children come before parents. A cluster of any number of
    # leaves goes by one word, the exclusive or of theirs, which look as if drawn at random.
    n = merges.size // 2 + 1
    for k in range(n - 1):
        name = np.uint64(0)
        for side in range(2):
            child = merges[2 * k + side]
            name ^= scramble(np.uint64(child + 1)) if child < n else out[child - n]
        out[k] = name


@kernel
def _count_shared(one: Any, one_offsets: Any, two: Any, two_offsets: Any, shared: Any) -> None:
    # How many clusters but leaves and the whole two histories of each jet have in common; −1 if one is missing.
    most = 1
    for j in range(shared.size):
        most = max(most, (one_offsets[j + 1] - one_offsets[j]) // 2)
    a, b = np.empty(most, np.uint64), np.empty(most, np.uint64)
    for j in range(shared.size):
        first, last = one_offsets[j], one_offsets[j + 1]
        begin, end = two_offsets[j], two_offsets[j + 1]
        shared[j] = -1
        if last > first and last - first == end - begin:
            n = (last - first) // 2 + 1
            _names(one[first:last], a)
            _names(two[begin:end], b)
            shared[j] = 0
            for x in range(n - 2):
                for y in range(n - 2):
                    shared[j] += a[x] == b[y]


def compare(found: Any) -> Table[ComparisonRow]:
    """A row for the most probable history and each search in a table that `infer` made; `found` may also be `Results`.

    >>> import palmette as pal
    >>> simulated = pal.simulate.ginkgo(20, max_leaves=6, rng=1)
    >>> table = pal.jets.infer(simulated, rate=1.5, t_cut=16.0, searches=["greedy"])
    >>> [row.method for row in compare(table)]
    ['map', 'greedy', 'true']
    """
    sums: dict[str, list[Floats]] = {}
    for part in found if isinstance(found, Results) else [found]:
        names = set(part.column_names)
        if not {"map", "map_log_potential"} <= names:
            raise ValueError(f"expected a table that jets.infer made; the columns are {', '.join(part.column_names)}")
        for method in ["map", *SEARCHES, "true"]:
            if f"{method}_log_potential" in names:
                sums.setdefault(method, []).append(_compared(part, method))
    rows = [_summary(method, np.concatenate(parts)) for method, parts in sums.items()]
    return Table(ComparisonRow, rows.__getitem__, len(rows))


def _compared(part: Any, method: str) -> Floats:
    # (jets, 4): log potential behind the MAP, whether that is nothing, true clusters found, and how many there are;
    # NaN where it is not known.
    best, own = (part[f"{name}_log_potential"].to_numpy(zero_copy_only=False) for name in ("map", method))
    out = np.full((len(best), 4), np.nan)
    out[:, 0] = best - own
    out[:, 1] = out[:, 0] <= _SAME * np.maximum(1.0, np.abs(best))
    if "truth" in part.column_names:
        one, two = (_lists(part[name]) for name in ("truth", "truth" if method == "true" else method))
        shared = np.empty(len(best), np.int64)
        _count_shared(*one, *two, shared)
        known = shared >= 0
        out[known, 2], out[known, 3] = shared[known], (np.diff(one[1]) // 2 - 1)[known]
    compared: Floats = out[~np.isnan(out[:, 0])]
    return compared


def _lists(column: Any) -> tuple[Ints, Ints]:
    # Values and offsets; a null is an empty list.
    lists = column.combine_chunks()
    lengths = np.array([0 if size is None else size for size in lists.value_lengths().to_pylist()], np.int64)
    return lists.flatten().to_numpy().astype(np.int64), offsets_of(lengths)


def _summary(method: str, values: Floats) -> ComparisonRow:
    behind, is_map, shared, there = values.T
    possible = behind[behind < np.inf]
    known = there > 0
    return ComparisonRow(
        method,
        len(behind),
        float(possible.mean()) if len(possible) else np.nan,
        float(possible.std()) if len(possible) else np.nan,
        len(behind) - len(possible),
        float(is_map.mean()) if len(behind) else np.nan,
        float(shared[known].sum() / there[known].sum()) if known.any() else np.nan,
        float((shared[known] == there[known]).mean()) if known.any() else np.nan,
    )
