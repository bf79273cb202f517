"""One way to compile: the options that all compiled functions share, and kernels that lie on disk.

Numba stores a compiled function on disk under its name and the age of its own file, and does not notice an edit in
another file. So the name of everything that we store carries a digest of its own file, and of all that this one imports
from the package, directly or not. What a person's function is part of is compiled anew in each process: what it calls
in turn could change without our noticing.
"""

from __future__ import annotations

import functools
import hashlib
import re
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

from palmette._plain import IS_PLAIN, Plain

__all__ = [
    "OPTIONS",
    "all_ours",
    "as_compiled",
    "called",
    "inline",
    "inline_with",
    "is_ours",
    "kernel",
    "maker",
    "reduction",
    "step",
    "stored",
    "with_functions",
]

# Fused multiply-adds are welcome. Re-association is not: it undoes compensated arithmetic and makes LLVM prefer slow
# horizontal sums. The full fastmath flag would even let it assume that no value is infinite, and −inf is "impossible".
# Nobody asks for the address of a kernel or of a part, which is what a wrapper for C would be for.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "no_cfunc_wrapper": True}
# Parts of kernels borrow arrays: they count no references to those that they are given, take out of a tuple or look at
# a part of, which stay alive without. So they cannot make arrays, nor return any.
_OF_PARTS: dict[str, Any] = {**OPTIONS, "_nrt": False}

_ROOT = Path(__file__).parent
_IMPORT = re.compile(rf"^from ({__package__}[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


class _Listener(event.Listener):  # type: ignore[misc]
    """Hears of what is compiled, and not of what is read from disk."""

    def __init__(self) -> None:
        from palmette.progress import CompilationNotice  # here, so that no kernel is compiled anew if it is edited

        self._notice = CompilationNotice()

    def on_start(self, event: Any) -> None:
        self._notice.look()

    def on_end(self, event: Any) -> None:
        self._notice.look()


event.register("numba:compile", _Listener())


def _digest(*contents: bytes) -> str:
    return hashlib.blake2b(b"\0".join(contents), digest_size=8).hexdigest()


@functools.cache
def _source(module: str) -> str | None:
    # The text of a module of this package; None for anything else.
    path = _ROOT.joinpath(*module.split(".")[1:])
    for place in (path.with_suffix(".py"), path / "__init__.py"):
        if module.split(".")[0] == __package__ and place.is_file():
            return place.read_text(encoding="utf-8")
    return None


def _imported(module: str) -> Iterator[str]:
    for package, names in _IMPORT.findall(_source(module) or ""):
        yield package
        yield from (f"{package}.{name}" for name in re.findall(r"\w+", names))  # a name may be a module


@functools.cache
def _source_digest(*modules: str) -> str:
    found, waiting = set(), list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found and _source(module) is not None:
            found.add(module)
            waiting.extend(_imported(module))
    return _digest(*((_source(module) or "").encode() for module in sorted(found)))


def _modules(function: Any) -> tuple[str, ...]:
    # Where a function, and all that was put into it, comes from; one that `exec` made may come from nowhere.
    return getattr(function, "modules", (function.__module__ or "",))


def stored(function: Callable[..., Any], compiled_by: Callable[..., Any]) -> Any:
    """compiled_by(cache=True)(function) under a name that carries the digest of its sources.

    Without a cache if there is no writable place for one.
    """
    function.__qualname__ += f"_{_source_digest(*_modules(function))}"
    try:
        return compiled_by(cache=True)(function)
    except RuntimeError:
        return compiled_by()(function)


def kernel(function: Callable[..., Any]) -> Any:
    """A compiled function that is called from Python: cached on disk, releases the GIL."""
    return Plain(function) if IS_PLAIN else stored(function, functools.partial(numba.njit, **OPTIONS))


def step(function: Callable[..., Any]) -> Any:
    """Like `kernel`, for one that makes no arrays, mostly a step of others: see `inline`."""
    return Plain(function) if IS_PLAIN else stored(function, functools.partial(numba.njit, **OPTIONS, _nrt=False))


def _part(function: Callable[..., Any], **options: Any) -> Any:
    return Plain(function) if IS_PLAIN else numba.njit(**{**_OF_PARTS, **options})(function)


def inline(function: Callable[..., Any]) -> Any:
    """A compiled function that only kernels call, and that is always made part of them. It makes no arrays."""
    return _part(function, forceinline=True)


def inline_with(*parts: Any) -> Callable[[Callable[..., Any]], Any]:
    """`inline` for a function that is made in another one and calls these: it is named by them, for the disk."""

    def make(function: Callable[..., Any]) -> Any:
        return maker(_named_by(function, parts))  # it may be a person's function that it calls

    return make


def reduction(function: Callable[..., Any]) -> Any:
    """Like `inline`, for a loop that reduces an array: here, and only here, LLVM may choose the order of a sum."""
    return _part(function, forceinline=True, fastmath={"contract", "nsz", "reassoc"})


def called(function: Callable[..., Any]) -> Any:
    """A compiled function that only kernels call, too large to be made part of each. It makes no arrays."""
    return _part(function)


def maker(function: Callable[..., Any]) -> Any:
    """Like `inline`, for a function that makes or returns arrays, or calls one that returns some."""
    return _part(function, forceinline=True, _nrt=True)


@functools.cache
def as_compiled(function: Callable[..., Any]) -> Any:
    """A user's function, plain or compiled with options of their own, as a part of kernels: always inlined.

    Out of line, a call costs more than most scores do.
    """
    if IS_PLAIN:
        return function if isinstance(function, Plain) else Plain(function)
    if not isinstance(function, Dispatcher):
        return numba.njit(**OPTIONS, forceinline=True)(function)
    if function.targetoptions.get("forceinline"):
        return function
    return numba.jit(**{**function.targetoptions, "forceinline": True})(function.py_func)


def is_ours(function: Any) -> bool:
    """Whether a compiled function, and all that was put into it, belongs to this package."""
    return all_ours(function.py_func)


def all_ours(function: Any) -> bool:
    """Whether a plain function, and all that was put into it, belongs to this package."""
    return all(module.split(".")[0] == __package__ for module in _modules(function))


def with_functions(template: Callable[..., Any], functions: dict[str, Any]) -> Any:
    """The template with these functions behind its names."""
    filled = types.FunctionType(
        template.__code__, {**template.__globals__, **functions}, template.__name__, template.__defaults__
    )
    filled.__module__ = template.__module__
    filled.__qualname__ = template.__name__
    return _named_by(filled, functions.values())


def _named_by(function: Any, parts: Iterable[Any]) -> Any:
    # The same function, whose name tells what it was made of, and which knows whose sources these are.
    plain = [getattr(part, "py_func", part) for part in parts]
    function.modules = tuple(sorted({function.__module__, *(m for part in plain for m in _modules(part))}))
    names = ";".join(f"{part.__module__}.{part.__qualname__}" for part in plain)
    function.__qualname__ += f"_{_digest(names.encode())}"
    function.__name__ = function.__qualname__.rpartition(".")[2]
    return function
