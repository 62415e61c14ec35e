"""Reports by 256 connections at once, with the load generator on the same machine; pytest -s prints how fast."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

from tests.devices.support.load import Load
from tests.devices.support.running import Running, asked_devices, body_of
from tests.sizes import sized

REPORTS = sized(3_000, 30_000)


def _seconds_of(process: int | None) -> float:
    """Processor time that a process has used so far, which other work on the machine hardly changes."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_every_report_of_a_crowd_is_kept(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        question = server.create(minimum=1)
        bodies = [body_of(question, d, d[0] & 1) for d in itertools.islice(asked_devices(question), REPORTS)]
        started = _seconds_of(server.process.pid)
        outcome = Load(server.port, connections=256).run(bodies)
        worked = _seconds_of(server.process.pid) - started
        assert outcome.statuses == {200: REPORTS}
        assert len(server.kept()) == REPORTS
        started = time.perf_counter()
        assert server.close()[0] == 200
        ended = time.perf_counter() - started
    print(
        f"{outcome.rate:.0f} reports/s, median wait {1e3 * outcome.wait(0.5):.1f} ms,"
        f" 99 % under {1e3 * outcome.wait(0.99):.1f} ms, counted and released in {ended:.2f} s,"
        f" {1e6 * worked / REPORTS:.0f} microseconds of processor time each"
    )
