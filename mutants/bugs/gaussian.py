"""Bugs in blocks and in the mechanisms that bound users."""

from __future__ import annotations

from mutants.mutant import Mutant

_BLOCKS = "privacy/gaussian/blocks.py"
_ITEMS = "privacy/gaussian/item_blocks.py"
_CLIPPED = "privacy/gaussian/clipped.py"
_ENERGY = "privacy/gaussian/energy_scaled.py"
_DENSE = "privacy/gaussian/clipped.py"
_T_BLOCKS = ("privacy/gaussian/test_blocks.py",)
_T_ALL = ("privacy/gaussian/test_mechanism.py",)
_T_CLIPPED = ("privacy/gaussian/test_clipped.py", "privacy/gaussian/test_mechanism.py")
_T_ENERGY = ("privacy/gaussian/test_mechanism.py", "privacy/gaussian/test_energy_scaled.py")


def _half(name: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(
        f"half the noise in {name}",
        file,
        old,
        new,
        "noise has the scale that was paid for, in every kind of block",
        _T_ALL,
        "no_user_moves",
    )


_HALVES = (
    _half(
        "vectors over items",
        _ITEMS,
        "np.broadcast_to(self._sigma(mu)[:, None], shape)",
        "np.broadcast_to(0.5 * self._sigma(mu)[:, None], shape)",
    ),
    _half(
        "matrices over items",
        _ITEMS,
        "return source.symmetric_integers(self._sigma(mu), self.features.shape[1])",
        "return source.symmetric_integers(0.5 * self._sigma(mu), self.features.shape[1])",
    ),
    _half(
        "weights of items",
        _ITEMS,
        "return source.integers(self._sigma(mu))",
        "return source.integers(0.5 * self._sigma(mu))",
    ),
    _half(
        "vectors over users",
        _BLOCKS,
        "return source.integers(np.full(self.values.shape[1], self.unit / mu))",
        "return source.integers(np.full(self.values.shape[1], 0.5 * self.unit / mu))",
    ),
    _half(
        "co-moments",
        _ITEMS,
        "return source.symmetric_integers(np.array([self.unit / mu]), order).reshape(order, order)",
        "return source.symmetric_integers(np.array([0.5 * self.unit / mu]), order).reshape(order, order)",
    ),
    _half(
        "moments of dense rows",
        _DENSE,
        "return source.symmetric_integers(np.array([self.unit / mu]), order).reshape(order, order)",
        "return source.symmetric_integers(np.array([0.5 * self.unit / mu]), order).reshape(order, order)",
    ),
)

MUTANTS = (
    *_HALVES,
    Mutant(
        "parts of users with the targets of others",
        _ITEMS,
        "targets=self.targets[first:last]",
        "targets=self.targets[: last - first]",
        "sums of many users are those of their own contributions",
        ("privacy/gaussian/test_mechanism.py",),
        "some_users_at_a_time",
    ),
    Mutant(
        "energies of vectors without the item weights",
        _ITEMS,
        "            self._scales(), self.targets\n",
        "            np.ones_like(self._scales()) / self.unit, self.targets\n",
        "an item's weight counts in a user's energy as in its noise",
        _T_BLOCKS,
    ),
    Mutant(
        "energies in 32 bits",
        _ITEMS,
        'norms: Floats = np.einsum("ij,ij->i", features, features, dtype=np.float64)',
        'norms: Floats = np.einsum("ij,ij->i", features, features).astype(np.float64)',
        "energies do not overflow",
        _T_BLOCKS,
    ),
    Mutant(
        "more weight, the same noise",
        _ITEMS,
        "return self.unit / (mu * self.item_weights)",
        "return np.full_like(self.item_weights, self.unit / mu) / self.item_weights.max()",
        "an item's noise is divided by its weight and by nothing else",
        ("privacy/gaussian/test_gate.py", "privacy/gaussian/test_mechanism.py"),
    ),
    Mutant(
        "silenced users stay in co-moments",
        _ITEMS,
        "return replace(self, values=silenced(self.values, pairs))",
        "return self",
        "a user above the bound is left out of every sum",
        ("privacy/gaussian/test_mechanism.py",),
    ),
    Mutant(
        "item weights of zero",
        _ITEMS,
        "if not (np.isfinite(self.item_weights) & (self.item_weights > 0.0)).all():",
        "if False:",
        "weights that would make noise infinite or none are refused",
        _T_BLOCKS,
    ),
    Mutant(
        "a pair that counts twice",
        "privacy/gaussian/blocks.py",
        "        if not rising.all():\n",
        "        if False:\n",
        "a user counts once for an item",
        _T_BLOCKS,
    ),
    Mutant(
        "clipping by max, as printed",
        _CLIPPED,
        "scale = np.minimum(1.0, bound / np.maximum(norms, 1e-300))",
        "scale = np.maximum(1.0, bound / np.maximum(norms, 1e-300))",
        "rows are clipped by min, where the paper prints max",
        _T_CLIPPED,
    ),
    Mutant(
        "item counts with noise for one item",
        _CLIPPED,
        "unit = COUNT * math.sqrt(self.max_ratings)\n",
        "unit = COUNT\n",
        "a user with k items moves k counts",
        _T_CLIPPED,
    ),
    Mutant(
        "the global mean as in the paper: sqrt(k) instead of k",
        _CLIPPED,
        "np.trunc(np.column_stack([sums, pattern.counts]) * (grid / self.max_ratings))",
        "np.trunc(np.column_stack([sums, pattern.counts]) * (grid / math.sqrt(self.max_ratings)))",
        "k ratings move sum and count by k, not by sqrt(k)",
        _T_CLIPPED,
    ),
    Mutant(
        "item sums and counts with a whole budget each",
        _CLIPPED,
        "root = math.sqrt(2.0 * self.max_ratings)\n",
        "root = math.sqrt(self.max_ratings)\n",
        "two statistics of one release share a user's energy",
        _T_CLIPPED,
    ),
    Mutant(
        "normal equations that pay for the matrix alone, as printed",
        _CLIPPED,
        "mu = math.sqrt(self.most) * math.hypot(1.0 / self.sigma_matrix, 1.0 / self.sigma_vector)",
        "mu = math.sqrt(self.most) / self.sigma_matrix",
        "a step of DPALS releases a matrix and a vector, both Gaussian",
        ("privacy/gaussian/test_clipped.py", "privacy/gaussian/test_mechanism.py"),
    ),
    Mutant(
        "gravity that costs nothing, as printed",
        _CLIPPED,
        "return mu if self.sigma_moment is None else math.hypot(mu, 1.0 / self.sigma_moment)",
        "return mu",
        "the moment over all users is one more release",
        _T_CLIPPED,
    ),
    Mutant(
        "ratings that are not clipped again after centring",
        _CLIPPED,
        "rows, values, weights = clip_rows(rows), clip_entries(values), self.item_weights",
        "rows, values, weights = clip_rows(rows), np.nan_to_num(values), self.item_weights",
        "the bound that matters is the centred one",
        _T_CLIPPED,
    ),
    Mutant(
        "co-moments of rows of any length",
        _CLIPPED,
        "scale = 1.0 / np.maximum(norms, 1.0)",
        "scale = np.ones_like(norms)",
        "a row is clipped to norm 1",
        ("privacy/gaussian/test_mechanism.py",),
    ),
    Mutant(
        "a direction longer than 1",
        _CLIPPED,
        "if not length <= 1.0 + 1e-9:",
        "if False:",
        "a product is bounded because its direction is",
        ("privacy/gaussian/test_clipped.py",),
    ),
    Mutant(
        "contributions rounded to the nearest",
        _ENERGY,
        "return kernels.truncated(starts, values.ravel(), scale).reshape(values.shape)",
        "return np.rint(values * scale[:, None]).astype(np.int16)",
        "truncation toward zero never raises a norm",
        ("privacy/gaussian/test_energy_scaled.py",),
    ),
    Mutant(
        "energy without the moment",
        _ENERGY,
        "        energy += (moment_norms / units.moment) ** 2\n",
        "",
        "a user's whole contribution is scaled to norm 1",
        _T_ENERGY,
    ),
    Mutant(
        "users scaled to the mean energy of all",
        _ENERGY,
        "omega[active] = MARGIN / np.sqrt(energy[active])",
        "omega[active] = MARGIN / np.sqrt(np.maximum(energy[active], energy[active].mean()))",
        "nobody's contribution depends on anybody else",
        _T_ENERGY,
    ),
    Mutant(
        "dense rows of any length",
        _DENSE,
        "dense = clip_rows(dense) * (FEATURE * MARGIN)",
        "dense = dense * (FEATURE * MARGIN)",
        "a row is clipped to norm 1",
        ("privacy/gaussian/test_mechanism.py",),
    ),
    Mutant(
        "dense rows by BLAS",
        _DENSE,
        "dense = kernels.transform_rows(self.weights[start:stop], self.directions)",
        "dense = np.asarray(self.weights[start:stop] @ self.directions.T)",
        "nobody's row depends on how many others there are",
        ("privacy/gaussian/test_dense_rows.py",),
    ),
)
