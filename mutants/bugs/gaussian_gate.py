"""Bugs in the gate, the totals, the noise and its shares."""

from __future__ import annotations

from mutants.mutant import Mutant

_GATE = "privacy/gaussian/gate.py"
_NOISE = "privacy/gaussian/noise.py"
_TOTALS = "privacy/gaussian/totals.py"
_SHARES = "privacy/gaussian/shares.py"
_SILO = "privacy/gaussian/shares.py"
_T_GATE = ("privacy/gaussian/test_gate.py",)
_T_TOTALS = ("privacy/gaussian/test_totals.py",)
_T_NOISE = ("privacy/gaussian/test_noise.py",)
_T_SHARES = ("silos/test_shares.py",)

MUTANTS = (
    Mutant(
        "the gate lets exact sums out",
        _GATE,
        "noisy = total.value.copy() if noised else with_noise(form, total, self._noise, mu)",
        "noisy = total.value.copy()",
        "what leaves has noise",
        _T_GATE,
    ),
    Mutant(
        "noise is drawn before the charge",
        _GATE,
        'charge = self.ledger.charge(name, mu=mu, delta=delta, detail={"blocks": names})',
        "drawn = [with_noise(form, total, self._noise, mu) for form, total in zip(forms, totals, strict=True)]\n"
        "        assert drawn\n"
        '        charge = self.ledger.charge(name, mu=mu, delta=delta, detail={"blocks": names})',
        "a release is charged before anything is drawn for it",
        _T_GATE,
        "beyond_the_budget",
    ),
    Mutant(
        "the gate charges a tenth",
        _GATE,
        'charge = self.ledger.charge(name, mu=mu, delta=delta, detail={"blocks": names})',
        'charge = self.ledger.charge(name, mu=0.1 * mu, delta=delta, detail={"blocks": names})',
        "every release is charged its own cost",
        _T_GATE,
    ),
    Mutant(
        "the gate forgets a release's delta",
        _GATE,
        'charge = self.ledger.charge(name, mu=mu, delta=delta, detail={"blocks": names})',
        'charge = self.ledger.charge(name, mu=mu, detail={"blocks": names})',
        "what a threshold takes from delta is charged",
        ("privacy/gaussian/test_gate.py", "methods/test_discovery.py", "methods/budgeted/test_budgeted.py"),
        "charged",
    ),
    Mutant(
        "releases as fine as the grid",
        _GATE,
        "released[form.name] = _coarse(noisy, form.sigmas(mu))",
        "released[form.name] = noisy",
        "what leaves lies on steps of the noise: no last bits of a generator show",
        _T_GATE,
    ),
    Mutant(
        "rounding lifts over a threshold",
        _GATE,
        "        noisy[rows] >>= bits[rows]\n",
        "        noisy[rows] += 2 ** bits[rows] - 1\n        noisy[rows] >>= bits[rows]\n",
        "nothing passes a threshold by rounding",
        _T_GATE,
    ),
    Mutant(
        "noise finer than the grid passes",
        _GATE,
        "if not sigmas.min() >= _FINEST:",
        "if False:",
        "the grid is at most a 1024th of the noise",
        _T_GATE,
    ),
    Mutant(
        "a release that costs nothing",
        _GATE,
        "    if not mu > 0.0:\n",
        "    if mu < 0.0:\n",
        "a release without a cost is refused",
        _T_GATE + _T_TOTALS,
    ),
    Mutant(
        "totals of another unit meet the noise",
        _GATE,
        "if not np.array_equal(total.unit, form.sigmas(1.0)):",
        "if False:",
        "users are bounded in the unit that noise is drawn in",
        _T_TOTALS,
    ),
    Mutant(
        "one number of noise for a whole row",
        _GATE,
        """    if noise.shape != total.value.shape:
        raise SettingsInvalid(f"{total.name}: a total of shape {total.value.shape}, noise of {noise.shape}")
    noisy = np.empty(noise.shape, np.int64)
""",
        """    return noise.astype(np.int64) + total.value
""",
        "every entry has noise of its own",
        _T_TOTALS,
    ),
    Mutant(
        "noise of others passes for our own",
        "privacy/gaussian/noise.py",
        "    if not _serves(given, kind):\n",
        "    if False:\n",
        "anything but the package's own noise is not private",
        ("methods/test_noise_of_others.py",),
    ),
    Mutant(
        "a fixed key passes for private",
        "privacy/gaussian/noise.py",
        "return FIXED_KEY if source.fixed else None",
        "return None",
        "noise that repeats is not private",
        _T_GATE,
        "fixed",
    ),
    Mutant(
        "who exceeds the bound is summed",
        _TOTALS,
        "    if excess.any():\n        return [block.without(excess) for block in blocks]\n",
        "",
        "a user above the bound is left out",
        _T_GATE + _T_TOTALS,
    ),
    Mutant(
        "the bound is twice the bound",
        _TOTALS,
        "excess = ~(total_energies(blocks) <= 1.0 + SLACK)",
        "excess = ~(total_energies(blocks) <= 2.0 + SLACK)",
        "a user's energy is at most 1",
        _T_GATE + _T_TOTALS,
    ),
    Mutant(
        "an energy that is no number passes",
        _TOTALS,
        "excess = ~(total_energies(blocks) <= 1.0 + SLACK)",
        "excess = total_energies(blocks) > 1.0 + SLACK",
        "a user whose energy is not a number is left out",
        _T_GATE + _T_TOTALS,
    ),
    Mutant(
        "sums beyond 2^53 in one go",
        _TOTALS,
        "first, *others = block.parts()",
        "first, *others = [block]",
        "sums of more users than double precision holds are taken in parts",
        _T_TOTALS,
    ),
    Mutant(
        "totals in different units are added",
        _TOTALS,
        "if not np.array_equal(total.unit, unit):",
        "if False:",
        "users of all parts are bounded alike",
        _T_TOTALS,
    ),
    Mutant(
        "users are added in place as they are",
        _TOTALS,
        "    kept = bounded(blocks)\n",
        "    kept = bounded(blocks) if onto is None else blocks\n",
        "users are bounded before they are added to others",
        _T_TOTALS,
        "in_place",
    ),
    Mutant(
        "Gaussian noise 1 % short",
        _NOISE,
        "            noise[rows] *= sigma[rows]\n",
        "            noise[rows] *= 0.99 * sigma[rows]\n",
        "noise has the scale that was paid for",
        _T_NOISE,
    ),
    Mutant(
        "PCG64 behind the Gaussian noise",
        _NOISE,
        "np.random.Generator(AESCounter(key=key)).standard_normal(out=out)",
        "np.random.Generator(np.random.PCG64(key)).standard_normal(out=out)",
        "noise comes from a cryptographic generator",
        _T_NOISE,
    ),
    Mutant(
        "keys of 32 bits",
        _NOISE,
        "return secrets.randbits(128)",
        "return secrets.randbits(32)",
        "noise cannot be guessed",
        _T_NOISE,
    ),
    Mutant(
        "the same key for every block of a large draw",
        _NOISE,
        "pieces = [(out[start : start + block], self._next_key()) for start in range(0, size, block)]",
        "one = self._next_key()\n        "
        "pieces = [(out[start : start + block], one) for start in range(0, size, block)]",
        "numbers of one draw have nothing in common",
        _T_NOISE,
    ),
    Mutant(
        "shares that are too small by the root of honest",
        _SHARES,
        "return sigma / math.sqrt(self._honest)",
        "return sigma / self._honest",
        "the shares of any honest silos are all the noise there must be",
        _T_SHARES,
    ),
    Mutant(
        "shares as coarse as one normal number",
        _SHARES,
        "        noise += super().integers(scale * _FINE)\n",
        "",
        "the server sees sums to the last integer, so shares are finer than one number",
        _T_SHARES,
    ),
    Mutant(
        "a silo's gate that charges nothing",
        _SILO,
        "charge = self.ledger.charge(name, mu=mu, detail=detail)",
        "charge = self.ledger.charge(name, mu=1e-9, detail=detail)",
        "each silo charges its own ledger what was asked",
        ("silos/test_silo.py", "silos/test_dropout.py"),
        "charged or ledger or paid",
    ),
    Mutant(
        "a sample that is computed again and not compared",
        "engines/memory.py",
        "    if not same_contributions(",
        "    if False and not same_contributions(",
        "what one user contributes does not depend on others",
        ("engines/test_recomputed.py",),
    ),
)
