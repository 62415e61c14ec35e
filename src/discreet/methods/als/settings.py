"""Settings of plain ALS."""

from __future__ import annotations

from discreet.catalogue import Goal
from discreet.methods.public.settings import Auto, Exponent, Positive, Rank, Rounds, Settings

__all__ = ["ALSSettings"]


class ALSSettings(Settings):
    """Plain ALS.

    Parameters
    ----------
    goal
        What ratings are for. ``"rate"`` predicts them. ``"rank"`` takes them as opinions (from -0.8 for the lowest to 1
        for the highest, `RatingScale.opinions`), and ranks: the settings are then those of clicks. Without ratings the
        goal is always ``"rank"``.
    rank
        Factors. For ratings ``"auto"`` judges 8 and 32 by the held-out tenth, for clicks 8, 32 and 128.
    rounds
        Passes over both sides. For ratings ``"auto"`` follows the penalties down from strong ones to the chosen one; it
        is 15 where a penalty is given, and for clicks 8.
    offset_penalty, penalty, count_exponent
        Ridge on offsets and factors, times (number of ratings) ** count_exponent. For ratings ``"auto"`` judges the
        penalties by the held-out tenth, with exponent 0.5; people's own may end weaker than that of training. For
        clicks offsets have no penalty, and that of a user with the mean number of clicks goes up from 0.05 times that
        number, by a factor of the root of 2, as long as held-out recall rises.
    gravity
        Weight of unseen items as zeros (clicks). ``"auto"`` is 3 times a user's mean number of clicks over the number
        of items in use (1 / sum of squared shares of the clicks): items that nobody uses change nothing.
    """

    goal: Goal = "rate"
    rank: Rank | Auto = "auto"
    rounds: Rounds | Auto = "auto"
    offset_penalty: Positive | Auto = "auto"
    penalty: Positive | Auto = "auto"
    count_exponent: Exponent | Auto = "auto"
    gravity: Positive | Auto = "auto"
