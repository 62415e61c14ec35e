"""One run at scale with many canaries: each is in or out by an even coin, and the attacker guesses for some.

Steinke, Nasr and Jagielski, "Privacy Auditing with One (1) Training Run" (2023). A canary rated one item that nobody
else rated, at the top of the scale, so that canaries hardly disturb each other; the attacker knows everybody else and
which items the canaries would have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.audit.bounds import epsilon_of_one_run
from discreet.audit.findings import GameFinding
from discreet.audit.sensitivity import noise_scales, whitened
from discreet.audit.strangers import together
from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.data.synthetic import market
from discreet.engines.memory import MemoryEngine
from discreet.methods.method import PrivateMethod
from discreet.methods.protocol import ProtocolRun
from discreet.methods.public_half import Facts
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Ledger
from discreet.types import Bools, Floats

__all__ = ["ONE_RUN_RISK", "Scale", "audit_one_run"]

ONE_RUN_RISK = 0.01
"""Chance that an honest run is found guilty, at most. The bound pays for delta once for each canary, so it says nothing
at a risk below some tenth of their product; and it stays so far below the claim that no alarm is to be expected."""


@dataclass(frozen=True)
class Scale:
    """How large the run is: ordinary users, items and ratings, and canaries."""

    users: int = 20_000
    items: int = 500
    ratings: int = 400_000
    canaries: int = 2_000


def audit_one_run(
    method: PrivateMethod, budget: Budget, scale: Scale, *, risk: float = ONE_RUN_RISK, seed: int = 0
) -> GameFinding:
    """Train once, and guess who of the canaries was there.

    The number of guesses is fixed before the run: a tenth of the canaries, those whose scores say most.
    """
    rng = np.random.default_rng(seed)
    crowd, canaries = _worlds(scale, rng)
    inside: Bools = rng.random(scale.canaries) < 0.5
    scores = _train(method, budget, crowd, canaries, inside, seed)
    guesses = max(1, scale.canaries // 10)
    order = np.argsort(scores)
    top, bottom = order[-(guesses - guesses // 2) :], order[: guesses // 2]
    right = int(inside[top].sum() + (~inside[bottom]).sum())
    bound = epsilon_of_one_run(scale.canaries, guesses, right, budget.delta, risk)
    apart = float(scores[inside].mean() - scores[~inside].mean())
    reach = apart / float(scores[~inside].std()) / budget.mu
    return GameFinding(budget.epsilon, budget.delta, 1, reach, {"one run": bound}, risk)


def _worlds(scale: Scale, rng: np.random.Generator) -> tuple[Ratings, Ratings]:
    crowd = market(scale.users, scale.items, scale.ratings, rng=rng)
    assert crowd.catalogue is not None
    names = [*crowd.catalogue.ids.tolist(), *(f"canary-{number}" for number in range(scale.canaries))]
    catalogue = Catalogue(names)
    crowd = replace(crowd, catalogue=catalogue)
    high = crowd.rating_range[1] if crowd.rating_range is not None else 1.0
    canaries = replace(
        crowd,
        indptr=np.arange(scale.canaries + 1, dtype=np.int64),
        items=(scale.items + np.arange(scale.canaries)).astype(crowd.items.dtype),
        values=np.full(scale.canaries, high),
        user_ids=np.arange(scale.canaries),
    )
    return crowd, canaries


def _train(
    method: PrivateMethod, budget: Budget, crowd: Ratings, canaries: Ratings, inside: Bools, seed: int
) -> Floats:
    """One run, and each canary's score: releases less the crowd's totals, along what the canary would bring."""
    half, gate = method.private_half, Gate(Ledger(budget))
    present = MemoryEngine(half, together(crowd, canaries.take_users(inside)))
    alone = MemoryEngine(half, crowd)
    singles = [MemoryEngine(half, canaries.take_users([place])) for place in range(canaries.n_users)]
    facts = Facts(crowd.n_items, crowd.scale, budget, gate.ledger.remaining_mu)
    protocol = ProtocolRun(method.public_half, method.settings, facts, seed)
    scores = np.zeros(canaries.n_users)
    while (query := protocol.query) is not None:
        forms = query.mechanism.empty()
        released = gate.release_totals(query.name, forms, present.totals(query), mu=query.mu)
        scales = noise_scales(forms, query.mu)
        left = whitened(_less(released, alone.totals(query)), scales)
        for place, single in enumerate(singles):
            direction = whitened([t.value.astype(np.float64) for t in single.totals(query)], scales)
            scores[place] += float(left @ direction)
        protocol.take(released)
        protocol.forget()
    return scores


def _less(released: dict[str, Floats], totals: list[Total]) -> list[Any]:
    return [released[total.name] - total.value for total in totals]
