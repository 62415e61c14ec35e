"""SIGKILL at random points of a run, to server and silos: after a restart the same model and the same accounts."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from typing import Any

from tests.silos.transport.conftest import SILOS, Hall, Halls, calm
from tests.sizes import sized

KILLS = sized(2, 50)
SECONDS = 240.0
SIDES = ("server", "silo")


class Reaper:
    """Kills each party at chosen points: at a line of its own code, or at a time from outside."""

    def __init__(self, hall: Hall, lines: dict[str, int], rng: random.Random) -> None:
        self._hall, self._lines, self._rng = hall, lines, rng
        self._due: dict[str, float] = {}
        self.kills: Counter[str] = Counter()

    def see_through(self, kills: int) -> None:
        """Start all parties, kill each side so often, start them again, and see every one end well."""
        parties = ["server", *SILOS]
        plans: dict[str, list[str]] = {name: [] for name in parties}
        for _ in range(kills):
            for name in ("server", self._rng.choice(SILOS)):
                plans[name].append(self._rng.choice(["line", "time"]))
        for name in parties:
            self._start(name, plans[name])
        until = time.monotonic() + SECONDS
        while self._hall.pids:
            assert time.monotonic() < until, {name: self._hall.log(name) for name in self._hall.pids}
            for name in list(self._hall.pids):
                self._watch(name, plans[name])
            if self._hall.pids and "server" not in self._hall.pids:  # it waited no longer, and some are late
                self._start("server", [])

    def _start(self, name: str, plan: list[str]) -> None:
        how = plan.pop() if plan else "never"
        if how == "time":
            self._due[name] = time.monotonic() + self._rng.uniform(0.0, 1.0)
        deadly = self._rng.randint(1, self._lines[name]) if how == "line" else 0
        # A server killed at the very end does not know whom it has told, and waits for them.
        self._hall.start(name, deadly=deadly, linger=4.0)

    def _watch(self, name: str, plan: list[str]) -> None:
        if time.monotonic() > self._due.get(name, float("inf")):
            del self._due[name]
            self._hall.kill(name)
        code = self._hall.wait(name, 0.01)
        if code == -signal.SIGKILL:
            self.kills["server" if name == "server" else "silo"] += 1
            self._due.pop(name, None)
            if not (self._hall.folder / f"{name}.json").exists():  # else the silo had ended its part
                self._start(name, plan)
        else:
            assert code in (None, 0), self._hall.log(name)


def test_killed_anywhere_the_run_ends_as_if_nothing_had_happened(halls: Halls, undisturbed: Hall) -> None:
    see_through(halls, {}, undisturbed)


def test_killed_anywhere_a_run_of_lists_ends_as_if_nothing_had_happened(halls: Halls) -> None:
    lists = {"method": "ease", "settings": None}
    see_through(halls, lists, calm(halls(**lists)))


def see_through(halls: Halls, changes: dict[str, Any], calm: Hall) -> None:
    """Runs until each side was killed often enough: every one as the calm one."""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    lines = {name: int((calm.folder / f"{name}.lines").read_text()) for name in ("server", *SILOS)}
    assert min(lines.values()) > 300
    killed: Counter[str] = Counter()
    made = len(halls.made)
    while min(killed[side] for side in SIDES) < KILLS:
        hall = halls(**changes)
        reaper = Reaper(hall, lines, rng)
        reaper.see_through(min(10, KILLS))
        killed += reaper.kills
        assert hall.model() == calm.model()
        assert hall.accounts() == calm.accounts()
        for name in SILOS:
            assert hall.model(f"{name}-model") == calm.model()
    print(f"{dict(killed)} kills in {len(halls.made) - made} runs")
