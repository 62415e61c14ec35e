"""A vector register as a value in compiled code: loaded, combined with ``+ - * /``, stored.

The compiler turns plain loops into vector code only where it can prove that no two arrays overlap; with many work
arrays it cannot, and falls back to one number at a time. Values of this type leave it no choice.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

from discreet.kernels.registers import BYTES

__all__ = ["Lanes", "store", "total"]

_INDEX = ir.IntType(32)


FOUR = 4
"""Registers of a wide value: four sums side by side hide the latency of one division."""


class Lanes(types.Type):  # type: ignore[misc]
    """numba's name for one or more full registers of float32 or float64."""

    def __init__(self, element: types.Float, registers: int) -> None:
        self.element = element
        self.registers = registers
        self.count = registers * BYTES * 8 // element.bitwidth
        super().__init__(name=f"Lanes({element}, {registers})")


def _vector(kind: Lanes) -> ir.VectorType:
    return ir.VectorType(ir.FloatType() if kind.element is types.float32 else ir.DoubleType(), kind.count)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, _vector(kind))


def _place(
    context: Any, builder: ir.IRBuilder, kinds: Any, lanes: Lanes, array: Any, row: Any, column: Any
) -> Any:
    """Address of a run of numbers in a C-contiguous matrix."""
    parts = context.make_array(kinds[0])(context, builder, array)
    offset = builder.add(builder.mul(row, builder.extract_value(parts.shape, 1)), column)
    return builder.bitcast(builder.gep(parts.data, [offset]), _vector(lanes).as_pointer())


def _load(registers: int) -> Any:
    def typed(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
        kind = Lanes(array.dtype, registers)

        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            place = _place(context, builder, signature.args, kind, *args)
            return builder.load(place, align=kind.element.bitwidth // 8)

        return kind(array, types.intp, types.intp), emit

    return intrinsic(typed)


def _splat(registers: int) -> Any:
    def typed(typing_context: Any, scalar: Any) -> Any:
        kind = Lanes(scalar, registers)

        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            blank = ir.Constant(_vector(kind), ir.Undefined)
            first = builder.insert_element(blank, args[0], ir.Constant(_INDEX, 0))
            return builder.shuffle_vector(
                first, blank, ir.Constant(ir.VectorType(_INDEX, kind.count), [0] * kind.count)
            )

        return kind(scalar), emit

    return intrinsic(typed)


load = _load(1)
"""``load(array, row, column)``: the numbers from there on that fill a register."""
load_wide = _load(FOUR)
splat = _splat(1)
"""``splat(scalar)``: the same number in every lane."""
splat_wide = _splat(FOUR)


@intrinsic
def store(typing_context: Any, array: Any, row: Any, column: Any, value: Any) -> Any:
    """Write a value to ``array[row, column:]``."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args, value, *args[:3])
        builder.store(args[3], place, align=value.element.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, value), emit


@intrinsic
def total(typing_context: Any, value: Any) -> Any:
    """Sum of the lanes."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        vector = _vector(value)
        kind = ir.FunctionType(vector.element, [vector.element, vector])
        name = f"llvm.vector.reduce.fadd.v{value.count}f{value.element.bitwidth}"
        add = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(add, [ir.Constant(vector.element, 0.0), args[0]], fastmath=["reassoc"])

    return value.element(value), emit


def _define(symbol: Any, name: str) -> None:
    """Teach the compiler one operator between values of the same kind."""

    @infer_global(symbol)
    class _Typed(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, keywords: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Lanes) and args[0] == args[1]:
                return args[0](*args)
            return None

    @lower_builtin(symbol, Lanes, Lanes)
    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return getattr(builder, name)(*args, flags=["contract"])


for _symbol, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define(_symbol, _name)
