"""The public half of a task on devices: question after question, and what is learnt from the estimates.

:class:`Learner` is one moment of a task, and never changes: whoever may have to take a step back (a collector whose
disk is full) keeps the one it had. Same arguments and same estimates give the same questions to the last bit, so a
restart is a replay of the stored estimates.
"""

from __future__ import annotations

import copy
import hashlib
import math
from array import array
from typing import NamedTuple

import numpy as np
from scipy import stats

from discreet.catalogue import RatingScale
from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.device.question import Question
from discreet.devices.estimator import PosteriorMeans, noise_variance, posterior_means
from discreet.devices.task import DeviceSettings, Schedule, rotations_for
from discreet.errors import SettingsInvalid
from discreet.methods.shared.public.shrinkage import denoise
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["Estimate", "Learner", "as_item_side"]


# So short that u . v is nothing; the direction of a device's u, which is all an answer depends on, is the same.
_START = 1e-3
# Ratings and how much they vary, so that all that is released stays within single precision.
_LARGEST = 1e6
_BY_CHANCE = 1e-3
"""How often noise alone may pass for popularity."""


class Estimate(NamedTuple):
    """What came of a round: an estimate of the mean vector of the devices, and how many answered."""

    values: Floats
    answers: int


class Learner:
    """A task as it stands after some rounds: which question comes next, and the item side so far.

    ``epsilon`` is what each device spends in all; ``seed``, 64 hexadecimal digits, is public and fresh for every task.

    Notes
    -----
    **Privacy.** Nothing here sees ratings: what comes in are estimates made of the devices' noisy bits.
    """

    def __init__(
        self,
        task: str,
        items: int,
        rating_range: tuple[float, float],
        epsilon: float,
        seed: str,
        settings: DeviceSettings | None = None,
    ) -> None:
        self.settings = DeviceSettings() if settings is None else settings
        self.schedule = Schedule(self.settings, epsilon)
        self.task, self.items, self.seed = task, items, seed
        self.range = (float(rating_range[0]), float(rating_range[1]))
        self.round = 0
        width = self.range[1] - self.range[0]
        self._spread = 0.25 * width if self.settings.spread == "auto" else self.settings.spread
        if not (max(map(abs, self.range)) <= _LARGEST and 1.0 / _LARGEST <= self._spread <= _LARGEST):
            raise SettingsInvalid(
                f"ratings must be within {_LARGEST:g} of zero, and vary by {1.0 / _LARGEST:g} to {_LARGEST:g}"
            )
        # Sums of all estimates of popularity and of offsets, each times its number of answers.
        self._seen = dict.fromkeys(("popularity", "offsets"), Estimate(np.zeros(items), 0))
        self._means = self._posterior_means()
        self._factors: Floats | None = None
        for number in (0, len(self.schedule.steps) - 1):
            self._ask(number)  # a question that cannot be asked is refused now, not when its round has come

    def question(self) -> Question | None:
        """The next round's question, or None at the end."""
        return None if self.round == len(self.schedule.steps) else self._ask(self.round)

    def after(self, estimate: Estimate) -> Learner:
        """The task after the round that :meth:`question` asks for came to this estimate."""
        question = self.question()
        values, answers = estimate
        if question is None or values.shape != (question.coordinates,) or not np.isfinite(values).all():
            raise SettingsInvalid(f"round {self.round + 1} of the task cannot take in this estimate")
        later = copy.copy(self)
        later.round += 1
        if question.kind != "factors":
            before = self._seen[question.kind]
            total = Estimate(before.values + answers * values, before.answers + answers)
            later._seen = {**self._seen, question.kind: total}
            later._means = later._posterior_means()
        else:
            step = self._step(values.reshape(self.items, question.rank), answers)
            later._factors = step if self._factors is None else self._factors + step
        return later

    def item_side(self) -> ItemSide:
        """What is known so far, in single precision: as devices have it, they and a server agree to the last bit."""
        return as_item_side(self._released())

    def released(self) -> bytes:
        """The same as devices download it."""
        return self._released().to_bytes()

    def _released(self) -> DeviceItemSide:
        factors = self._start() if self._factors is None else self._factors
        return DeviceItemSide(
            self.round,
            self.items,
            factors.shape[1],
            _single(self._listed()),
            _single(self._spread * self._means.offsets),
            _single(factors),
            0.5 * (self.range[0] + self.range[1]),
            0.0,
            self._spread**2,
            self.range,
        )

    def _posterior_means(self) -> PosteriorMeans:
        """Popularity and offsets as far as they were asked for; with both, shrunk by the known noise level."""
        (popular, told), (liked, rated) = self._seen["popularity"], self._seen["offsets"]
        if not (told and rated):
            return PosteriorMeans(np.zeros(self.items), popular / max(told, 1))
        noise = (noise_variance(self.schedule.cost, answers) for answers in (told, rated))
        return posterior_means(popular / told, next(noise), liked / rated, next(noise))

    def _listed(self) -> Floats:
        """Popularity for lists: none before it was asked for, and the same for all items where noise drowned it."""
        popular, told = self._seen["popularity"]
        if not told:
            return np.zeros(0)
        if _stands_out(popular / told, noise_variance(self.schedule.cost, told)):
            return self._means.popularity
        return np.full(self.items, (popular / told).mean())

    def _ask(self, number: int) -> Question:
        kind, group, groups = self.schedule.steps[number]
        rank = self.settings.rank if kind == "factors" else 0
        dimension = 1 << (self.items * max(rank, 1) - 1).bit_length()
        return Question(
            self.task,
            number + 1,
            kind,
            self.schedule.cost,
            self.seed,
            rotations_for(dimension),
            self.items,
            rank,
            self.range,
            (group, groups),
        )

    def _start(self) -> Floats:
        """Factors before any is learnt: none, or a public random start when the first are asked for."""
        steps = self.schedule.steps
        if self.round == len(steps) or steps[self.round].kind != "factors":
            return np.zeros((self.items, 0))
        name = b"discreet/start/" + bytes.fromhex(self.seed)
        signs = hashlib.shake_128(name).digest(self.items * self.settings.rank)
        start = np.frombuffer(signs, dtype=np.uint8).reshape(self.items, -1)
        return np.asarray(_START * np.where(start < 128, -1.0, 1.0))

    def _step(self, estimate: Floats, answers: int) -> Floats:
        """What the residuals still hold along the devices' vectors, as far as it stands out of the noise."""
        weight = np.maximum(self._means.popularity, 1e-12)
        variance = np.full(self.items, noise_variance(self.schedule.cost, answers))
        found = denoise(estimate, weight, variance) / weight[:, None]
        found *= self._spread * np.sqrt(self.settings.rank)
        return found


def _single(numbers: Floats) -> array[float]:
    return array("f", numbers.astype(np.float32).tobytes())


def as_item_side(side: DeviceItemSide) -> ItemSide:
    """What devices are told, as the item side of a model."""
    assert side.range is not None
    popularity = np.asarray(side.popularity, np.float64) if side.popularity else None
    return ItemSide(
        RatingScale(side.range),
        side.centre,
        np.asarray(side.offsets, np.float64),
        np.asarray(side.factors, np.float64).reshape(side.items, side.rank),
        Ridge(side.offset_penalty, side.factor_penalty),
        popularity,
    )


def _stands_out(estimates: Floats, variance: float) -> bool:
    """Whether estimates of popularity differ by more than their known noise explains.

    Two tests, each wrong once in two thousand tasks of which nobody said anything: the sum of squares, which sees many
    items that differ a little, and the largest, which sees one that differs much. The variance is an upper bound, so
    both err to the careful side.
    """
    count, half = len(estimates), 0.5 * _BY_CHANCE
    if count < 2:
        return False
    far = (estimates - estimates.mean()) / math.sqrt(variance)
    return bool(
        float(far @ far) > stats.chi2.isf(half, count - 1) or float(far.max()) > stats.norm.isf(half / count)
    )
