"""A hierarchy with a proof: best-first search from the top, over more leaves than a table of all clusters can hold.

Every cluster C has a value U(C) ≥ M(C), the largest log potential of a hierarchy over it. At first that is the model's
bound. To *open* C is to list its splits with log ψ + U(L) + U(R); the largest of these is a new value of C. The best
partial hierarchy takes the best split of the root, of its parts, and so on, down to clusters that are not open. One of
those is opened next, and values are revised on the way back up. Values only fall, so a split is looked at again when it
comes to the top of its heap, and not before. A cluster is *settled* when its value is that of a hierarchy that we have.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palmette.checks import check_seconds
from palmette.clusters import cluster_members, left_parts
from palmette.errors import TrellisTooLarge
from palmette.hierarchy import Hierarchy
from palmette.models.base import is_compiled, require_model
from palmette.models.split_model import HierarchyModel, SplitModel
from palmette.passes.resources import Resources
from palmette.progress import Progress
from palmette.search import a_star_walk as walk
from palmette.search.a_star_opening import enter_root, open_listed, opening_of
from palmette.search.beam import beam
from palmette.search.found import Found
from palmette.search.greedy import greedy

__all__ = ["Proved", "a_star"]

_MOST_LEAVES = 63
_BUDGET = 20_000  # splits listed, or clusters looked at, in one compiled call: well below a second
_WIDTH = 100  # of the beam that the search begins with
_SAME = 1e-12  # of a log potential: below that, two are the same number summed in another order


@dataclass(frozen=True)
class Proved(Found):
    """What `a_star` found; of the `n_clusters` = 2^n − 1 clusters it listed the splits of `n_expanded`."""

    n_expanded: int = 0
    n_clusters: int = 0

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from super()._facts()
        yield "clusters opened", f"{self.n_expanded:,} of {self.n_clusters:,}"


def a_star(
    model: HierarchyModel,
    *,
    seconds: float | None = None,
    max_memory: int | None = None,
    progress: bool | None = None,
) -> Proved:
    """argmax log potential over all hierarchies, proved, by opening as few clusters as the model's `bound` allows.

    The result has `bound` = `log_potential` and gap 0. If `seconds` or `max_memory` (bytes; three quarters of the
    machine unless given) run out before, it is the best hierarchy known by then, and a bound that is proved all the
    same. A model without a `bound` (a `SplitFunction`, or a `SplitModel` that has none) has every cluster opened: that
    is the exact recursion, and slower than ``HierarchyPosterior(model).map()``.

    To open k leaves is to list 2^(k − 1) splits, about a million a second; those that can matter are kept. The root of
    25 leaves takes seconds, that of 30 minutes, and from 35 on only `seconds` ends the search. There are at most 63
    leaves. "Best" is up to rounding: 1e-12 of the log potential for each split. The same input gives the same hierarchy
    every time, unless time ran out; of equal splits the one with the lowest left mask is opened first.

    >>> import numpy as np, palmette as pal
    >>> found = pal.search.a_star(pal.models.Dasgupta(np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0.0]])))
    >>> found.hierarchy, found.log_potential, found.gap
    (Hierarchy.from_newick('((0,1),2);'), -12.0, 0.0)
    """
    require_model(model, "hierarchies", all_known=True)
    if model.n_leaves > _MOST_LEAVES:
        raise ValueError(
            f"a_star keeps clusters as 64-bit masks: at most {_MOST_LEAVES} leaves, not {model.n_leaves}; "
            "palmette.search.beam and greedy take any number, but prove nothing"
        )
    deadline = time.monotonic() + check_seconds(seconds)
    resources = Resources(max_memory)
    known = _known(model)
    if model.n_leaves == 1:
        return Proved(known.hierarchy, known.log_potential, known.log_potential, 0, 1)
    search = _Search(model, known, resources)
    is_proved = search.run(deadline, progress)
    found = _better(model, known, Hierarchy.from_splits(search.splits(), model.labels))
    limit = found.log_potential if is_proved else max(float(search.state.upper[1]), found.log_potential)
    return Proved(found.hierarchy, found.log_potential, limit, search.n_opened, 2**model.n_leaves - 1)


def _known(model: HierarchyModel) -> Found:
    """A good hierarchy to begin with: splits that cannot beat it are not even kept."""
    known = greedy(model)
    return _better(model, known, beam(model, _WIDTH).hierarchy) if model.is_compiled else known


def _better(model: HierarchyModel, known: Found, hierarchy: Hierarchy) -> Found:
    log_potential = model.log_potential(hierarchy)
    return Found(hierarchy, log_potential) if log_potential > known.log_potential else known


def _split_masks(hierarchy: Hierarchy) -> npt.NDArray[np.uint64]:
    # (n − 1, 2): the parts of every split, children first.
    return hierarchy.cluster_masks().astype(np.uint64)[hierarchy.children]


class _Search:
    """The state of one search, and what compiled code cannot do: grow, ask a Python function, watch the clock."""

    def __init__(self, model: HierarchyModel, known: Found, resources: Resources) -> None:
        self.model, self.resources = model, resources
        self.known = _split_masks(known.hierarchy)
        self.tolerance = _SAME * abs(known.log_potential) if known.log_potential > -math.inf else 0.0
        self.state = walk.first_state(model.n_leaves)
        self.opening = opening_of(model, self.state) if is_compiled(model, SplitModel) else None
        if self.opening is None:
            enter_root(self.state, math.inf)

    @property
    def n_opened(self) -> int:
        """How many clusters had their splits listed."""
        return int(self.state.numbers[walk.OPENED])

    def run(self, deadline: float, progress: bool | None) -> bool:
        """Whether the search came to its end before time or memory did."""
        bar = Progress(f"searching, n = {self.model.n_leaves}", 2.0**self.model.n_leaves, progress)
        opened = 0
        try:
            while (status := walk.advance(self.state, self.tolerance, _BUDGET)) != walk.DONE:
                if time.monotonic() >= deadline:
                    return False
                if status == walk.TO_OPEN:
                    self._open()
                bar.advance(self.n_opened - opened)
                opened = self.n_opened
        except TrellisTooLarge:
            return False
        finally:
            bar.close()
        return True

    def _open(self) -> None:
        """Open the cluster at the end of the path, or go on with it."""
        if self.opening is None:
            return self._ask()
        status = self.opening(self.known, self.state, self.tolerance, _BUDGET)
        if status == walk.CROWDED:
            self._make_room_for_clusters(1)
        elif status == walk.FULL:
            self._make_room_for_splits(1)
        return None

    def _ask(self) -> None:
        """List the splits of a cluster by asking the model; two parts may be new for each."""
        mask = int(self.state.mask[self.state.path[self.state.numbers[walk.DEPTH]]])
        n_splits = 2 ** (mask.bit_count() - 1)
        self._make_room_for_splits(n_splits)
        self._make_room_for_clusters(2 * n_splits)
        left = left_parts(mask)
        log_psi = self.model.log_potentials(left, mask ^ left)
        open_listed(self.state, left.astype(np.uint64), log_psi)

    def _make_room_for_splits(self, more: int) -> None:
        numbers = self.state.numbers
        if 2 * numbers[walk.WASTE] > numbers[walk.SPLITS]:
            walk.compact(self.state)
        self._enlarge(walk.OF_SPLITS, int(numbers[walk.SPLITS]) + more, len(self.state.left))

    def _make_room_for_clusters(self, more: int) -> None:
        needed = int(self.state.numbers[walk.CLUSTERS]) + more
        if self._enlarge(walk.OF_CLUSTERS | walk.OF_HASHING, needed, len(self.state.mask)):
            self.state.keys[:] = 0
            walk.rehash(self.state)

    def _enlarge(self, names: Iterable[str], needed: int, present: int) -> bool:
        """Repeat these arrays 2^i times, so that they have more than `needed` entries; False if they have."""
        times = 1 << (needed // present).bit_length()
        if times == 1:
            return False
        arrays = {name: getattr(self.state, name) for name in names}
        n_bytes = sum(array.nbytes for array in self.state) + times * sum(array.nbytes for array in arrays.values())
        self.resources.require("the search", n_bytes, "Raise max_memory")
        self.state = self.state._replace(**{name: np.tile(array, times) for name, array in arrays.items()})
        return True

    def splits(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The best hierarchy as it stands: settled and open clusters as far as they go, below that the known one."""
        waiting = [(1 << self.model.n_leaves) - 1]
        while waiting:
            cluster = waiting.pop()
            left = self._settled_or_open(cluster) or self._known(cluster)
            yield cluster_members(left), cluster_members(cluster ^ left)
            waiting += [part for part in (left, cluster ^ left) if part.bit_count() > 1]

    def _settled_or_open(self, cluster: int) -> int:
        state, numbers = self.state, self.state.numbers
        c = walk.find_number(state, np.uint64(cluster))
        is_half_open = numbers[walk.IS_OPENING] and c == state.path[numbers[walk.DEPTH]]
        if c < 0 or is_half_open:
            return 0
        return int(state.left[state.first[c]] if state.n_splits[c] else state.choice[c])

    def _known(self, cluster: int) -> int:
        parts = ((int(left) & cluster, int(right) & cluster) for left, right in self.known[::-1])
        return next(left for left, right in parts if left and right)
