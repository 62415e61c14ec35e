"""What a shuffler between devices and collector buys: the central epsilon, and all that it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from discreet.devices.schedule import Schedule

__all__ = ["Amplified", "ShuffleTerms", "amplified", "amplify"]

_SLACK = 1e-12  # relative; sums of floats are rounded up


class ShuffleTerms(BaseModel):
    """How answers of a task are shuffled.

    Parameters
    ----------
    batch
        Fewest reports that are mixed and handed on together.
    delta
        Of the central statement, over all rounds; should be well below one over the number of devices.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    batch: Annotated[int, Field(ge=2, le=1 << 31)]
    delta: Annotated[float, Field(gt=0.0, lt=1.0)] = 1e-7


@dataclass(frozen=True)
class Amplified:
    """The central promise of a shuffled task, beside the local one, which holds whatever the shuffler does.

    ``epsilon`` at ``delta`` bounds what all that the collector and the public see tells of one user's ratings, for
    ``answers`` answers of one device in batches of at least ``batch``; ``answer_epsilon`` is the local one of each.
    """

    epsilon: float
    delta: float
    answers: int
    batch: int
    answer_epsilon: float

    @property
    def assumes(self) -> tuple[str, ...]:
        """What must be true for it to hold, each a sentence's end."""
        return (
            "shuffler and collector do not work together, and nobody has both keys",
            f"of every batch at least {self.batch} reports are from honest devices: devices are not authenticated, and"
            " reports that somebody made up hide nobody",
            "the encryption holds (HPKE: X25519, HKDF-SHA256, ChaCha20-Poly1305), and so does HMAC-SHA256",
        )

    def sentence(self) -> str:
        """All of it in words, for a statement."""
        answers = "the one answer" if self.answers == 1 else f"all {self.answers} answers"
        return (
            f"through the shuffler: central epsilon {_up(self.epsilon)} at delta {self.delta:g} for {answers} of one"
            " device (replace all of one user's ratings), towards the collector and whoever sees what it releases,"
            f" if {'; if '.join(self.assumes)}. Otherwise the local epsilon holds"
        )

    def fields(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "central_epsilon": self.epsilon,
            "delta": self.delta,
            "answers": self.answers,
            "batch": self.batch,
            "answer_epsilon": self.answer_epsilon,
            "assumes": list(self.assumes),
        }


def amplified(schedule: Schedule, terms: ShuffleTerms, asked: int | None = None) -> Amplified:
    """The central promise once so many rounds were asked; all of them if left out.

    Notes
    -----
    **Privacy.** One answer is amplified by the numerical bound of Feldman, McMillan and Talwar for a batch of the least
    size; answers of one device are in different rounds and compose by adding up, epsilon and delta alike
    (``devices/proofs/shuffler.md``).
    """
    return amplify(schedule.cost, schedule.passes if asked is None else schedule.passes_begun(asked), terms)


def amplify(cost: float, answers: int, terms: ShuffleTerms) -> Amplified:
    """The same for so many answers of one device, each of this local epsilon."""
    from discreet.privacy.local.shuffle import (
        central_epsilon,
    )  # takes a second, which a service need not wait for

    each = central_epsilon(cost, terms.batch, terms.delta / max(answers, 1))
    local = answers * cost * (1.0 + _SLACK)
    epsilon = min(local, answers * each * (1.0 + _SLACK))
    return Amplified(epsilon, terms.delta, answers, terms.batch, cost)


def _up(number: float) -> str:
    """Four digits, rounded up: a printed epsilon is never below the true one."""
    scale = 10.0 ** (3 - math.floor(math.log10(number)))
    return f"{math.ceil(number * scale) / scale:.4g}"
