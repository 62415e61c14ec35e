"""Bugs in how a user is scaled and silenced, how noise is scaled, and what a release is charged: one line each."""

from __future__ import annotations

from mutants.mutant import Mutant

_ENERGY, _BLOCKS, _NOISE = (f"privacy/gaussian/{name}.py" for name in ("energy_scaled", "blocks", "noise"))
_GATE, _LEDGER = "privacy/gaussian/gate.py", "privacy/ledger.py"
_OMEGA, _MOMENT = "= MARGIN / np.sqrt(energy[active])", "(norms**2 + companions**2)"

_BOUND = "a user moves a release by the bound at most, and an ordinary one by all of it"
_SILENT = "whoever exceeds the bound counts for nothing, and everybody else as before"
_SCALE = "noise has the scale that was paid for"
_CHARGE = "every release is charged its own cost, within the budget, before there is noise"


def _bugs(breaks: str, test: str, *bugs: tuple[str, str, str, str]) -> tuple[Mutant, ...]:
    tests = (f"privacy/gaussian/test_{test}.py",)
    return tuple(Mutant(name, file, old, new, breaks, tests) for name, file, old, new in bugs)


MUTANTS = (
    *_bugs(
        _BOUND,
        "energy_scaled",
        ("no scaling", _ENERGY, _OMEGA, "= 1.0"),
        ("scaled by energy, not by its root", _ENERGY, _OMEGA, "= MARGIN / np.minimum(energy[active], 0.5)"),
        (
            "gradient left out of the energy",
            _ENERGY,
            "energy = norms**2 * pattern.user_squares(item_weights, residuals)",
            "energy = np.zeros(pattern.n_users)",
        ),
        (
            "item weight left out of the energy",
            _ENERGY,
            "    energy += square_weights / units.weight**2\n",
            "    pass\n",
        ),
        ("companion left out of the moment's norm", _ENERGY, _MOMENT, "norms**2"),
        ("counts left out of the moment's norm", _ENERGY, f"moment_counts * {_MOMENT}", _MOMENT),
        (
            "item weights left out of the gradient's norm",
            _ENERGY,
            "pattern.user_squares(item_weights, residuals)",
            "pattern.user_squares(values=residuals)",
        ),
        (
            "features rounded up",
            _ENERGY,
            "kernels.truncated(starts, values.ravel(), scale).reshape(values.shape)",
            "np.ceil(values * scale[:, None]).astype(np.int16)",
        ),
        (
            "sums in single precision",
            "privacy/gaussian/item_blocks.py",
            "return kernels.item_sums(*self.pattern.by_item, self.features, self.targets)",
            "return kernels.item_sums(*self.pattern.by_item, self.features, self.targets).astype(np.float32)",
        ),
    ),
    *_bugs(
        _BOUND,
        "mechanism",
        (
            "first release bounded as if a user moved one number",
            "privacy/gaussian/tallies.py",
            "return math.sqrt(3.0)",
            "return 1.0",
        ),
        (
            "ratings of the first release beyond the range",
            "privacy/gaussian/tallies.py",
            "_moments(pattern, clip_entries(scaled), rows)",
            "_moments(pattern, 1.2 * clip_entries(scaled), rows)",
        ),
    ),
    *_bugs(
        "a user's items are strictly ascending, whatever numbers say so",
        "blocks",
        (
            "order of pairs by a difference of unsigned numbers",
            _BLOCKS,
            "rising = self.items[1:] > self.items[:-1]",
            "rising = np.diff(self.items) > 0",
        ),
    ),
    *_bugs(
        _SILENT,
        "gate",
        ("the wrong ones silenced", _BLOCKS, "kept[users] = 0", "kept[~users] = 0"),
        (
            "everybody silenced when one exceeds",
            "privacy/gaussian/totals.py",
            "block.without(excess)",
            "block.without(excess | True)",
        ),
        (
            "energies of one block checked alone",
            _BLOCKS,
            "np.sum([block.energies() for block in blocks], axis=0)",
            "blocks[0].energies()",
        ),
    ),
    *_bugs(
        _SCALE,
        "gate",
        (
            "Gaussian noise 1 % long",
            _NOISE,
            "noise[rows] *= sigma[rows]",
            "noise[rows] *= 1.01 * sigma[rows]",
        ),
        ("more mu spent than charged", _GATE, "return mu / (1.0 + SLACK)", "return mu * 1.01"),
        ("slack of the check not paid", _GATE, "return mu / (1.0 + SLACK)", "return mu"),
        ("noise beyond 64 bits passes", _GATE, "_LARGEST = 2.0**58", "_LARGEST = np.inf"),
    ),
    *_bugs(
        _SCALE,
        "totals",
        (
            "totals of any blocks are taken",
            _GATE,
            "if [total.name for total in totals] != names:",
            "if False:",
        ),
        (
            "noise that is there already is added again",
            _GATE,
            "total.value.copy() if noised else with_noise(",
            "with_noise(",
        ),
    ),
    *_bugs(
        _SCALE,
        "noise",
        (
            "noise of matrices 1 % short",
            _NOISE,
            "values *= sigma[:, None]",
            "values *= 0.99 * sigma[:, None]",
        ),
        ("noise that is not rounded", _NOISE, "np.rint(noise[rows], out=noise[rows])", "pass"),
        ("one key for all draws", _NOISE, "return secrets.randbits(128)", "return 12345"),
    ),
    *_bugs(
        _CHARGE,
        "gate",
        ("a release that is not entered", _LEDGER, "self._charges.append(charge)", "pass"),
        ("over budget let through", _LEDGER, "self._refuse_excess(charge)", "pass"),
        (
            "the budget is asked without the new charge",
            _LEDGER,
            "if compose([spent, charge.mu]) <= allowed",
            "if spent <= allowed",
        ),
        (
            "costs are not summed",
            _LEDGER,
            "compose(known.mu for known in self._charges)",
            "max((known.mu for known in self._charges), default=0.0)",
        ),
    ),
)
