"""Every way to a model: what is said of it first, anywhere, is the composition of all that was really released.

The sum is worked out here from the charges that gates let out, by formulas of its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import discreet
from discreet import Budget, LedgerFile, Model, Ratings, Statement
from discreet.data.synthetic import market
from discreet.devices.simulation import fit as fit_devices
from discreet.methods.tuning import tune
from discreet.privacy.accounting import round_up
from discreet.privacy.costs import composed_epsilon
from discreet.privacy.ledger import Charges, Ledger
from discreet.reports.page import page as report_page
from discreet.reports.report import make_report
from discreet.statements import Document, write_document
from discreet.statements.document import text_lines
from discreet.statements.page import card, page
from discreet.statements.words import in_a_hundred
from discreet.web.page import _words

DELTA = 1e-5
FIRST, SECOND = Budget(4.0, DELTA), Budget(2.0, DELTA)
BUDGETED = discreet.BudgetedALS(rank=1, rounds=1)
FINDS = discreet.BudgetedALS(rank=1, rounds=1, discover_share=0.2)


@dataclass
class Sum:
    """What gates have let out, of all runs that a model carries."""

    squares: float = 0.0
    direct: float = 0.0
    pure: float = 0.0
    trials: tuple[tuple[float, float], ...] = ()

    def __add__(self, other: Sum) -> Sum:
        return Sum(
            self.squares + other.squares,
            self.direct + other.direct,
            self.pure + other.pure,
            self.trials + other.trials,
        )

    @property
    def epsilon(self) -> float:
        if self.trials:
            return composed_epsilon(math.sqrt(self.squares), self.trials, DELTA - self.direct)
        if self.squares == 0.0:
            return self.pure
        mu = math.sqrt(self.squares)

        def excess(epsilon: float) -> float:
            delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
            return float(delta) + self.direct - DELTA

        return self.pure + float(brentq(excess, 0.0, 60.0, xtol=1e-12))

    @property
    def right(self) -> float | None:
        """The best guess between two equal chances, where it is exact."""
        if self.trials:
            return None
        if self.squares == 0.0:
            return 1.0 / (1.0 + math.exp(-self.pure))
        return 1.0 - (1.0 - self.direct) * float(norm.cdf(-math.sqrt(self.squares) / 2))


@dataclass(frozen=True)
class Walk:
    """A model, what was released on the way to it, and how many runs that were."""

    model: Model
    released: Sum
    runs: int = 1
    own: Sum = field(default_factory=Sum)


LET_OUT: dict[int, Sum] = {}


@pytest.fixture(autouse=True, scope="module")
def watched() -> Iterator[None]:
    """Every token that is redeemed from now on is noted, by the ledger that it was charged to."""
    redeem = Charges.redeem

    def noted(self: Charges, charge: object) -> None:  # type: ignore[type-var]
        redeem(self, charge)
        known = LET_OUT.setdefault(id(self), Sum())
        KEPT.append(self)
        mu, delta = getattr(charge, "mu", 0.0), getattr(charge, "delta", 0.0)
        LET_OUT[id(self)] = known + Sum(mu**2, delta, getattr(charge, "epsilon", 0.0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Charges, "redeem", noted)
        yield


KEPT: list[object] = []  # or another ledger might get the same id


def released(run: Callable[[], Model]) -> tuple[Model, Sum]:
    """A run, and what the dearest of its ledgers let out: each silo has one, and the coordinator."""
    LET_OUT.clear()
    model = run()
    return model, max(LET_OUT.values(), key=lambda one: (one.squares, one.pure), default=Sum())


@cache
def people(seed: int = 0) -> Ratings:
    return market(1_200, 40, 12_000, rng=seed)


def without_catalogue() -> Ratings:
    known = people()
    assert known.catalogue is not None
    users = np.repeat(np.arange(known.n_users), np.diff(known.indptr))
    columns = {"user": users, "item": known.catalogue.ids[known.items], "stars": known.values}
    return Ratings.from_frame(
        pl.DataFrame(columns), user="user", item="item", rating="stars", rating_range=(1, 5)
    )


def fitted(ratings: Ratings, start: Model | None = None, ledger: object = None) -> tuple[Model, Sum]:
    budget = FIRST if start is None else SECOND
    return released(
        lambda: BUDGETED.fit(ratings, budget, rng=0, start=start, ledger=ledger).model_  # type: ignore[arg-type]
    )


@cache
def cold() -> Walk:
    model, out = fitted(people())
    return Walk(model, out)


@cache
def warm() -> Walk:
    model, out = fitted(people(1), cold().model)
    return Walk(model, cold().released + out, 2, out)


@cache
def start_of_a_start() -> Walk:
    model, out = fitted(people(2), warm().model)
    return Walk(model, warm().released + out, 3, out)


def group(folder: Path) -> Walk:
    ledger = folder / "shop.ledger"
    first, before = fitted(people(), ledger=LedgerFile(ledger, group="may"))
    model, out = fitted(people(), first, LedgerFile(ledger, group="may"))
    known = model.statement.earlier
    assert known is not None
    # The ledger counts the start once, and says the same sum at the same delta.
    assert (known.runs, known.delta) == (1, model.statement.delta)
    assert known.epsilon == pytest.approx(model.statement.epsilon, rel=1e-9)
    return Walk(model, before + out, 2, out)


@cache
def discovering() -> Walk:
    model, out = released(lambda: FINDS.fit(without_catalogue(), FIRST, rng=0).model_)
    return Walk(model, out)


def found() -> tuple[Ratings, Sum]:
    """People over the catalogue that the run above has found, as it is saved and read; and what finding it took."""
    model = discovering().model
    first = model.statement.releases[0]
    assert first.name.startswith("catalogue")
    catalogue = discreet.Catalogue.from_json(model.catalogue.to_json())
    ratings = without_catalogue().with_catalogue(catalogue)
    return ratings, Sum(first.mu**2, first.delta)


def discovered_catalogue() -> Walk:
    ratings, paid = found()
    model, out = released(lambda: discreet.ItemMean().fit(ratings, SECOND, rng=0).model_)
    return Walk(model, paid + out, 2, out)


def nothing_but_the_catalogue() -> Walk:
    ratings, paid = found()
    return Walk(discreet.UserMean().fit(ratings).model_, paid)


@cache
def start_and_its_catalogue() -> Walk:
    """The run that found the catalogue is the start: its discovery is in its cost already."""
    ratings, _ = found()
    model, out = fitted(ratings, discovering().model)
    return Walk(model, discovering().released + out, 2, out)


def start_of_a_start_over_its_catalogue() -> Walk:
    """The run that found the catalogue is carried three ways: as the catalogue, by the start, and by its start."""
    ratings, before = found()[0], start_and_its_catalogue()
    noted = replace(before.model, statement=before.model.statement.with_note("looked at since"))
    model, out = fitted(ratings, noted)
    return Walk(model, before.released + out, 3, out)


def tuned() -> Walk:
    return _tuned(people(), Sum())


def tuned_on_a_discovered_catalogue() -> Walk:
    return _tuned(*found())


def _tuned(ratings: Ratings, paid: Sum) -> Walk:
    space = {"rank": [1, 2]}
    best = tune(discreet.PrivateSVD, space, ratings, FIRST, mean_trials=2.0, rng=0)
    trial = best.statement_.own.mu
    model = Model(best.model_.item_side, best.model_.catalogue, best.statement_, best.model_.method)
    return Walk(model, paid + Sum(trials=((trial, 2.0),)), 1 + (paid != Sum()), Sum(trials=((trial, 2.0),)))


def start_from_a_tuned_model() -> Walk:
    space, fixed = {"offset_share": [0.2, 0.3]}, {"rank": 1, "rounds": 1}
    best = tune(discreet.BudgetedALS, space, people(), FIRST, mean_trials=2.0, settings=fixed, rng=0)
    model, out = fitted(people(1), best.model_)
    return Walk(model, Sum(trials=((best.statement_.own.mu, 2.0),)) + out, 2, out)


def silos() -> Walk:
    return _silos(people(), Sum())


def silos_over_a_discovered_catalogue() -> Walk:
    return _silos(*found())


def _silos(ratings: Ratings, paid: Sum) -> Walk:
    parts = [ratings.take_users(slice(start, start + 400)) for start in (0, 400, 800)]
    model, out = released(
        lambda: discreet.silos.fit(parts, FIRST, method=discreet.ItemMean(), honest=2, rng=0).model_
    )
    # Each silo adds a part of the noise; what reaches anybody has all of it.
    whole = Sum(FIRST.mu**2)
    assert out.squares == pytest.approx(whole.squares, rel=1e-6)
    return Walk(model, paid + whole, 1 + (paid != Sum()), whole)


def start_from_silos() -> Walk:
    parts = [people().take_users(slice(start, start + 400)) for start in (0, 400, 800)]
    first, _ = released(lambda: discreet.silos.fit(parts, FIRST, method=BUDGETED, honest=2, rng=0).model_)
    model, out = fitted(parts[0], first)
    return Walk(model, Sum(FIRST.mu**2) + out, 2, out)


def lists_from_lists() -> Walk:
    """The default method: the released sums of the first run are in the second model's."""
    first, before = released(lambda: discreet.EASE().fit(people(), FIRST, rng=0).model_)
    model, out = released(lambda: discreet.EASE().fit(people(1), SECOND, rng=0, start=first).model_)
    return Walk(model, before + out, 2, out)


