"""Lines chained by hashes: whatever is done to the bytes is seen, and a crash is told from an edit."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path

import pytest

from discreet.errors import LedgerInvalid
from discreet.privacy.account.account import Account
from discreet.privacy.account.chain import encode, read_chain
from discreet.privacy.account.ledger_file import LedgerFile
from discreet.privacy.account.records import Price, Torn
from discreet.privacy.budget import Budget

BUDGET = Budget(1.0, 1e-6)
PRICE = Price(kind="gaussian", mu=BUDGET.mu)


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerFile:
    """Two runs under a cap."""
    file = LedgerFile(tmp_path / "shop.ledger")
    file.set_cap(Budget(8.0, 1e-6))
    for name in ("first", "second"):
        with file.begin(BUDGET, PRICE, method="budgeted", adaptive=False, model=name) as run:
            run.pay("round 1", Price(kind="gaussian", mu=0.1))
            run.pay("round 2", Price(kind="gaussian", mu=0.1))
            run.end()
    return file


def test_the_file_is_lines_of_json_that_its_owner_alone_can_read(ledger: LedgerFile) -> None:
    lines = ledger.path.read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["ledger", "cap", *["open", "charge", "charge", "end"] * 2]
    assert stat.S_IMODE(os.stat(ledger.path).st_mode) == 0o600
    assert [path.name for path in ledger.path.parent.iterdir()] == ["shop.ledger"]
    hashes = [json.loads(line)["hash"] for line in lines]
    assert [json.loads(line)["previous"] for line in lines[1:]] == hashes[:-1]


def test_every_edit_of_a_single_byte_is_found(ledger: LedgerFile) -> None:
    """All bytes, each replaced, removed and preceded by another; with two replacements out of 255 for each."""
    whole = ledger.path.read_bytes()
    draw = random.Random(1)
    before = Account.from_chain(read_chain(whole, "it"))
    for place in range(len(whole)):
        for new in {whole[place] ^ 1, *draw.sample(range(256), 2), ord("\n")} - {whole[place]}:
            with pytest.raises(LedgerInvalid):
                read_chain(whole[:place] + bytes([new]) + whole[place + 1 :], "it")
        with pytest.raises(LedgerInvalid):
            read_chain(whole[:place] + bytes([draw.randrange(256)]) + whole[place:], "it")
        removed = whole[:place] + whole[place + 1 :]
        if place == len(whole) - 1:
            # Nothing but the last line end is gone: no record is.
            assert Account.from_chain(read_chain(removed, "it")).runs == before.runs
        else:
            with pytest.raises(LedgerInvalid):
                read_chain(removed, "it")


def test_lines_cannot_be_dropped_swapped_doubled_or_brought_in_from_elsewhere(
    ledger: LedgerFile, tmp_path: Path
) -> None:
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    other = LedgerFile(tmp_path / "other.ledger")
    other.set_cap(Budget(100.0, 1e-3))
    foreign = other.path.read_bytes().splitlines(keepends=True)[1]
    for number in range(1, len(lines)):
        changed = [
            [*lines[:number], *lines[number], *lines[number:]],
            [*lines[:number], foreign, *lines[number:]],
        ]
        if number < len(lines) - 1:
            swapped = [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]
            changed += [[*lines[:number], *lines[number + 1 :]], swapped]
        for version in changed:
            with pytest.raises(LedgerInvalid):
                read_chain(
                    b"".join(part if isinstance(part, bytes) else bytes([part]) for part in version), "it"
                )


def test_a_cut_end_is_found_by_a_head_kept_elsewhere(ledger: LedgerFile) -> None:
    head = ledger.verify().head
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines)):
        ledger.path.write_bytes(b"".join(lines[:kept]))
        ledger.verify()  # its lines are whole
        with pytest.raises(LedgerInvalid, match="set back"):
            ledger.verify(head)
    ledger.path.write_bytes(b"".join(lines))
    for old in ledger.verify().hashes:
        ledger.verify(old)


def test_a_torn_last_line_is_told_from_damage_and_taken_away_by_the_next_to_write(ledger: LedgerFile) -> None:
    whole = ledger.path.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    for length in (1, 20, 80, len(whole) - start - 2):
        ledger.path.write_bytes(whole + whole[start : start + length])
        chain = ledger.verify()
        assert (chain.torn, len(chain.records)) == (length, 10)
        ledger.set_cap(Budget(9.0, 1e-6))
        after = ledger.verify()
        assert after.records[10] == Torn(bytes=length)
        assert after.torn == 0
        assert ledger.path.read_bytes().startswith(whole)


def test_a_last_record_without_its_line_end_counts(ledger: LedgerFile) -> None:
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole[:-1])
    assert ledger.account().runs == Account.from_chain(read_chain(whole, "it")).runs
    ledger.set_cap(Budget(9.0, 1e-6))
    assert ledger.path.read_bytes().startswith(whole)
    assert ledger.account().cap == Budget(9.0, 1e-6)


def test_nothing_is_written_to_a_damaged_ledger_or_to_another_file(
    ledger: LedgerFile, tmp_path: Path
) -> None:
    damaged = ledger.path.read_bytes().replace(b'"mu":0.1', b'"mu":0.0', 1)
    ledger.path.write_bytes(damaged)
    with pytest.raises(LedgerInvalid, match=r"damaged or edited: line 4"):
        ledger.begin(BUDGET, PRICE, method="budgeted", adaptive=False)
    with pytest.raises(LedgerInvalid, match="line 4"):
        ledger.set_cap(None)
    assert ledger.path.read_bytes() == damaged
    for content, words in ((b"user,item\n1,2\n", "is not a ledger"), (b"", "is empty")):
        other = tmp_path / "ratings.csv"
        other.write_bytes(content)
        with pytest.raises(LedgerInvalid, match=words):
            LedgerFile(other).set_cap(None)
        assert other.read_bytes() == content


def test_a_chain_computed_anew_with_nonsense_in_it_is_refused(ledger: LedgerFile) -> None:
    chain = ledger.verify()
    opened, charge, *_ = chain.records[2:]
    for records in (
        [*chain.records[:2], charge],  # a charge of a run that never began
        [*chain.records, charge],  # of one that is over
        [*chain.records, opened],  # a run that begins twice
        [*chain.records, chain.records[0]],  # a ledger that begins twice
    ):
        ledger.path.write_bytes(encode(records))
        with pytest.raises(LedgerInvalid):
            ledger.account()
