"""Ratings for a model that is there: its catalogue and its rating range say how to read them."""

from __future__ import annotations

from typing import Any

from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from discreet.model import Model

__all__ = ["read_ratings_for"]


def read_ratings_for(model: Model, path: str, columns: dict[str, Any]) -> Ratings:
    """The ratings in a file, numbered by the model's catalogue.

    Parameters
    ----------
    columns
        The options of :func:`~discreet.cli.columns.column_options` and
        :func:`~discreet.cli.row_options.row_options`.
    """
    rating_range = model.item_side.scale.range
    if (columns["rating"] is None) != (rating_range is None):
        raise RatingsInvalid(
            "the model was trained on what people chose, without ratings; leave out --rating"
            if rating_range is None
            else "the model was trained on ratings; name their column with --rating"
        )
    return Ratings.from_file(path, **columns, rating_range=rating_range, catalogue=model.catalogue)
