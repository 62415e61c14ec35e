"""``python -m mutants``: plant every bug, run the tests that should see it, say who did."""

from __future__ import annotations

import fcntl
import os
import platform
import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from mutants.bugs import MUTANTS
from mutants.mutant import Mutant, NotFound
from mutants.record import Record, written
from mutants.trial import Outcome, run_tests, try_mutant
from mutants.workshop import ROOT, SOURCES, Workshop

__all__ = ["command"]

WORK = ROOT / "build" / "mutants"


@click.command("python -m mutants", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--list", "show_list", is_flag=True, help="Show the bugs, plant none.")
@click.option("--quick", is_flag=True, help="Only those that make test plants.")
@click.option(
    "--resume", is_flag=True, help="Leave out what was killed before, if bug, file and tests are the same."
)
@click.option("--unchecked", is_flag=True, help="Do not run the tests without a bug first.")
@click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="How many at once.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the outcome there as JSON."
)
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    show_list: bool,
    quick: bool,
    resume: bool,
    unchecked: bool,
    jobs: int,
    out: Path | None,
) -> None:
    """Plant bugs in a copy of the sources; all, or those whose name or file has one of the words.

    Exit code 1 where a bug survives, cannot be planted, or a test fails without any.
    """
    chosen = [one for one in MUTANTS if (one.quick or not quick) and _wanted(one, words)]
    console = Console(highlight=False, soft_wrap=True)
    try:
        for one in chosen:
            one.applied((SOURCES / "discreet" / one.file).read_text())
    except (NotFound, OSError) as error:
        console.print(f"[red]{error}")
        ctx.exit(1)
    if show_list:
        for one in chosen:
            console.print(f"{one.room}: {one.name} [dim]({one.breaks})", markup=True)
        return
    if not _alone():
        console.print(f"[red]another run is under way in {WORK}; wait for it")
        ctx.exit(2)
    record = Record(WORK / "outcomes.json", fresh=not resume)
    started, shops = time.monotonic(), _shops(jobs)
    due = [one for one in chosen if record.killed(one) is None]
    if not unchecked and not _sound(console, shops, due):
        ctx.exit(1)
    outcomes = _all(console, shops, chosen, record)
    _table(console, chosen, outcomes)
    left = [one for one in outcomes if one.verdict != "killed"]
    console.print(
        f"{len(outcomes) - len(left)} of {len(outcomes)} killed, {time.monotonic() - started:.0f} s"
    )
    if out is not None:
        facts = {
            "date": datetime.now(UTC).date().isoformat(),
            "seconds": round(sum(one.seconds for one in outcomes) / jobs),
            "jobs": jobs,
            "python": platform.python_version(),
        }
        out.write_text(written(chosen, outcomes, facts))
    ctx.exit(1 if left else 0)


def _wanted(mutant: Mutant, words: tuple[str, ...]) -> bool:
    return not words or any(word in mutant.name or word in mutant.file for word in words)


def _alone() -> bool:
    """Whether no other run plants bugs in the same copies; held until this process ends."""
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        fcntl.flock(os.open(WORK / "lock", os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _shops(jobs: int) -> queue.Queue[Workshop]:
    shops: queue.Queue[Workshop] = queue.Queue()
    for number in range(jobs):
        shop = Workshop(WORK / f"copy-{number + 1}")
        shop.refresh()
        shops.put(shop)
    return shops


@contextmanager
def _taken(shops: queue.Queue[Workshop]) -> Iterator[Workshop]:
    shop = shops.get()
    try:
        yield shop
    finally:
        shops.put(shop)


def _sound(console: Console, shops: queue.Queue[Workshop], due: Sequence[Mutant]) -> bool:
    """Whether all of the tests pass without any bug: a test that is red anyway kills everything."""
    choices: dict[tuple[str, ...], set[str | None]] = {}
    for one in due:
        choices.setdefault(one.tests, set()).add(one.only)
    jobs = [
        (tests, None if None in only else " or ".join(f"({words})" for words in sorted(filter(None, only))))
        for tests, only in sorted(choices.items())
    ]

    def check(job: tuple[tuple[str, ...], str | None]) -> bool:
        with _taken(shops) as shop, shop.planted(None) as environment:
            code, seen = run_tests(shop, environment, *job, stop=False)
        for failed in seen.get("failed", []):
            console.print(f"[red]fails without a bug: {failed['test']}: {failed['said']}", markup=True)
        if code not in (0, 1):
            console.print(f"[red]pytest ended with {code}: {', '.join(job[0])} {job[1] or ''}", markup=True)
        return code == 0

    with ThreadPoolExecutor(shops.qsize()) as pool:
        return all(list(pool.map(check, jobs)))


def _all(
    console: Console, shops: queue.Queue[Workshop], chosen: Sequence[Mutant], record: Record
) -> list[Outcome]:
    def one(mutant: Mutant) -> Outcome:
        known = record.killed(mutant)
        if known is not None:
            return known
        with _taken(shops) as shop:
            outcome = try_mutant(shop, mutant)
        record.add(mutant, outcome)
        console.print(f"{outcome.verdict} ({outcome.seconds:.0f} s): {mutant.name}", markup=False)
        return outcome

    with ThreadPoolExecutor(shops.qsize()) as pool:
        return list(pool.map(one, chosen))


def _table(console: Console, chosen: Sequence[Mutant], outcomes: Sequence[Outcome]) -> None:
    """Room by room: the bug, and under it who noticed. Names of tests are long, so it is no table."""
    rooms: dict[str, list[tuple[Mutant, Outcome]]] = {}
    for mutant, outcome in zip(chosen, outcomes, strict=True):
        rooms.setdefault(mutant.room, []).append((mutant, outcome))
    for room, pairs in sorted(rooms.items()):
        console.print(f"\n[bold]{room}[/bold]: {len(pairs)}")
        for mutant, outcome in pairs:
            console.print(f"  {mutant.name}", markup=False)
            if outcome.verdict == "killed":
                console.print(f"    {outcome.by.removeprefix('tests/')}", style="dim", markup=False)
            else:
                console.print(f"    {outcome.verdict}: {mutant.breaks}", style="red", markup=False)


if __name__ == "__main__":
    command()
