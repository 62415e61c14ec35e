"""The heavy arithmetic of a private round on a GPU (torch and Triton): tensors in, tensors out, no privacy in it.

Needs the extra ``gpu``. Two kinds of code, because two things are asked of it:

- Up to where a user's numbers become integers, **one program works on one user** and its instructions depend on that
  user's own number of ratings alone: never on who else is in the batch, where in it the user stands, or how large it
  is. Library routines for batches (cuBLAS, cuSOLVER, a tensor's ``sum``) promise no such thing: they choose an
  algorithm by the shape of the batch, and with it the last bit. What stands between the programs is elementwise and
  correctly rounded (``+ - * /``, square root, truncation), so that it cannot depend on a neighbour either.
- Afterwards everything is whole numbers, and sums are exact in any order: int64, or float64 below 2^53.
"""

from discreet.kernels.gpu.csr import Csr, item_moments, item_sums, item_weights, user_moment
from discreet.kernels.gpu.users import (
    MOST_RANK,
    solve_users,
    square_norms,
    transform_users,
    user_residuals,
    user_sums,
)

__all__ = [
    "MOST_RANK",
    "Csr",
    "item_moments",
    "item_sums",
    "item_weights",
    "solve_users",
    "square_norms",
    "transform_users",
    "user_moment",
    "user_residuals",
    "user_sums",
]
