"""Bugs in the trail: the ledger that outlives runs, statements and their signatures, and the audit itself."""

from __future__ import annotations

from mutants.mutant import Mutant

_ACCOUNT = "privacy/account/account.py"
_COSTS = "privacy/costs.py"
_LEDGER = "privacy/account/ledger_file.py"
_PLAN = "privacy/account/account.py"
_STORE = "privacy/account/store.py"
_T_COSTS = ("privacy/account/test_costs.py",)
_T_LEDGER = ("privacy/account/test_ledger_file.py",)
_T_STORE = ("privacy/account/test_store.py",)

_LEDGERS = (
    Mutant(
        "a run that goes on counts only what it has charged",
        _ACCOUNT,
        'if self.state in ("asked", "running") or self.asked.adaptive:',
        "if self.asked.adaptive:",
        "what a run has reserved is not there for others",
        _T_LEDGER,
        "whole",
    ),
    Mutant(
        "a run whose costs followed from releases counts by its charges",
        _ACCOUNT,
        'if self.state in ("asked", "running") or self.asked.adaptive:',
        'if self.state in ("asked", "running"):',
        "a schedule that was not public counts whole",
        _T_LEDGER,
        "whole",
    ),
    Mutant(
        "a run that was killed costs nothing",
        _ACCOUNT,
        'if isinstance(self.asked, RefusedRun) or not (self.charges or self.state == "asked"):',
        'if isinstance(self.asked, RefusedRun) or self.state == "running":',
        "what a killed run has charged stays charged",
        _T_LEDGER,
        "killed",
    ),
    Mutant(
        "groups do not pay for what is about everybody",
        _ACCOUNT,
        "run.cost for run in self.runs.values() if run.asked.group is None or run.asked.group == group",
        "run.cost for run in self.runs.values() if run.asked.group == group",
        "a user of a group was in the runs about everybody too",
        _T_LEDGER,
        "groups",
    ),
    Mutant(
        "a cap that looks at runs without a group alone",
        _ACCOUNT,
        "return cap is None or all(cost.within(cap) for cost in self._groups())",
        "return cap is None or self.cost().within(cap)",
        "nobody pays more than the cap, whatever group they are in",
        _T_LEDGER,
        "groups",
    ),
    Mutant(
        "selections of a reservation are forgotten",
        _ACCOUNT,
        "tuple(dict.fromkeys((*reserved.selections, *charged.selections)))",
        "charged.selections",
        "a search reserves what it costs",
        _T_LEDGER,
        "search",
    ),
    Mutant(
        "records are not chained",
        _STORE,
        "return hashlib.sha256(previous.encode() + content).hexdigest()",
        "return hashlib.sha256(content).hexdigest()",
        "a record that was taken out or moved is noticed",
        _T_STORE,
    ),
    Mutant(
        "hashes are not compared",
        _STORE,
        "            if known != hashes[-1].encode():\n",
        "            if False:\n",
        "an edited record is noticed",
        _T_STORE,
    ),
    Mutant(
        "any database is a ledger",
        _STORE,
        "if kind != APPLICATION:",
        "if False:",
        "nothing is written to another file",
        _T_STORE,
    ),
    Mutant(
        "runs together cost as much as the largest",
        _COSTS,
        "compose(cost.mu for cost in known),",
        "max((cost.mu for cost in known), default=0.0),",
        "runs on the same users add up",
        (*_T_COSTS, *_T_LEDGER),
    ),
    Mutant(
        "pure runs do not add up",
        _COSTS,
        "pure = math.fsum(self.pure)",
        "pure = max(self.pure, default=0.0)",
        "epsilons of pure runs add up",
        _T_COSTS,
    ),
    Mutant(
        "delta that was spent directly is spent again",
        _COSTS,
        "direct = math.fsum([self.delta, *(one.delta for one in self.selections)])\n        pure",
        "direct = 0.0\n        pure",
        "what discovery took of delta is not there for the noise",
        _T_COSTS,
    ),
    Mutant(
        "the ledger is not synced",
        _STORE,
        '("synchronous=EXTRA", ',
        '("synchronous=OFF", ',
        "a charge is on the disk before its noise is drawn",
        _T_STORE,
    ),
    Mutant(
        "a charge that could not be written is believed",
        _STORE,
        '            raise LedgerInvalid(f"{self._path} cannot be written ({error}); nothing was charged") from None\n',
        "            pass\n",
        "what is not on the disk has no noise drawn for it",
        _T_LEDGER,
        "disk",
    ),
    Mutant(
        "everybody may read the ledger",
        _STORE,
        "        make_private(fresh)\n",
        "",
        "a ledger is its owner's alone",
        (*_T_STORE, "cli/test_modes.py"),
    ),
    Mutant(
        "writers do not wait for each other",
        _STORE,
        '"BEGIN IMMEDIATE" if writable else "BEGIN"',
        '"BEGIN"',
        "two runs at once cannot both pass a cap that has room for one",
        ("privacy/account/test_kills.py",),
    ),
    Mutant(
        "caps are not asked",
        _LEDGER,
        "        if not account.with_run(asked).within_cap:\n",
        "        if False:\n",
        "a run that does not fit is refused",
        _T_LEDGER,
        "cap",
    ),
    Mutant(
        "a run is taken up again on other terms",
        _LEDGER,
        "if not isinstance(known.asked, Open) or _terms(known.asked) != _terms(asked):",
        "if not isinstance(known.asked, Open):",
        "a run that goes on has the budget that it began with",
        _T_LEDGER,
        "goes_on",
    ),
    Mutant(
        "pure runs forgotten beside a selection",
        _COSTS,
        "            yield pure + composed_epsilon(self.mu, trials, rest)\n",
        "            yield composed_epsilon(self.mu, trials, rest)\n",
        "every kind of cost counts beside the others",
        _T_COSTS,
        "beside",
    ),
    Mutant(
        "selections forgotten beside pure runs",
        _COSTS,
        "            yield selected + _gaussian(as_gaussian, delta, direct)\n",
        "            yield _gaussian(as_gaussian, delta, direct)\n",
        "every kind of cost counts beside the others",
        _T_COSTS,
        "beside",
    ),
    Mutant(
        "direct deltas forgotten beside a selection",
        _COSTS,
        "        rest = delta - self.delta\n",
        "        rest = delta\n",
        "every kind of cost counts beside the others",
        _T_COSTS,
        "beside",
    ),
    Mutant(
        "direct deltas forgotten when runs are added up",
        _COSTS,
        "            math.fsum(cost.delta for cost in known),\n",
        "            max((cost.delta for cost in known), default=0.0),\n",
        "direct deltas of all runs add up",
        (*_T_COSTS, *_T_LEDGER),
    ),
    Mutant(
        "a run that goes on skips the cap",
        _LEDGER,
        "        if not account.with_run(asked).within_cap:\n",
        "        if known is None and not account.with_run(asked).within_cap:\n",
        "what was free while a run was stopped may be gone",
        _T_LEDGER,
        "goes_on",
    ),
    Mutant(
        "a group's own runs are not in its statement",
        _LEDGER,
        "if run.asked.group in (None, group) and not run.cost.nothing",
        "if run.asked.group is None and not run.cost.nothing",
        "a statement says what all runs on its people come to",
        _T_LEDGER,
        "group",
    ),
    Mutant(
        "a group's statement is about everybody's runs alone",
        _LEDGER,
        "before, together = account.cost(group), account.with_run(asked).cost(group)",
        "before, together = account.cost(None), account.with_run(asked).cost(None)",
        "a statement says what all runs on its people come to",
        _T_LEDGER,
        "group",
    ),
    Mutant(
        "a start is not in the ledger",
        _LEDGER,
        "strange = [run for run in carried if not account.knows(run)]",
        "strange: list[RunCost] = []",
        "a ledger counts what a model carries",
        ("statements/test_walks.py",),
        "ledger",
    ),
    Mutant(
        "a statement that forgets earlier runs",
        _LEDGER,
        "epsilon=max(earlier, own, together.epsilon(delta)),",
        "epsilon=max(own, 0.0),",
        "statements say what all runs come to",
        _T_LEDGER,
        "earlier",
    ),
    Mutant(
        "a plan that adds epsilons up like noise of one run",
        _PLAN,
        "return Cost(mu=mu * math.sqrt(runs))",
        "return Cost(mu=mu)",
        "further runs add up",
        (*_T_LEDGER, "cli/test_ledger.py"),
        "plan",
    ),
    Mutant(
        "charges beyond the cap pass",
        _LEDGER,
        "            if not account.within_cap:\n",
        "            if False:\n",
        "nothing is charged that the cap has no room for",
        _T_LEDGER,
        "budget_needs_room or part_of or at_once",
    ),
    Mutant(
        "a run goes on after another process has ended it",
        _LEDGER,
        'if account.runs[self.asked.run].state != "running":',
        "if False:",
        "what was freed for others is not charged",
        _T_LEDGER,
        "another_process",
    ),
    Mutant(
        "a ledger set back under a run is charged",
        _LEDGER,
        "if self._head not in locked.chain.hashes:",
        "if not locked.chain.hashes:",
        "a run notices that its charges are gone",
        _T_LEDGER,
        "set_back",
    ),
    Mutant(
        "a silo's missing charges stay missing",
        _LEDGER,
        "missing = stored - Counter((charge.name, charge.price) for charge in entered)",
        "missing = stored - stored",
        "charges of a silo's own store are in the ledger too",
        ("silos/test_silo_ledger.py",),
    ),
)

