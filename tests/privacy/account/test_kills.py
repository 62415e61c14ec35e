"""Eight processes on one ledger, killed again and again: nothing is overspent, lost, or let out without a charge."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet import Budget, LedgerFile
from discreet.privacy.account.account import Account, Begin, Cap, Charged, Open, RefusedRun, _enter
from discreet.privacy.costs import Price
from tests.privacy.account.writers import BUDGET
from tests.sizes import sized

KILLS = sized(5, 100)
WRITERS = 8
SECONDS = 140.0 + 20.0 * KILLS  # after which something hangs, however busy the machine is


class Zygote:
    """Forks writers, kills them and waits for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.privacy.account.writers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self.pids: dict[int, int] = {}

    def ask(self, **order: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, number: int, deadly: int, seed: int) -> None:
        order = {"folder": str(self.folder), "number": number, "deadly": deadly, "seed": seed}
        self.pids[number] = self.ask(**order)

    def ended(self, number: int, seconds: float = 0.0) -> int | None:
        code: int | None = self.ask(pid=self.pids[number], seconds=seconds)
        if code is not None:
            del self.pids[number]
        return code

    def close(self) -> None:
        for pid in self.pids.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.fixture
def zygote(tmp_path: Path) -> Iterator[Zygote]:
    made = Zygote(tmp_path)
    yield made
    made.close()


def notes(folder: Path, number: int) -> list[dict[str, Any]]:
    file = folder / f"out-{number}"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_eight_writers_killed_again_and_again(zygote: Zygote, tmp_path: Path) -> None:
    ledger = LedgerFile(tmp_path / "people.ledger")
    ledger.set_cap(Budget(4.0, 1e-4))
    draw, killed, until = random.Random(5), 0, time.monotonic() + SECONDS
    due: dict[int, float] = {}

    def start(number: int) -> None:
        by_line = draw.random() < 0.6
        if not by_line:
            due[number] = time.monotonic() + draw.uniform(0.05, 3.0)
        zygote.start(number, draw.randint(1, 4_000) if by_line else 0, draw.randrange(2**32))

    for number in range(WRITERS):
        start(number)
    while killed < KILLS:
        assert time.monotonic() < until, {number: notes(tmp_path, number)[-3:] for number in range(WRITERS)}
        for number in range(WRITERS):
            if time.monotonic() > due.get(number, float("inf")):
                del due[number]
                os.kill(zygote.pids[number], signal.SIGKILL)
            code = zygote.ended(number, 0.01)
            if code is None:
                continue
            place = tmp_path / f"log-{number}"
            log = place.read_text() if place.exists() else ""
            assert code == -signal.SIGKILL, f"writer {number} ended with {code}: {log[-2_000:]}"
            killed += 1
            due.pop(number, None)
            start(number)
            # There is always room for some and not for all.
            account = ledger.account()
            ledger.set_cap(Budget(max(account.epsilon(1e-4), 1.0) + draw.choice([0.0, 2.0, 8.0]), 1e-4))
    ledger.set_cap(Budget(1_000.0, 1e-4))
    (tmp_path / "stop").touch()
    for number in list(zygote.pids):
        if number in due:
            os.kill(zygote.pids[number], signal.SIGKILL)
        assert zygote.ended(number, 120.0) in (0, -signal.SIGKILL)
    check_everything(ledger, tmp_path)


def check_everything(ledger: LedgerFile, folder: Path) -> None:
    chain, account = ledger.verify(), ledger.account()
    said = [note for number in range(WRITERS) for note in notes(folder, number)]
    # No head that anybody was told is gone.
    assert {note["head"] for note in said if "head" in note} <= set(chain.hashes)
    # Nothing was let out without a charge on the disk.
    charged = Counter(
        (run, charge.name, charge.price.mu) for run, known in account.runs.items() for charge in known.charges
    )
    released = Counter((note["run"], note["name"], note["mu"]) for note in said if "name" in note)
    assert released
    assert released - charged == Counter()
    check_no_overspend(ledger)
    if KILLS >= 100:
        states = Counter(known.state for known in account.runs.values())
        assert min(states[state] for state in ("ended", "running", "refused")) > 10, states
        print(f"\n{len(chain.records)} records, runs {dict(states)}")


def check_no_overspend(ledger: LedgerFile) -> None:
    """Record by record: whenever something was charged, everybody was within the cap of that moment."""
    account = Account("", "")
    cap: Budget | None = None
    for number, record in enumerate(ledger.verify().records, 1):
        if isinstance(record, Cap):
            assert record.epsilon is not None
            assert record.delta is not None
            cap = Budget(record.epsilon, record.delta)
        elif not isinstance(record, Begin | RefusedRun):
            _enter(account.runs, record, number)
        if isinstance(record, Charged):
            assert replace(account, cap=cap).within_cap, f"line {number}"
    for known in account.runs.values():
        assert known.charged.mu <= known.asked.reserved.cost.mu * (1.0 + 1e-12)  # type: ignore[union-attr]


def test_of_two_runs_at_once_one_passes_a_cap_that_has_room_for_one(tmp_path: Path) -> None:
    """Real processes that wait for each other and then charge at the same moment."""
    ledger = LedgerFile(tmp_path / "people.ledger")
    code = (
        "import sys; from discreet import Budget, LedgerFile; from discreet.errors import BudgetExceeded\n"
        "from discreet.privacy.costs import Price\n"
        "budget, ledger = Budget(2.0, 1e-5), LedgerFile(sys.argv[1])\n"
        "price = Price(kind='gaussian', mu=budget.mu)\n"
        "for _ in range(5):\n"
        "    run = ledger.begin(budget, price, method='m', adaptive=True)\n"
        "    print('ready', flush=True); sys.stdin.readline()\n"
        "    try:\n"
        "        run.pay('all', price)\n"
        "        print('passed', flush=True)\n"
        "    except BudgetExceeded:\n"
        "        print('refused', flush=True)\n"
        "    run.end(); sys.stdin.readline()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    ledger.set_cap(BUDGET)
    asking = [
        subprocess.Popen([sys.executable, "-c", code, str(ledger.path)], **pipes)  # type: ignore[call-overload]
        for _ in range(2)
    ]
    try:
        for more in range(5):
            assert [process.stdout.readline() for process in asking] == ["ready\n"] * 2
            tell(asking)
            assert sorted(process.stdout.readline() for process in asking) == ["passed\n", "refused\n"]
            ledger.set_cap(
                Budget(ledger.account().with_run(_whole(more)).epsilon(BUDGET.delta), BUDGET.delta)
            )
            tell(asking)
        assert [process.wait(240) for process in asking] == [0, 0]
    finally:
        for process in asking:
            process.kill()
            process.communicate()
    assert [len(known.charges) for known in ledger.account().runs.values()].count(1) == 5


def _whole(number: int) -> Open:
    """A further run of the whole budget."""
    price = Price(kind="gaussian", mu=BUDGET.mu)
    return Open(
        when="now", method="m", epsilon=2.0, delta=1e-5, run=f"{number:032x}", reserved=price, adaptive=True
    )


def tell(processes: list[Any]) -> None:
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
