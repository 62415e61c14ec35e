"""The coin behind many simulated devices' answers: one 64-bit word for each answer."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from discreet.privacy.gaussian.noise import own_noise

__all__ = ["Coin"]


@own_noise
class Coin:
    """Unpredictable random words from the operating system.

    Parameters
    ----------
    key
        Leave it out. With a key the words repeat, and :attr:`fixed` says so to the statement.
    """

    def __init__(self, *, key: int | None = None) -> None:
        self._stream = None if key is None else np.random.Generator(np.random.PCG64(key))

    @classmethod
    def fixed_key_not_private(cls, key: int) -> Coin:
        """A repeatable coin for tests. Whoever knows the key knows which answers were flipped: nothing is private."""
        return cls(key=key)

    @property
    def fixed(self) -> bool:
        """Whether the words repeat, which voids every privacy statement."""
        return self._stream is not None

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """``size`` independent uniform words."""
        if self._stream is None:
            return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
        return self._stream.integers(0, 1 << 64, size, dtype=np.uint64)