_MEANING = "statements/meaning.py"
_SIGNATURE = "statements/signature.py"
_TRADE_OFF = "statements/meaning.py"
_T_DOCUMENT = ("statements/test_document.py",)
_T_SIGNATURE = ("statements/test_signature.py",)
_T_TRADE_OFF = ("statements/test_trade_off.py",)

_STATEMENTS = (
    Mutant(
        "an attacker who finds too few",
        _TRADE_OFF,
        "return float(ndtr(ndtri(alpha) + self.mu)) if",
        "return float(ndtr(ndtri(alpha) + 0.5 * self.mu)) if",
        "the best attacker's success follows exactly from mu",
        (*_T_TRADE_OFF, *_T_DOCUMENT),
    ),
    Mutant(
        "bounds of a run that is not private",
        _MEANING,
        "    if not statement.private:\n        return None\n",
        "",
        "nothing bounds an attacker of a model that is not private",
        (*_T_DOCUMENT, "statements/test_page.py"),
    ),
    Mutant(
        "pure releases left out of the attacker's numbers",
        _TRADE_OFF,
        "return Composed(mu=cost.mu, epsilon=math.fsum(cost.pure), delta=cost.delta)",
        "return Composed(mu=cost.mu, delta=cost.delta)",
        "everything that was released counts",
        _T_TRADE_OFF,
    ),
    Mutant(
        "any signature is good",
        _SIGNATURE,
        "    except InvalidSignature:\n        signed = False",
        "    except InvalidSignature:\n        signed = True",
        "what the key did not sign is told",
        _T_SIGNATURE,
    ),
    Mutant(
        "files that were not signed are overlooked",
        _SIGNATURE,
        '        elif name not in stated:\n            yield f"{name} is there and was not signed"\n',
        "        elif name not in stated:\n            continue\n",
        "the folder is the model that was signed",
        _T_SIGNATURE,
    ),
    Mutant(
        "a good check of another model",
        _SIGNATURE,
        "return self.signed and not self.differences",
        "return self.signed",
        "a signature is about one model",
        (*_T_SIGNATURE, "cli/test_statement.py"),
    ),
)

