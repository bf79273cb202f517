"""One way to compile: the options every kernel shares, and templates filled in with a model's functions.

Numba stores a compiled function on disk under its name and the age of its own file. It notices neither an edit
in another file nor a different function behind the same global name. So the name of every cached kernel carries
a digest of its own file, of all that this one imports from the package, directly or not, and of who compiles it. A
*template* (a plain function that calls names it does not define, such as ``log_psi``) becomes a kernel of its own name
for each set of functions put in for them, whose files are part of the digest too.

Most of the time of a compilation goes into the *parts* of kernels, small functions that are always inlined. So they lie
on disk as well, for the next kernel that is made of them, and are never made into machine code: see
`palmette.compilers.parts`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from numba.core import event
from numba.core.dispatcher import Dispatcher

from palmette.compilers.choice import SOURCES, PartDispatcher, WholeDispatcher
from palmette.compilers.plain import IS_PLAIN, Plain

__all__ = [
    "OPTIONS",
    "all_ours",
    "as_compiled",
    "called",
    "inline",
    "inline_with",
    "is_ours",
    "kernel",
    "reduction",
    "specialise",
    "specialise_called",
    "specialise_inline",
    "specialise_reduction",
    "with_digest",
    "with_functions",
]

# Fused multiply-adds are welcome. Re-association is not: it undoes compensated arithmetic and makes LLVM prefer slow
# horizontal sums. The full fastmath flag would even let it assume that no value is infinite, and −inf is "impossible".
# Nobody asks for the address of a compiled function, which is what a wrapper for C would be for.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,
}

_ROOT = Path(__file__).parent


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
_IMPORT = re.compile(rf"^from ({__package__}[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


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
    found, waiting = set(), [*modules, *SOURCES]
    while waiting:
        module = waiting.pop()
        if module not in found and _source(module) is not None:
            found.add(module)
            waiting.extend(_imported(module))
    return _digest(*((_source(module) or "").encode() for module in sorted(found)))


def _modules(function: Any) -> tuple[str, ...]:
    # Where a function, and all that was put into it, comes from; one that `exec` made may come from nowhere.
    return getattr(function, "modules", (function.__module__ or "",))


def _compile(function: Callable[..., Any], name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    if IS_PLAIN:
        return Plain(function)
    compiled = _Kernel(function)
    _cache_on_disk(compiled)
    return compiled


def with_digest(function: Any) -> Any:
    """The function, named so that an edit of a file that it is made of gives it another name on disk."""
    function.__qualname__ += f"_{_source_digest(*_modules(function))}"
    return function


def _cache_on_disk(compiled: Any) -> None:
    with_digest(compiled.py_func)
    with contextlib.suppress(RuntimeError):  # no writable place for a cache anywhere
        compiled.enable_caching()


class _Part(PartDispatcher):  # type: ignore[misc]
    """A function that only kernels call: on disk if it is ours."""

    def compile(self, sig: Any) -> Any:
        if not self.overloads and all_ours(self.py_func) and not self.py_func.__closure__:
            name = self.py_func.__qualname__  # kernels that it is put into are called by this
            self.py_func.__qualname__ += "_".join(["", *self._how()])
            _cache_on_disk(self)
            self.py_func.__qualname__ = name
        return super().compile(sig)

    def _how(self) -> list[str]:
        # One function can be compiled in several ways.
        return ["inline" if self.targetoptions["forceinline"] else "called", *sorted(self.targetoptions["fastmath"])]

    def __call__(self, *args: Any, **named: Any) -> Any:
        return _callable(self)(*args, **named)


class _Kernel(WholeDispatcher):  # type: ignore[misc]
    """A function that Python calls. Kernels that call it see a part, which needs no machine code of its own."""

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions or OPTIONS)
        self._as_part = called(py_func)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._as_part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._as_part.get_overload(sig)


def _part(function: Callable[..., Any], options: dict[str, Any], forceinline: bool = True) -> Any:
    if IS_PLAIN:
        return Plain(function)
    # Without what Numba wraps around a function for calls from Python: as much work as a small function itself.
    return _Part(function, targetoptions={**options, "forceinline": forceinline, "no_cpython_wrapper": True})


@functools.cache
def _callable(part: _Part) -> Any:
    return WholeDispatcher(part.py_func, targetoptions={**part.targetoptions, "no_cpython_wrapper": False})


def kernel(function: Callable[..., Any]) -> Any:
    """A compiled function that is called from Python: cached on disk, releases the GIL."""
    return _compile(function, function.__name__)


def inline(function: Callable[..., Any]) -> Any:
    """A compiled function that only kernels call, and that is always made part of them."""
    return _part(function, OPTIONS)


def inline_with(*parts: Any) -> Callable[[Callable[..., Any]], Any]:
    """`inline` for a function that is made in another one and calls these: it is named by them, for the disk."""

    def make(function: Callable[..., Any]) -> Any:
        return inline(_named_by(function, parts))

    return make


def reduction(function: Callable[..., Any]) -> Any:
    """Like `inline`, for a loop that reduces an array: here, and only here, LLVM may choose the order of a sum."""
    return _part(function, {**OPTIONS, "fastmath": {"contract", "nsz", "reassoc"}})


def called(function: Callable[..., Any]) -> Any:
    """A compiled function that only kernels call, too large to be made part of each."""
    return _part(function, OPTIONS, forceinline=False)


@functools.cache
def as_compiled(function: Callable[..., Any]) -> Any:
    """A user's function, plain or compiled with options of their own, as a part of kernels: always inlined.

    Out of line, a call costs more than most scores do.
    """
    if IS_PLAIN:
        return function if isinstance(function, Plain) else Plain(function)
    if not isinstance(function, Dispatcher):
        return inline(function)
    if function.targetoptions.get("forceinline"):
        return function
    return _part(function.py_func, function.targetoptions)


def is_ours(function: Any) -> bool:
    """Whether a compiled function, and all that was put into it, belongs to this package."""
    return all_ours(function.py_func)


def all_ours(function: Any) -> bool:
    """Whether a plain function, and all that was put into it, belongs to this package."""
    return all(module.split(".")[0] == __package__ for module in _modules(function))


def with_functions(template: Callable[..., Any], functions: dict[str, Any]) -> types.FunctionType:
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


@functools.cache
def specialise(template: Callable[..., Any], **functions: Any) -> Any:
    """The kernel that `template` becomes when the names in `functions` stand for these compiled functions.

    It is cached on disk if all of them belong to this package. A user's function is compiled anew in each
    process: what it calls in turn could change without our noticing.
    """
    filled = with_functions(template, functions)
    return _compile(filled, filled.__name__) if all_ours(filled) or IS_PLAIN else _Kernel(filled)


@functools.cache
def specialise_inline(template: Callable[..., Any], **functions: Any) -> Any:
    """Like `specialise`, for a part of other kernels: always inlined."""
    return inline(with_functions(template, functions))


@functools.cache
def specialise_reduction(template: Callable[..., Any], **functions: Any) -> Any:
    """Like `specialise_inline`, for a loop that reduces an array."""
    return reduction(with_functions(template, functions))


@functools.cache
def specialise_called(template: Callable[..., Any], **functions: Any) -> Any:
    """Like `specialise`, for a function that only kernels call, too large to be made part of each."""
    return called(with_functions(template, functions))