def lists_over_silos() -> Walk:
    parts = [people().take_users(slice(start, start + 600)) for start in (0, 600)]
    model, _ = released(lambda: discreet.silos.fit(parts, FIRST, honest=2, rng=0).model_)
    return Walk(model, Sum(FIRST.mu**2))


def devices() -> Walk:
    model, out = released(lambda: fit_devices(people(), epsilon=4.0, rng=0).model_)
    return Walk(model, out)


WALKS: dict[str, Callable[..., Walk]] = {
    walk.__name__: walk
    for walk in (
        *(
            cold,
            warm,
            start_of_a_start,
            start_of_a_start_over_its_catalogue,
            group,
            discovering,
            discovered_catalogue,
        ),
        *(nothing_but_the_catalogue, start_and_its_catalogue, tuned, tuned_on_a_discovered_catalogue),
        start_from_a_tuned_model,
        *(
            silos,
            silos_over_a_discovered_catalogue,
            start_from_silos,
            devices,
            lists_from_lists,
            lists_over_silos,
        ),
    )
}


@pytest.fixture(scope="module", params=WALKS)
def walk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Walk:
    way = WALKS[request.param]
    return way(tmp_path_factory.mktemp("ledger")) if request.param == "group" else way()


def test_the_sum_of_all_that_was_released_comes_first(walk: Walk) -> None:
    said = walk.model.statement
    assert said.private
    assert said.delta == (DELTA if walk.released.pure == 0.0 else 0.0)
    # A run whose schedule follows from its releases states what it was allowed: hardly more than it spent.
    assert said.epsilon == pytest.approx(walk.released.epsilon, rel=2e-4)
    assert said.epsilon >= walk.released.epsilon * (1.0 - 1e-9)
    assert Statement.from_json(said.to_json()) == said
    if walk.runs == 1 and said.releases:
        assert (said.this_run, said.earlier_runs) == (None, ())
        return
    assert len(said.earlier_runs) + bool(said.releases) == walk.runs
    assert said.this_run is not None
    if said.releases:
        assert said.this_run.epsilon == pytest.approx(walk.own.epsilon, rel=2e-4)
        assert said.this_run.epsilon < said.epsilon
    assert "the item catalogue" not in said.public or walk.model.catalogue.paid is None


