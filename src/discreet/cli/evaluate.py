"""``discreet evaluate``: how good is a model on held-out ratings."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from discreet import kernels
from discreet.cli.columns import column_options, file_options
from discreet.cli.device_option import device_option
from discreet.cli.model_ratings import reading_for
from discreet.cli.output import json_option, print_json, printer
from discreet.cli.place_options import Place, place_options
from discreet.cli.row_options import row_options
from discreet.data.blocks import StoredRatings
from discreet.engines.choice import AnyRatings
from discreet.errors import SettingsInvalid
from discreet.evaluation import Comparison, RankingScores, RatingScores, evaluate_ranking, evaluate_ratings
from discreet.model import Model

__all__ = ["command"]


@click.command("evaluate")
@click.argument("model_directory", metavar="MODEL")
@click.argument("test", metavar="TEST")
@click.option("--history", required=True, metavar="TRAIN", help="What the test's users did before.")
@column_options
@file_options
@click.option(
    "--at", type=click.IntRange(min=1), default=20, show_default=True, help="Length of the rankings."
)
@row_options("error")
@click.option(
    "--only",
    type=click.Choice(["errors", "rankings"]),
    help="Errors of predicted ratings alone, or rankings alone. Ranking every item for every user can take as long as "
    "training.  [default: both, or rankings for a model that ranks]",
)
@place_options
@device_option
@json_option
def command(
    model_directory: str,
    test: str,
    history: str,
    at: int,
    only: str | None,
    engine: str,
    blocks: str | None,
    device: str,
    as_json: bool,
    **columns: Any,
) -> None:
    """Predict the ratings of TEST, and rank its items, from each user's own rows in TRAIN.

    A model that ranks predicts no ratings: its errors are left out. The free baselines stand beside: the mean
    of all ratings in TRAIN, each user's own mean, and for rankings the items most often met in TRAIN. What
    this prints depends on TEST and TRAIN without any noise: keep it to yourself.

    Tables that do not fit into memory are grouped by user on disk first. TRAIN may be the folder that train --blocks
    kept, if rows are to be read as they were there.

    \b
    Examples:
      discreet evaluate model/ test.csv --history train.csv --user user --item item --rating stars
      discreet evaluate model/ test.csv --history train.csv --user user --item item --rating stars --only errors
      discreet evaluate model/ test.parquet --history blocks/ --user user --item item
    """
    model = Model.load(model_directory)
    if only == "errors" and model.goal == "rank":
        raise SettingsInvalid(f"--only errors: {_no_errors(model)}; leave it out")
    reading = reading_for(model, columns)
    with ExitStack() as held, kernels.ranking_on(device):
        place = Place(engine, blocks, [history, test], held)
        past = place.read(history, "history", model, reading)
        alike = past if isinstance(past, StoredRatings) else None
        held_out = place.read(test, "test", model, reading, alike)
        rates = model.goal == "rate" and only != "rankings"
        errors = evaluate_ratings(model, past, held_out) if rates else None
        ranking = evaluate_ranking(model, past, held_out, at) if only != "errors" else None
    if as_json:
        print_json(_as_dict(model, errors, ranking, held_out, at))
    else:
        printer().print(_table(errors, ranking, held_out).to_rich())
    if model.goal == "rank" and past.explicit and only is None:
        click.echo(f"No errors of predicted ratings: {_no_errors(model)}.", err=True)
    warning = _worse_than_popularity(model, ranking)
    if warning is not None:
        click.echo(warning, err=True)


def _no_errors(model: Model) -> str:
    if model.item_side.scale.explicit:
        return "this model ranks; it does not predict ratings: train with --goal rate"
    return "the model was trained without ratings, so it predicts none"


def _as_dict(
    model: Model, errors: RatingScores | None, ranking: RankingScores | None, test: AnyRatings, k: int
) -> dict[str, Any]:
    """What was measured; null where it was not."""
    return {
        "goal": model.goal,
        "rmse": None if errors is None else errors.rmse,
        "mae": None if errors is None else errors.mae,
        f"recall@{k}": None if ranking is None else ranking.recall,
        f"ndcg@{k}": None if ranking is None else ranking.ndcg,
        "coverage": None if ranking is None else ranking.coverage,
        "users": test.n_users,
        "ratings": test.n_ratings,
        "baselines": {
            "global_mean": {"rmse": None if errors is None else errors.global_mean_rmse},
            "user_mean": {"rmse": None if errors is None else errors.user_mean_rmse},
            "popularity": {
                f"recall@{k}": None if ranking is None else ranking.popularity_recall,
                f"ndcg@{k}": None if ranking is None else ranking.popularity_ndcg,
            },
        },
    }


def _table(errors: RatingScores | None, ranking: RankingScores | None, test: AnyRatings) -> Comparison:
    columns: dict[str, int] = {}
    model: dict[str, float] = {}
    if errors is not None:
        columns |= {"rmse": 4, "mae": 4}
        model |= {"rmse": errors.rmse, "mae": errors.mae}
    if ranking is not None:
        recall, ndcg = f"recall@{ranking.k}", f"ndcg@{ranking.k}"
        columns |= {recall: 4, ndcg: 4, "coverage": 3}
        model |= {recall: ranking.recall, ndcg: ranking.ndcg, "coverage": ranking.coverage}
    table = Comparison(columns, title=f"{test.n_users if ranking is None else ranking.users:,} users")
    if errors is not None:
        table.add("global mean", rmse=errors.global_mean_rmse)
        table.add("user mean", rmse=errors.user_mean_rmse)
    if ranking is not None:
        table.add("popularity", **{recall: ranking.popularity_recall, ndcg: ranking.popularity_ndcg})
    table.add("model", **model)
    return table


def _worse_than_popularity(model: Model, ranking: RankingScores | None) -> str | None:
    """One sentence where the same list for everybody ranks better."""
    if ranking is None or not ranking.recall < ranking.popularity_recall:
        return None
    found = f"recall@{ranking.k} {ranking.recall:.4f}, popularity {ranking.popularity_recall:.4f}"
    if model.goal == "rate":
        way = "it was trained to predict ratings; to recommend, train with --goal rank"
    else:
        way = "train with more budget or more users, or recommend what is popular"
    return f"This model ranks worse than popularity ({found}): {way}."
