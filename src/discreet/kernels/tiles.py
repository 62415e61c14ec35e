"""Vector registers in compiled code, and small dense products held in them: what solves of many users share.

A tile is ``HEIGHT`` rows by one or two vectors of columns of

    C[i + r, j + s]  +=  sum over k of  A[k, p + r] * B[k, q + s]

with every accumulator in a register. It is written in LLVM's portable vector language. The compiler turns plain loops
into vector code only where it can prove that no two arrays overlap, and with many work arrays it cannot (measured:
eight times slower); calls to a BLAS spend most of their time copying for the sizes met here, tens to a few hundred
columns and a short sum.

Matrices here are C-contiguous, padded to whole vectors (`padded`), 64-byte aligned, and symmetric ones hold their upper
triangle only; what stands below the diagonal blocks, in a register with them, counts for nothing.

Every number of C is one sum in the order of k, whatever its place in the tile, so equal columns give equal results
bit for bit and no result depends on how the work was cut.
"""

from __future__ import annotations

import operator
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

from discreet.kernels.compile import kernel
from discreet.types import Array

__all__ = [
    "BYTES",
    "HEIGHT",
    "WIDE",
    "X86",
    "add_product",
    "add_square",
    "aligned",
    "arithmetic",
    "clear",
    "lanes",
    "load",
    "padded",
    "splat",
    "store",
    "subtract_square",
    "total",
]

HEIGHT = 8
"""Rows of a tile. With two vectors a row this is 16 sums in flight: enough to hide the latency of the adder."""


def arithmetic() -> tuple[str, ...]:
    """What decides how a machine rounds: its processor, what code is compiled for, and who compiled it.

    Two machines with the same answer give the same bits. The processor itself counts beside numba's target, because
    NumPy and BLAS choose their loops by it.
    """
    software = f"NumPy {np.__version__}, numba {numba.__version__}"
    return llvmlite.binding.get_host_cpu_name(), software, *cpu_target.target_context.codegen().magic_tuple()


def _target() -> tuple[bool, frozenset[str]]:
    """Whether code is compiled for x86, and the extensions it may use.

    Asked of numba rather than of the processor, because numba's settings can exclude some, and because machine code
    on disk is kept apart by exactly this answer.
    """
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return triple.startswith("x86_64"), frozenset(features.split(","))


X86, _EXTENSIONS = _target()
BYTES = 64 if "+avx512bw" in _EXTENSIONS else 32 if "+avx2" in _EXTENSIONS else 16
"""Width of a vector register."""
WIDE = 2 if "+avx512bw" in _EXTENSIONS or not X86 else 1
"""Most vectors in a row of a tile: two where there are 32 registers, one where there are 16."""


def lanes(dtype: Any) -> int:
    """Numbers in one vector register."""
    return BYTES // int(np.dtype(dtype).itemsize)


def padded(columns: int, dtype: Any) -> int:
    """Columns rounded up to whole vectors and whole tiles."""
    step = max(lanes(dtype), HEIGHT)
    return -(-columns // step) * step


_WORD, _INDEX = ir.IntType(64), ir.IntType(32)


class _Lanes(types.Type):  # type: ignore[misc]
    """numba's name for a full register of float32 or float64: loaded, combined with ``+ - *``, stored."""

    def __init__(self, element: types.Float) -> None:
        self.element = element
        super().__init__(name=f"Lanes({element})")


def _vector(element: types.Float) -> ir.VectorType:
    kind = ir.FloatType() if element is types.float32 else ir.DoubleType()
    return ir.VectorType(kind, BYTES * 8 // element.bitwidth)


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: _Lanes) -> None:
        super().__init__(manager, kind, _vector(kind.element))


def _at(context: Any, builder: ir.IRBuilder, kind: Any, array: Any, row: Any, column: Any) -> tuple[Any, Any]:
    """Address of one element of a C-contiguous matrix, and the length of its rows."""
    parts = context.make_array(kind)(context, builder, array)
    stride = builder.extract_value(parts.shape, 1)
    return builder.gep(parts.data, [builder.add(builder.mul(row, stride), column)]), stride


def _read(builder: ir.IRBuilder, pointer: Any, vector: ir.VectorType) -> Any:
    """The numbers from there on that fill a register, aligned as one of them."""
    return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=_align(vector))


