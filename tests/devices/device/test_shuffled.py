"""Names of reports: the same when sent again, never alike in two rounds, and nothing to whoever lacks the secret."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from discreet.devices.device.question import Question
from discreet.devices.device.shuffled import (
    ENVELOPE_BYTES,
    Shuffled,
    envelope,
    envelope_info,
    read_offer,
    report_id,
    report_info,
)
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.terms import Terms, TermsInvalid
from discreet.devices.sealing import Opener, new_secret
from tests.devices.support.questions import question

TERMS = Terms("films", 4.0, 8, 50, (1.0, 5.0), "ab" * 32)
KEYS = (os.urandom(32), os.urandom(32))


def rounds(count: int, groups: int = 4) -> list[Question]:
    return [question("popularity", round=number, participants=(1, groups)) for number in range(1, count + 1)]


def test_a_report_keeps_its_name_and_no_other_round_or_task_or_device_has_it() -> None:
    secrets = [os.urandom(32) for _ in range(20)]
    names = {}
    for asked in [*rounds(5), question("popularity", task="books")]:
        for secret in secrets:
            name = report_id(secret, asked)
            assert name == report_id(secret, asked)
            assert asked.takes_part(name)
            names[name] = (asked.task, asked.round, secret)
    assert len(names) == 6 * len(secrets)


def test_names_look_drawn_by_chance() -> None:
    """Bits of a thousand names, and of the same devices' names in the next round, are even and unrelated."""
    first, second = (question("popularity", round=number) for number in (1, 2))
    secrets = [os.urandom(32) for _ in range(1000)]
    bits = np.array(
        [
            [np.unpackbits(np.frombuffer(report_id(secret, asked), np.uint8)) for asked in (first, second)]
            for secret in secrets
        ]
    )
    bound = 4.5 * 0.5 / np.sqrt(bits[:, 0].size)
    assert abs(bits[:, 0].mean() - 0.5) < bound
    assert abs((bits[:, 0] == bits[:, 1]).mean() - 0.5) < bound
    places = {first.place(report_id(secret, first)) for secret in secrets}
    assert len(places) > 500  # of 16 rotations times 64 coordinates: all over


def test_an_envelope_is_opened_by_both_keys_one_inside_the_other() -> None:
    collector, shuffler = Opener(new_secret()), Opener(new_secret())
    keys = Shuffled(bytes.fromhex(collector.public_key), bytes.fromhex(shuffler.public_key), os.urandom(32))
    asked, device = question("offsets"), os.urandom(16)
    sent = envelope(keys, asked, device, 1)
    assert set(sent) == {"task", "round", "envelope"}
    body = bytes.fromhex(sent["envelope"])
    assert len(body) == ENVELOPE_BYTES
    assert device not in body
    inside = shuffler.open(body, envelope_info("films", 1))
    assert inside is not None
    assert inside[:16] == device
    assert report_id(keys.secret, asked) not in inside
    assert collector.open(inside[16:], report_info("films", 1)) == report_id(keys.secret, asked) + b"\1"
    assert collector.open(inside[16:], report_info("films", 2)) is None
    assert collector.open(body, envelope_info("films", 1)) is None
    assert shuffler.open(inside[16:], report_info("films", 1)) is None
    assert len(envelope(keys, asked, device, 0)["envelope"]) == len(sent["envelope"])


def test_how_a_task_was_joined_never_changes(tmp_path: Path) -> None:
    with DeviceStore(tmp_path / "a.sqlite") as store:
        store.enrol(TERMS, KEYS)
        kept = store.shuffled("films")
        assert kept is not None
        store.enrol(TERMS, KEYS)
        assert store.shuffled("films") == kept
        for other in (None, (KEYS[1], KEYS[0]), (KEYS[0], os.urandom(32))):
            with pytest.raises(TermsInvalid, match="with and without a shuffler"):
                store.enrol(TERMS, other)
    with DeviceStore(tmp_path / "b.sqlite") as store:
        store.enrol(TERMS)
        assert store.shuffled("films") is None
        with pytest.raises(TermsInvalid, match="with and without a shuffler"):
            store.enrol(TERMS, KEYS)
        assert store.shuffled("films") is None


def test_secrets_of_two_files_and_two_tasks_differ(tmp_path: Path) -> None:
    found = set()
    for name in ("a", "b"):
        with DeviceStore(tmp_path / name) as store:
            for task in ("films", "books"):
                terms = Terms(task, 4.0, 8, 50, (1.0, 5.0), "ab" * 32)
                store.enrol(terms, KEYS)
                kept = store.shuffled(task)
                assert kept is not None
                found.add(kept.secret)
    assert len(found) == 4


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"collector_key": "cd" * 32}, "another key"),
        ({"shuffler_key": "ab" * 32}, "one key"),
        ({"shuffler_key": "xy"}, "64 digits"),
        ({"terms": {}}, "exactly the fields"),
        ({"terms": None}, "one JSON object"),
    ],
)
def test_an_offer_that_would_hide_nothing_is_refused(changes: dict[str, object], why: str) -> None:
    offer = {"collector_key": "ab" * 32, "shuffler_key": "ef" * 32, "terms": json.loads(TERMS.to_json())}
    assert read_offer(json.dumps(offer).encode(), "ab" * 32)[0] == TERMS
    with pytest.raises(TermsInvalid, match=why):
        read_offer(json.dumps({**offer, **changes}).encode(), "ab" * 32)
    with pytest.raises(TermsInvalid, match="one JSON object"):
        read_offer(b"no", "ab" * 32)
