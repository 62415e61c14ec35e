"""What one silo makes of a shared model for itself alone: its own exact sums added to the released ones."""

from __future__ import annotations

from discreet.engines.choice import AnyRatings
from discreet.methods.ease.estimator import EASE
from discreet.model import Model

__all__ = ["refined"]


def refined(model: Model, ratings: AnyRatings) -> Model:
    """The shared model, with what one silo knows without noise.

    Parameters
    ----------
    model
        Lists that silos have trained together (:class:`discreet.EASE`), with its released sums.
    ratings
        The silo's own. They may be over other items.

    Returns
    -------
    Model
        Its statement says that it is not private.

    Notes
    -----
    **Privacy**. Not private, and not to be released: it holds the silo's own ratings without noise. Of the other silos'
    users it tells what the shared model has told already.
    """
    EASE.public_half.check_start(model)
    return EASE(head=model.settings["head"], keep_sums=False).fit(ratings, start=model).model_