def _write(builder: ir.IRBuilder, value: Any, pointer: Any) -> None:
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=_align(value.type))


def _align(vector: ir.VectorType) -> int:
    return BYTES // int(vector.count)


def _spread(builder: ir.IRBuilder, scalar: Any, vector: ir.VectorType) -> Any:
    blank = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(blank, scalar, ir.Constant(_INDEX, 0))
    mask = ir.Constant(ir.VectorType(_INDEX, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, blank, mask)


@intrinsic
def load(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """``array[row, column:]`` as far as it fills a register."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _read(builder, _at(context, builder, array, *args)[0], _vector(array.dtype))

    return _Lanes(array.dtype)(array, types.intp, types.intp), emit


@intrinsic
def store(typing_context: Any, array: Any, row: Any, column: Any, value: Any) -> Any:
    """Write a value to ``array[row, column:]``."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        _write(builder, args[3], _at(context, builder, array, *args[:3])[0])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, value), emit


@intrinsic
def splat(typing_context: Any, scalar: Any) -> Any:
    """The same number in every lane."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _spread(builder, args[0], _vector(scalar))

    return _Lanes(scalar)(scalar), emit


@intrinsic
def total(typing_context: Any, value: Any) -> Any:
    """Sum of the lanes."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        vector = _vector(value.element)
        kind = ir.FunctionType(vector.element, [vector.element, vector])
        name = f"llvm.vector.reduce.fadd.v{vector.count}f{value.element.bitwidth}"
        add = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(add, [ir.Constant(vector.element, 0.0), args[0]], fastmath=["reassoc"])

    return value.element(value), emit


def _define(symbol: Any, name: str) -> None:
    """Teach the compiler one operator between registers of the same kind."""

    @infer_global(symbol)
    class _Typed(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, keywords: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], _Lanes) and args[0] == args[1]:
                return args[0](*args)
            return None

    @lower_builtin(symbol, _Lanes, _Lanes)
    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return getattr(builder, name)(*args, flags=["contract"])


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")


def _outer_sums(
    builder: ir.IRBuilder, vector: ir.VectorType, wide: int, a: Any, lda: Any, b: Any, ldb: Any, k: Any
) -> list[list[Any]]:
    """Emit the loop over k; gives the finished accumulators, ``HEIGHT`` x ``wide``."""
    name = f"llvm.fmuladd.v{vector.count}f{BYTES * 8 // vector.count}"
    fused = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
    zero, nothing = ir.Constant(vector, None), ir.Constant(_WORD, 0)
    before = builder.basic_block
    loop, done = builder.append_basic_block("tile"), builder.append_basic_block("tiled")
    builder.cbranch(builder.icmp_signed(">", k, nothing), loop, done)
    builder.position_at_end(loop)
    moving = [builder.phi(kind) for kind in (_WORD, a.type, b.type)]
    count, row_a, row_b = moving
    places = [(r, s) for r in range(HEIGHT) for s in range(wide)]
    sums = {place: builder.phi(vector) for place in places}
    columns = [_read(builder, _beyond(builder, row_b, s * vector.count), vector) for s in range(wide)]
    factors = [_spread(builder, builder.load(_beyond(builder, row_a, r)), vector) for r in range(HEIGHT)]
    new = {(r, s): builder.call(fused, [factors[r], columns[s], sums[r, s]]) for r, s in places}
    following = (
        builder.add(count, ir.Constant(_WORD, 1)),
        builder.gep(row_a, [lda]),
        builder.gep(row_b, [ldb]),
    )
    for phi, start, value in zip(moving, (nothing, a, b), following, strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(value, loop)
    builder.cbranch(builder.icmp_signed("<", following[0], k), loop, done)
    builder.position_at_end(done)
    finished = {place: builder.phi(vector) for place in places}
    for place in places:
        for phi in (sums[place], finished[place]):
            phi.add_incoming(zero, before)
            phi.add_incoming(new[place], loop)
    return [[finished[r, s] for s in range(wide)] for r in range(HEIGHT)]


def _beyond(builder: ir.IRBuilder, pointer: Any, steps: int) -> Any:
    return builder.gep(pointer, [ir.Constant(_WORD, steps)])


def _tile(wide: int, keep: str) -> Any:
    """Make one tile routine ``tile(C, i, j, A, p, B, q, k)``, `wide` vectors of columns."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        c, i, j, a, p, b, q, k = args
        kinds, vector = signature.args, _vector(signature.args[3].dtype)
        nothing = ir.Constant(_WORD, 0)
        into, ldc = _at(context, builder, kinds[0], c, i, j)
        left, lda = _at(context, builder, kinds[3], a, nothing, p)
        right, ldb = _at(context, builder, kinds[5], b, nothing, q)
        sums = _outer_sums(builder, vector, wide, left, lda, right, ldb, k)
        for r in range(HEIGHT):
            row = builder.gep(into, [builder.mul(ldc, ir.Constant(_WORD, r))])
            for s in range(wide):
                place = _beyond(builder, row, s * vector.count)
                _write(builder, getattr(builder, keep)(_read(builder, place, vector), sums[r][s]), place)
        return context.get_dummy_value()

    def typed(typing_context: Any, c: Any, i: Any, j: Any, a: Any, p: Any, b: Any, q: Any, k: Any) -> Any:
        word = types.intp
        return types.void(c, word, word, a, word, b, word, word), emit

    return intrinsic(typed)


_add_narrow, _add_wide = _tile(1, "fadd"), _tile(WIDE, "fadd")
_subtract_narrow, _subtract_wide = _tile(1, "fsub"), _tile(WIDE, "fsub")


@kernel
def aligned(rows: int, columns: int, like: Array) -> Array:
    """A zeroed matrix that starts on a cache line, of the dtype of `like`."""
    slack = BYTES // like.itemsize
    raw = np.zeros(rows * columns + slack, like.dtype)
    skip = (-raw.ctypes.data % BYTES) // like.itemsize
    return raw[skip : skip + rows * columns].reshape((rows, columns))


@kernel
def clear(A: Array) -> None:
    """Set a matrix to zero."""
    for p in range(A.shape[0]):
        for c in range(A.shape[1]):
            A[p, c] = 0


@kernel
def add_product(C: Array, i: int, j: int, stop: int, A: Array, p: int, B: Array, q: int, k: int) -> None:
    """``C[i:i+8, j:stop] += A[:k, p:p+8].T @ B[:k, q:]``, `j` and `stop` on vector borders."""
    step = BYTES // A.itemsize
    while j + WIDE * step <= stop:
        _add_wide(C, i, j, A, p, B, q, k)
        j += WIDE * step
        q += WIDE * step
    while j < stop:
        _add_narrow(C, i, j, A, p, B, q, k)
        j += step
        q += step


@kernel
def add_square(C: Array, A: Array, k: int, d: int) -> None:
    """Upper triangle of ``C += A[:k].T @ A[:k]`` for the first `d` rows."""
    step = BYTES // A.itemsize
    for i in range(0, d, HEIGHT):
        start = i // step * step
        add_product(C, i, start, C.shape[1], A, i, A, start, k)


@kernel
def subtract_square(C: Array, i: int, A: Array, k: int) -> None:
    """``C[i:i+8, i:] -= A[:k, i:i+8].T @ A[:k, i:]``: eight rows of an upper triangle."""
    step = BYTES // A.itemsize
    j = i // step * step
    while j + WIDE * step <= C.shape[1]:
        _subtract_wide(C, i, j, A, i, A, j, k)
        j += WIDE * step
    while j < C.shape[1]:
        _subtract_narrow(C, i, j, A, i, A, j, k)
        j += step
