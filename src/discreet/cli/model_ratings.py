"""Ratings for a model that is there: its catalogue and its rating range say how to read them."""

from __future__ import annotations

from typing import Any

from discreet.data.ratings import Ratings
from discreet.data.rules import GRADES
from discreet.errors import RatingsInvalid
from discreet.model import Model

__all__ = ["read_ratings_for", "reading_for"]


def read_ratings_for(model: Model, path: str, columns: dict[str, Any]) -> Ratings:
    """The ratings in a file, numbered by the model's catalogue; ``columns`` as for :func:`reading_for`."""
    return Ratings.from_file(path, **reading_for(model, columns))


def reading_for(model: Model, columns: dict[str, Any]) -> dict[str, Any]:
    """How to read ratings for a model: the parameters of `Ratings.from_file`.

    Parameters
    ----------
    columns
        The options of :func:`~discreet.cli.columns.column_options`, :func:`~discreet.cli.columns.file_options` and
        :func:`~discreet.cli.row_options.row_options`.
    """
    rating_range = model.item_side.scale.range
    if columns.get("graded") is not None and rating_range != GRADES:
        raise RatingsInvalid("the model was not trained on graded weights; leave out --graded")
    graded = columns.get("weight") is not None and rating_range == GRADES
    if graded and columns["graded"] is None:
        raise RatingsInvalid("the model was trained on graded weights; say how with --graded CAP")
    rated = columns["rating"] is not None or graded
    if rated != (rating_range is not None):
        raise RatingsInvalid(
            "the model was trained on what people chose, without ratings; leave out --rating"
            if rating_range is None
            else "the model was trained on ratings; name their column with --rating"
        )
    return {**columns, "rating_range": None if graded else rating_range, "catalogue": model.catalogue}
