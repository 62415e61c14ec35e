"""A process with everything loaded that forks writers of one ledger on request: train, tune and silos, for ever.

Commands come as JSON lines on stdin, one reply each. A writer notes in a file of its own what it has let out: every
release after it was redeemed, every answer of a silo, and every head it was told. It ends when a file says so.
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
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

import discreet
from discreet import Budget, LedgerFile, Ratings
from discreet.data.synthetic import market
from discreet.errors import BudgetExceeded, Refused
from discreet.methods.method import PrivateMethod
from discreet.methods.tuning import tune
from discreet.privacy.account.costs import Cost, Price, Selected
from discreet.privacy.ledger import Charge, Ledger
from discreet.privacy.selection import Selection
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import load_agreement
from discreet.silos.shared.masks import public_key
from discreet.silos.silo.ledger import begin_run
from discreet.silos.silo.silo import Silo
from tests.silos.transport.zygote import Columns, wait

BUDGET = Budget(2.0, 1e-5)
METHODS: tuple[PrivateMethod, ...] = (discreet.ItemMean(), discreet.DPALS(rank=1, rounds=1))
SEARCH, MEAN = {"rank": [1, 2]}, 1.5
SILOS = ("silo-00", "silo-01")
KINDS = ("train", "tune", "silo", "train", "silo", "tune", "train", "silo")


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
        work = getattr(self, KINDS[self.number % len(KINDS)])
        while not (self.folder / "stop").exists() and os.getppid() == self._parent:
            try:
                work()
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

    def tune(self) -> None:
        mu = Selection(mean_trials=MEAN, score_share=0.1).trial_mu(BUDGET)
        epsilon, delta = BUDGET.epsilon, BUDGET.delta
        price = Price(kind="selection", mu=mu, epsilon=epsilon, delta=delta, mean_trials=MEAN)
        name = discreet.PrivateSVD.public_half.name
        with self.ledger.begin(BUDGET, price, method=name, adaptive=True) as run:
            self.run = run.asked.run
            tuned = tune(
                discreet.PrivateSVD, SEARCH, self.ratings, BUDGET, mean_trials=MEAN, rng=0, ledger=run
            )
        assert tuned.statement_.earlier is not None
        self.note(head=tuned.statement_.earlier.head)

    def silo(self) -> None:
        """One run over two silos, of which one keeps this ledger; goes on with the one that was killed."""
        place = next(
            path
            for number in range(10_000)
            if not ((path := self.folder / f"silos-{self.number}-{number}") / "done").exists()
        )
        place.mkdir(exist_ok=True)
        agreement = self._agreement(place)
        half = self.ratings.n_users // 2
        parts = (self.ratings.take_users(slice(0, half)), self.ratings.take_users(slice(half, None)))
        with ExitStack() as stack:
            journal = stack.enter_context(begin_run(self.ledger, agreement, SILOS[0]))
            self.run = ""  # what silos add up is released at the server, which keeps no ledger of people
            coordinator = stack.enter_context(Coordinator(place / "server.db", agreement))
            silos = {
                name: stack.enter_context(
                    Silo(
                        place / f"{name}.db",
                        agreement,
                        name,
                        _key(name),
                        part,
                        journal=journal if name == SILOS[0] else None,
                    )
                )
                for name, part in zip(SILOS, parts, strict=True)
            }
            try:
                while (question := coordinator.question()) is not None:
                    for name, silo in silos.items():
                        answer = silo.answer(question)
                        if name == SILOS[0]:
                            mus = [charge.mu for charge in silo._ledger.charges]
                            self.note(run=journal.asked.run, answers=mus)
                        coordinator.receive(name, answer)
                self.note(head=journal.earlier.head)
                journal.end()
            except Refused as refusal:  # killed so often that the cap has no room for its repeated charges
                self.note(given_up=str(refusal))
        (place / "done").touch()

    def _agreement(self, place: Path) -> Agreement:
        file = place / "agreement.json"
        if not file.exists():
            catalogue = self.ratings.catalogue
            assert catalogue is not None
            made = Agreement.make(
                place.name,
                silos={name: public_key(_key(name)) for name in SILOS},
                budget=BUDGET,
                catalogue=catalogue,
                rating_range=self.ratings.rating_range,
                method="dpals",
                settings=METHODS[1].settings,
                honest=2,
                noise="shares",
                seed=0,
            )
            made.save(place / "new.json")
            (place / "new.json").replace(file)
        agreed = load_agreement(file)
        assert isinstance(agreed, Agreement)
        return agreed


class Lines:
    """Kills the process with SIGKILL at one of the lines of the rooms that charge and release."""

    def __init__(self, deadly: int) -> None:
        self._left = deadly

    def watch(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        rooms = ("/privacy/account/", "/privacy/ledger.py", "/gaussian/gate.py", "/silos/silo/")
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


def _key(name: str) -> bytes:
    return name.encode().ljust(32, b"-")


def _columns() -> Columns:
    """Ratings, and the machine code of all that the writers use: they find it on the disk."""
    made = market(200, 30, 1_500, rng=0)
    assert made.catalogue is not None
    for method in (*METHODS, discreet.PrivateSVD(rank=1)):
        method.fit(made, BUDGET, rng=0)
    tune(discreet.PrivateSVD, SEARCH, made, BUDGET, mean_trials=MEAN, rng=0)
    ids = made.catalogue.ids.tolist()
    return Columns(made.indptr, made.items, made.values, made.user_ids, ids, made.rating_range)


def main() -> None:
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        made = pool.submit(_columns).result()
    # Found once, for all that are forked.
    mu = Selection(mean_trials=MEAN, score_share=0.1).trial_mu(BUDGET)
    Cost(selections=(Selected(mu, MEAN, BUDGET.epsilon, BUDGET.delta),)).epsilon(BUDGET.delta)
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
