"""The server's course through a task: question after question, and what is learnt; all of it public."""

from __future__ import annotations

import hashlib
from array import array

import numpy as np

from discreet.catalogue import RatingScale
from discreet.devices.belief import Belief, believe
from discreet.devices.device.question import Question
from discreet.devices.device.released import Released
from discreet.devices.estimator import noise_variance
from discreet.devices.plan import LocalSettings, Plan, rotations_for
from discreet.errors import SettingsInvalid
from discreet.methods.shared.public.shrinkage import denoise
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["Learner"]


# So short that u . v is nothing; the direction of a device's u, which is all an answer depends on, is the same.
_START = 1e-3
# Ratings and how much they vary, so that all that is released stays within single precision.
_LARGEST = 1e9


class Learner:
    """Which question comes next, and the item side so far.

    Everything follows from the arguments and from what :meth:`advance` was told, so a server that stored these can
    start again where it was.

    Parameters
    ----------
    task, items, rating_range, epsilon
        Name of the task; size of the catalogue; the scale; what each device spends in all.
    seed
        64 hexadecimal digits, public, fresh for every task.
    settings
        Public.

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
        settings: LocalSettings | None = None,
    ) -> None:
        self.settings = LocalSettings() if settings is None else settings
        self.plan = Plan(self.settings, epsilon)
        self.task, self.items, self.seed = task, items, seed
        self.range = (float(rating_range[0]), float(rating_range[1]))
        self.epsilon = float(epsilon)
        self.round = 0
        width = self.range[1] - self.range[0]
        self._spread = 0.25 * width if self.settings.spread == "auto" else self.settings.spread
        if not (max(map(abs, self.range)) <= _LARGEST and 1.0 / _LARGEST <= self._spread <= _LARGEST):
            raise SettingsInvalid(
                f"ratings must be within {_LARGEST:g} of zero, and vary by {1.0 / _LARGEST:g} to {_LARGEST:g}"
            )
        self._sums = {"popularity": np.zeros(items), "offsets": np.zeros(items)}
        self._answers = {"popularity": 0, "offsets": 0}
        self._factors: Floats | None = None
        self._believed: Belief | None = None
        for number in (0, len(self.plan.steps) - 1):
            self._ask(
                number
            )  # a question that cannot be asked is refused now, and not when its round has come

    def question(self) -> Question | None:
        """The next round's question, or None at the end."""
        return None if self.round == len(self.plan.steps) else self._ask(self.round)

    def _ask(self, number: int) -> Question:
        kind, group, groups = self.plan.steps[number]
        rank = self.settings.rank if kind == "factors" else 0
        dimension = 1 << (self.items * max(rank, 1) - 1).bit_length()
        rotations = rotations_for(dimension, self.settings)
        return Question(
            self.task,
            number + 1,
            kind,
            self.plan.cost,
            self.seed,
            rotations,
            self.items,
            rank,
            self.range,
            (group, groups),
        )

    def advance(self, estimate: Floats, answers: int) -> None:
        """Take in the estimate of the question that was asked, made of this many answers."""
        question = self.question()
        if question is None or estimate.shape != (question.coordinates,) or not np.isfinite(estimate).all():
            raise SettingsInvalid(f"round {self.round + 1} of the task cannot take in this estimate")
        if question.kind == "factors":
            self._step(estimate.reshape(self.items, question.rank), answers)
        else:
            self._sums[question.kind] += answers * estimate
            self._answers[question.kind] += answers
            self._believed = None
        self.round += 1

    def released(self) -> Released:
        """What devices are told so far."""
        belief = self._belief()
        factors = self._working()
        return Released(
            self.round,
            self.items,
            0 if factors is None else self.settings.rank,
            _single(belief.popularity if self._answers["popularity"] else None),
            _single(self._spread * belief.offsets if self._answers["offsets"] else None),
            _single(factors),
            0.5 * (self.range[0] + self.range[1]),
            0.0,
            self._spread**2,
        )

    def item_side(self) -> ItemSide:
        """The same as an item side: own offset free, offsets and factors as far as they can be believed."""
        released = self.released()
        offsets = np.array(released.offsets or np.zeros(self.items), dtype=np.float64)
        return ItemSide(
            RatingScale(self.range),
            released.centre,
            offsets,
            np.array(released.factors, dtype=np.float64).reshape(self.items, released.rank),
            Ridge(released.offset_penalty, released.factor_penalty),
            np.array(released.popularity, dtype=np.float64) if released.popularity else None,
        )

    def _belief(self) -> Belief:
        if self._believed is None:
            popularity, offsets = (
                self._sums[kind] / max(self._answers[kind], 1) for kind in ("popularity", "offsets")
            )
            noise = [
                noise_variance(self.plan.cost, self._answers[kind]) for kind in ("popularity", "offsets")
            ]
            if self._answers["popularity"] and self._answers["offsets"]:
                self._believed = believe(popularity, noise[0], offsets, noise[1])
            else:
                self._believed = Belief(np.zeros(self.items), np.maximum(popularity, 0.0))
        return self._believed

    def _working(self) -> Floats | None:
        """Factors to ask with: those learnt so far, or a public random start when the first are asked for."""
        asks = self.round < len(self.plan.steps) and self.plan.steps[self.round].kind == "factors"
        if self._factors is None and asks:
            signs = hashlib.shake_128(b"discreet/start/" + bytes.fromhex(self.seed)).digest(
                self.items * self.settings.rank
            )
            start = np.frombuffer(signs, dtype=np.uint8).astype(np.float64).reshape(self.items, -1)
            return np.asarray(_START * np.where(start < 128, -1.0, 1.0))
        return self._factors

    def _step(self, estimate: Floats, answers: int) -> None:
        """What the residuals still hold along the devices' vectors, as far as it stands out of the noise."""
        weight = np.maximum(self._belief().popularity, 1e-12)
        variance = np.full(self.items, noise_variance(self.plan.cost, answers))
        found = denoise(estimate, weight, variance) / weight[:, None]
        found *= self._spread * np.sqrt(self.settings.rank)
        self._factors = found if self._factors is None else self._factors + found


def _single(numbers: Floats | None) -> array[float]:
    return array("f") if numbers is None else array("f", numbers.astype(np.float32).tobytes())
