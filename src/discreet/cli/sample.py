"""``discreet sample``: a made-up market as files, to try every command on."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.cli.demo import ITEMS, LIFT, NEWCOMER, RATINGS, SEED, USERS
from discreet.cli.output import Output, check_folder, show_files
from discreet.cli.request import option, takes
from discreet.data.ratings import Ratings
from discreet.data.splits import by_rating
from discreet.data.synthetic import market

__all__ = ["command"]

_KINDS = ("drama", "comedy", "thriller", "documentary", "music", "family", "science", "travel")


class _Asked(Output):
    out: str = option("Folder to put the files into; made if it is missing.", metavar="DIR")
    users: int = option("How many people rate.", USERS, ge=100)
    seed: int = option("Of the market.", SEED, ge=0)
    force: bool = option("Replace files that are already there.")


@takes(_Asked, "sample")
def command(request: _Asked) -> None:
    """Write a made-up market as files: ratings.csv, items.csv, test.csv and my-history.csv.

    Nobody's data: half stars, popular and rare items, busy and quiet people. Every line of the README can be followed
    with these files word for word.

    \b
    Example:
      discreet sample --out .
      discreet train ratings.csv --user user --item item --rating rating --rating-range 1 5 \\
          --catalogue items.csv --epsilon 1 --delta 1e-6 --out model
      discreet recommend model --history my-history.csv -n 10
    """
    users, seed = request.users, request.seed
    ratings = market(users, ITEMS, round(RATINGS * users / USERS), rng=seed, lift=LIFT)
    train, test = by_rating(ratings, (0.9, 0.1), rng=seed)
    tables = {
        "ratings.csv": _rows(train),
        "items.csv": _items(ratings),
        "test.csv": _rows(test),
        "my-history.csv": pl.DataFrame({"item": list(NEWCOMER), "rating": list(NEWCOMER.values())}),
    }
    folder = check_folder(request.out, tables, force=request.force)
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.write_csv(folder / name)
    show_files(request, request.out, tables)


def _rows(ratings: Ratings) -> pl.DataFrame:
    assert ratings.catalogue is not None
    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    return pl.DataFrame(
        {"user": users, "item": ratings.catalogue.ids[ratings.items], "rating": ratings.values}, strict=False
    )


def _items(ratings: Ratings) -> pl.DataFrame:
    """With a title and a kind each, which have nothing to do with taste."""
    assert ratings.catalogue is not None
    ids = ratings.catalogue.ids.tolist()
    kinds = [_KINDS[number % len(_KINDS)] for number in range(len(ids))]
    titles = [f"The {kind} of {number}" for number, kind in enumerate(kinds, 1)]
    return pl.DataFrame({"item": ids, "title": titles, "kind": kinds})
