"""One pass over a symmetric matrix that changes it by rank two and multiplies it with a vector on the way.

The reduction to tridiagonal form is bound by memory: done with library routines it reads the matrix three times a
step. Here four rows at a time go through registers once:

    A[i, c] -= v[i] w[c] + w[i] v[c],    p[i] += A[i, c] x[c],    and, right of the diagonal block,  p[c] += A[i, c] x[i]
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from discreet.kernels.registers import lanes

ROWS = 4
_LANES = lanes("float64")
_VECTOR = ir.VectorType(ir.DoubleType(), _LANES)
_WORD = ir.IntType(64)
_INDEX = ir.IntType(32)


def _fused(builder: ir.IRBuilder, left: Any, right: Any, total: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    name = f"llvm.fmuladd.v{_LANES}f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [left, right, total])


def _total(builder: ir.IRBuilder, vector: Any) -> Any:
    kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), _VECTOR])
    add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{_LANES}f64")
    return builder.call(add, [ir.Constant(ir.DoubleType(), 0.0), vector], fastmath=["reassoc"])


def _splat(builder: ir.IRBuilder, scalar: Any) -> Any:
    blank = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(blank, scalar, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(first, blank, ir.Constant(ir.VectorType(_INDEX, _LANES), [0] * _LANES))


def _vector_at(builder: ir.IRBuilder, pointer: Any, offset: Any) -> Any:
    return builder.bitcast(builder.gep(pointer, [offset]), _VECTOR.as_pointer())


def _column_step(builder: ir.IRBuilder, c: Any, rows: Any, spots: Any, factors: Any, sums: Any, mirror: bool) -> Any:
    """The loop body for one vector of columns; gives the new sums of the rows."""
    w, v, x = (builder.load(_vector_at(builder, spots[name], c), align=8) for name in "wvx")
    below = builder.load(_vector_at(builder, spots["p"], c), align=8)
    new = []
    for r, (minus_v, minus_w, x_row) in enumerate(factors):
        place = _vector_at(builder, rows[r], c)
        value = _fused(builder, minus_v, w, builder.load(place, align=8))
        value = _fused(builder, minus_w, v, value)
        builder.store(value, place, align=8)
        new.append(_fused(builder, value, x, sums[r]))
        below = _fused(builder, value, x_row, below)
    if mirror:
        builder.store(below, _vector_at(builder, spots["p"], c), align=8)
    return new


def _sweep(mirror: bool) -> Any:
    """Make ``sweep(A, i, start, stop, v, w, x, p)`` for four rows; with `mirror` it also adds to ``p[start:stop]``."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        a, i, start, stop = args[:4]
        matrix = context.make_array(signature.args[0])(context, builder, a)
        stride = builder.extract_value(matrix.shape, 1)
        spots = {
            name: context.make_array(kind)(context, builder, value).data
            for name, kind, value in zip("vwxp", signature.args[4:], args[4:], strict=True)
        }
        index = [builder.add(i, ir.Constant(_WORD, r)) for r in range(ROWS)]
        rows = [builder.gep(matrix.data, [builder.mul(k, stride)]) for k in index]
        factors = []
        for k in index:
            own = [builder.load(builder.gep(spots[name], [k])) for name in "vwx"]
            factors.append([_splat(builder, s) for s in (builder.fneg(own[0]), builder.fneg(own[1]), own[2])])
        before = builder.basic_block
        loop, done = builder.append_basic_block("sweep"), builder.append_basic_block("swept")
        zero = ir.Constant(_VECTOR, None)
        builder.cbranch(builder.icmp_signed("<", start, stop), loop, done)
        builder.position_at_end(loop)
        c = builder.phi(_WORD)
        sums = [builder.phi(_VECTOR) for _ in range(ROWS)]
        new = _column_step(builder, c, rows, spots, factors, sums, mirror)
        following = builder.add(c, ir.Constant(_WORD, _LANES))
        c.add_incoming(start, before)
        c.add_incoming(following, loop)
        for old, value in zip(sums, new, strict=True):
            old.add_incoming(zero, before)
            old.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", following, stop), loop, done)
        builder.position_at_end(done)
        for k, value in zip(index, new, strict=True):
            final = builder.phi(_VECTOR)
            final.add_incoming(zero, before)
            final.add_incoming(value, loop)
            new[new.index(value)] = final
            del k
        for k, final in zip(index, new, strict=True):
            place = builder.gep(spots["p"], [k])
            builder.store(builder.fadd(builder.load(place), _total(builder, final)), place)
        return context.get_dummy_value()

    def typed(typing_context: Any, a: Any, i: Any, start: Any, stop: Any, v: Any, w: Any, x: Any, p: Any) -> Any:
        word = types.intp
        return types.void(a, word, word, word, v, w, x, p), emit

    return intrinsic(typed)


sweep_block = _sweep(mirror=False)
sweep_right = _sweep(mirror=True)
