"""Many jets end to end: one array of all particles, and where each jet begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from palmette._immutable import Immutable, read_only
from palmette.array_types import Floats, Ints
from palmette.checks import as_integers
from palmette.hierarchy import Hierarchy
from palmette.jets.awkward import from_awkward, to_awkward
from palmette.links import offsets_of

__all__ = ["Jet", "Jets", "joined"]

Ids = Mapping[str, npt.NDArray[Any]]

_COLUMNS = "(E, px, py, pz)"
_PART = "part"  # the id that tells jets of different parts from each other


@dataclass(frozen=True, eq=False)
class Jet:
    """The particles of one jet and, where it is known, how they came about."""

    momenta: Floats  #: (n, 4): E, px, py, pz of each particle
    children: Ints | None = None  #: (n − 1, 2): the true splits; row i holds the children of node n + i
    ids: Mapping[str, Any] = field(default_factory=dict)  #: what the jet is called, such as event and jet number

    @property
    def n_leaves(self) -> int:
        """Number of particles."""
        return len(self.momenta)

    @property
    def hierarchy(self) -> Hierarchy:
        """The true hierarchy."""
        if self.children is None:
            raise ValueError("the true splits are not known: these jets came without `children`")
        return Hierarchy.from_merges(self.children)


class Jets(Immutable, Sequence[Jet]):
    """Jet i is the rows offsets[i] to offsets[i + 1] of `momenta`, each (E, px, py, pz).

    `momenta` is (N, 4) and `offsets` (n_jets + 1,), from 0 to N. `ids` has one entry per jet under each name, and is
    {"jet": 0, 1, …} unless given. `children`, where the truth is known, are the true splits of all jets, one jet
    after another: n − 1 rows for a jet of n particles. Item i is a `Jet`, made on demand. A slice, a mask (one boolean
    per jet) and an array of jet numbers give `Jets` again.

    Momenta are not checked: a jet without particles and one with a NaN have their place here, and whoever cannot use
    them says so.

    >>> jets = Jets([[5, 3, 0, 0], [5, -3, 0, 0], [9, 0, 4, 0]], [0, 2, 3])
    >>> jets, jets[0].n_leaves
    (Jets(n_jets=2, n_particles=3), 2)
    >>> jets[jets.n_leaves < 2].ids["jet"]
    array([1])
    """

    momenta: Floats
    offsets: Ints
    ids: Ids
    children: Ints | None

    def __init__(
        self,
        momenta: npt.ArrayLike,
        offsets: npt.ArrayLike,
        ids: Mapping[str, npt.ArrayLike] | None = None,
        children: npt.ArrayLike | None = None,
    ) -> None:
        particles = _check_momenta(momenta)
        edges = _check_offsets(offsets, len(particles))
        names = {"jet": np.arange(len(edges) - 1)} if ids is None else ids
        self.__dict__.update(momenta=particles, offsets=edges, ids=_check_ids(names, len(edges) - 1))
        self.__dict__["children"] = None if children is None else _check_children(children, self._split_offsets)

    @classmethod
    def from_list(cls, momenta: Iterable[npt.ArrayLike], ids: Mapping[str, npt.ArrayLike] | None = None) -> Jets:
        """Jets from one (n_i, 4) array each.

        >>> Jets.from_list([[[5, 3, 0, 0], [5, -3, 0, 0]], [[9, 0, 4, 0]]])
        Jets(n_jets=2, n_particles=3)
        """
        parts = [_check_momenta(part, f"jet {i}") for i, part in enumerate(momenta)]
        offsets = offsets_of([len(part) for part in parts])
        return Jets(read_only(np.concatenate([np.empty((0, 4)), *parts])), offsets, ids)

    @classmethod
    def from_awkward(cls, array: Any, ids: Mapping[str, npt.ArrayLike] | None = None) -> Jets:
        """Jets from an awkward array: one list of records per jet, such as vector's Momentum4D.

        The fields are px, py or pt, phi; pz, eta or theta; E, energy or mass. What else there is, is left out.
        """
        return Jets(*from_awkward(array), ids)

    @classmethod
    def concatenate(cls, parts: Iterable[Jets]) -> Jets:
        """The jets of all parts, one after another; they have the truth, or a law, if all parts have the same.

        If two jets would have the same ids, these get one more, `part`: 0 for the jets of the first part, and so on.

        >>> Jets.concatenate([Jets.from_list([[[5, 3, 0, 0]]])] * 2).ids["part"]
        array([0, 1])
        """
        every = list(parts)
        return joined(every) if len(every) < 2 or not _share_ids(every) else joined(_numbered(every))

    @property
    def law(self) -> dict[str, float] | None:
        """The parameters of the law that made these jets; None if it is not known."""
        return None

    @property
    def leaf_bounds(self) -> tuple[int, int | None] | None:
        """The fewest and the most particles (None: any number) of jets that were kept; None if it is not known."""
        return None

    @property
    def has_truth(self) -> bool:
        """Whether the true splits are known."""
        return self.children is not None

    @property
    def n_leaves(self) -> Ints:
        """(n_jets,): number of particles of each jet."""
        return np.diff(self.offsets)

    @property
    def hierarchies(self) -> list[Hierarchy]:
        """The true hierarchy of each jet."""
        return [jet.hierarchy for jet in self]

    def to_awkward(self) -> Any:
        """One list of Momentum4D records per jet, with fields E, px, py, pz; the ids are left out."""
        return to_awkward(self.momenta, self.n_leaves)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Jet]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Jet: ...
    @overload
    def __getitem__(self, index: slice | npt.NDArray[Any]) -> Self: ...
    def __getitem__(self, index: int | slice | npt.NDArray[Any]) -> Jet | Self:
        if isinstance(index, np.ndarray) and index.ndim == 1:
            return self._gather(np.arange(len(self))[index if index.size else slice(0)])
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                return self._gather(np.arange(first, last, step))
            ends = [first, max(first, last)]
            offsets = read_only(self.offsets[first : ends[1] + 1] - self.offsets[first])
            return self._some(slice(*ends), slice(*self.offsets[ends]), slice(*self._split_offsets[ends]), offsets)
        i = range(len(self))[index]
        rows, splits = slice(*self.offsets[i : i + 2]), slice(*self._split_offsets[i : i + 2])
        ids = {name: values[i] for name, values in self.ids.items()}
        return Jet(self.momenta[rows], None if self.children is None else self.children[splits], ids)

    def _gather(self, jets: Ints) -> Self:
        rows, splits = _rows_of(self.offsets, jets), _rows_of(self._split_offsets, jets)
        return self._some(jets, rows, splits, read_only(offsets_of(self.n_leaves[jets])))

    def _some(self, jets: Ints | slice, rows: Ints | slice, splits: Ints | slice, offsets: Ints) -> Self:
        """These jets, in this order; slices give views."""
        return self._like(
            read_only(self.momenta[rows]),
            offsets,
            {name: values[jets] for name, values in self.ids.items()},
            None if self.children is None else read_only(self.children[splits]),
        )

    def _like(self, momenta: Floats, offsets: Ints, ids: Ids, children: Ints | None) -> Self:
        """Other jets of the same kind."""
        return type(self)(momenta, offsets, ids, children)

    @cached_property
    def _split_offsets(self) -> Ints:
        return read_only(offsets_of(np.maximum(self.n_leaves - 1, 0)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.momenta, self.offsets, dict(self.ids), self.children)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_jets={len(self)}, n_particles={len(self.momenta)})"


def joined(parts: list[Jets]) -> Jets:
    """The same for parts whose ids are known to differ, as those of one file are."""
    if not parts:
        return Jets.from_list([])
    if len(parts) == 1:
        return parts[0]
    _check_same_ids(parts)
    splits = [part.children for part in parts if part.children is not None]
    laws = [(part.law, part.leaf_bounds) for part in parts]
    make = parts[0]._like if all(law == laws[0] for law in laws) else Jets
    return make(
        read_only(np.concatenate([part.momenta for part in parts])),
        read_only(offsets_of(np.concatenate([part.n_leaves for part in parts]))),
        {name: np.concatenate([part.ids[name] for part in parts]) for name in parts[0].ids},
        read_only(np.concatenate(splits)) if len(splits) == len(parts) else None,
    )


def _share_ids(parts: list[Jets]) -> bool:
    # Parts that have been numbered go on being.
    if any(_PART in part.ids for part in parts):
        return True
    _check_same_ids(parts)
    columns = [
        np.unique(np.concatenate([part.ids[name] for part in parts]), return_inverse=True)[1] for name in parts[0].ids
    ]
    return len(columns) == 0 or len(np.unique(np.stack(columns), axis=1).T) < len(columns[0])


def _numbered(parts: list[Jets]) -> list[Jets]:
    out, first = [], 0
    for part in parts:
        own = np.asarray(part.ids.get(_PART, np.zeros(len(part), np.int64)))
        numbers = first + np.unique(own, return_inverse=True)[1].reshape(-1)
        out.append(part._like(part.momenta, part.offsets, {_PART: numbers, **_others(part.ids)}, part.children))
        first = 1 + int(numbers.max(initial=first - 1))
    return out


def _others(ids: Ids) -> Ids:
    return {name: values for name, values in ids.items() if name != _PART}


def _rows_of(offsets: Ints, jets: Ints) -> Ints:
    sizes = np.diff(offsets)[jets]
    starts = offsets[:-1][jets] - (np.cumsum(sizes) - sizes)
    return np.repeat(starts, sizes) + np.arange(sizes.sum())


def _own(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if nobody writes to it, otherwise a copy."""
    return read_only(array.copy()) if array.flags.writeable else array


