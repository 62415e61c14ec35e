"""The heavy arithmetic of a private round on a GPU (torch and Triton): tensors in, tensors out, no privacy in it.

Needs the extra ``gpu``. Two kinds of kernels, because two things are asked of them:

- Up to where a user's numbers become integers, **one program works on one user** and its instructions depend on that
  user's own number of ratings alone: never on who else is in the batch, where in it the user stands, or how large it
  is. Library routines for batches (cuBLAS, cuSOLVER, a tensor's ``sum``) promise no such thing: they choose an
  algorithm by the shape of the batch, and with it the last bit. What stands between the kernels is elementwise and
  correctly rounded (``+ - * /``, square root, truncation), so that it cannot depend on a neighbour either.
- Afterwards everything is whole numbers, and sums are exact in any order: int64, or float64 below 2^53.
"""

from discreet.kernels.gpu.cholesky import solve_users
from discreet.kernels.gpu.csr import ByItem, Csr
from discreet.kernels.gpu.features import square_norms, transform_users
from discreet.kernels.gpu.items import item_moments, item_sums, item_weights, user_moment
from discreet.kernels.gpu.ranking import top_n
from discreet.kernels.gpu.residuals import pair_targets, user_residuals, weighted_squares
from discreet.kernels.gpu.transfer import download, upload

__all__ = [
    "ByItem",
    "Csr",
    "download",
    "item_moments",
    "item_sums",
    "item_weights",
    "pair_targets",
    "solve_users",
    "square_norms",
    "top_n",
    "transform_users",
    "upload",
    "user_moment",
    "user_residuals",
    "weighted_squares",
]
