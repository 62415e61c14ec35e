"""A whole task with simulated devices in one process: the same bits as real devices would send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.device.question import DEVICE_ID_BYTES
from discreet.devices.estimator import Estimator
from discreet.devices.learner import Estimate, Learner
from discreet.devices.task import DeviceSettings, model_of, refuse_paid
from discreet.errors import CatalogueMissing, RatingsInvalid
from discreet.methods.public.half import check_features
from discreet.model import Model
from discreet.privacy.local.rotated import Coin, DeviceIds, answers, participants
from discreet.privacy.statement import Statement

__all__ = ["DeviceFit", "fit"]


@dataclass(frozen=True)
class DeviceFit:
    """What a simulated task ends with."""

    model_: Model

    @property
    def statement_(self) -> Statement:
        """What each device spent."""
        return self.model_.statement


def fit(
    ratings: Ratings,
    epsilon: float = 4.0,
    *,
    rng: np.random.Generator | int | None = None,
    fixed_key_not_private: int | None = None,
    **settings: Any,
) -> DeviceFit:
    """Let every user of ``ratings`` be a device, and learn from one noisy bit a round of each.

    A simulation of what devices would do: whoever calls this has all ratings. In earnest, ``discreet collect`` asks
    real devices.

    Parameters
    ----------
    ratings
        With a catalogue and a rating range, both public.
    epsilon
        What one device's whole transcript costs.
    rng
        Draws pseudonyms and the task's seed, which are public.
    fixed_key_not_private
        Leave it out: the devices' coins come from the operating system. A key makes them repeat, for tests, and voids
        the promise.
    **settings
        Public: ``goal``, ``groups``, ``passes``, ``factor_rounds``, ``rank`` and ``spread``, as
        :class:`discreet.devices.DeviceSettings` has them.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: replace them all. Each device answers one question in every
    pass; its transcript is epsilon-LDP (``privacy/local/proofs/rotated.md``). What leaves is computed from the bits.

    Examples
    --------
    >>> from discreet.data.synthetic import market
    >>> found = fit(market(2_000, 40, 20_000, rng=0), epsilon=4.0, rng=0)
    >>> found.model_
    Model(devices, 1 to 5, goal rank, 40 items, 0 weights)
    >>> found.statement_.epsilon, found.statement_.relation
    (4.0, "replace all of one user's ratings")
    """
    chosen = DeviceSettings.checked(**settings)
    if ratings.catalogue is None:
        raise CatalogueMissing(
            "devices need a public item list: they must agree on the items' numbers; give a catalogue"
        )
    check_features("a task on devices", used=False, given=ratings.catalogue.features is not None)
    if ratings.rating_range is None:
        raise RatingsInvalid("devices answer about ratings; name their column and range")
    refuse_paid(ratings.catalogue)
    coin = Coin() if fixed_key_not_private is None else Coin.fixed_key_not_private(fixed_key_not_private)
    public = np.random.default_rng(rng)
    learner = Learner(
        "simulation", ratings.n_items, ratings.rating_range, epsilon, public.bytes(32).hex(), chosen
    )
    ids = np.frombuffer(public.bytes(DEVICE_ID_BYTES * ratings.n_users), np.uint8)
    users = ids.reshape(-1, DEVICE_ID_BYTES)
    while learner.question() is not None:
        learner = learner.after(_ask_devices(learner, ratings, users, coin))
    schedule = learner.schedule
    answered = schedule.passes * ratings.n_users
    return DeviceFit(
        model_of(learner.item_side(), ratings.catalogue, schedule, len(schedule.steps), answered, coin)
    )


def _ask_devices(learner: Learner, ratings: Ratings, ids: DeviceIds, coin: Coin) -> Estimate:
    """One round: every device that is asked answers with one bit."""
    question = learner.question()
    assert question is not None
    chosen = np.flatnonzero(participants(question, ids))
    part = ratings.take_users(chosen)
    side = DeviceItemSide.from_bytes(learner.released()) if question.kind == "factors" else None
    who = np.asarray(ids)[chosen]
    estimator = Estimator(question)
    estimator.add(who, answers(question, (part.indptr, part.items, part.values), who, side, coin))
    return Estimate(estimator.estimate(), estimator.answers)
