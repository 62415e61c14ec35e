"""A whole task with simulated devices, all at once: the same bits as real devices would send."""

from __future__ import annotations

import numpy as np

from discreet.data.ratings import Ratings
from discreet.devices.device.question import DEVICE_ID_BYTES
from discreet.devices.estimator import Estimator
from discreet.devices.learner import Learner
from discreet.devices.plan import LocalSettings
from discreet.errors import CatalogueMissing, RatingsInvalid
from discreet.model import Model
from discreet.privacy.local.coin import Coin
from discreet.privacy.local.rotated import answers
from discreet.privacy.local.rotation import participants
from discreet.privacy.pure.ledger import PureLedger
from discreet.privacy.statement import Statement

__all__ = ["simulate"]

_PUBLIC = (
    "the item catalogue",
    "the rating range",
    "all settings, and how much one user's ratings vary",
    "each device's pseudonym, and with it which rounds it was asked in",
)


def simulate(
    ratings: Ratings,
    settings: LocalSettings | None = None,
    epsilon: float = 1.0,
    rng: np.random.Generator | int | None = None,
    coin: Coin | None = None,
) -> Model:
    """Let every user of ``ratings`` be a device, and learn from their bits.

    Parameters
    ----------
    ratings
        With a catalogue and a rating range, both public.
    settings
        Public.
    epsilon
        What one device's whole transcript costs.
    rng
        Draws pseudonyms and the task's seed, which are public.
    coin
        Leave it out: the devices' coins come from the operating system. A fixed one is for tests and voids the promise.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: replace them all. Each device answers one question in every
    pass; its transcript is epsilon-LDP (``proofs/rotated.md``). What leaves is computed from the bits alone.
    """
    if ratings.catalogue is None:
        raise CatalogueMissing(
            "the local model needs a public item list: devices must agree on the items' numbers"
        )
    if ratings.rating_range is None:
        raise RatingsInvalid("the local model learns from ratings; name their column and range")
    settings = LocalSettings() if settings is None else settings
    coin = Coin() if coin is None else coin
    public = np.random.default_rng(rng)
    learner = Learner(
        "simulation", ratings.n_items, ratings.rating_range, epsilon, public.bytes(32).hex(), settings
    )
    ids = np.frombuffer(public.bytes(DEVICE_ID_BYTES * ratings.n_users), np.uint8).reshape(
        -1, DEVICE_ID_BYTES
    )
    while (question := learner.question()) is not None:
        asked = np.flatnonzero(participants(question, ids))
        part = ratings.take_users(asked)
        released = learner.released() if question.kind == "factors" else None
        rows = (part.indptr, part.items, part.values)
        estimator = Estimator(question)
        estimator.add(ids[asked], answers(question, rows, ids[asked], released, coin))
        learner.advance(estimator.estimate(), estimator.answers)
    statement = Statement.from_pure_ledger(
        _ledger(learner), model="local", public=_PUBLIC, fixed_noise_key=coin.fixed
    )
    return Model(learner.item_side(), ratings.catalogue, statement, "local", settings.model_dump())


def _ledger(learner: Learner) -> PureLedger:
    """What any one device spends: one answer in every pass."""
    ledger = PureLedger(learner.epsilon)
    for number in range(learner.plan.passes):
        charge = ledger.charge(f"answer {number + 1} of one device, one bit", epsilon=learner.plan.cost)
        ledger.redeem(charge)
    return ledger
