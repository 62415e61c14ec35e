"""An experiment: which figure or table of which paper, what it shows, and how to run it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from reproduction.context import Context, Size
from reproduction.output import plotting
from reproduction.result import Result


@dataclass(frozen=True)
class Experiment:
    """One figure or table."""

    name: str
    title: str
    source: str
    shows: str
    paper_found: str
    run: Callable[[Context], Result]


@dataclass(frozen=True)
class Finished:
    """An experiment that was run, with its result and the circumstances."""

    experiment: Experiment
    result: Result
    size: Size
    seed: int
    draws: int | None
    seconds: float
    trials: int | None = None


def perform(experiment: Experiment, context: Context) -> Finished:
    """Run an experiment in the common look; the result names every data set that the context handed out."""
    own = context.fresh()
    started = time.perf_counter()
    with plotting.style():
        result = experiment.run(own)
    seconds = time.perf_counter() - started
    unsaid = [data.sentence for data in own.used if not any(s.startswith(data.sentence) for s in result.data)]
    result.data = [*unsaid, *result.data]
    if own.quick:
        for figure in result.figures.values():
            plotting.mark_as_quick(figure, own.tuned, own.draws)
    return Finished(experiment, result, own.size, own.seed, own.draws, seconds, own.tuned)
