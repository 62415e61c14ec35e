"""Ledgers: damaged as they lie there, and forged with hashes to match."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from random import Random

from discreet import Budget, LedgerFile
from discreet.cli.ledger.show import _content
from discreet.privacy.account.records import Price
from tests.hostile.byte_mutations import damage
from tests.hostile.json_mutations import mutate_json
from tests.hostile.kind import Kind, Outcome

__all__ = ["DamagedLedger", "ForgedLedger"]

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

    weight = 3
    may_differ = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._path = folder / "shop.ledger"
        self._content = _genuine(self._path)
        self._chain = LedgerFile(self._path).verify()

    def attempt(self, draw: Random) -> Outcome:
        """Spoil the file."""
        body = damage(draw, self._content)
        if draw.random() < 0.2:  # whole lines left out, twice or in another order
            lines = self._content.splitlines(keepends=True)
            lines[draw.randrange(len(lines))] = draw.choice((b"", draw.choice(lines), draw.choice(lines) * 2))
            body = b"".join(lines)
        self._path.write_bytes(body)
        chain = LedgerFile(self._path).verify(self._chain.head)
        return "same" if chain.records == self._chain.records else "other"


class ForgedLedger(Kind):
    """One altered record and a chain to match: refused, or an account whose costs are numbers."""

    weight = 3

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._path = folder / "shop.ledger"
        content = _genuine(self._path)
        self._bodies = [b"{" + line[75:] for line in content.splitlines()]
        self._records = LedgerFile(self._path).verify().records
        assert self._chained(self._bodies) == content

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one record."""
        bodies = list(self._bodies)
        place = draw.randrange(len(bodies))
        bodies[place] = mutate_json(draw, bodies[place])
        self._path.write_bytes(self._chained(bodies))
        ledger = LedgerFile(self._path)
        account, chain = ledger.account(), ledger.verify()
        epsilon = account.epsilon(1e-6)
        assert epsilon >= 0.0
        assert not math.isnan(epsilon)
        assert json.dumps(_content(account, 1e-6)).encode()
        return "same" if chain.records == self._records else "other"

    def _chained(self, bodies: list[bytes]) -> bytes:
        """Lines with the hashes that a careful forger would give them."""
        previous, lines = "0" * 64, []
        for body in bodies:
            old = body.partition(b'"previous":"')[2][:64]
            linked = body.replace(old, previous.encode(), 1)[1:] if len(old) == 64 else body[1:]
            previous = hashlib.sha256(linked).hexdigest()
            lines.append(b'{"hash":"' + previous.encode() + b'",' + linked + b"\n")
        return b"".join(lines)
