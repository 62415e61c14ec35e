"""A silo's part in a run, in the ledger of its own people."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet import Budget, LedgerFile
from discreet.errors import BudgetExceeded, Refused
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.silos.shared.agreement import PrototypeAgreement
from discreet.silos.silo import silo as silo_module
from discreet.silos.silo.party import begin_run
from discreet.silos.silo.prototypes import PrototypeSilo
from discreet.silos.silo.silo import Silo
from tests.silos.worlds import BUDGET, Run, agree, private_key, world

RATINGS = world(users=300)
NAME = "silo-00"


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerFile:
    return LedgerFile(tmp_path / "north.ledger")


def kept(run: Run, journal: LedgerRun) -> Silo:
    """The first silo again, this time with a ledger."""
    run.silos[NAME].close()
    store = run.folder / f"{NAME}.db"
    run.silos[NAME] = Silo(store, run.agreement, NAME, private_key(NAME), run.parts[NAME], journal=journal)
    return run.silos[NAME]


def test_a_silo_enters_every_charge_and_its_statement_says_what_came_before(
    tmp_path: Path, ledger: LedgerFile
) -> None:
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        run = Run(folder, RATINGS, agree(RATINGS, 2, seed=number), fixed=False)
        with begin_run(ledger, run.agreement, NAME) as journal:
            silo = kept(run, journal)
            run.finish()
            statement = silo.statement()
            journal.end()
        run.close()
        entry = list(ledger.account().runs.values())[-1]
        assert [charge.name for charge in entry.charges] == [one.name for one in statement.releases]
        assert (entry.state, entry.asked.trust) == ("ended", "silos")
        assert entry.epsilon == pytest.approx(BUDGET.epsilon)
        assert statement.earlier is not None
        assert statement.earlier.runs == number
    assert ledger.account().mu == pytest.approx(BUDGET.mu * 2**0.5)


def test_a_silo_that_was_stopped_goes_on_and_is_charged_again_only_for_what_it_had_not_stored(
    tmp_path: Path, ledger: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, RATINGS, agree(RATINGS, 2), fixed=False)
    with begin_run(ledger, run.agreement, NAME) as journal:
        silo = kept(run, journal)
        run.step()
        question = run.coordinator.question()
        assert question is not None
        with monkeypatch.context() as cut:
            cut.setattr(silo_module, "mask", lambda *given, **more: 1 / 0)
            with pytest.raises(ZeroDivisionError):  # after the charge, before the answer is stored
                silo.answer(question)
        first = silo.answer(question)
        assert silo.answer(question) == first  # the same bytes, no charge
    with begin_run(ledger, run.agreement, NAME) as journal:
        silo = kept(run, journal)
        assert silo.answer(question) == first
        run.finish()
        journal.end()
    stored = [one.name for one in silo.statement().releases]
    run.close()
    (entry,) = ledger.account().runs.values()
    names = [charge.name for charge in entry.charges]
    assert names == [stored[0], stored[1], *stored[1:]]
    assert entry.charged.mu > BUDGET.mu  # more than was reserved, and it counts
    assert entry.cost.mu == entry.charged.mu


def test_a_silo_that_began_without_a_ledger_enters_what_it_has_charged(
    tmp_path: Path, ledger: LedgerFile
) -> None:
    run = Run(tmp_path, RATINGS, agree(RATINGS, 2), fixed=False)
    run.step()
    with begin_run(ledger, run.agreement, NAME) as journal:
        kept(run, journal)
        (entry,) = ledger.account().runs.values()
        assert len(entry.charges) == 1
    run.close()


def test_a_silo_without_room_under_its_cap_takes_no_part(tmp_path: Path, ledger: LedgerFile) -> None:
    ledger.set_cap(Budget(BUDGET.epsilon - 0.1, BUDGET.delta))
    with pytest.raises(BudgetExceeded):
        begin_run(ledger, agree(RATINGS, 2), NAME)


def test_repeated_charges_beyond_the_cap_are_refused(
    tmp_path: Path, ledger: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.set_cap(BUDGET)
    run = Run(tmp_path, RATINGS, agree(RATINGS, 2), fixed=False)
    with begin_run(ledger, run.agreement, NAME) as journal:
        silo = kept(run, journal)
        question = run.coordinator.question()
        assert question is not None
        with monkeypatch.context() as cut:
            cut.setattr(silo_module, "mask", lambda *given, **more: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                silo.answer(question)
        with pytest.raises(Refused, match="has no room for it"):
            run.finish()
    run.close()
    assert ledger.account().within_cap


@pytest.mark.parametrize("clustering", ["swap", "lloyd"])
def test_a_message_of_prototypes_is_entered_release_by_release(
    tmp_path: Path, ledger: LedgerFile, clustering: str
) -> None:
    assert RATINGS.catalogue is not None
    settings = PrototypeSettings.checked(
        prototypes=3, users=100, dimension=4, support=5, clustering=clustering
    )
    agreement = PrototypeAgreement.make(
        "a test",
        silos=[NAME],
        epsilon=20.0,
        catalogue=RATINGS.catalogue,
        rating_range=RATINGS.rating_range,
        settings=settings,
    )
    with begin_run(ledger, agreement, NAME) as journal:
        with PrototypeSilo(tmp_path / "a.db", agreement, NAME, RATINGS, journal=journal) as silo:
            sent = silo.answer()
            assert silo.answer() == sent
            statement = silo.statement()
        journal.end()
    assert statement is not None
    assert statement.earlier is not None
    (entry,) = ledger.account().runs.values()
    assert [charge.name for charge in entry.charges] == [one.name for one in statement.releases]
    assert entry.charges[0].price.kind == ("pure" if clustering == "swap" else "gaussian")
    assert ledger.account().epsilon(entry.asked.delta) == pytest.approx(20.0)
