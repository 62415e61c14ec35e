"""What dishonest devices can do to a round: each moves every coordinate by a known amount, and no further.

A report adds ``+gain / n`` or ``-gain / n`` to each coordinate of the estimate, where n is the number of reports and
``gain = sqrt(pi / 2) / tanh(epsilon / 2)``; where the signs fall follows from the pseudonym. A device that lies chooses
its bit, and may choose its pseudonym as well. Privacy has this price: an honest answer moves its own coordinates by at
most 1 / n on average, a lie by gain times that, and the smaller epsilon is, the more a lie weighs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from discreet.devices.estimator import gain
from discreet.errors import SettingsInvalid

__all__ = ["SHARES", "Poisoned", "influence", "poisoning_curve"]

SHARES = (0.001, 0.01, 0.05)


class Poisoned(NamedTuple):
    """What a share of dishonest devices can do to one coordinate that they agree on.

    Parameters
    ----------
    share
        Of all reports.
    shift
        How far they move it if honest devices have nothing there; the largest honest value is 1.
    noise
        Standard deviation of the coordinate without them, at most.
    ratio
        Shift over noise: from about 2 on, the lie stands out of the noise and is believed.
    """

    share: float
    shift: float
    noise: float
    ratio: float


def influence(epsilon: float, answers: int) -> float:
    """How far one report moves each coordinate of the estimate when its bit is turned over: exactly 2 gain / n."""
    if answers < 1:
        raise SettingsInvalid(f"a round without answers has no estimate; answers is {answers}")
    return 2.0 * gain(epsilon) / answers


def poisoning_curve(epsilon: float, answers: int, shares: Sequence[float] = SHARES) -> list[Poisoned]:
    """What each share of dishonest devices can do to a coordinate of their choice.

    All of them send the bit whose sign at the coordinate is plus: a shift of ``share * gain``. It does not shrink
    with the number of devices, while the noise, ``gain / sqrt(n)``, does. Choosing pseudonyms adds nothing to it.
    """
    if not all(0.0 <= share <= 1.0 for share in shares):
        raise SettingsInvalid("shares of dishonest devices must be from 0 to 1")
    influence(epsilon, answers)
    noise = gain(epsilon) / math.sqrt(answers)
    return [Poisoned(share, share * gain(epsilon), noise, share * math.sqrt(answers)) for share in shares]
