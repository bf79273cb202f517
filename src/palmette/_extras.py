"""Packages that are needed for a part of palmette only; each is imported where it is used."""

from importlib import import_module
from typing import Any

__all__ = ["require"]


def require(module: str, extra: str) -> Any:
    """The module of this name, or a message that names the extra which installs it.

    >>> require("math", "plot").sqrt(4.0)
    2.0
    >>> require("mathplotlib", "plot")
    Traceback (most recent call last):
    ImportError: mathplotlib is needed for this, and missing: pip install 'palmette[plot]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:  # the module itself, or one that it needs in turn
        missing = (error.name or module).partition(".")[0]
        raise ImportError(f"{missing} is needed for this, and missing: pip install 'palmette[{extra}]'") from None
