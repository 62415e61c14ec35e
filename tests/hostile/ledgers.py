"""Ledgers: damaged as they lie there, and forged with hashes to match."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

from discreet import Budget, LedgerFile
from discreet.privacy.costs import Price
from tests.hostile.byte_mutations import damage
from tests.hostile.kind import Kind, Outcome

__all__ = ["DamagedLedger"]

BUDGET = Budget(1.0, 1e-6)
PRICES = (
    Price(kind="gaussian", mu=BUDGET.mu / 2),
    Price(kind="gaussian", mu=BUDGET.mu / 3),
)


def _genuine(path: Path) -> bytes:
    """Two runs, one of them under way, in two groups, and a cap."""
    whole = Price(kind="gaussian", mu=BUDGET.mu)
    LedgerFile(path).set_cap(Budget(30.0, 1e-5))
    for group in ("north", None):
        run = LedgerFile(path, group=group).begin(BUDGET, whole, method="budgeted", adaptive=False)
        with run:
            for number, price in enumerate(PRICES):
                run.pay(f"round {number}", price)
            run.end()
    return path.read_bytes()


class DamagedLedger(Kind):
    """With the head that was kept elsewhere, nothing altered passes."""

    may_differ = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._path = folder / "shop.ledger"
        self._content = _genuine(self._path)
        self._chain = LedgerFile(self._path).verify()

    def attempt(self, draw: Random) -> Outcome:
        """Spoil the file, or its records."""
        if draw.random() < 0.2:
            self._path.write_bytes(self._content)
            line, other = draw.sample(range(1, len(self._chain.records) + 1), 2)
            with closing(sqlite3.connect(self._path, isolation_level=None)) as opened:
                opened.execute(
                    draw.choice(
                        (
                            f"DELETE FROM records WHERE line = {line}",
                            f"INSERT INTO records SELECT 99, content, hash FROM records WHERE line = {line}",
                            f"UPDATE records SET content = (SELECT content FROM records WHERE line = {other}) "
                            f"WHERE line = {line}",
                        )
                    )
                )
        else:
            self._path.write_bytes(damage(draw, self._content))
        chain = LedgerFile(self._path).verify(self._chain.head)
        return "same" if chain.records == self._chain.records else "other"
