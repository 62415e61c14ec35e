"""The privacy statement as text of at most 100 columns, every number rounded up."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence

from discreet.privacy.accounting import round_up
from discreet.privacy.costs import EarlierRuns, Selection
from discreet.privacy.ledger import Detail
from discreet.privacy.promise import Release
from discreet.privacy.statement import Silos, Statement

__all__ = ["cap_words", "grouped", "label", "lines", "run_rows", "selection_words"]

_WIDTH = 100


_VECTOR = "a user's own vector is computed from that user's ratings and the item side, for that user alone"
_MODELS = {
    "central": f"(joint differential privacy): the item side is released; {_VECTOR}",
    "silos": f"(each keeps its users' ratings): what leaves a silo is private before it leaves; {_VECTOR}",
    "local": "(nothing is trusted but one's own device): the whole transcript of a device is private",
}

_GOALS = {"rank": "trained to rank", "rate": "trained to predict ratings"}


def lines(statement: Statement) -> Iterator[str]:
    """The statement line by line."""
    yield "Privacy statement"
    if statement.private:
        yield from _promise(statement)
    else:
        yield from _item("NOT PRIVATE: ", statement.reason or "")
    if statement.earlier is not None:
        yield from _item("Ledger:    ", _earlier(statement.earlier))
    if statement.goal is not None:
        yield from _item("Goal:      ", _GOALS[statement.goal])
    if statement.releases:
        pure = any(release.epsilon > 0.0 for release in statement.releases)
        whole = "epsilon" if pure else "mu squared"
        cost = f"this run's {whole}" if statement.earlier_runs else whole
        one = "epsilon" if pure else "mu"
        yield f"Releases ({one} of each one, rounded up; all its repetitions' share of {cost})"
        for group in grouped(statement.releases):
            yield from _row(group)
    for title, entries in (
        ("Domain: what the promise is about, and what becomes of a row", statement.domain),
        ("Public: given, not read off the ratings", statement.public),
        ("Not protected", statement.not_protected),
        ("Notes", statement.notes),
    ):
        if entries:
            yield title
            for entry in entries:
                yield from _item("- ", entry)


def _promise(statement: Statement) -> Iterator[str]:
    yield from _item("Unit:      ", statement.unit)
    yield from _item("Relation:  ", statement.relation)
    yield from _item("Model:     ", f"{statement.model} {_MODELS[statement.model]}")
    yield from _item("Guarantee: ", _guarantee(statement))
    if statement.silos is not None:
        yield from _item("Silos:     ", _silos(statement.silos))
    for who, cost in run_rows(statement):
        yield from _item("Runs:      ", f"{who}: {cost}")
    chosen = statement.selection
    if chosen is not None:
        yield from _item("Selection: ", selection_words(chosen))


def selection_words(chosen: Selection) -> str:
    """How the model was chosen among trials."""
    return (
        f"the best noisy score of a random number of trials, {_fact(chosen.mean_trials)} on average "
        f"({chosen.distribution}); each drew its settings on its own and spent "
        f"{_fact(100.0 * chosen.score_share)} % of mu squared on its score. How many there were, and how the "
        "others did, is not released"
    )


def _guarantee(statement: Statement) -> str:
    if not statement.released:
        return "epsilon 0 at delta 0: nothing computed from ratings was released"
    epsilon, delta = round_up(statement.epsilon or 0.0), round_up(statement.delta or 0.0)
    mu = "" if not statement.mu else f" (mu {round_up(statement.mu)})"
    if statement.earlier_runs:
        cost = f"epsilon {epsilon} at delta {delta}{mu} for who was in"
        if statement.runs == 1:
            return f"{cost} the run that found the catalogue, which is all that was released"
        accounting = "exact Gaussian accounting over all of them" if mu else "composed over all of them"
        return f"{cost} all {statement.runs} runs, {accounting}"
    if statement.mu == 0.0:
        return f"epsilon {epsilon} at delta {delta}, the sum over all releases"
    if statement.selection is not None:
        return (
            f"epsilon {epsilon} at delta {delta} for the whole selection (mu {round_up(statement.own.mu)} for any one "
            "trial), Rényi accounting over all trials"
        )
    return f"epsilon {epsilon} at delta {delta}{mu}, exact Gaussian accounting over all releases"


def run_rows(statement: Statement) -> Iterator[tuple[str, str]]:
    """Who was in one run alone, and what they have given away; nothing where a model carries one run only."""
    if not statement.earlier_runs:
        return
    if statement.releases:
        yield "in this run alone", _cost(statement.own.epsilon, statement.own.delta)
    for run in statement.earlier_runs:
        yield f"in {run.name} alone", _cost(run.epsilon, run.delta)


def _cost(epsilon: float, delta: float) -> str:
    return f"epsilon {round_up(epsilon)} at delta {round_up(delta)}"


def _silos(silos: Silos) -> str:
    who = {
        "shares": f"noise added in shares by the silos, enough if {silos.honest} of them are honest",
        "server": "noise added by a server that all silos trust with the exact totals",
        "each silo": "each silo adds all the noise that its own users need",
    }[silos.noise]
    return (
        ("" if silos.count is None else f"{silos.count}; ")
        + f"{who}. A user whose ratings are in two silos is charged twice: epsilon "
        f"{round_up(silos.epsilon_in_two)}"
    )


def _earlier(known: EarlierRuns) -> str:
    about = f"{known.ledger}" if known.group is None else f"{known.ledger}, group {known.group}"
    total = f"epsilon {round_up(known.epsilon)} at delta {round_up(known.delta)}{cap_words(known)}"
    if not known.runs:
        return f"{about}: no earlier run on the same data is known; {total} so far"
    runs = "1 earlier run" if known.runs == 1 else f"{known.runs} earlier runs"
    return f"{about}: {runs} on the same data cost epsilon {round_up(known.earlier_epsilon)}; with this one {total}"


def cap_words(known: EarlierRuns) -> str:
    """The cap that a ledger holds all runs to, at its own delta."""
    if known.cap_epsilon is None:
        return ""
    delta = known.delta if known.cap_delta is None else known.cap_delta
    at = "" if delta == known.delta else f" at delta {round_up(delta)}"
    return f", within a cap of {_fact(known.cap_epsilon)}{at}"


def _item(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=f"  {label}", subsequent_indent=" " * (2 + len(label))
    ) or [f"  {label}".rstrip()]


def grouped(releases: Sequence[Release]) -> Iterator[list[Release]]:
    """Releases that differ in nothing but their cost and one number in the name ("round 3") belong together."""
    groups: dict[object, list[Release]] = {}
    for release in releases:
        parts = re.split(r"\d+", release.name)
        stem = tuple(parts) if len(parts) == 2 else release.name
        groups.setdefault((stem, release.delta, *sorted(release.detail.items())), []).append(release)
    yield from groups.values()


def _row(group: Sequence[Release]) -> Iterator[str]:
    first = group[0]
    share = math.fsum(release.share for release in group)
    unit = "mu" if first.mu > 0.0 else "epsilon"
    costs = sorted({release.mu + release.epsilon for release in group})
    cost = round_up(costs[0]) if len(costs) == 1 else f"{round_up(costs[0])}..{round_up(costs[-1])}"
    name, *rest = textwrap.wrap(label(group), 46) or [repr(first.name)]
    yield f"  {name:<46}  {len(group):>4} x  {f'{unit} {cost}':<23}{100 * share:>6.1f} %".rstrip()
    yield from (f"  {line}" for line in rest)
    facts = [f"{key.replace('_', ' ')} {_fact(value)}" for key, value in first.detail.items()]
    if first.delta > 0.0:
        facts.append(f"delta {round_up(first.delta)} each")
    if facts:
        yield from _item("    ", ", ".join(facts))


def label(group: Sequence[Release]) -> str:
    """The name, with "1..6" where the group has six numbers in a row."""
    name = group[0].name
    numbers = sorted({int(found) for release in group for found in re.findall(r"\d+", release.name)})
    if len(numbers) < 2 or len({release.name for release in group}) < 2:
        return name
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    runs = (
        str(start) if start == end else f"{start}..{end}" for start, end in zip(starts, ends, strict=True)
    )
    return re.sub(r"\d+", ", ".join(runs), name)


def _fact(value: Detail) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
