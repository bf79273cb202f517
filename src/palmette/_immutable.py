"""Objects that never change, and so can be compared, hashed and shared: read-only arrays, and what has labels."""

from abc import abstractmethod
from functools import cached_property
from hashlib import blake2b
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from palmette.array_types import Ints

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Immutable:
    """Attributes are set once, when the object is made; after that, assignment raises.

    Values that are computed on first use are kept by `functools.cached_property`, which writes to the
    instance dictionary and so passes by `__setattr__`.
    """

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"cannot set {name!r}: a {type(self).__name__} never changes; make a new one instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete {name!r}: a {type(self).__name__} never changes; make a new one instead")


class Labelled(Immutable):
    """Something over labelled leaves: equal to what says the same of the same labels, in whatever order they are."""

    labels: tuple[str, ...]
    """The names of the leaves."""

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.labels)

    @abstractmethod
    def _canonical_form(self, leaves: Ints) -> tuple[Ints, ...]:
        """Arrays that say what there is to say once the leaves are numbered in the order given, and nothing else."""

    @cached_property
    def _canonical(self) -> tuple[tuple[str, ...], tuple[Ints, ...]]:
        leaves = sorted(range(self.n_leaves), key=self.labels.__getitem__)
        return tuple(self.labels[leaf] for leaf in leaves), self._canonical_form(np.array(leaves, dtype=np.int64))

    @cached_property
    def _hash(self) -> int:
        # Python's own string hash differs from process to process; this one does not.
        names, form = self._canonical
        digest = blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=8)
        for array in form:
            digest.update(array.astype("<i8").tobytes())
        return int.from_bytes(digest.digest(), "little", signed=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        (names, form), (other_names, other_form) = self._canonical, other._canonical
        return names == other_names and all(map(np.array_equal, form, other_form))

    def __hash__(self) -> int:
        return self._hash


def read_only(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The same array, closed for writing.

    >>> read_only(np.arange(3)).flags.writeable
    False
    """
    array.flags.writeable = False
    return array
