"""``discreet evaluate``: how good is a model on held-out ratings."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.columns import column_options
from discreet.cli.output import json_option, print_json, printer
from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from discreet.evaluation import Comparison, RankingScores, RatingScores, evaluate_ranking, evaluate_ratings
from discreet.model import Model

__all__ = ["command"]


@click.command("evaluate")
@click.argument("model_directory", metavar="MODEL")
@click.argument("test", metavar="TEST")
@click.option("--history", required=True, metavar="TRAIN", help="What the test's users did before.")
@column_options
@click.option(
    "--at", type=click.IntRange(min=1), default=20, show_default=True, help="Length of the rankings."
)
@click.option(
    "--unknown-items",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Rows of items that the model's catalogue lacks.",
)
@json_option
def command(model_directory: str, test: str, history: str, at: int, as_json: bool, **columns: Any) -> None:
    """Predict the ratings of TEST, and rank its items, from each user's own rows in TRAIN.

    The free baselines stand beside: the mean of all ratings in TRAIN, each user's own mean, and for
    rankings the items most often met in TRAIN. What this prints depends on TEST and TRAIN without any
    noise: keep it to yourself.

    \b
    Example:
      discreet evaluate model/ test.csv --history train.csv --user user --item item --rating stars
    """
    model = Model.load(model_directory)
    past, held_out = (_read(model, path, columns) for path in (history, test))
    ratings = evaluate_ratings(model, past, held_out) if past.explicit else None
    ranking = evaluate_ranking(model, past, held_out, at)
    if as_json:
        print_json(_as_dict(ratings, ranking, held_out))
    else:
        printer().print(_table(ratings, ranking).to_rich())


def _read(model: Model, path: str, columns: dict[str, Any]) -> Ratings:
    rating_range = model.item_side.scale.range
    if (columns["rating"] is None) != (rating_range is None):
        raise RatingsInvalid(
            "the model was trained on what people chose, without ratings; leave out --rating"
            if rating_range is None
            else "the model was trained on ratings; name their column with --rating"
        )
    return Ratings.from_file(path, **columns, rating_range=rating_range, catalogue=model.catalogue)


def _as_dict(ratings: RatingScores | None, ranking: RankingScores, test: Ratings) -> dict[str, Any]:
    k = ranking.k
    return {
        "rmse": None if ratings is None else ratings.rmse,
        "mae": None if ratings is None else ratings.mae,
        f"recall@{k}": ranking.recall,
        f"ndcg@{k}": ranking.ndcg,
        "coverage": ranking.coverage,
        "users": test.n_users,
        "ratings": test.n_ratings,
        "baselines": {
            "global_mean": {"rmse": None if ratings is None else ratings.global_mean_rmse},
            "user_mean": {"rmse": None if ratings is None else ratings.user_mean_rmse},
            "popularity": {f"recall@{k}": ranking.popularity_recall, f"ndcg@{k}": ranking.popularity_ndcg},
        },
    }


def _table(ratings: RatingScores | None, ranking: RankingScores) -> Comparison:
    recall, ndcg = f"recall@{ranking.k}", f"ndcg@{ranking.k}"
    rating_columns = {} if ratings is None else {"rmse": 4, "mae": 4}
    table = Comparison(
        {**rating_columns, recall: 4, ndcg: 4, "coverage": 3}, title=f"{ranking.users:,} users"
    )
    if ratings is not None:
        table.add("global mean", rmse=ratings.global_mean_rmse)
        table.add("user mean", rmse=ratings.user_mean_rmse)
    table.add("popularity", **{recall: ranking.popularity_recall, ndcg: ranking.popularity_ndcg})
    errors = {} if ratings is None else {"rmse": ratings.rmse, "mae": ratings.mae}
    table.add("model", **errors, **{recall: ranking.recall, ndcg: ranking.ndcg, "coverage": ranking.coverage})
    return table