_BOUNDS = "audit/bounds.py"
_GAME = "audit/game.py"
_NEIGHBOURS = "audit/replay.py"
_T_BOUNDS = ("audit/test_bounds.py",)
_T_GAME = ("audit/test_game.py",)
_T_NEIGHBOURS = ("audit/test_neighbours.py",)

_AUDITS = (
    Mutant(
        "an audit that finds half of the noise's loss",
        _BOUNDS,
        "return max(0.0, shift) / math.sqrt(square / float(chi2.ppf(risk, len(residuals))))",
        "return 0.5 * max(0.0, shift) / math.sqrt(square / float(chi2.ppf(risk, len(residuals))))",
        "a lower bound is close to the truth",
        (*_T_BOUNDS, *_T_GAME),
    ),
    Mutant(
        "Clopper and Pearson the wrong way round",
        _BOUNDS,
        "low = 0.0 if count == 0 else float(beta.ppf(risk, count, trials - count + 1))",
        "low = 0.0 if count == 0 else float(beta.isf(risk, count, trials - count + 1))",
        "a bound on a chance holds as often as it says",
        _T_BOUNDS,
    ),
    Mutant(
        "the canary is in neither world",
        _GAME,
        "return self._totals[int(self.present)]",
        "return self._totals[0]",
        "the game is played with the canary and without",
        _T_GAME,
    ),
    Mutant(
        "releases are not shown to the attacker",
        _GAME,
        "            self._attacker.see(forms, mu, released)\n",
        "            pass\n",
        "every release is scored",
        _T_GAME,
    ),
    Mutant(
        "a replay that looks at the first release alone",
        _NEIGHBOURS,
        "worst[number] = max(worst[number], move.ratio)",
        "worst[0] = max(worst[0], move.ratio)",
        "every release is compared with its bound",
        _T_NEIGHBOURS,
    ),
    Mutant(
        "nobody comes",
        _NEIGHBOURS,
        "    for place in range(coming.n_users):\n",
        "    for place in range(0):\n",
        "users are added as well as removed",
        _T_NEIGHBOURS,
    ),
    Mutant(
        "a move is measured in the wrong noise",
        _NEIGHBOURS,
        "return float(np.linalg.norm(whitened(moved, noise_scales(forms, mu)))) / mu",
        "return float(np.linalg.norm(whitened(moved, noise_scales(forms, 0.5 * mu)))) / mu",
        "a move is in standard deviations of the noise that is drawn",
        _T_NEIGHBOURS,
    ),
)

MUTANTS = (*_LEDGERS, *_STATEMENTS, *_AUDITS)