def _check_momenta(momenta: npt.ArrayLike, name: str = "momenta") -> Floats:
    try:
        array = np.asarray(momenta)
    except ValueError:
        raise ValueError(f"{name} has rows of different length; expected {_COLUMNS} in each") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an array of numbers {_COLUMNS}, not {array.dtype}")
    if array.size == 0 and array.ndim < 3:
        array = array.reshape(0, 4)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"{name} has shape {array.shape}; expected (n, 4): one row {_COLUMNS} per particle")
    return _own(array.astype(np.float64, copy=False))


def _check_offsets(offsets: npt.ArrayLike, n_particles: int) -> Ints:
    is_final = isinstance(offsets, np.ndarray) and offsets.dtype == np.int64 and not offsets.flags.writeable
    edges = offsets if is_final else as_integers(offsets, "offsets")
    assert isinstance(edges, np.ndarray)
    if edges.ndim != 1 or len(edges) == 0 or edges[0] != 0 or edges[-1] != n_particles:
        raise ValueError(
            f"offsets must be a flat array that begins with 0 and ends with the number of particles, {n_particles}; "
            f"it is {np.array2string(edges, threshold=6)}"
        )
    falls = np.flatnonzero(np.diff(edges) < 0)
    if len(falls):
        i = int(falls[0])
        raise ValueError(f"offsets fall from {edges[i]} to {edges[i + 1]} at jet {i}; they must not")
    return read_only(edges)


def _check_ids(ids: Mapping[str, npt.ArrayLike], n_jets: int) -> Ids:
    found = {}
    for name, values in ids.items():
        array = np.asarray(values)
        if not isinstance(name, str) or array.shape != (n_jets,):
            raise ValueError(f"ids[{name!r}] has shape {array.shape}; expected one entry for each of {n_jets} jets")
        found[name] = _own(array)
    return MappingProxyType(found)


def _check_children(children: npt.ArrayLike, split_offsets: Ints) -> Ints:
    array = np.asarray(children)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"children must hold integers, not {array.dtype}")
    expected = (int(split_offsets[-1]), 2)
    if array.shape != expected and (array.size or expected[0]):
        raise ValueError(f"children has shape {array.shape}; these jets have {expected} splits, n − 1 for n particles")
    return _own(array.astype(np.int64, copy=False).reshape(expected))


def _check_same_ids(parts: list[Jets]) -> None:
    for part in parts:
        if set(part.ids) != set(parts[0].ids):
            raise ValueError(
                f"these jets are named by {', '.join(part.ids)}, those before by {', '.join(parts[0].ids)}; "
                f"all parts need the same ids"
            )