def surfaces(model: Model, folder: Path) -> dict[str, str]:
    """What people see first, wherever they look."""
    saved = model.save(folder / "model")
    document = write_document(saved)
    return {
        "statement": str(model.statement),
        "text": "\n".join(text_lines(document)),
        "page": _plain(page(document)),
        "json": json.dumps({key: document.to_dict()[key] for key in ("headline", "meaning")}),
        "card": card(document),
        "report": _plain(report_page(make_report(saved))),
        "web page": json.dumps(_words(document)),
    }


def _plain(html: str) -> str:
    return re.sub(r"<[^>]*>", " ", html[html.index("<body>") :])


def test_everything_that_people_see_says_it_first(walk: Walk, tmp_path: Path) -> None:
    said = walk.model.statement
    assert said.epsilon is not None
    for place, text in surfaces(walk.model, tmp_path).items():
        words = " ".join(text.split())
        first = re.search(r"epsilon (\d[\d.e+-]*\d|\d)", words)
        assert first is not None, place
        assert first.group(1) == round_up(said.epsilon), place
        assert not re.search(r"digest=|mu=|RunCost|Price\(|'run'", words), place
        strength = re.search(r"epsilon (\S+): (?:strong|moderate|weak|very weak)", words)
        assert (strength is None) == (place in ("statement", "json")), place
        assert strength is None or strength.group(1) == round_up(said.epsilon), place
        guess = re.search(r"right in at most ([\d.]+) of 100", words)
        assert (guess is None) == (place in ("statement", "json")), place
        if guess is not None and walk.released.right is not None:
            assert float(guess.group(1)) == pytest.approx(100.0 * walk.released.right, abs=0.11), place
        for run in said.earlier_runs:
            named = run.model[:16] if run.model else run.run[:8]
            assert place == "json" or (named in words and round_up(run.epsilon) in words), place


