"""A silo holds the server to the agreement: whatever else is asked is refused, and costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Budget, Catalogue, Ratings
from discreet.catalogue import RatingScale
from discreet.errors import BudgetInvalid, Refused, SettingsInvalid
from discreet.methods.budgeted.public.queries import RoundQuery
from discreet.privacy.gaussian.energy_scaled import Units
from discreet.silos.shared.messages import QuestionMessage
from discreet.silos.shared.position import Position
from discreet.silos.silo import silo as silos
from discreet.silos.silo.silo import Silo
from tests.silos.worlds import Run, agree, asked, dump, private_key, world

RATINGS = world(users=300)
Change = Callable[[QuestionMessage], QuestionMessage]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agree(RATINGS, 4, honest=3), fixed=False)
    yield made
    made.close()


def refused(silo: Silo, message: QuestionMessage | bytes, words: str) -> None:
    """Refused in these words; nothing is charged, stored or sent, and the reason is kept."""
    before, spent = dump(silo), silo.status()["charged_mu"]
    body = message if isinstance(message, bytes) else message.encode()
    with pytest.raises(Refused, match=words) as caught:
        silo.answer(body)
    assert dump(silo) == before
    assert silo.status()["charged_mu"] == spent
    assert str(caught.value)[:500] in silo.status()["refusals"]


def asks(**changes: Any) -> Change:
    """A change to the question itself."""

    def change(message: QuestionMessage) -> QuestionMessage:
        question = message.question
        assert isinstance(question, RoundQuery)
        wanted = {
            name: value(getattr(question, name)) if callable(value) else value
            for name, value in changes.items()
        }
        return replace(message, question=replace(question, **wanted))

    return change


def release(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda message: replace(
        message, release={name: change(value) for name, value in message.release.items()}
    )


CHANGES: dict[str, tuple[Change, str]] = {
    "a larger mu": (asks(mu=lambda mu: mu * 1.0001), "less noise than agreed"),
    "another name": (asks(name="more, please"), "is due"),
    "a wider range": (
        asks(side=lambda side: replace(side, scale=RatingScale((0.0, 10.0)))),
        "another rating range",
    ),
    "another centre": (asks(side=lambda side: replace(side, centre=0.0)), "side.centre differs"),
    "one item weighed up": (
        asks(item_weights=lambda weights: weights * np.where(np.arange(len(weights)) == 3, 1e6, 1.0)),
        "item_weights differs",
    ),
    "other units": (
        asks(units=lambda units: Units(units.weight * 2, units.moment)),
        "units.weight differs",
    ),
    "fewer items": (
        asks(side=lambda side: replace(side, offsets=side.offsets[:-1])),
        "another shape",
    ),
    "another item side": (
        asks(side=lambda side: replace(side, offsets=side.offsets + 0.01)),
        "side.offsets differs",
    ),
    "another start": (asks(frame=lambda frame: replace(frame, start=not frame.start)), "frame.start differs"),
    "the round after": (lambda message: replace(message, round=message.round + 1), "is due"),
    "the round before": (lambda message: replace(message, round=message.round - 1), "second, different"),
    "another run": (lambda message: replace(message, run="0" * 32), "another run"),
    "a repeat with the same silos": (lambda message: replace(message, attempt=1), "fewer"),
    "two repeats for one silo lost": (
        lambda message: replace(message, attempt=2, roster=message.roster[:-1]),
        "at least one more",
    ),
    "fewer silos without a repeat": (
        lambda message: replace(message, roster=message.roster[:-1]),
        "not those of the agreement",
    ),
    "a repeat with too few": (
        lambda message: replace(message, attempt=1, roster=message.roster[:1]),
        "too few",
    ),
    "a stranger among the silos": (
        lambda message: replace(message, attempt=1, roster=("silo-00", "silo-01", "zoe")),
        "never with others",
    ),
    "a larger roster": (lambda message: replace(message, roster=(*message.roster, "zoe")), "not those"),
    "one silo twice": (
        lambda message: replace(message, attempt=1, roster=("silo-00", "silo-00", "silo-01")),
        "fewer",
    ),
    "a round without this silo": (
        lambda message: replace(message, attempt=1, roster=message.roster[1:]),
        "out of this run",
    ),
    "no release": (lambda message: replace(message, release={}), "does not answer its question"),
    "another release": (release(lambda value: value * 2 + 7.0), "differs"),
    "a release of another shape": (release(lambda value: value[:-1]), "does not answer its question"),
    "a release of nonsense": (
        release(lambda value: value * 0.0 - 1e300),
        "cannot be used|differs",
    ),
}


def test_what_was_not_agreed_is_refused_and_costs_nothing(run: Run) -> None:
    for _ in range(3):
        run.step()
    silo, message = run.silos["silo-00"], asked(run)
    for change, words in CHANGES.values():
        refused(silo, change(message), words)
    assert silo.answer(message.encode()), "the right question is still answered"


def test_numbers_that_are_none_are_refused(run: Run) -> None:
    run.step()
    message, silo = asked(run), run.silos["silo-00"]
    for strange in (np.nan, np.inf):
        refused(silo, asks(item_weights=lambda old, new=strange: np.full_like(old, new))(message), "none")
        refused(silo, release(lambda old, new=strange: np.full_like(old, new))(message), "none")  # type: ignore[misc]


def test_the_first_round_is_the_first(run: Run) -> None:
    message, silo = asked(run), run.silos["silo-00"]
    refused(silo, replace(message, round=1), "where round 0 is due")
    refused(silo, replace(message, release={"activity": np.zeros(8)}), "before the first round")
    refused(silo, replace(message, question=replace(message.question, mu=1.0)), "less noise")


def test_a_release_that_hides_the_users_ends_the_run(run: Run) -> None:
    run.step()
    message = asked(run)
    few = {"activity": np.zeros_like(message.release["activity"])}
    refused(run.silos["silo-00"], replace(message, release=few), "the run ends here")


def test_no_release_however_wild_does_more_than_be_refused(run: Run) -> None:
    rng, silo = np.random.default_rng(8), run.silos["silo-00"]
    wild = np.array([0.0, 1.0, -1.0, 2.0**53, -(2.0**53), 1e150, -1e150, 1e308, -1e308, 1e-308])
    for _ in range(4):
        run.step()
        message = asked(run)
        for _ in range(30):
            chosen = {
                name: np.where(rng.random(value.shape) < rng.random(), rng.choice(wild, value.shape), value)
                for name, value in message.release.items()
            }
            before = dump(silo)
            try:
                silo.answer(replace(message, release=chosen).encode())
            except Refused:
                assert dump(silo) == before
            else:
                # What was changed makes no difference to the question: the silo has answered the right one.
                return


def test_a_round_more_than_agreed_is_refused(run: Run) -> None:
    silo = run.silos["silo-00"]
    while run.step():
        pass
    last = silo.status()["round"]
    body = run.coordinator._store.body("question", last, 0)
    assert body is not None
    message = QuestionMessage.decode(body, run.agreement)
    assert run.coordinator.finished
    taken = run.coordinator._last_release
    refused(silo, replace(message, round=last + 1, release=taken), "a round more than was agreed")
    refused(
        silo,
        replace(message, round=last + 1, attempt=1, roster=message.roster[:-1], release=taken),
        "is over",
    )


def test_the_same_question_gets_the_same_bytes_and_another_one_none(run: Run) -> None:
    silo = run.silos["silo-00"]
    for _ in range(3):
        message = asked(run)
        first, before = silo.answer(message.encode()), dump(silo)
        assert silo.answer(message.encode()) == first
        assert dump(silo) == before
        cheaper = replace(message, question=replace(message.question, mu=message.question.mu * 0.5))
        refused(silo, cheaper, "second, different question")
        run.step()


def test_two_accounts_of_one_release_are_refused(run: Run) -> None:
    run.step()
    silo, message = run.silos["silo-00"], asked(run)
    silo.answer(message.encode())
    again = replace(message, attempt=1, roster=message.roster[:-1])
    refused(silo, release(lambda value: value + 1.0)(again), "two accounts")


def test_a_cheaper_question_is_answered_and_charged_as_asked(run: Run) -> None:
    message, silo = asked(run), run.silos["silo-00"]
    silo.answer(replace(message, question=replace(message.question, mu=message.question.mu / 2)).encode())
    assert silo.status()["charged_mu"] == pytest.approx(message.question.mu / 2)


def test_the_ledger_has_the_last_word(run: Run) -> None:
    """Should the protocol itself ask for too much, the budget still holds."""
    position = Position(run.agreement)
    assert position.question is not None
    message, silo = asked(run), run.silos["silo-00"]
    position = silo._position.protocol._position()
    position._asked = replace(position.query, mu=50.0)
    refused(silo, replace(message, question=replace(message.question, mu=50.0)), "only mu")


def test_a_failure_before_the_answer_is_stored_costs_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    message, silo = asked(run), run.silos["silo-00"]
    before = dump(silo)

    def broken(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(silo, "_keep", broken)
        with pytest.raises(OSError, match="full"):
            silo.answer(message.encode())
    assert dump(silo) == before
    assert silo.status()["charged_mu"] == 0.0
    silo.answer(message.encode())
    assert silo.status()["charged_mu"] == pytest.approx(message.question.mu)


def test_reasons_are_kept_but_not_for_ever(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silos, "_MOST_REFUSALS", 5)
    silo, message = run.silos["silo-00"], asked(run)
    for number in range(1, 9):
        with pytest.raises(Refused):
            silo.answer(replace(message, round=number).encode())
    silo.close()
    run.silos["silo-00"] = run.open_silo("silo-00")
    assert len(run.silos["silo-00"].status()["refusals"]) == 5


def open_silo(folder: Path, ratings: Ratings, **changes: Any) -> Silo:
    agreement = changes.pop("agreement", None) or agree(RATINGS, 3)
    options = {"name": "silo-00", "private_key": private_key("silo-00")} | changes
    return Silo(folder / "silo.db", agreement, ratings=ratings, **options)


def test_ratings_that_are_not_those_agreed_on_are_refused(tmp_path: Path) -> None:
    assert RATINGS.catalogue is not None
    reversed_items = Catalogue(list(RATINGS.catalogue.ids[::-1]))
    with pytest.raises(Refused, match="catalogue"):
        open_silo(tmp_path, RATINGS.with_catalogue(reversed_items))
    with pytest.raises(Refused, match="catalogue"):
        open_silo(tmp_path, replace(RATINGS, catalogue=None, provisional_ids=RATINGS.catalogue.ids))
    with pytest.raises(Refused, match="range"):
        open_silo(tmp_path, replace(RATINGS, rating_range=(0.0, 6.0)))
    with pytest.raises(Refused, match="range"):
        open_silo(tmp_path, world("clicks", users=300))
    for few in (RATINGS.take_users([0]), RATINGS.take_users(slice(0, 0))):
        with pytest.raises(Refused, match="two users"):
            open_silo(tmp_path, few)
    with pytest.raises(Refused, match="private key"):
        open_silo(tmp_path, RATINGS, private_key=private_key("silo-01"))
    with pytest.raises(Refused, match="private key"):
        open_silo(tmp_path, RATINGS, name="stranger")
    assert not list(tmp_path.iterdir()), "a refusal leaves nothing behind"


def test_a_store_serves_one_run_one_silo_and_one_process(tmp_path: Path) -> None:
    agreement = agree(RATINGS, 3)
    with open_silo(tmp_path, RATINGS, agreement=agreement), pytest.raises(SettingsInvalid, match="in use"):
        open_silo(tmp_path, RATINGS, agreement=agreement)
    with pytest.raises(SettingsInvalid, match="another run"):
        open_silo(tmp_path, RATINGS)
    with pytest.raises(SettingsInvalid, match="another run"):
        open_silo(tmp_path, RATINGS, agreement=agreement, name="silo-01", private_key=private_key("silo-01"))
    (tmp_path / "silo.db").write_bytes(b"something else entirely, of some length" * 100)
    with pytest.raises(SettingsInvalid, match="not a store"):
        open_silo(tmp_path, RATINGS)


def test_a_budget_too_small_for_the_crowd_is_refused_by_everybody(tmp_path: Path) -> None:
    run = Run(tmp_path, RATINGS, agree(RATINGS, 2, budget=Budget(0.001, 1e-9)), fixed=False)
    run.step()
    with pytest.raises(BudgetInvalid, match="too small"):
        run.coordinator.question()
    assert run.coordinator.status()["state"] == "failed"
    run.close()


def test_where_the_server_adds_the_noise_it_cannot_lower_the_cost_either(tmp_path: Path) -> None:
    """The totals that leave are exact, so a lower cost would only make the silo's own account too small."""
    ratings = world(users=200)
    run = Run(tmp_path, ratings, agree(ratings, 3, noise="server"))
    message = asked(run)
    cheaper = replace(message, question=replace(message.question, mu=message.question.mu / 2))
    refused(run.silos["silo-00"], cheaper, "was planned")
    run.close()
