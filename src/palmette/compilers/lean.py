"""What Numba does for every function and ours do not need: less to compile, and less to run.

*References.* Numba counts references to every array that a function is given, takes out of a tuple or looks at a part
of: atomic instructions, and a good part of the code. What was given stays alive without. So a function counts only if
an array may be its own: if one comes out of a call or an operation, is copied into another, is kept in anything but a
tuple, or is returned. Moves of chains are a quarter faster for it.

*Flags.* What Numba compiles of its own functions (`min`, `np.empty`, operators of tuples) it keeps for each set of
flags of whoever calls them, and it compares some forty flags at every look. Whether a caller is inlined, or can be
called from Python, is none of their business. So all of our functions show the same flags, in one object, equal only to
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import compiler, errors, ir
from numba.core import types as numba_types
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

from palmette.compilers.lowering import LeanLowering
from palmette.compilers.operators import TypingContext, is_plain

__all__ = ["LeanCompiler", "LeanDispatcher"]

types: Any = numba_types  # its stubs know half of them

_OF_THE_CALLER = ("forceinline", "no_cpython_wrapper", "no_cfunc_wrapper")

_shown: dict[frozenset[tuple[str, str]], _ShownFlags] = {}


class _ShownFlags(compiler.Flags):  # type: ignore[misc]
    """What a function that is called sees; never changed, and one object for each set."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class _LeanFlags(compiler.Flags):  # type: ignore[misc]
    def copy(self) -> _ShownFlags:
        """What Numba puts up for others to see while it compiles a function with these flags."""
        shown = _ShownFlags(self)
        for name in _OF_THE_CALLER:
            shown.discard(name)
        values = frozenset((name, str(value)) for name, value in shown._values.items())
        return _shown.setdefault(values, shown)


class _CountingFlags(_LeanFlags):
    """Those of a function that counts references whatever it looks like."""


# What takes an array from where it was; all else may make one.
_VIEWS = {"build_tuple", "cast", "exhaust_iter", "getattr", "getitem", "getiter", "iternext", "pair_first"}
_VIEWS |= {"pair_second", "phi", "static_getitem", "typed_getitem", "undef"}
_WRITES = (ir.SetItem, ir.StaticSetItem)


@register_pass(mutates_CFG=False, analysis_only=True)
class _CountNothing(AnalysisPass):  # type: ignore[misc]
    _name = "palmette_count_nothing"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """From here on, with a context that counts nothing, if all that the function has of arrays was given to it."""
        if not isinstance(state.flags, _CountingFlags) and not _may_own(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _may_own(state: Any) -> bool:
    def is_counted(kind: Any) -> bool:
        return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())

    counted = {name for name, kind in state.typemap.items() if is_counted(kind)}
    if is_counted(state.return_type) or not all(is_plain(state.typemap[name]) for name in counted):
        return True
    for block in state.func_ir.blocks.values():
        for line in block.body:
            if isinstance(line, _WRITES) and line.value.name in counted:
                return True
            if isinstance(line, ir.Assign) and line.target.name in counted:
                made = line.value.op if isinstance(line.value, ir.Expr) else ""
                if made and made not in _VIEWS:
                    return True
    return False


class LeanCompiler(compiler.Compiler):  # type: ignore[misc]
    """Numba's, with a memory for operators, a look at what a function owns, and little to lower."""

    def __init__(self, typingctx: Any, *rest: Any) -> None:
        super().__init__(TypingContext(typingctx), *rest)

    def define_pipelines(self) -> Any:
        """What is done in which order."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.add_pass_after(_CountNothing, NopythonTypeInference)
            pipeline.passes = [(LeanLowering if one is NativeLowering else one, why) for one, why in pipeline.passes]
            pipeline.finalize()
        return pipelines


class LeanDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A compiled function with such flags, that counts references only if it must."""

    def __init__(  # with Numba's own arguments, since it makes one anew when it is unpickled
        self,
        py_func: Callable[..., Any],
        locals: Any = None,
        targetoptions: dict[str, Any] | None = None,
        pipeline_class: Any = LeanCompiler,
    ) -> None:
        super().__init__(py_func, locals or {}, {**(targetoptions or {}), "nopython": True}, pipeline_class)
        self._compiler._customize_flags = _LeanFlags

    def compile(self, sig: Any) -> Any:
        """Compile it for some types, if it is not."""
        try:
            return super().compile(sig)
        except errors.NumbaRuntimeError:  # something that is built in makes an array on its way
            self._compiler._customize_flags = _CountingFlags
            return super().compile(sig)
