from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

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


def read_only(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The same array, closed for writing.

    >>> read_only(np.arange(3)).flags.writeable
    False
    """
    array.flags.writeable = False
    return array
