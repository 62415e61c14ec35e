"""Bugs in what things cost: conversions, composition, the ledger, the choice among trials."""

from __future__ import annotations

from mutants.mutant import Mutant

_ACCOUNTING = "privacy/accounting.py"
_LEDGER = "privacy/ledger.py"
_SELECTION = "privacy/costs.py"
_T_ACCOUNTING = ("privacy/test_accounting.py",)
_T_LEDGER = ("privacy/test_ledger.py",)
_T_SELECTION = ("privacy/test_selection.py",)
_ENDS = "few_runs or ends or golden or extra or inverses or fifty"

MUTANTS = (
    Mutant(
        "costs compose to the largest",
        _ACCOUNTING,
        "return math.hypot(*(_cost(mu) for mu in mus))",
        "return max((_cost(mu) for mu in mus), default=0.0)",
        "mu^2 adds up over releases",
        _T_ACCOUNTING + _T_LEDGER,
        "few_runs or plan or one_round",
    ),
    Mutant(
        "conversions rounded in our favour",
        _ACCOUNTING,
        "return exact + _MARGIN + 8.0",
        "return exact - 1e-6 + 8.0",
        "every conversion is rounded against ourselves",
        _T_ACCOUNTING,
        _ENDS,
    ),
    Mutant(
        "mu without slack for rounding",
        _ACCOUNTING,
        "while delta_from(mu * (1.0 + _SLACK), epsilon) > rest:",
        "while delta_from(mu * (1.0 - 1e-6), epsilon) > rest:",
        "the promise holds for what a ledger may really take",
        _T_ACCOUNTING + _T_LEDGER,
        "inverses or within_the_promise or fifty",
    ),
    Mutant(
        "a ledger with a tolerance of one in a thousand",
        _LEDGER,
        "_TOLERANCE = 5e-13",
        "_TOLERANCE = 1e-3",
        "a run stays within its budget",
        _T_LEDGER,
        quick=True,
    ),
    Mutant(
        "a ledger that forgets delta",
        _LEDGER,
        "extra = math.fsum([charge.delta, *(known.delta for known in self._charges)])",
        "extra = 0.0",
        "what a release takes from delta is not spent twice",
        _T_LEDGER,
    ),
    Mutant(
        "a token that is good for two releases",
        "privacy/ledger.py",
        "            self._redeemed[found] = True\n",
        "",
        "each release is charged on its own",
        _T_LEDGER,
        quick=True,
    ),
    Mutant(
        "a copy of a token is as good",
        "privacy/ledger.py",
        "if known is charge), None)",
        "if known.name == charge.name), None)",
        "a forged token is worthless",
        _T_LEDGER,
    ),
    Mutant(
        "a charge that is checked and entered in two steps",
        "privacy/ledger.py",
        "            self._refuse_excess(charge)\n",
        "            self._refuse_excess(charge)\n"
        "            self._lock.release()\n"
        '            __import__("time").sleep(0.001)\n'
        "            self._lock.acquire()\n",
        "threads cannot overspend together",
        _T_LEDGER,
        "threads",
    ),
    Mutant(
        "an infinite epsilon is a budget",
        "privacy/budget.py",
        "    if epsilon > _MAX_EPSILON:\n",
        "    if False:\n",
        "no budget is no privacy",
        ("privacy/test_budget.py",),
    ),
    Mutant(
        "a choice among trials for the price of one",
        _SELECTION,
        "dp_event.RepeatAndSelectDpEvent(trial, mean_trials, 1.0)",
        "trial",
        "the best of many trials costs more than one",
        _T_SELECTION,
    ),
    Mutant(
        "a fixed number of trials",
        _SELECTION,
        """    trials = 1
    while secrets.randbelow(numerator) >= denominator:
        trials += 1
    return trials
""",
        "    return max(1, numerator // denominator)\n",
        "the number of trials is drawn at random, and never told",
        _T_SELECTION,
    ),
    Mutant(
        "trials from a seeded stream",
        _SELECTION,
        """    trials = 1
    while secrets.randbelow(numerator) >= denominator:
        trials += 1
    return trials
""",
        "    return int(np.random.default_rng(0).geometric(denominator / numerator))\n",
        "nobody knows how many trials there were",
        _T_SELECTION,
    ),
    Mutant(
        "the score of a trial is free",
        "methods/tuning.py",
        "budget_for(mu * math.sqrt(1.0 - _SCORE_SHARE), budget.delta),",
        "budget_for(mu, budget.delta),",
        "model and score of a trial share its cost",
        ("methods/test_tuning.py",),
        "costs_more or best_score",
    ),
    Mutant(
        "the best trial by its exact score",
        "methods/tuning.py",
        "    return Score(total, side.scale",
        "    active = np.diff(validation.indptr) > 0\n    total = float((losses[active] - 0.5).sum())\n"
        "    return Score(total, side.scale",
        "trials are compared by released scores",
        ("methods/test_validation.py",),
    ),
    Mutant(
        "a cost beyond any number that is none",
        _SELECTION,
        "    if not all(cost <= _LARGEST_MU for cost in (mu, *(trial for trial, _ in selections))):\n",
        "    if False:\n",
        "epsilon of a selection is never below what it costs",
        ("hostile/test_found.py",),
        "beyond_any_number",
    ),
)
