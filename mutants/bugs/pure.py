"""Bugs in releases without delta."""

from __future__ import annotations

from mutants.mutant import Mutant

_GATE = "privacy/pure/gate.py"
_NOISE = "privacy/pure/noise.py"
_TESTS = ("privacy/pure/test_gate.py",)
_SAMPLERS = ("privacy/pure/test_noise.py",)
_CLUSTERS = ("privacy/pure/test_clusters.py",)
_ROWS = ("privacy/test_bounded_rows.py",)

MUTANTS = (
    Mutant(
        "half the noise in pure sums",
        _GATE,
        """        rate = rate_at_most(epsilon / bound)

        def noisy(exact: Ints) -> Ints:
            return""",
        """        rate = rate_at_most(2.0 * epsilon / bound)

        def noisy(exact: Ints) -> Ints:
            return""",
        "a sum costs the epsilon that was charged",
        _TESTS,
    ),
    Mutant(
        "pure sums forget that a user may add more than 1",
        _GATE,
        """        rate = rate_at_most(epsilon / bound)

        def noisy(exact: Ints) -> Ints:
            return""",
        """        rate = rate_at_most(epsilon)

        def noisy(exact: Ints) -> Ints:
            return""",
        "noise is scaled to what one user can add",
        _TESTS,
    ),
    Mutant(
        "pure sums of users who were not bounded",
        _GATE,
        "lambda: given.bounded(bound).total(), noisy)",
        "lambda: given.total(), noisy)",
        "a user above the bound is left out",
        _TESTS,
    ),
    Mutant(
        "one-sided noise where two-sided is needed in the choice of items",
        _GATE,
        "draw = self._noise.geometric if one_shot else self._noise.two_sided",
        "draw = self._noise.geometric",
        "noisy counts of all cells are private for each cell of a user",
        _TESTS,
    ),
    Mutant(
        "a choice of s items that pays for one",
        _GATE,
        "rate = rate_at_most(epsilon / min(most, user_cells))",
        "rate = rate_at_most(epsilon)",
        "a choice of s items is s choices",
        _TESTS,
    ),
    Mutant(
        "a user in two groups passes",
        _GATE,
        """            if not kept.one_group(groups):
                raise RatingsInvalid(f"{name}: a user takes part in more than one group")
""",
        "",
        "one charge covers all groups because a user is in one of them",
        _TESTS,
    ),
    Mutant(
        "the exact minimum",
        _GATE,
        "noisy = exact - self._noise.geometric(rate, exact.size)",
        "noisy = exact",
        "a choice by losses is noisy",
        _TESTS,
    ),
    Mutant(
        "empty cells never pass",
        _GATE,
        "silent = binomial_above(universe - len(known), rate, threshold, self._noise.bits)",
        "silent = 0",
        "a cell that passes may be one without users",
        _TESTS,
    ),
    Mutant(
        "a pure gate that hides a fixed key",
        _GATE,
        "        self.ledger.void(why_not_private(self._noise, PureNoise))\n",
        "",
        "noise that repeats is not private",
        ("methods/prototypes/test_pipeline.py",),
        "fixed_key",
    ),
    Mutant(
        "rates rounded toward less noise",
        _NOISE,
        "numerator = min(math.floor(math.ldexp(value, exponent)), 1 << _NUMERATOR_BITS)",
        "numerator = min(math.ceil(math.ldexp(value, exponent)), 1 << _NUMERATOR_BITS)",
        "no release costs more than its epsilon, not even by a rounding",
        _SAMPLERS,
    ),
    Mutant(
        "numbers that take many words come too rarely",
        _NOISE,
        "words = np.concatenate([words[used:], self.words(_WORDS + _WORDS_EACH * (size - done))])",
        "words = np.concatenate([words[used + 1 :], self.words(_WORDS + _WORDS_EACH * (size - done))])",
        "a number that the words did not suffice for starts again on the same words",
        _SAMPLERS,
    ),
    Mutant(
        "empty cells counted with twice the rate",
        "privacy/pure/noise.py",
        "passing = (-step * threshold).exp() / (1 + (-step).exp())",
        "passing = (-step * threshold).exp() / 2",
        "as many empty cells pass as would one by one",
        _SAMPLERS,
    ),
    Mutant(
        "amounts that wrap round",
        "privacy/pure/gate.py",
        "np.add.at(sizes, self.users, np.abs(self.values.astype(np.float64)))",
        "np.add.at(sizes, self.users, self.values.astype(np.float64))",
        "a user's amounts are bounded by their sizes, not by their sum",
        ("privacy/pure/test_gate.py", "privacy/pure/test_clusters.py"),
    ),
    Mutant(
        "a pure ledger with room for one more",
        "privacy/pure/ledger.py",
        "if not spent + charge.epsilon <= self.epsilon * (1.0 + _PURE_TOLERANCE):",
        "if not spent <= self.epsilon * (1.0 + _PURE_TOLERANCE):",
        "a run stays within its epsilon",
        ("privacy/pure/test_ledger.py",),
        quick=True,
    ),
    Mutant(
        "the values of a cluster are bounded by one item",
        "privacy/pure/clusters.py",
        "bound = min(bounds.total, _widest(clusters, support) * GRID)",
        "bound = GRID",
        "a user's row is bounded as a whole",
        _CLUSTERS,
    ),
    Mutant(
        "noise scaled by the exact size of a cluster, as printed",
        "privacy/pure/clusters.py",
        "    given = _on_support(clusters, support, clusters.rows.values)\n",
        "    bound = max(1, bound // max(1, int(clusters.inside.sum())))\n"
        "    given = _on_support(clusters, support, clusters.rows.values)\n",
        "noise is never scaled by an exact private count",
        ("privacy/pure/test_clusters.py", "methods/prototypes/test_neighbours.py"),
    ),
    Mutant(
        "who is in no cluster is counted in the first",
        "privacy/pure/clusters.py",
        "kept = (cells >= 0) & clusters.inside[users]",
        "kept = cells >= 0",
        "a user who is in no cluster adds nothing",
        _CLUSTERS,
    ),
    Mutant(
        "distances beyond the cap",
        "privacy/pure/clusters.py",
        "        inside, among = (np.clip(part, -HALF_SIDE, HALF_SIDE) for part in (points, candidates))",
        "        inside, among = points, candidates",
        "a user's loss is at most the cap wherever the point lies",
        _CLUSTERS,
    ),
    Mutant(
        "rows that are capped but not clipped to their norm",
        "privacy/bounded_rows.py",
        "        values = _shrunk(ends, values, norms, bounds.norm)\n",
        "",
        "a row has at most the L2 norm that is stated",
        _ROWS,
    ),
    Mutant(
        "one rating too many in a row",
        "privacy/bounded_rows.py",
        "kept = place < bounds.items",
        "kept = place <= bounds.items",
        "a row has at most so many items",
        _ROWS,
    ),
    Mutant(
        "points that are not clipped again after the projection",
        "privacy/bounded_rows.py",
        """    factor = np.minimum(
        1.0, bound""",
        """    factor = np.maximum(
        1.0, bound""",
        "projection changes norms, so points are clipped again",
        ("privacy/test_bounded_rows.py", "methods/prototypes/test_rows.py"),
    ),
)
