"""A file of chained records: whatever is done to it is seen, and a crash leaves what was acknowledged."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import LedgerInvalid
from discreet.privacy.account.account import Record
from discreet.privacy.account.ledger_file import LedgerFile
from discreet.privacy.account.store import LedgerStore, link
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Price

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


def edit(ledger: LedgerFile, *statements: str) -> None:
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as opened:
        for statement in statements:
            opened.execute(statement)


def write_anew(ledger: LedgerFile, records: Sequence[Record]) -> None:
    """Records with the hashes that a careful forger would give them."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as opened:
        opened.execute("DELETE FROM records")
        head = "0" * 64
        for line, record in enumerate(records, 1):
            content = record.model_dump_json()
            head = link(head, content.encode())
            opened.execute("INSERT INTO records VALUES (?, ?, ?)", (line, content, head))


def test_the_file_is_records_that_its_owner_alone_can_read(ledger: LedgerFile) -> None:
    with closing(sqlite3.connect(ledger.path)) as opened:
        contents = [json.loads(content) for (content,) in opened.execute("SELECT content FROM records")]
    kinds = [content["kind"] for content in contents]
    assert kinds == ["ledger", "cap", *["open", "charge", "charge", "end"] * 2]
    assert stat.S_IMODE(os.stat(ledger.path).st_mode) == 0o600
    assert [path.name for path in ledger.path.parent.iterdir()] == ["shop.ledger"]


def test_no_edit_of_a_byte_changes_what_is_read_and_is_not_found(ledger: LedgerFile) -> None:
    """Some bytes of every page, and many of those that records are written in."""
    whole, before = ledger.path.read_bytes(), ledger.verify()
    draw, found = random.Random(1), 0
    written = whole.index(b'{"kind"')
    places = {*range(0, len(whole), 60), *range(written, written + 150), *range(100)}
    for place in sorted(places):
        changed = whole[place] ^ draw.randrange(1, 256)
        ledger.path.write_bytes(whole[:place] + bytes([changed]) + whole[place + 1 :])
        try:
            chain = ledger.verify(before.head)
        except LedgerInvalid:
            found += 1
        else:
            assert chain == before
    assert found > 150


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM records WHERE line = 4",
        "DELETE FROM records WHERE line = 1",
        "UPDATE records SET content = replace(content, '0.1', '0.0') WHERE line = 4",
        "UPDATE records SET hash = (SELECT hash FROM records WHERE line = 5) WHERE line = 4",
        "INSERT INTO records SELECT 11, content, hash FROM records WHERE line = 10",
        "INSERT INTO records SELECT line + 10, content, hash FROM records",
        "UPDATE records SET content = 7 WHERE line = 4",
        "UPDATE records SET content = content || zeroblob(20000) WHERE line = 4",
        "UPDATE records SET line = 20 WHERE line = 10",
        "DELETE FROM records",
        "DROP TABLE records",
        "PRAGMA application_id = 7",
    ],
)
def test_records_cannot_be_dropped_changed_doubled_or_brought_in_from_elsewhere(
    ledger: LedgerFile, statement: str
) -> None:
    edit(ledger, statement)
    before = ledger.path.read_bytes()
    for use in (ledger.verify, ledger.account, lambda: ledger.set_cap(None)):
        with pytest.raises(LedgerInvalid):
            use()
    with pytest.raises(LedgerInvalid):
        ledger.begin(BUDGET, PRICE, method="budgeted", adaptive=False)
    assert ledger.path.read_bytes() == before


def test_a_cut_end_is_found_by_a_head_kept_elsewhere(ledger: LedgerFile) -> None:
    whole = ledger.verify()
    for old in whole.hashes:
        ledger.verify(old)
    for kept in range(9, 0, -1):
        edit(ledger, f"DELETE FROM records WHERE line > {kept}")
        ledger.verify()  # its records are whole
        with pytest.raises(LedgerInvalid, match="set back"):
            ledger.verify(whole.head)


def test_a_chain_computed_anew_with_nonsense_in_it_is_refused(ledger: LedgerFile) -> None:
    chain = ledger.verify()
    opened, charge, *_ = chain.records[2:]
    for records in (
        [*chain.records[:2], charge],  # a charge of a run that never began
        [*chain.records, charge],  # of one that is over
        [*chain.records, opened],  # a run that begins twice
        [*chain.records, chain.records[0]],  # a ledger that begins twice
        chain.records[1:],  # or never
    ):
        write_anew(ledger, records)
        with pytest.raises(LedgerInvalid):
            ledger.account()


def test_nothing_is_written_to_another_file(tmp_path: Path) -> None:
    store = tmp_path / "people.db"
    with closing(sqlite3.connect(store)) as opened:
        opened.execute("CREATE TABLE records (line INTEGER PRIMARY KEY, content TEXT, hash TEXT)")
    for content, words in (
        (b"user,item\n" + b"1,2\n" * 2_000, "is not a ledger"),
        (b"", "is empty"),
        (store.read_bytes(), "is not a ledger"),
    ):
        other = tmp_path / "ratings.csv"
        other.write_bytes(content)
        with pytest.raises(LedgerInvalid, match=words):
            LedgerFile(other).set_cap(None)
        assert other.read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_what_was_under_way_when_a_process_was_killed_is_not_there_and_the_rest_is(
    ledger: LedgerFile,
) -> None:
    """Killed with pages half written: the next to look puts back what was acknowledged."""
    before = ledger.verify()
    code = (
        "import os, sys; from discreet.privacy.account.account import Cap\n"
        "from discreet.privacy.account.store import LedgerStore\n"
        "with LedgerStore(sys.argv[1]).locked() as locked:\n"
        "    locked._opened.execute('PRAGMA cache_size=1')\n"
        "    locked.append([Cap(epsilon=1.0, delta=1e-6, when='w' * 400)] * 200)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(ledger.path)]).returncode == -9
    beside = ledger.path.with_name("shop.ledger-journal")
    assert stat.S_IMODE(os.stat(beside).st_mode) == 0o600
    assert ledger.verify() == before
    assert not beside.exists()


def test_a_record_survives_a_loss_of_power(ledger: LedgerFile) -> None:
    """Synced, and the end of its journal too, before it is acknowledged."""
    with LedgerStore(ledger.path).locked() as locked:
        assert locked._opened.execute("PRAGMA synchronous").fetchone() == (3,)
        assert locked._opened.execute("PRAGMA journal_mode").fetchone() == (b"delete",)
