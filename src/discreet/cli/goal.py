"""``--goal``: what a model is for. It chooses the method where none is named."""

from __future__ import annotations

import click

from discreet.errors import SettingsInvalid
from discreet.methods.registry import DEFAULTS
from discreet.methods.settings import Settings

__all__ = ["goal_option", "method_for", "read_goal"]

goal_option = click.option(
    "--goal",
    type=click.Choice(["rank", "rate"]),
    help="What the model is for: rank (lists of what suits somebody) or rate (predicted ratings).  [default: rank, or "
    "what --method does]",
)


def method_for(method: str | None, goal: str | None) -> str:
    """The method by its name, or the one that is trained for this goal."""
    return method or DEFAULTS["rate" if goal == "rate" else "rank"].method_name()


def read_goal(
    goal: str | None,
    method: str,
    settings_type: type[Settings],
    *,
    rated: bool,
    makes_lists: bool = False,
) -> dict[str, str]:
    """The setting ``goal`` of a method that has one; what a person asked for and cannot have is refused.

    Parameters
    ----------
    goal
        As typed; ``None`` where it was left out.
    method, settings_type
        Its name and its settings.
    rated
        Whether there are ratings.
    makes_lists
        Whether the method makes lists, and predicts no ratings, also where there are some.
    """
    if goal == "rate" and (makes_lists or not rated):
        why = f"--method {method} predicts none" if rated else "there are none without --rating and its range"
        raise SettingsInvalid(f"--goal rate is about predicting ratings, and {why}; leave it out")
    if "goal" in settings_type.model_fields:
        return {"goal": goal or "rank"}
    if goal == "rank" and rated and not makes_lists:
        raise SettingsInvalid(
            f"--method {method} predicts ratings and makes no lists; leave --goal or --method out"
        )
    return {}
