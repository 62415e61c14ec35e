"""Bugs in what a model says of itself."""

from __future__ import annotations

from mutants.mutant import Mutant

_STATEMENT = "privacy/statement.py"
_T = ("privacy/test_statement.py",)
_T_PURE = ("privacy/pure/test_ledger.py",)
_SILOS = "privacy/silo_statements.py"
_T_SILOS = ("privacy/test_silo_statements.py",)

MUTANTS = (
    Mutant(
        "a fixed key is called private",
        _STATEMENT,
        """        releases = _releases(ledger.charges)
        if ledger.fault is not None:
""",
        """        releases = _releases(ledger.charges)
        if False:
""",
        "noise that can be drawn again is not private",
        _T,
        quick=True,
    ),
    Mutant(
        "a statement without releases is private",
        _STATEMENT,
        """            raise ModelInvalid("a run without any charged release has nothing to state; was the gate used?")
""",
        "            return cls.nothing_released(public=public)\n",
        "a run that charged nothing is not called private",
        _T,
    ),
    Mutant(
        "an adaptive run states what it happened to spend",
        _STATEMENT,
        "epsilon=ledger.budget.epsilon if adaptive else ledger.epsilon_spent,",
        "epsilon=ledger.epsilon_spent,",
        "a sum that depends on the ratings bounds nothing: the budget is stated",
        _T,
    ),
    Mutant(
        "stating does not end the run",
        _STATEMENT,
        "        ledger.close()\n        releases = _releases",
        "        releases = _releases",
        "nothing is charged after the statement",
        _T,
    ),
    Mutant(
        "a forged mu passes",
        _STATEMENT,
        "if compose(release.mu for release in self.releases) > self.mu * (1.0 + 1e-15):",
        "if False:",
        "mu covers the releases that are listed",
        _T,
    ),
    Mutant(
        "a forged epsilon passes",
        _STATEMENT,
        "            if delta_from(self.mu, self.epsilon - pure) + extra > self.delta:\n",
        "            if False:\n",
        "epsilon and delta follow from mu",
        _T,
    ),
    Mutant(
        "a forged pure epsilon passes",
        _STATEMENT,
        "        if pure > self.epsilon:\n",
        "        if False:\n",
        "epsilon covers the releases that are listed",
        _T_PURE,
    ),
    Mutant(
        "a selection costs one trial on paper",
        _STATEMENT,
        "elif pure > 0.0 or extra > 0.0 or self.selection.epsilon(self.mu, self.delta) > self.epsilon:",
        "elif pure > 0.0 or extra > 0.0:",
        "a selected model owes the whole selection",
        _T,
    ),
    Mutant(
        "a trial was allowed more than is accounted for",
        _STATEMENT,
        "if allowed > selection.trial_mu(budget) * (1.0 + 1e-9):",
        "if False:",
        "no trial may cost more than the selection accounts for",
        _T,
    ),
    Mutant(
        "a device's relation is that of a server",
        _STATEMENT,
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
        "the pure statement gives what was charged",
        _STATEMENT,
        "        epsilon = max(ledger.epsilon, total)\n",
        "        epsilon = total\n",
        "the whole budget is stated, whatever was charged",
        ("privacy/pure/test_ledger.py", "methods/prototypes/test_pipeline.py"),
        "statement or owes",
    ),
    Mutant(
        "several silos promise what the best one does",
        _SILOS,
        "epsilon=max(one.epsilon or 0.0 for one in statements),",
        "epsilon=min(one.epsilon or 0.0 for one in statements),",
        "nobody is promised more than their own silo promised",
        _T_SILOS,
        quick=True,
    ),
    Mutant(
        "one silo without a promise among others",
        _SILOS,
        "    if refused:\n",
        "    if len(refused) == len(statements):\n",
        "one silo that promises nothing is enough",
        _T_SILOS,
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
        "numbers printed rounded down",
        "privacy/statement_text.py",
        "rounding=ROUND_CEILING",
        'rounding="ROUND_FLOOR"',
        "never less than was spent, not even when printed",
        _T,
    ),
)
