"""Every fitted constant of budgeted ALS, and what it is; and what can be set. What each is worth: `make ablate`.

They are read where they are used (``fitted.GROWTH``), so that an ablation can put a trivial value in their place.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from discreet.methods.public.settings import Auto, Positive, PrivateSettings, Rank, Rounds, Share

__all__ = ["BudgetedSettings"]

# Shares of the budget.
ACTIVITY_SHARE = 0.01  # of mu^2, for the first release
OFFSET_SHARE = 0.2  # of the rest, for the offsets
GROWTH = 1.3  # each round gets this many times the mu^2 of the one before
TRIAL_SHARE = 0.03  # of the rest, for the trial of an earlier model's factors

# Shares of a typical user's energy in one release.
FIRST_WEIGHT_SHARE = 0.4  # for item weights beside the first offsets, where nothing is known of popularity
WEIGHT_SHARE = 0.02  # for item weights in a round
MOMENT_SHARE = 0.02  # for the users' second moment in a round, at least
MOMENT_NOISE = 0.07  # relative noise to aim at in that moment, whatever that takes
MOST_MOMENT_SHARE = 0.5  # but no more than this
LEAST_ENERGY = 0.5  # share of a typical user's below which nobody gets more weight, where there is no noise
CLEAR = 0.02  # noise ratio above which everybody has the same weight
ITEM_EXPONENT = 0.25  # an item's share of the budget falls with popularity to this power

# What is expected before anything is released.
USUAL_BETWEEN = 0.2  # variance of users' means over that of their ratings

# The rule for the rank.
CARRIED = 1.35  # rank times the root of the noise ratio of an average item
TOLD = 0.8  # rank over the root of the ratings of an average item: what they tell, without any noise
TOO_NOISY = 0.09  # noise ratio above which there are no factors at all
READABLE = 0.008  # directions per user and mu that stand out of the noise of the users' moment
ROUNDS = 12  # where there are factors

# How a step is taken.
LEAST_FREE = 0.2  # share of a user's ratings, at least, that their own numbers have not used up
INITIAL_RIDGES = (20.0, 8.0, 4.0)  # the users' ridge round by round, in units of the squared residual
LAST_RIDGE = 2.0  # the same after the last round
LEAST_SIGNAL = 0.1  # share of the mean signal that every direction has at least, so that none dies unseen
LEAST_TASTE = 0.8  # share of a direction's spread that is taken for taste, at least, while it is being found
LEAST_LAST_TASTE = 0.1  # the same at the end
REMEMBERED = 0.7  # how far an item's uncertainty after a round says how much the next will find
STEP_CAUTION = 2.0  # standard deviations of noise that the curvature is taken to be larger by
LASTING = 0.2  # part of what offsets move by between releases that is taken to last

# What is said of items and of an earlier model.
FORGOTTEN = 2.9  # noise of an item, relative to what an average over all rounds would leave
WARM_ROUNDS = 2  # rounds from factors that hold: directions need not be found again
STILL_HOLDS = 0.15  # share of the taste that an earlier model caught which it must still catch


class BudgetedSettings(PrivateSettings):
    """Budgeted private ALS.

    Parameters
    ----------
    rank, rounds
        ``"auto"`` follows a public rule of the number of users and items, ratings per user and the budget.
    activity_share
        Share of mu^2 for the first release (how many users, how much they rate).
    offset_share
        Share of the rest for the offsets.
    growth
        Each round gets this many times the mu^2 of the one before.
    item_exponent
        An item's budget is proportional to popularity ** -exponent.
    """

    rank: Rank | Auto = "auto"
    rounds: Rounds | Auto = "auto"
    activity_share: Share = ACTIVITY_SHARE
    offset_share: Share = OFFSET_SHARE
    growth: Positive = GROWTH
    item_exponent: Annotated[float, Field(ge=0.0, le=1.0)] = ITEM_EXPONENT
