"""``--goal``: what ratings are for, as an option and as a method's setting."""

from __future__ import annotations

import click

from discreet.errors import SettingsInvalid
from discreet.methods.settings import Settings

__all__ = ["goal_option", "read_goal"]

goal_option = click.option(
    "--goal",
    type=click.Choice(["rank", "rate"]),
    help="What ratings are for: rank (order items, for recommendations) or rate (predict ratings).  [default: rank, or "
    "rate for a method that cannot rank by ratings]",
)


def read_goal(
    goal: str | None,
    method: str,
    settings_type: type[Settings],
    *,
    rated: bool,
    ignores_ratings: bool = False,
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
    ignores_ratings
        Whether the method ranks by what was chosen, also where there are ratings.
    """
    if goal == "rate" and (ignores_ratings or not rated):
        why = f"--method {method} predicts none" if rated else "there are none without --rating and its range"
        raise SettingsInvalid(f"--goal rate is about predicting ratings, and {why}; leave it out")
    if "goal" in settings_type.model_fields:
        return {"goal": goal or "rank"}
    if goal == "rank" and rated and not ignores_ratings:
        raise SettingsInvalid(
            f"--method {method} predicts ratings and cannot rank by them; leave --goal out, or use --method budgeted"
        )
    return {}
