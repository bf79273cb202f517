"""Static methods that users write and we compile: functions of models, likelihoods and processes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from palmette._jit import as_compiled

__all__ = ["compile_static"]


def compile_static(cls: type, signatures: Mapping[str, str]) -> None:
    """Compile each function of these names that `cls` itself defines; TypeError if one takes other parameters.

    >>> class Model:
    ...     def score(theta, parent): ...
    >>> compile_static(Model, {"score": "theta, parent, left, right"})
    Traceback (most recent call last):
    TypeError: Model.score takes (theta, parent); write it as a static method with (theta, parent, left, right)
    """
    for name, wanted in signatures.items():
        function = cls.__dict__.get(name)
        if isinstance(function, staticmethod):
            function = function.__func__
        if function is not None:
            _check_parameters(f"{cls.__name__}.{name}", function, wanted)
            setattr(cls, name, staticmethod(as_compiled(function)))


def _check_parameters(name: str, function: Any, wanted: str) -> None:
    given = list(inspect.signature(getattr(function, "py_func", function)).parameters)
    if len(given) != wanted.count(",") + 1:
        raise TypeError(f"{name} takes ({', '.join(given)}); write it as a static method with ({wanted})")
