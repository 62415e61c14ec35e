"""The ways to fold a person in: from their own history and the released arrays to their own coefficients.

Each is one frozen object with public numbers. Asked for coefficients it looks at each user's own rows alone, so it
costs no privacy budget, in training and afterwards, for people inside the training data and outside of it.

    Ridge             ratings: an offset and a vector by ridge regression
    Clicks            what was taken is 1 (or what its rating says), everything else weakly 0
    OwnMean           the user's own mean rating, beside a vector by ridge regression
    FrankWolfeReplay  the row that a user would have had in a Frank-Wolfe run
    NonNegative       a vector without negative entries, for factors that have none
"""

from typing import TypeAlias

from discreet.model.fold_in.clicks import Clicks
from discreet.model.fold_in.frank_wolfe import FrankWolfeReplay
from discreet.model.fold_in.non_negative import NonNegative
from discreet.model.fold_in.own_mean import OwnMean
from discreet.model.fold_in.ridge import Ridge

__all__ = ["Clicks", "FoldIn", "FrankWolfeReplay", "NonNegative", "OwnMean", "Ridge"]

FoldIn: TypeAlias = Ridge | Clicks | OwnMean | FrankWolfeReplay | NonNegative
