"""The symmetric eigenvalue routine of the LAPACK that SciPy brings along, callable from compiled code.

The routine is made known to the compiler by name, not by address: compiled code that names it can be kept on disk and
loaded by another process, where the name stands for another address. It must be known before such code is loaded,
so it is registered when this module is imported.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types
from scipy.linalg import cython_lapack
from threadpoolctl import ThreadpoolController

from discreet.kernels.compile import kernel

__all__ = ["eigen", "eigenwork", "one_blas_thread"]

_NAME = "discreet_lapack_dsyevd"


def _register(routine: str, name: str) -> str:
    """Make a routine of SciPy's LAPACK known to the compiler; gives its C signature."""
    table: dict[str, Any] = dict(cython_lapack.__pyx_capi__)
    capsule = table[routine]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature = get_name(capsule)
    llvm.add_symbol(name, get_pointer(capsule, signature))
    return str(signature.decode())


_INT = np.int32 if re.search(r"\bint \*", _register("dsyevd", _NAME)) else np.int64
_dsyevd = types.ExternalFunction(_NAME, types.void(*[types.intp] * 11))  # every argument is an address


@kernel
def eigenwork(d: int) -> Any:
    """The arrays `eigen` works in, for matrices of size d."""
    return np.empty(1 + 6 * d + 2 * d * d), np.empty(3 + 5 * d, _INT), np.empty(5, _INT)


@kernel
def eigen(matrix: Any, values: Any, work: Any, integers: Any, scalars: Any) -> bool:
    """Eigenvalues in rising order and, in the rows of `matrix`, the eigenvectors; False where LAPACK gives up."""
    letters = np.array([ord("V"), ord("U")], np.uint8)
    scalars[0] = scalars[1] = len(values)
    scalars[2], scalars[3] = len(work), len(integers)
    scalar, size = scalars.ctypes.data, scalars.itemsize
    _dsyevd(
        letters.ctypes.data,
        letters.ctypes.data + 1,
        scalar,
        matrix.ctypes.data,
        scalar + size,
        values.ctypes.data,
        work.ctypes.data,
        scalar + 2 * size,
        integers.ctypes.data,
        scalar + 3 * size,
        scalar + 4 * size,
    )
    return bool(scalars[4] == 0)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: some milliseconds, so once


def one_blas_thread() -> AbstractContextManager[Any]:
    """Inside, BLAS and LAPACK use the calling thread only: the kernels bring their own threads."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