def test_a_model_that_carries_a_catalogue_alone_counts_no_runs(tmp_path: Path) -> None:
    """There is nothing to add up, and one cannot be in all of one."""
    for place, text in surfaces(nothing_but_the_catalogue().model, tmp_path).items():
        assert "all 1 runs" not in " ".join(text.split()), place


def test_a_page_names_runs_and_does_not_say_that_none_is_known(tmp_path: Path) -> None:
    told = surfaces(warm().model, tmp_path)["page"]
    assert "Those that are in this model are named above" in " ".join(told.split())


def test_attacker_curve_and_shares_are_about_all_of_it(walk: Walk, tmp_path: Path) -> None:
    document: Document = write_document(walk.model.save(tmp_path / "model"))
    content = document.to_dict()
    meaning, total = content["meaning"], walk.released
    if total.right is not None:
        assert meaning["right_guess_at_even_odds"] == pytest.approx(total.right, abs=2e-4)
        assert document.meaning is not None
        assert document.meaning.right_guess == pytest.approx(total.right, abs=2e-4)
    if total.squares and not total.trials:
        mu, direct = math.sqrt(total.squares), total.direct
        for rate, power in zip(
            (0.1, 0.5), (document.meaning.curve[10], document.meaning.curve[50]), strict=True
        ):
            exact = direct + (1 - direct) * norm.cdf(norm.ppf(rate / (1 - direct)) + mu)
            assert power == pytest.approx(float(exact), abs=1e-3)
    assert sum(cost["share"] for cost in content["costs"]) == pytest.approx(1.0, abs=1e-6)
    assert in_a_hundred(meaning["right_guess_at_even_odds"]) in page(document)


def test_what_a_silo_has_refined_says_first_everywhere_that_it_is_not_private(tmp_path: Path) -> None:
    shared = lists_over_silos().model
    model = discreet.silos.refined(shared, people().take_users(slice(0, 600)))
    assert not model.statement.private
    assert model.statement.epsilon is None
    for place, text in surfaces(model, tmp_path).items():
        words = " ".join(text.split())
        assert "not private" in words.lower(), place
        assert not re.search(r"epsilon \d", words), place


def test_a_signature_covers_the_sum() -> None:
    said = warm().model.statement
    for change in ({"epsilon": said.own.epsilon}, {"earlier_runs": []}, {"this_run": None}, {"mu": 0.1}):
        with pytest.raises(discreet.errors.ModelInvalid):
            Statement.from_json(json.dumps(json.loads(said.to_json()) | change))


def test_the_ledger_counts_a_start_or_refuses_it(tmp_path: Path) -> None:
    """The start was trained elsewhere: a cap of 3 has no room for a run of 2 that carries one of 4."""
    ledger = LedgerFile(tmp_path / "shop.ledger")
    ledger.set_cap(Budget(3.0, DELTA))
    with pytest.raises(discreet.errors.BudgetExceeded, match="which the new model carries"):
        fitted(people(1), cold().model, ledger)
    ledger.set_cap(Budget(9.0, DELTA))
    for runs in (1, 2):
        model, _ = fitted(people(1), cold().model, ledger)
        known = model.statement.earlier
        assert known is not None
        assert known.runs == runs  # the start once, and then the run before
    both = Ledger(Budget(9.0, DELTA))
    both.charge("the start", mu=cold().model.statement.mu or 0.0)
    for _ in range(2):
        both.charge("a run", mu=SECOND.mu)
    assert ledger.account().epsilon(DELTA) == pytest.approx(both.epsilon_spent, rel=1e-9)
