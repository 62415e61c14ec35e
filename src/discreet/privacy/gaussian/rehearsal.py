"""The noise of a run over silos, drawn at once: for rehearsals on made-up ratings, never for a release.

n silos that each add the noise of which h shares suffice add sqrt(n / h) times as much as is charged for
(``proofs/shares.md``). A run with it is marked as not private, as with any noise but the package's own
(:mod:`discreet.privacy.own_noise`).
"""

from __future__ import annotations

import math

from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.noise import Noise
from discreet.types import Floats

__all__ = ["RehearsalNoise"]


class RehearsalNoise(Noise):
    """As much noise as ``silos`` silos add together, of which ``honest`` would suffice.

    Parameters
    ----------
    silos, honest
        How many there are, and how many must be honest; ``honest = silos`` is what a trusted server would add.
    """

    def __init__(self, silos: int, honest: int) -> None:
        super().__init__()
        if not 1 <= honest <= silos:
            raise SettingsInvalid(f"{honest} of {silos} silos cannot be honest; say between 1 and {silos}")
        self.excess = math.sqrt(silos / honest)

    def integers(self, sigma: Floats) -> Floats:
        return super().integers(self.excess * sigma)

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        return super().symmetric_integers(self.excess * sigma, order)
