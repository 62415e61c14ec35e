"""A process with everything loaded that forks writers of one ledger on request: they train for ever.

Commands come as JSON lines on stdin, one reply each. A writer notes in a file of its own what it has let out: every
release after it was redeemed, and every head it was told. It ends when a file says so.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

import discreet
from discreet import Budget, LedgerFile, Ratings
from discreet.data.synthetic import market
from discreet.errors import BudgetExceeded
from discreet.methods.method import PrivateMethod
from discreet.privacy.ledger import Charge, Ledger
from tests.zygotes import Columns, wait

BUDGET = Budget(2.0, 1e-5)
METHODS: tuple[PrivateMethod, ...] = (discreet.ItemMean(), discreet.DPALS(rank=1, rounds=1))


class Writer:
    """One process and what it has let out."""

    def __init__(self, order: dict[str, Any], ratings: Ratings) -> None:
        self.folder, self.number = Path(order["folder"]), int(order["number"])
        self.ledger = LedgerFile(self.folder / "people.ledger")
        self.ratings, self.random = ratings, random.Random(order["seed"])
        self.run, self._parent = "", os.getppid()
        self._out = os.open(self.folder / f"out-{self.number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, **what: Any) -> None:
        """One write: a killed process leaves a whole line or none."""
        os.write(self._out, json.dumps(what).encode() + b"\n")

    def live(self) -> None:
        while not (self.folder / "stop").exists() and os.getppid() == self._parent:
            try:
                self.train()
            except BudgetExceeded:
                self.note(refused=True)
                time.sleep(0.02)

    def watch_releases(self) -> None:
        redeem = Ledger.redeem

        def let_out(ledger: Ledger, charge: Charge) -> None:
            redeem(ledger, charge)
            self.note(run=self.run, name=charge.name, mu=charge.mu)

        Ledger.redeem = let_out  # type: ignore[method-assign]

    def train(self) -> None:
        method = self.random.choice(METHODS)
        half = method.public_half
        with self.ledger.begin(BUDGET, method.price(BUDGET), method=half.name, adaptive=half.adaptive) as run:
            self.run = run.asked.run
            fitted = method.fit(self.ratings, BUDGET, rng=0, ledger=run)
        earlier = fitted.statement_.earlier
        assert earlier is not None
        self.note(head=earlier.head)


class Lines:
    """Kills the process with SIGKILL at one of the lines of the rooms that charge and release."""

    def __init__(self, deadly: int) -> None:
        self._left = deadly

    def watch(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        rooms = ("/privacy/account/", "/privacy/ledger.py", "/gaussian/gate.py")
        return self._line if any(room in frame.f_code.co_filename for room in rooms) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._line


def live(order: dict[str, Any], ratings: Ratings) -> int:
    """The life of a forked process; its exit code."""
    log = os.open(Path(order["folder"]) / f"log-{order['number']}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)
    try:
        writer = Writer(order, ratings)
        writer.watch_releases()
        if order["deadly"]:
            Lines(order["deadly"]).watch()
        writer.live()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        return 1
    return 0


def _columns() -> Columns:
    """Ratings, and the machine code of all that the writers use: they find it on the disk."""
    made = market(200, 30, 1_500, rng=0)
    assert made.catalogue is not None
    for method in METHODS:
        method.fit(made, BUDGET, rng=0)
    ids = made.catalogue.ids.tolist()
    return Columns(made.indptr, made.items, made.values, made.user_ids, ids, made.rating_range)


def main() -> None:
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        made = pool.submit(_columns).result()
    for line in sys.stdin:
        order = json.loads(line)
        if "pid" in order:
            reply: Any = wait(order["pid"], order["seconds"])
        else:
            reply = os.fork()
            if reply == 0:
                os._exit(live(order, made.ratings()))
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
