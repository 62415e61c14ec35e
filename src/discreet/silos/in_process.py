"""A whole run over silos in one process: what several organisations would do, on ratings that one person has."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import BudgetInvalid, CatalogueMissing, RatingsInvalid, SettingsInvalid
from discreet.methods.ease.estimator import EASE
from discreet.methods.method import PrivateMethod
from discreet.model import Model
from discreet.privacy.budget import Budget
from discreet.privacy.statement import Statement
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import public_key
from discreet.silos.silo.silo import Silo

__all__ = ["TrainedInSilos", "fit", "refined"]


@dataclass(frozen=True)
class TrainedInSilos:
    """What came out of a run over silos, to be used like a fitted method.

    The model is the same for every silo; what each silo's users were promised and have paid is from its own ledger.
    """

    model_: Model
    statements_: dict[str, Statement]
    rounds_: int

    @property
    def statement_(self) -> Statement:
        """The model's privacy statement."""
        return self.model_.statement


def fit(
    silos: Sequence[Ratings] | Mapping[str, Ratings],
    budget: Budget,
    *,
    method: PrivateMethod | None = None,
    honest: int | None = None,
    noise: Literal["shares", "server"] = "shares",
    rng: int | None = None,
) -> TrainedInSilos:
    """Train one model on several organisations' ratings without pooling them, all in this process.

    The same coordinator, silos, masks, ledgers and stores as over the network; only the network is missing. For
    organisations that do not share a machine there is ``discreet federate``.

    Parameters
    ----------
    silos
        Each organisation's ratings, over one public catalogue (features included) and scale; by name, or in a list.
    budget
        What each silo's users may spend. A user in two silos pays twice, and the statement says how much that is.
    method
        Any private method; :class:`discreet.EASE` with its defaults if left out.
    honest
        How many silos at least add their noise and keep their keys to themselves; more than half if left out.
    noise
        ``"shares"``: each silo adds its part, the server is not trusted. ``"server"``: the server sees exact totals
        and adds the noise.
    rng
        Seed of the ordinary randomness (the start of the factors). Never of the privacy noise.

    Notes
    -----
    **Privacy**. Unit: one user of one silo with all ratings there. Relation: add or remove one user. Every silo bounds
    its users, adds its share of the noise and masks its totals before anything leaves it; see ``silos/proofs``.

    Examples
    --------
    >>> import discreet
    >>> from discreet.data.synthetic import market
    >>> ratings = market(1_200, 40, 12_000, rng=0)
    >>> parts = [ratings.take_users(slice(start, start + 400)) for start in (0, 400, 800)]
    >>> fitted = discreet.silos.fit(parts, discreet.Budget(8.0, 1e-5), method=discreet.ItemMean(), honest=2)
    >>> fitted.statement_.silos.count
    3
    """
    parts = _named(silos)
    if not isinstance(budget, Budget):
        raise BudgetInvalid("training in silos needs budget=discreet.Budget(epsilon=..., delta=...)")
    chosen = EASE() if method is None else method
    if not isinstance(chosen, PrivateMethod):
        raise SettingsInvalid(f"silos run private methods, such as discreet.EASE(), not {chosen!r}")
    first = next(iter(parts.values()))
    if first.catalogue is None:
        raise CatalogueMissing("silos need a public catalogue that all of them have agreed on")
    keys = {name: secrets.token_bytes(32) for name in parts}
    agreement = Agreement.make(
        "in one process",
        silos={name: public_key(key) for name, key in keys.items()},
        budget=budget,
        catalogue=first.catalogue,
        rating_range=first.rating_range,
        method=_name_of(chosen),
        settings=chosen.settings,
        honest=honest,
        noise=noise,
        seed=rng,
    )
    with tempfile.TemporaryDirectory(prefix="discreet-silos-") as folder, ExitStack() as stack:
        coordinator = stack.enter_context(
            Coordinator(Path(folder) / "server.sqlite", agreement, features=first.catalogue.features)
        )
        members = {
            name: stack.enter_context(
                Silo(Path(folder) / f"{name}.sqlite", agreement, name, keys[name], ratings)
            )
            for name, ratings in parts.items()
        }
        while (question := coordinator.question()) is not None:
            for name, silo in members.items():
                coordinator.receive(name, silo.answer(question))
        model = coordinator.model(first.catalogue)
        statements = {name: silo.statement() for name, silo in members.items()}
        return TrainedInSilos(model, statements, coordinator.status()["round"])


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


def _named(silos: Sequence[Ratings] | Mapping[str, Ratings]) -> dict[str, Ratings]:
    if isinstance(silos, Ratings) or not isinstance(silos, Sequence | Mapping):
        raise RatingsInvalid(
            "give the ratings of each silo: a list of discreet.Ratings, or a mapping by name"
        )
    if not isinstance(silos, Mapping):
        width = len(str(len(silos)))
        silos = {f"silo-{number:0{width}}": ratings for number, ratings in enumerate(silos, 1)}
    if not silos:
        raise RatingsInvalid("there is no silo; give the ratings of at least one")
    for name, ratings in silos.items():
        if not isinstance(ratings, Ratings):
            raise RatingsInvalid(f"{name} has {type(ratings).__name__} where discreet.Ratings are needed")
    return dict(sorted(silos.items()))


def _name_of(method: PrivateMethod) -> str:
    """By which everybody finds the method: ours by name, another package's by its class."""
    kind = type(method)
    ours = kind.__module__.startswith("discreet.methods.")
    return kind.public_half.name if ours else f"{kind.__module__}:{kind.__qualname__}"
