"""A silo's own model: the federated model, moved towards the silo's own users as far as held-out ratings say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import ModelInvalid, RatingsInvalid
from discreet.methods.checks import check_ratings
from discreet.model import Model
from discreet.model.blocks import check_histories
from discreet.model.item_side import ItemSide
from discreet.privacy.statement import Statement
from discreet.privacy.statement_text import round_up
from discreet.silos.own.choice import (
    ALONE,
    FEDERATED,
    FEWEST,
    Candidate,
    Way,
    choose,
    fitted,
    judge,
    measure_of,
    measured,
)

__all__ = ["STAYS", "OwnModel", "refine"]

STAYS = (
    "refined on one silo's own ratings without any noise: the silo's users are not protected from one another, nor "
    "from anybody else who gets this model; it must not leave the silo"
)
"""The reason in the statement of a silo's own model."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class OwnModel:
    """What a silo got for itself. All of it is for the silo alone: nothing here is private.

    Attributes
    ----------
    model_ : Model
        To be used like any other, inside the silo. Where the federated model is best as it is, this is that model.
    way_ : str
        ``"federated"``: left as it is; ``"refined"``; or ``"alone"``: trained on the silo's own ratings alone.
    measure_ : str
        What was held out was judged by: ``"rmse"`` (less is better), or ``"recall@20"`` for a model that ranks.
    held_out_ : dict
        That measure on held-out ratings of the silo: of the federated model, of one trained alone, and of the best
        refined one. The last is the best of many, so it may flatter a little.
    """

    model_: Model
    way_: Way
    measure_: str
    held_out_: dict[Way, float]


def refine(
    model: Model,
    ratings: Ratings,
    *,
    rng: np.random.Generator | int | None = None,
    progress: Progress | None = None,
) -> OwnModel:
    """Refine a released model on a silo's own ratings.

    Parameters
    ----------
    model
        What the silos trained together, by any method; private.
    ratings
        The silo's own, over the model's catalogue.
    rng
        Seed of the split and of the start. A model trained alone starts as ``ALS().fit(ratings, rng=rng)`` does.
    progress
        Called with (stage, done, total).

    Notes
    -----
    **Privacy.** Nothing leaves the silo by this, so what its users were promised towards everybody outside stays as it
    was. But the outcome is computed from exact ratings: the statement says that it is not private. To refine with a
    promise, spend a budget: ``BudgetedALS().fit(ratings, budget, start=model)``.

    Examples
    --------
    >>> import discreet
    >>> from discreet.data.synthetic import market
    >>> ratings = market(600, 40, 6_000, rng=0)
    >>> parts = [ratings.take_users(slice(start, start + 200)) for start in (0, 200, 400)]
    >>> federated = discreet.silos.fit(parts, discreet.Budget(1.0, 1e-5), honest=2).model_
    >>> own = discreet.silos.refine(federated, parts[0], rng=0)
    >>> own.model_.statement.private
    False
    """
    check_ratings(ratings)
    _check_start(model)
    check_histories(ratings, model.catalogue, model.item_side)
    if ratings.n_ratings < FEWEST:
        raise RatingsInvalid(
            f"{ratings.n_ratings} ratings are too few to judge by what suits this silo's users (at least {FEWEST}); "
            "use the federated model as it is"
        )
    # Starts differ by more than silos are to lose: what is chosen as trained alone is what that seed gives alone.
    seed = rng if isinstance(rng, int) else int(np.random.default_rng(rng).integers(2**62))
    generator, report = np.random.default_rng(seed), progress or _silent
    # Features were used by those who trained together; here they would only be in the way of plain ALS.
    plain = Catalogue(model.catalogue.ids, model.catalogue.titles)
    bare, rows = replace(model, catalogue=plain), replace(ratings, catalogue=plain)
    found = judge(
        bare, rows, generator, lambda done, total: report("judging on held-out ratings", done, total)
    )
    best, refined = choose(found)
    report("training", 0, 1)
    side = fitted(best, bare, rows, seed)
    report("training", 1, 1)
    held_out: dict[Way, float] = {one.way: measured(model, found[one]) for one in (FEDERATED, ALONE, refined)}
    own = model if best.way == "federated" else _own(model, side, best)
    return OwnModel(own, best.way, measure_of(model), held_out)


def _check_start(model: Model) -> None:
    if not model.statement.private:
        raise ModelInvalid(
            f"refine takes what silos released together; this model is not private ({model.statement.reason})"
        )


def _own(model: Model, side: ItemSide, chosen: Candidate) -> Model:
    """The model with a statement that keeps it from being taken for the federated one."""
    told = model.statement
    digest = model.digest
    promise = f"epsilon {round_up(told.epsilon or 0.0)} at delta {round_up(told.delta or 0.0)}"
    statement = Statement.not_private(STAYS, public=told.public, model="silos").with_note(
        f"made from model {digest[:16]}. What that one promises ({promise}) holds towards everybody outside the silo "
        "as long as this one stays inside"
    )
    settings = {
        "goal": side.goal,
        "way": chosen.way,
        "federated": digest,
        "rank": side.rank,
        "strength": chosen.strength,
    }
    return Model(side, model.catalogue, statement, "own", settings)


def _silent(what: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""
