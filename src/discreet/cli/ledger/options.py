"""What the ``ledger`` commands share."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.ledger_option import LEDGER_VARIABLE
from discreet.privacy.account.costs import Cost
from discreet.privacy.budget import Budget

__all__ = ["cap_fields", "fields", "file_argument"]

file_argument = click.argument("file", metavar="FILE", envvar=LEDGER_VARIABLE)


def fields(cost: Cost, delta: float) -> dict[str, float | None]:
    """A cost for JSON."""
    return {"epsilon": cost.epsilon(delta), "delta": delta, "mu": cost.gaussian_mu}


def cap_fields(cap: Budget | None) -> dict[str, Any] | None:
    """A cap for JSON."""
    return None if cap is None else {"epsilon": cap.epsilon, "delta": cap.delta}
