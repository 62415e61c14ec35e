"""Audit every promise and write ``benchmarks/results/audit.json`` and ``benchmarks/results/assurance.md``.

python benchmarks/audit.py                 # everything at full size: some 40 minutes on two idle cores
python benchmarks/audit.py --runs 2000     # the same games, shorter
python benchmarks/audit.py --document      # only the document, from what was found before

Scores of games are kept in build/audit, batch by batch: what was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from assurance import write_document
from discreet import kernels
from discreet.audit.game import BATCH, RISK, Scores, judge, play, play_batch
from discreet.audit.pure import audit_devices, audit_prototypes
from discreet.audit.suite import DEVICES, PROTOTYPES, QUICK, RUNS, audit, audited_methods
from discreet.audit.two_runs import PAIRS, audit_two_runs
from discreet.privacy.budget import Budget
from tests.audit.planted import HalfNoise, bold_answer, half_noise_gate

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results/audit.json"
KEPT = ROOT / "build/audit"

PARTS = ("replay", "planted", "devices", "games", "two runs")
DELTA = 1e-5
EPSILONS = (1.0, 4.0, 8.0)
MAIN = ("ease", "budgeted", "dpals", "frank-wolfe")
"""Played at full length at every epsilon, as the devices are; all others at one epsilon and a tenth of the runs."""
REPEATS = 200
SHORTEST = 500
"""Audits of honest code, and runs in each world of one of them."""


def stamp(found: dict[str, Any]) -> dict[str, Any]:
    return found | {"date": datetime.now(UTC).date().isoformat(), "version": discreet.__version__}


class Findings:
    """What was found, written down after every test."""

    @property
    def all(self) -> dict[str, Any]:
        stored: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        return stored

    def add(self, key: str, found: dict[str, Any]) -> None:
        ordered = dict(sorted((self.all | {key: stamp(found)}).items()))
        RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")
        said = {name: found[name] for name in ("lower_bound", "passed", "alarms", "caught") if name in found}
        print(key, said, flush=True)


def kept_batch(name: str, epsilon: float, number: int) -> Scores:
    """A batch of a game: from the disk if it was played before."""
    path = KEPT / f"{name}-{epsilon:g}-{number:02d}.npz"
    if not path.exists():
        scores = play_batch(name, Budget(epsilon, DELTA), BATCH)
        partial = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial, *vars(scores).values())
        partial.rename(path)
    with np.load(path) as stored:
        return Scores(*(stored[key] for key in stored.files))


def scores_of(name: str, epsilon: float, runs: int, workers: int) -> Scores:
    KEPT.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(kept_batch, name, epsilon, number) for number in range(max(1, runs // BATCH))]
        return Scores.joined([task.result() for task in tasks])


def alarms(scores: Scores, budget: Budget) -> dict[str, Any]:
    """The game's runs dealt out to many audits of their own: how many of these raise an alarm?"""
    parts = zip(*(np.array_split(array, REPEATS) for array in vars(scores).values()), strict=True)
    found = [judge(Scores(*part), budget) for part in parts]
    return {"repeats": REPEATS, "runs": found[0].runs, "alarms": sum(not one.passed for one in found)}


def play_games(findings: Findings, runs: int, workers: int) -> None:
    for epsilon in EPSILONS:
        budget = Budget(epsilon, DELTA)
        for name in MAIN:
            scores = scores_of(name, epsilon, runs, workers)
            findings.add(f"game/{name}/{epsilon:g}", {"method": name} | judge(scores, budget).as_json())
            if runs >= REPEATS * SHORTEST:
                findings.add(f"repeats/{name}/{epsilon:g}", alarms(scores, budget))
    for name in set(audited_methods()) - {*MAIN, DEVICES, "user-mean"}:
        less, budget = max(runs // 10, 1_000), Budget(4.0, DELTA)
        if name == PROTOTYPES:
            found = audit_prototypes(4.0, less, risk=RISK)
        else:
            found = judge(play(name, budget, less, workers=workers), budget)
        findings.add(f"game/{name}/4", {"method": name} | found.as_json())


def play_devices(findings: Findings, runs: int) -> None:
    for epsilon in EPSILONS:
        found = audit_devices(epsilon, runs, risk=RISK)
        findings.add(f"game/devices/{epsilon:g}", {"method": DEVICES} | found.as_json())
        repeated = [audit_devices(epsilon, SHORTEST, risk=RISK) for _ in range(REPEATS)]
        findings.add(
            f"repeats/devices/{epsilon:g}",
            {"repeats": REPEATS, "runs": SHORTEST, "alarms": sum(not one.passed for one in repeated)},
        )


def plant(findings: Findings, runs: int) -> None:
    """Half the noise, at every epsilon: each must be refuted by a quick audit."""
    for epsilon in EPSILONS:
        budget = Budget(epsilon, DELTA)
        found = {name: judge(play(name, budget, runs, noise=HalfNoise), budget) for name in MAIN}
        found[DEVICES] = audit_devices(epsilon, runs, risk=RISK, reply=bold_answer)
        if epsilon == 1.0:
            # Guesses alone, without an estimate of the noise, need more runs where epsilon is larger.
            found[PROTOTYPES] = audit_prototypes(epsilon, runs, risk=RISK, make_gate=half_noise_gate)
        for name, one in found.items():
            kept = {"runs": one.runs, "lower_bound": one.lower_bound, "caught": not one.passed}
            findings.add(f"planted/{name}/{epsilon:g}", {"method": name, "claimed": epsilon} | kept)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS, help="of each game, in each world")
    parser.add_argument("--workers", type=int, default=kernels.get_threads())
    parser.add_argument("--document", action="store_true", help="only write the document again")
    parser.add_argument("--part", choices=PARTS, action="append")
    given = parser.parse_args()
    findings = Findings()
    parts: Sequence[str] = () if given.document else given.part or PARTS
    if "replay" in parts:
        for name in audited_methods():
            delta = 0.0 if name in (PROTOTYPES, DEVICES) else DELTA
            if name != DEVICES:  # one person, one bit: there is no sum to replay
                findings.add(f"replay/{name}/4", audit(name, 4.0, delta, ["replay"]).as_json())
    if "planted" in parts:
        plant(findings, min(given.runs, QUICK))
    if "devices" in parts:
        play_devices(findings, given.runs)
    if "games" in parts:
        play_games(findings, given.runs, given.workers)
    if "two runs" in parts:
        for pair in PAIRS:
            found = audit_two_runs(pair, Budget(4.0, DELTA), min(given.runs, QUICK))
            findings.add(f"game/two runs, {pair}/4", {"method": pair} | found.as_json())
    write_document(findings.all, ROOT / "benchmarks/results/assurance.md")


if __name__ == "__main__":
    main()
