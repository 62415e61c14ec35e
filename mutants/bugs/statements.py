"""Bugs in what a model says of itself."""

from __future__ import annotations

from mutants.mutant import Mutant

_STATEMENT = "privacy/statement.py"
_PROMISE = "privacy/promise.py"
_T = ("privacy/test_statement.py",)
_T_PURE = ("privacy/pure/test_ledger.py",)
_CARRIED = "privacy/costs.py"
_T_WALKS = ("statements/test_walks.py",)
_SILOS = "privacy/statement.py"
_T_SILOS = ("privacy/test_silo_statements.py",)

MUTANTS = (
    Mutant(
        "a fixed key is called private",
        _PROMISE,
        "        if ledger.fault is not None:\n",
        "        if False:\n",
        "noise that can be drawn again is not private",
        _T,
        quick=True,
    ),
    Mutant(
        "a statement without releases is private",
        _PROMISE,
        """            raise ModelInvalid("a run without any charged release has nothing to state; was the gate used?")
""",
        "            return cls(private=True, epsilon=0.0, delta=0.0, mu=0.0)\n",
        "a run that charged nothing is not called private",
        _T,
    ),
    Mutant(
        "an adaptive run states what it happened to spend",
        _PROMISE,
        "epsilon=ledger.budget.epsilon if adaptive else ledger.epsilon_spent,",
        "epsilon=ledger.epsilon_spent,",
        "a sum that depends on the ratings bounds nothing: the budget is stated",
        _T,
    ),
    Mutant(
        "a forged mu passes",
        _PROMISE,
        "if compose(release.mu for release in self.releases) > own.mu * (1.0 + 1e-15):",
        "if False:",
        "mu covers the releases that are listed",
        _T,
    ),
    Mutant(
        "a selection costs one trial on paper",
        _STATEMENT,
        "return self.direct == 0.0 and self.selection.epsilon(own.mu, own.delta) <= own.epsilon",
        "return self.direct == 0.0",
        "a selected model owes the whole selection",
        _T,
    ),
    Mutant(
        "a trial was allowed more than is accounted for",
        "privacy/statement.py",
        "if allowed > selection.trial_mu(budget) * (1.0 + 1e-9):",
        "if False:",
        "no trial may cost more than the selection accounts for",
        _T,
    ),
    Mutant(
        "a device's relation is that of a server",
        "privacy/pure/ledger.py",
        'relation="replace all of one user\'s ratings" if model == "local" else "add or remove one user",',
        'relation="add or remove one user",',
        "every statement names its relation",
        _T_PURE,
    ),
    Mutant(
        "a user in two silos pays as one in one",
        _STATEMENT,
        'both = compose([mu, mu]) if terms.noise == "each silo" else 2.0 * mu',
        "both = mu",
        "a user in two silos pays twice",
        ("privacy/test_statement.py", "privacy/pure/test_ledger.py"),
    ),
    Mutant(
        "several silos promise what the best one does",
        _SILOS,
        "epsilon=max(one.epsilon for one in own),",
        "epsilon=min(one.epsilon for one in own),",
        "nobody is promised more than their own silo promised",
        _T_SILOS,
        quick=True,
    ),
    Mutant(
        "a user of two unlike silos pays the dearer one",
        _SILOS,
        "return max([*alike, without + other])",
        "return max([*alike, without, other])",
        "a user in two silos pays both",
        _T_SILOS,
    ),
    Mutant(
        "what an earlier run took from delta is forgotten",
        _STATEMENT,
        'return Price(kind="gaussian", mu=own.mu, delta=self.direct)',
        'return Price(kind="gaussian", mu=own.mu)',
        "direct deltas of all runs add up",
        _T_WALKS,
        "catalogue",
    ),
    Mutant(
        "a tuned start costs what its chosen trial did",
        _STATEMENT,
        "        if self.selection is not None:\n            trials = ",
        "        if self.selection is None:\n            trials = ",
        "a selection that is carried costs all of it",
        _T_WALKS,
        "tuned",
    ),
    Mutant(
        "a forged sum passes",
        _STATEMENT,
        "        if not cost.covered_by(epsilon, delta):\n",
        "        if False:\n",
        "what is said first covers all runs",
        _T_WALKS,
        "signature",
    ),
    Mutant(
        "an earlier run counts the catalogue it found once more",
        _CARRIED,
        'if run.run not in runs or runs[run.run].part == "catalogue":',
        "if True:",
        "a run is counted whole, and once",
        _T_WALKS,
        "its_catalogue",
    ),
    Mutant(
        "runs before the start are forgotten",
        _STATEMENT,
        "            runs = (*runs, own)\n",
        "            runs = (own,)\n",
        "a start carries all that is in it",
        _T_WALKS,
        "start_of",
    ),
    Mutant(
        "a selection of an earlier run is believed",
        _CARRIED,
        "            if chosen.epsilon(price.mu, price.delta) > price.epsilon:\n",
        "            if False:\n",
        "what an earlier selection says of itself is worked out again",
        ("privacy/test_carried.py",),
    ),
    Mutant(
        "what starts from a model that is not private is private",
        _STATEMENT,
        "        if before.fault is not None:\n",
        "        if False:\n",
        "what carries something that is not private is not private",
        ("privacy/test_carried.py",),
    ),
    Mutant(
        "numbers printed rounded down",
        "privacy/accounting.py",
        "rounding=ROUND_CEILING",
        'rounding="ROUND_FLOOR"',
        "never less than was spent, not even when printed",
        _T,
    ),
)
