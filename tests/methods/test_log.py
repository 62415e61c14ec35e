"""The library's logger: silent unless asked, and never a word about anybody's ratings."""

from __future__ import annotations

import logging

import pytest

from discreet import Budget, Popularity, Ratings
from discreet.errors import DiscreetError
from discreet.methods.log import noted

ROWS = {"u": [f"secret-user-{n % 50}" for n in range(200)], "i": [f"secret-item-{n % 7}" for n in range(200)]}


def ratings() -> Ratings:
    return Ratings.from_frame(ROWS, user="u", item="i", catalogue=[f"secret-item-{n}" for n in range(7)])


def test_a_run_is_told_and_no_rating_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="discreet"):
        Popularity().fit(ratings(), Budget(9.0, 1e-6))
    words = [record.getMessage() for record in caplog.records]
    assert words[0] == "training popularity within epsilon 9, delta 1e-06"
    assert words[-1] == "trained popularity"
    assert len(words) > 2
    assert "secret" not in caplog.text
    assert not {"50", "200"} & set(caplog.text.replace(":", " ").split())


def test_a_refusal_is_told_by_its_kind(caplog: pytest.LogCaptureFixture) -> None:
    wrong = Ratings.from_frame(ROWS, user="u", item="i")
    with caplog.at_level(logging.INFO, logger="discreet"), pytest.raises(DiscreetError):
        Popularity().fit(wrong, Budget(9.0, 1e-6))
    assert caplog.records[-1].getMessage() == "training popularity was refused: CatalogueMissing"
    assert caplog.records[-1].levelno == logging.WARNING


def test_nothing_is_printed_unless_the_program_asks(capsys: pytest.CaptureFixture[str]) -> None:
    assert any(isinstance(one, logging.NullHandler) for one in logging.getLogger("discreet").handlers)
    Popularity().fit(ratings(), Budget(9.0, 1e-6))
    assert capsys.readouterr() == ("", "")


def test_only_stages_with_a_public_total_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """How many workers add up follows from the number of ratings: it is for who called, and not for the log."""
    caplog.set_level(logging.DEBUG, logger="discreet")
    told: list[tuple[str, int, int]] = []
    report = noted(lambda *stage: told.append(stage))
    report("training", 1, 4)
    report("adding up", 2, 3)
    assert told == [("training", 1, 4), ("adding up", 2, 3)]
    assert [record.getMessage() for record in caplog.records] == ["training: 1 of 4"]
