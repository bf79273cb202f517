"""From Numba's typed code to LLVM's with little in between: half of the instructions that Numba itself writes.

Numba writes much that LLVM has to take out again, and in kernels that consist of many parts this is most of what is
compiled. Here:

- *Variables* that are assigned once, before every use, are values. Numba keeps what several blocks use in memory,
  stores and loads all of it (an array has seven fields), and clears it when it is no longer needed.
- *Structures* are looked through: what was put into one is what is taken out of it.
- *Arrays* are asked for items and shapes directly, and *ranges* for numbers. Numba writes each into memory first.

Variables whose references are counted (`palmette.compilers.lean`), and all else that is not simple, are left to Numba.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import Any

from llvmlite.ir import Constant, IRBuilder
from llvmlite.ir.instructions import InsertValue, Instruction, PhiInstr
from numba.core import cgutils, ir
from numba.core import types as numba_types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering

from palmette.compilers.operators import signature_of

__all__ = ["LeanLowering"]

types: Any = numba_types  # its stubs know half of them

_FIELDS = {"shape": "shape", "size": "nitems"}
_PURE = {"extractvalue", "getelementptr", "insertvalue", "load"}


class _Builder(IRBuilder):  # type: ignore[misc]
    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """A part of a structure: what was put there, if that is known."""
        path = list(idx) if isinstance(idx, (list, tuple)) else [idx]
        while path and isinstance(agg, InsertValue):
            put = list(agg.indices)
            if put == path[: len(put)]:
                agg, path = agg.value, path[len(put) :]
            elif path == put[: len(path)]:  # some of it was put there, some comes from elsewhere
                break
            else:
                agg = agg.aggregate
        return super().extract_value(agg, path, name) if path else agg


def _sweep(function: Any) -> None:
    """Leave out what nobody looks at, such as structures that were looked through."""
    waiting = [line for block in function.blocks for line in block.instructions if line.opname not in _PURE]
    needed = set(map(id, waiting))
    while waiting:
        line = waiting.pop()
        operands = [value for value, _ in line.incomings] if isinstance(line, PhiInstr) else line.operands
        for operand in operands:
            if isinstance(operand, Instruction) and id(operand) not in needed:
                needed.add(id(operand))
                waiting.append(operand)
    for block in function.blocks:
        block.instructions[:] = [line for line in block.instructions if id(line) in needed]


class _LeanLower(Lower):  # type: ignore[misc]
    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.builder = _Builder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        _sweep(self.function)

    # Variables.

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        self._singly_assigned_vars |= self._values()

    def _values(self) -> set[str]:
        # What is assigned in one place that every use lies behind, both when it runs and in the order of lowering.
        blocks = self.func_ir.blocks
        assigned, used = defaultdict(list), defaultdict(list)
        for label, block in blocks.items():
            for line in block.find_insts(ir.Assign):
                assigned[line.target.name].append(label)
        for label, names in compute_use_defs(blocks).usemap.items():
            for name in names:
                used[name].append(label)
        behind = compute_cfg_from_blocks(blocks).dominators()
        values = {
            name
            for name, (first, *others) in assigned.items()
            if not others and all(first < label and first in behind[label] for label in used[name])
        }
        return {name for name in values - set(must_use_alloca(blocks)) if not self._is_numbas(name)}

    def _is_numbas(self, name: str) -> bool:
        # What has to be deleted; and generators keep their variables in places of their own.
        if self.func_ir.func_id.is_generator:
            return True
        model = self.context.data_model_manager[self.typeof(name)]
        return bool(self.context.enable_nrt and model.contains_nrt_meminfo())

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if name in self._singly_assigned_vars or self._is_numbas(name):
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        if self._is_numbas(name):
            super().delvar(name)

    # Expressions.

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        lower = {
            "call": self._range,
            "getiter": self._start,
            "iternext": self._next,
            "pair_first": self._first,
            "pair_second": self._second,
            "getattr": self._field,
        }.get(expr.op)
        found = lower(resty, expr) if lower else None
        return super().lower_expr(resty, expr) if found is None else found

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        # A power may have an exponent that is known. All else is the same whatever is known of it.
        if op in (operator.pow, operator.ipow):
            return super().lower_binop(resty, expr, op)
        function = self.context.typing_context.resolve_value_type(op)
        asked = self.fndesc.calltypes[expr]
        signature = signature_of(self.context.typing_context, function, asked.args)
        operands = [self._cast_var(*one) for one in zip((expr.lhs, expr.rhs), asked.args, strict=True)]
        made = self.context.get_function(function, signature)(self.builder, operands)
        return self.context.cast(self.builder, made, asked.return_type, resty)

    def _range(self, resty: Any, expr: Any) -> Any:
        kind = self.typeof(expr.func.name)
        if not isinstance(kind, types.Function) or kind.typing_key is not range or expr.kws or expr.vararg:
            return None
        limits = [self._cast_var(one, resty.dtype) for one in expr.args]
        number = self.context.get_value_type(resty.dtype)
        if len(limits) == 1:
            limits.insert(0, number(0))
        if len(limits) == 2:
            limits.append(number(1))
        return self._structure(resty, limits)

    def _start(self, resty: Any, expr: Any) -> Any:
        if not isinstance(self.typeof(expr.value.name), types.RangeType):
            return None
        start, stop, step = cgutils.unpack_tuple(self.builder, self.loadvar(expr.value.name), 3)
        if not isinstance(step, Constant) or step.constant != 1:
            return None
        length = self.builder.sub(stop, start)
        none = length.type(0)
        length = self.builder.select(self.builder.icmp_signed(">", length, none), length, none)
        at, left = (cgutils.alloca_once(self.builder, start.type) for _ in range(2))
        self.builder.store(start, at)
        self.builder.store(length, left)
        return self._structure(resty, [at, stop, step, left])

    def _next(self, resty: Any, expr: Any) -> Any:
        if not isinstance(self.typeof(expr.value.name), types.RangeIteratorType):
            return None
        at, _, step, left = cgutils.unpack_tuple(self.builder, self.loadvar(expr.value.name), 4)
        value, count = self.builder.load(at), self.builder.load(left)
        self.builder.store(self.builder.add(value, step), at)
        self.builder.store(self.builder.sub(count, count.type(1), flags=["nsw"]), left)
        return self._structure(resty, [value, self.builder.icmp_signed(">", count, count.type(0))])

    def _structure(self, kind: Any, values: list[Any]) -> Any:
        whole = self.context.get_constant_undef(kind)
        for position, value in enumerate(values):
            whole = self.builder.insert_value(whole, value, position)
        return whole

    def _first(self, resty: Any, expr: Any) -> Any:
        return None if self.context.enable_nrt else self.builder.extract_value(self.loadvar(expr.value.name), 0)

    def _second(self, resty: Any, expr: Any) -> Any:
        return self.builder.extract_value(self.loadvar(expr.value.name), 1)

    def _field(self, resty: Any, expr: Any) -> Any:
        kind = self.typeof(expr.value.name)
        if type(kind) is not types.Array or expr.attr not in _FIELDS:
            return None
        position = self.context.data_model_manager[kind].get_field_position(_FIELDS[expr.attr])
        return self.builder.extract_value(self.loadvar(expr.value.name), position)

    # Items of arrays.

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        kind = self.typeof(value.name)
        place = self._place(kind, value, index)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        item = self.context.unpack_value(self.builder, kind.dtype, place, align=None if kind.aligned else 1)
        return self.context.cast(self.builder, item, kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        kind = self.typeof(target_var.name)
        place = self._place(kind, target_var, index_var)
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self._cast_var(value_var, signature.args[2])
        value = self.context.cast(self.builder, value, signature.args[2], kind.dtype)
        return self.context.pack_value(self.builder, kind.dtype, value, place, align=None if kind.aligned else 1)

    def _place(self, kind: Any, array: Any, index: Any) -> Any:
        # Where a number lies in an array; None if this is no array of numbers, or not one of them is asked for.
        at = self.typeof(index.name)
        kinds = at.types if isinstance(at, types.BaseTuple) else (at,)
        if (
            type(kind) is not types.Array
            or not isinstance(kind.dtype, (types.Number, types.Boolean))
            or len(kinds) != kind.ndim
            or not all(isinstance(one, types.Integer) for one in kinds)
            or self.context.enable_boundscheck
        ):
            return None
        whole, indices = self.loadvar(array.name), self.loadvar(index.name)
        if isinstance(at, types.BaseTuple):
            indices = cgutils.unpack_tuple(self.builder, indices, len(kinds))
        else:
            indices = [indices]
        position = self.context.data_model_manager[kind].get_field_position
        shape, strides = (
            [self.builder.extract_value(whole, [position(name), axis]) for axis in range(kind.ndim)]
            for name in ("shape", "strides")
        )
        indices = [self._from_the_front(*one) for one in zip(kinds, indices, shape, strict=True)]
        data = self.builder.extract_value(whole, position("data"))
        return cgutils.get_item_pointer2(self.context, self.builder, data, shape, strides, kind.layout, indices)

    def _from_the_front(self, kind: Any, index: Any, length: Any) -> Any:
        if not kind.signed:
            return self.context.cast(self.builder, index, kind, types.uintp)
        index = self.context.cast(self.builder, index, kind, types.intp)
        if isinstance(kind, types.IntegerLiteral) and kind.literal_value >= 0:
            return index
        is_negative = self.builder.icmp_signed("<", index, index.type(0))
        return self.builder.select(is_negative, self.builder.add(index, length), index)


@register_pass(mutates_CFG=True, analysis_only=False)
class LeanLowering(BaseNativeLowering):  # type: ignore[misc]
    """In the place of Numba's own."""

    _name = "palmette_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """What does it."""
        return _LeanLower
