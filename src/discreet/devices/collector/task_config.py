"""What a task is, fixed when it is created; everything it will ask follows from this and from what was released."""

from __future__ import annotations

import secrets
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.devices.collector.messages import TaskName
from discreet.devices.device.question import MAX_ITEMS
from discreet.devices.device.terms import Terms
from discreet.devices.learner import Learner
from discreet.devices.plan import LocalSettings
from discreet.errors import SettingsInvalid

__all__ = ["Order"]


class Order(BaseModel):
    """A task to be created.

    Parameters
    ----------
    task
        Its name: 1 to 64 of ``a-z``, ``0-9`` and ``-``.
    items, range
        Size of the catalogue; lowest and highest rating.
    epsilon
        What one device spends in all rounds together.
    settings
        Of the learner.
    minimum
        Reports a round must have before anything is released from it.
    seed
        64 hexadecimal digits, public; a fresh one if left out.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    task: TaskName
    items: Annotated[int, Field(ge=1, le=MAX_ITEMS)]
    range: tuple[float, float]
    epsilon: Annotated[float, Field(gt=0.0)]
    settings: LocalSettings = LocalSettings()
    minimum: Annotated[int, Field(ge=1)] = 1000
    seed: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(
        default_factory=lambda: secrets.token_hex(32)
    )

    def learner(self) -> Learner:
        """The course of questions, at its start."""
        low, high = self.range
        if low > high:
            raise SettingsInvalid(
                f"the rating range is reversed, {low:g} to {high:g}; give the lowest rating first"
            )
        return Learner(self.task, self.items, self.range, self.epsilon, self.seed, self.settings)

    def terms(self) -> Terms:
        """What devices are asked to agree to."""
        return Terms(self.task, self.epsilon, len(self.learner().plan.steps), self.items, self.range)
