"""The agreement: the same bytes everywhere, and nothing impossible in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet import Catalogue
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.methods.public.settings import PrivateSettings
from discreet.silos.shared.agreement import Agreement
from tests.silos.worlds import agree, world

RATINGS = world(users=50)


def test_it_comes_back_from_its_file_to_the_last_bit(tmp_path: Path) -> None:
    for kind, method, settings in (
        ("ratings", "budgeted", BudgetedSettings(growth=1.0 / 3.0)),
        ("clicks", "popularity", PrivateSettings()),
    ):
        agreement = agree(world(kind, users=50), 3, method=method, settings=settings)
        agreement.save(tmp_path / "agreement.json")
        back = Agreement.load(tmp_path / "agreement.json")
        assert back == agreement
        assert (back.digest, back.run_id) == (agreement.digest, agreement.run_id)


def test_every_field_is_in_the_digest() -> None:
    stored = json.loads(agree(RATINGS, 3).model_dump_json())
    changes: dict[str, Any] = {
        "name": "another",
        "nonce": "0" * 64,
        "silos": stored["silos"] | {"silo-00": "1" * 64},
        "epsilon": 6.5,
        "delta": 1e-6,
        "settings": stored["settings"] | {"rank": 4},
        "catalogue": "2" * 64,
        "n_items": 31,
        "rating_range": [0.0, 5.0],
        "honest": 1,
        "noise": "server",
        "seed": 1,
        "spare": 0.1,
    }
    keys_and_features = {"signing_keys", "server_key", "features", "features_digest"}
    assert set(changes) == set(stored) - {"version", "method"} - keys_and_features
    digests = {Agreement.model_validate_json(json.dumps(stored)).digest}
    for field, value in changes.items():
        digests.add(Agreement.model_validate_json(json.dumps(stored | {field: value})).digest)
    assert len(digests) == 1 + len(changes)


def test_two_runs_on_the_same_terms_share_nothing() -> None:
    assert agree(RATINGS, 3).run_id != agree(RATINGS, 3).run_id


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"honest": 4}, "honest"),
        ({"honest": 0}, "honest"),
        ({"noise": "none"}, "noise"),
        ({"rating_range": (5.0, 1.0)}, "range"),
        ({"settings": BudgetedSettings(discover_share=0.1)}, "catalogue"),
        ({"silos": {"a": "1" * 64, "b": "1" * 64}}, "same public key"),
        ({"silos": {"a": "1" * 64, "A": "2" * 64}}, "capitals"),
        ({"silos": {"a b": "1" * 64}}, "silos"),
        ({"silos": {"a": "xyz"}}, "silos"),
        ({"silos": {}}, "silos"),
        ({"seed": -1}, "seed"),
        ({"catalogue": Catalogue(["only one"])}, "n_items"),
    ],
)
def test_what_cannot_be_agreed_on_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsInvalid, match=words):
        agree(RATINGS, 3, **changes)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agreement.json"
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        Agreement.load(path)
    for text in (b"", b"[]", b"\xff\xfe", b"{}", b"{" * 10_000):
        path.write_bytes(text)
        with pytest.raises(SettingsInvalid):
            Agreement.load(path)
    path.write_bytes(b" " * (1 << 21))
    with pytest.raises(SettingsInvalid, match="too large"):
        Agreement.load(path)
    stored = json.loads(agree(RATINGS, 3).model_dump_json())
    for extra in ({"surprise": 1}, {"epsilon": "1"}, {"version": 2}):
        path.write_text(json.dumps(stored | extra))
        with pytest.raises(SettingsInvalid):
            Agreement.load(path)
    path.write_text(json.dumps(stored | {"epsilon": -1.0}))
    with pytest.raises(BudgetInvalid):
        Agreement.load(path)


def test_the_smallest_roster() -> None:
    assert agree(RATINGS, 1).smallest_roster == 1
    assert agree(RATINGS, 3, honest=3).smallest_roster == 2
    assert agree(RATINGS, 4, honest=3).smallest_roster == 2
    assert agree(RATINGS, 4, honest=1).smallest_roster == 4
    assert agree(RATINGS, 4, honest=1, noise="server").smallest_roster == 2


def test_silos_that_are_left_out_may_all_have_been_honest() -> None:
    agreement = agree(RATINGS, 5, honest=3)
    assert [agreement.honest_among(roster) for roster in (5, 4, 3)] == [3, 2, 1]


def test_a_file_does_not_choose_what_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads an agreement that names a class nobody asked for runs none of its code."""
    mark = tmp_path / "ran"
    (tmp_path / "planted_method.py").write_text(
        f"open({str(mark)!r}, 'w').close()\nraise SystemExit('hello')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "agreement.json"
    agree(RATINGS, 2).save(file)
    text = file.read_text().replace('"method": "budgeted"', '"method": "planted_method:Anything"')
    file.write_text(text)
    with pytest.raises(SettingsInvalid, match="DISCREET_METHODS=planted_method:Anything"):
        Agreement.load(file)
    assert not mark.exists()
    (tmp_path / "planted_method.py").write_text("raise RuntimeError('hello')\n")
    monkeypatch.setenv("DISCREET_METHODS", "planted_method:Anything")
    with pytest.raises(SettingsInvalid, match="hello"):
        Agreement.load(file)
