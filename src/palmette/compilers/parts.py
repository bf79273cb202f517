"""Parts of kernels: compiled functions that are never run on their own, and so are never made into machine code.

Numba optimises every function, turns it into machine code and loads that, also one that others inline. Of a part only
the unoptimised code is kept, in memory and on disk; it is optimised once, in the kernel that it has become part of.
That halves the time of a compilation, since parts consist of parts.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import caching
from numba.core.codegen import JITCodeLibrary

from palmette.compilers.lean import LeanCompiler, LeanDispatcher

__all__ = ["PartDispatcher"]


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of one part and of its own parts."""

    _object_caching_enabled = False

    def finalize(self) -> None:
        """Put the parts together, and leave it at that."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finish()

    def _finish(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Null: nothing of it is ever called."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What makes code of it, which knows no environment of something that is never run."""
        return _NoEnvironment()

    def serialize_using_object_code(self) -> tuple[str, bytes]:
        """Its name and its code, not yet made for a machine."""
        self._ensure_finalized()
        return self._name, self._get_module_for_linking().as_bitcode()

    @classmethod
    def from_bitcode(cls, codegen: Any, name: str, bitcode: bytes) -> _PartLibrary:
        """What `serialize_using_object_code` has written."""
        library = cls(codegen, name)
        library._final_module = library._shared_module = llvm.parse_bitcode(bitcode)
        library._finish()
        return library


class _NoEnvironment:
    def set_env(self, env_name: str, env: Any) -> None:
        """There is nobody to tell."""


class _PartCompiler(LeanCompiler):
    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        super().__init__(typingctx, targetctx, library or _PartLibrary(targetctx.codegen(), "part"), *rest)


class _PartContext:
    """A target context whose libraries are read as parts."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def codegen(self) -> Any:
        return self

    def unserialize_library(self, state: tuple[str, bytes]) -> _PartLibrary:
        return _PartLibrary.from_bitcode(self._context.codegen(), *state)


class _PartCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    def rebuild(self, target_context: Any, payload: Any) -> Any:
        return super().rebuild(_PartContext(target_context), payload)


class _PartCache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _PartCacheImpl


class PartDispatcher(LeanDispatcher):
    """A function that only kernels call."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: dict[str, Any] | None = None) -> None:
        super().__init__(py_func, locals, targetoptions, _PartCompiler)

    def enable_caching(self) -> None:
        """Keep its code on disk."""
        self._cache = _PartCache(self.py_func)
