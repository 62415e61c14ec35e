"""The document: numbers that follow from the statement, digests that others can compute, words that fit."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import pytest

from discreet.errors import ModelInvalid
from discreet.privacy.statement import Statement
from discreet.statements import Document, write_document
from discreet.statements.document import text_lines
from discreet.statements.page import page
from discreet.statements.words import answers, headline, in_a_hundred
from discreet.version import __version__
from tests.model.models import make_model
from tests.statements.test_stored_models import FIXTURES

CENTRAL = FIXTURES / "central"


def document(name: str) -> Document:
    return write_document(FIXTURES / name)


def test_attacks_follow_from_mu() -> None:
    content = document("central").to_dict()
    mu, normal = content["statement"]["mu"], NormalDist()
    for attack, rate in zip(content["meaning"]["attacks"], (0.01, 0.05), strict=True):
        power = normal.cdf(normal.inv_cdf(rate) + mu)
        assert attack["false_alarms"] == rate
        assert attack["detected"] == pytest.approx(power, rel=1e-12)
        assert attack["alarm_right"] == pytest.approx(power / (power + rate), rel=1e-12)
    assert content["meaning"]["right_guess_at_even_odds"] == pytest.approx(normal.cdf(mu / 2), rel=1e-12)
    assert content["meaning"]["follows_from"] == "mu, exactly"


@pytest.mark.parametrize(
    ("name", "follows"),
    [
        ("discovered", "mu, and the part of delta"),
        ("tuned", "Rényi bound on the whole selection"),
        ("prototypes", "epsilon alone"),
        ("devices", "epsilon alone"),
        ("silos", "mu, exactly"),
    ],
)
def test_it_says_what_the_bounds_follow_from(name: str, follows: str) -> None:
    meaning = document(name).meaning
    assert meaning is not None
    assert follows in meaning.follows_from


def test_digests_are_those_of_sha256sum() -> None:
    model = document("central").to_dict()["model"]
    names = sorted({path.name for path in CENTRAL.iterdir()} - {"manifest.json"})
    printed = subprocess.run(
        ["sha256sum", *names], cwd=CENTRAL, capture_output=True, check=True, text=True
    ).stdout
    catalogue, description, arrays, statement = printed.splitlines(keepends=True)
    assert description.endswith("model.json\n")
    assert model["files"] == {line.split()[1]: line.split()[0] for line in printed.splitlines()}
    assert model["catalogue"] == catalogue.split()[0]
    lines = catalogue + arrays + f"{model['settings']}  settings\n" + statement
    assert model["digest"] == hashlib.sha256(lines.encode()).hexdigest()
    stored = json.loads((CENTRAL / "model.json").read_text())
    del stored["written"]
    compact = json.dumps(stored, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert model["settings"] == hashlib.sha256(compact.encode()).hexdigest()


def test_a_tuned_model_bears_no_date(tmp_path: Path) -> None:
    """When a search ended tells something about how many trials there were, which must stay secret."""
    from discreet.model import Model

    saved = Model.load(FIXTURES / "tuned").save(tmp_path / "again")
    description = json.loads((saved / "model.json").read_text())
    assert description["written"] == {"by": __version__}
    text = "\n".join(text_lines(write_document(saved)))
    assert "no date, as it would tell how long the search" in text


def test_a_statement_that_does_not_fit_the_arrays_is_refused(tmp_path: Path) -> None:
    folder = make_model("explicit").save(tmp_path / "model")
    (folder / "statement.json").write_text(Statement.nothing_released().to_json())
    manifest = json.loads((folder / "manifest.json").read_text())
    digest = hashlib.sha256((folder / "statement.json").read_bytes()).hexdigest()
    manifest["files"]["statement.json"] = digest
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelInvalid, match="nothing was released, but the model has learnt"):
        write_document(folder)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "central",
            ["Every person", "Anybody who gets the model", "epsilon 1: strong", "Nothing of this"],
        ),
        (
            "silos",
            ["Every person", "the server included", "epsilon 5: moderate", "Nothing of this"],
        ),
        (
            "devices",
            ["Every person", "the collector included", "epsilon 4: very weak", "Nothing of this"],
        ),
        ("not-private", ["Nobody", "Against nothing", "Not at all", "There was none"]),
    ],
)
def test_the_four_questions(name: str, expected: list[str]) -> None:
    found = document(name)
    short = [answer.short for answer in answers(found.statement, found.meaning)]
    assert all(part in answer for part, answer in zip(expected, short, strict=True))


def test_who_must_be_trusted_is_said() -> None:
    silos = answers(document("silos").statement, None)[1].more
    assert "As long as 2 of 3 silos add the noise" in silos
    assert "A person in two silos has epsilon 11.27 instead" in silos
    assert "Not against whoever trained it" in answers(document("central").statement, None)[1].more
    each = answers(document("prototypes").statement, None)[1].more
    assert each.startswith("Not against one's own silo.")


def test_the_headline_is_in_the_terms_of_the_field() -> None:
    assert (
        headline(document("central").statement)
        == "user-level differential privacy, epsilon 1 at delta 1e-6 (mu 0.2368)"
    )
    assert headline(document("devices").statement) == (
        "user-level local differential privacy, epsilon 4 at delta 0"
    )
    assert "a trial" in headline(document("tuned").statement)
    assert headline(document("not-private").statement).startswith("Not private: trained by plain ALS")
    assert headline(Statement.nothing_released()).startswith("Nothing computed from ratings")


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.01, "1"),
        (0.018301, "1.9"),
        (0.0180, "1.8"),
        (0.99999, "100"),
        (1.0, "100"),
        (0.0, "0"),
        (0.3 * 0.1, "3"),
    ],
)
def test_shares_are_rounded_up(share: float, shown: str) -> None:
    assert in_a_hundred(share) == shown


def test_the_same_document_gives_the_same_bytes_and_json_has_all() -> None:
    one, two = (document("silos").to_json() for _ in range(2))
    assert one == two
    content = json.loads(one)
    assert Statement.from_json(json.dumps(content["statement"])) == document("silos").statement
    assert sum(cost["share"] for cost in content["costs"]) == pytest.approx(1.0)
    assert [cost["times"] for cost in content["costs"]] == [1, 1, 4]


def known_to_a_ledger(**fields: object) -> Document:
    known = document("central")
    runs = {
        "ledger": "shop",
        "runs": 3,
        "earlier_epsilon": 1.9,
        "epsilon": 2.31,
        "delta": 1e-6,
        "head": "0" * 64,
    }
    content = known.statement.model_dump(mode="json") | {"domain": ["ratings from 1 to 5"]}
    statement = Statement.from_json(json.dumps({**content, "earlier": {**runs, **fields}}))
    return replace(known, model=replace(known.model, statement=statement))


def test_what_earlier_runs_cost_and_what_is_left_is_said() -> None:
    found = known_to_a_ledger(cap_epsilon=4.0, cap_delta=1e-6)
    left = answers(found.statement, found.meaning)[3]
    assert left.short == "epsilon 2.31 spent, within a cap of 4"
    assert left.more == (
        "3 earlier runs on the same ratings (shop) cost epsilon 1.9. With this one it is epsilon 2.31 at delta 1e-6."
    )
    html = page(found)
    assert html.count(left.more) == 2
    assert "<li>ratings from 1 to 5</li>" in html
    other = known_to_a_ledger(cap_epsilon=4.0, cap_delta=1e-5)
    left = answers(other.statement, other.meaning)[3]
    assert left.short == "epsilon 2.31 spent, within a cap of 4 at delta 1e-5"
    first = known_to_a_ledger(runs=0, group="May")
    left = answers(first.statement, first.meaning)[3]
    assert left.short == "epsilon 2.31 spent, no limit set"
    assert left.more.startswith("No earlier run on the same ratings (shop, group May) is known.")
    assert "Not recorded in this statement" in page(document("central"))
