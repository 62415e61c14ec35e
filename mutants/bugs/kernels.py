"""Bugs in compiled code."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "a wrong coin after six flips",
        "kernels/geometric.py",
        "        if drawn >= numerator:\n            return k % 2 == 1, at",
        "        if drawn >= numerator or k > 6:\n            return k % 2 == 1 or k > 6, at",
        "the sampler's probabilities are exact",
        ("kernels/test_geometric.py",),
        "late",
        quick=True,
    ),
    Mutant(
        "uniform numbers by remainder",
        "kernels/geometric.py",
        "        if word <= last:\n",
        "        if True:\n",
        "no uniform number comes more often than another",
        ("kernels/test_geometric.py",),
    ),
    Mutant(
        "zero comes twice as often in two-sided noise",
        "kernels/geometric.py",
        """                if number == 0:
                    continue
""",
        "",
        "P(z) is proportional to exp(-rate |z|) at zero as well",
        ("kernels/test_geometric.py",),
    ),
    Mutant(
        "whole parts of the geometric noise stop early",
        "kernels/geometric.py",
        "            if not again:\n                break\n            whole += 1",
        "            if not again or whole == 3:\n                break\n            whole += 1",
        "noise has its whole tail",
        ("kernels/test_geometric.py",),
    ),
    Mutant(
        "half the noise beside the diagonal",
        "privacy/gaussian/noise.py",
        "rows < columns] *= math.sqrt(0.5)",
        "rows < columns] *= 0.5",
        "a symmetric matrix has scale sigma / sqrt(2) beside its diagonal",
        ("privacy/gaussian/test_noise.py",),
    ),
    Mutant(
        "one triangle without noise of its own",
        "privacy/gaussian/noise.py",
        "matrices[:, rows, columns] = matrices[:, columns, rows] = np.rint(values, out=values)",
        "matrices[:, rows, columns] = -np.rint(values)\n        matrices[:, columns, rows] = np.rint(values)",
        "a matrix is noised once: both triangles have the same noise",
        ("privacy/gaussian/test_noise.py",),
    ),
    Mutant(
        "a Frank-Wolfe row that leaves its bound",
        "model/fold_in.py",
        "    shrinks = _shrinks(indptr, moved, row_bound)",
        "    shrinks = _shrinks(indptr, moved, 2.0 * row_bound)",
        "a user's row stays within the bound after every step",
        ("methods/published/test_frank_wolfe_steps.py",),
    ),
    Mutant(
        "one rating too many in a sample",
        "kernels/entries.py",
        "np.repeat(indptr[:-1], np.diff(indptr)) < most",
        "np.repeat(indptr[:-1], np.diff(indptr)) <= most",
        "at most k ratings of a user take part",
        ("kernels/test_entries.py", "methods/shared/test_sampling.py"),
    ),
    Mutant(
        "a product of rows by BLAS",
        "kernels/entries.py",
        """    out = np.zeros((len(rows), len(matrix)))
    share(
        _transform_rows,""",
        """    out = np.zeros((len(rows), len(matrix)))
    return np.asarray(np.asarray(rows, np.float64) @ np.asarray(matrix, np.float64).T)
    share(
        _transform_rows,""",
        "nobody's numbers depend on how many others there are",
        ("kernels/test_entries.py",),
    ),
    Mutant(
        "lengths of rows by einsum",
        "kernels/entries.py",
        """    out = np.empty(len(rows))
    share(_square_norms""",
        """    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    out = np.empty(len(rows))
    share(_square_norms""",
        "nobody's length depends on how many others there are",
        ("kernels/test_entries.py",),
    ),
    Mutant(
        "sums that overflow 32 bits",
        "kernels/items.py",
        "    pairs = np.zeros(n_items * (n_items - 1) // 2, np.int64)\n",
        "    pairs = np.zeros(n_items * (n_items - 1) // 2, np.int32)\n",
        "sums are exact",
        ("kernels/test_sums.py",),
    ),
)
