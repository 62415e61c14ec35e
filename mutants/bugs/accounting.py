"""Bugs in what things cost: conversions, composition, the ledger, the choice among trials."""

from __future__ import annotations

from mutants.mutant import Mutant

_ACCOUNTING = "privacy/accounting.py"
_LEDGER = "privacy/ledger.py"
_SELECTION = "privacy/selection.py"
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
        "a delta that forgets half of the loss",
        _ACCOUNTING,
        "return first + math.log(-math.expm1(second - first))",
        "return first + math.log(-math.expm1(second - first)) - math.log(2.0)",
        "epsilon and delta follow from mu exactly",
        _T_ACCOUNTING,
        _ENDS,
    ),
    Mutant(
        "a small mu that costs too little",
        _ACCOUNTING,
        "return math.log(mu) + math.log(integral) - cut * cut / 2.0 - math.log(2.0 * math.pi) / 2.0",
        "return math.log(mu) + math.log(integral) - cut * cut / 2.0 - math.log(2.0 * math.pi)",
        "epsilon and delta follow from mu exactly, for small mu as well",
        _T_ACCOUNTING,
        _ENDS,
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
        "the whole delta for the Gaussian releases",
        _ACCOUNTING,
        "rest = math.nextafter(delta - extra_delta, -math.inf) if extra_delta else delta",
        "rest = delta",
        "what other events use of delta is taken off first",
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
        "no noise costs nothing",
        _ACCOUNTING,
        "    if rest == 0.0 or math.isinf(mu):\n        return math.inf\n",
        "    if rest == 0.0 or math.isinf(mu):\n        return 0.0\n",
        "a run without noise has no epsilon",
        _T_ACCOUNTING,
        _ENDS + " or nothing_left",
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
        "a ledger that looks at the last charge only",
        _LEDGER,
        "if compose([spent, charge.mu]) <= allowed * (1.0 + _TOLERANCE):",
        "if charge.mu <= allowed * (1.0 + _TOLERANCE):",
        "all charges of a run count together",
        _T_LEDGER,
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
        "a cost that is no number",
        _LEDGER,
        "    if not mu > 0.0:\n",
        "    if mu <= 0.0:\n",
        "a cost must be a number above zero",
        _T_LEDGER,
    ),
    Mutant(
        "less spent than was charged",
        _LEDGER,
        "return compose(charge.mu for charge in self.charges)",
        "return compose(charge.mu for charge in self.charges[1:])",
        "all that was charged is owed",
        ("privacy/test_ledger.py", "privacy/test_statement.py"),
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
        "a closed ledger takes charges",
        "privacy/ledger.py",
        """            if self._closed:
                raise UnchargedRelease(
                    f"{charge.name!r} cannot be charged: the run is over and its statement is fixed"
                )
""",
        "",
        "a statement is made of all charges there will be",
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
        "a delta for publishing somebody",
        "privacy/budget.py",
        "if self.delta * order >= 1.0:",
        "if False:",
        "a delta that would allow publishing one user is refused",
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
        "a trial that may cost a little more",
        _SELECTION,
        "    epsilon = epsilon_from(mu * (1.0 - _SLACK), delta)\n",
        "    return Budget(epsilon_from(mu * 1.001, delta), delta)\n",
        "no trial costs more than its part",
        _T_SELECTION,
    ),
    Mutant(
        "the score of a trial is free",
        "methods/tuning.py",
        "budget_for(mu * math.sqrt(1.0 - score_share), budget.delta),",
        "budget_for(mu, budget.delta),",
        "model and score of a trial share its cost",
        ("methods/test_tuning.py",),
        "costs_more or best_score",
    ),
    Mutant(
        "trials by the seed",
        "methods/tuning.py",
        "secrets.SystemRandom()",
        "__import__('random').Random(7)",
        "settings are drawn independently",
        ("methods/test_tuning.py",),
        "independent or seed",
    ),
    Mutant(
        "the best trial by its exact score",
        "methods/tuning.py",
        "    return Score(total, 1.0 - mean if",
        "    active = np.diff(validation.indptr) > 0\n    total = float((losses[active] - 0.5).sum())\n"
        "    return Score(total, 1.0 - mean if",
        "trials are compared by released scores",
        ("methods/test_validation.py",),
    ),
    Mutant(
        "a split that depends on everybody",
        "methods/tuning.py",
        "order = np.lexsort((draw_numbers(ratings, seed), users))",
        "order = np.lexsort((np.random.default_rng(seed).random(ratings.n_ratings), users))",
        "nobody's split depends on who else is there",
        ("methods/test_validation.py",),
    ),
    Mutant(
        "a refused trial raises",
        "methods/tuning.py",
        "            return _Outcome(settings, Score(math.inf, math.inf), refusal=str(refusal))\n",
        "            raise\n",
        "a trial that ends with a refusal counts as the worst, and tells nothing",
        ("methods/test_tuning.py",),
        "refusal",
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
