"""Where privacy noise comes from: AES in counter mode, keyed by the operating system's entropy.

Nothing else in the package makes noise for privacy. Ordinary randomness (splits, starts, simulations) is a
separate stream and may be seeded; this one may not. :meth:`Noise.fixed_key_not_private` exists for tests that
must see the same noise twice, and everything it touches is marked as not private; so is everything that a subclass
touches (:func:`why_not_private`).

A promise rests on noise of a known distribution that nobody can draw again. So a gate takes the very classes of this
package, in fresh keys of the operating system, with the methods they were defined with. A subclass may do anything (a
share of the noise, none at all, a recording of it), whatever it says about itself, so it is never own. This finds
mistakes and what tests leave behind; whoever rewrites the program can rewrite the check as well.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from typing import Any, Protocol, TypeVar

import numpy as np
from randomgen import AESCounter

from discreet import kernels
from discreet.types import Floats

__all__ = ["FIXED_KEY", "SECRET_BYTES", "Noise", "fresh_secret", "own_noise", "why_not_private"]

SECRET_BYTES = 32


# Each block has a key of its own, so blocks can be filled by any number of threads with the same outcome. A stream that
# follows from a key or a secret must stay the same from version to version: a stopped run draws its noise once more.
# Fresh noise is never drawn again, so its blocks are as small as keeps all threads busy.
_BLOCK = 1 << 20
_FRESH_BLOCK = 1 << 16


FIXED_KEY = "the noise was drawn with a fixed key, so whoever knows the key can take it off again"
"""Why noise that can be drawn again is not private."""


class _Source(Protocol):
    """Something that noise or coins come from."""

    @property
    def fixed(self) -> bool:
        """Whether it repeats."""


Kind = TypeVar("Kind", bound=type[Any])

_DEFINED: dict[type[Any], dict[str, Any]] = {}


def own_noise(kind: Kind) -> Kind:
    """Mark a class of this package as a source of noise, as it is defined here."""
    _DEFINED[kind] = _parts(kind)
    return kind


def why_not_private(source: _Source, kind: type[Any]) -> str | None:
    """What voids a promise that rests on this source where a mechanism needs a `kind`; ``None`` if nothing does."""
    given = type(source)
    if not _serves(given, kind):
        name = f"{given.__module__}.{given.__qualname__}"
        return f"the noise came from {name} and not from this package's own {kind.__name__}: what it hides is unknown"
    shadowed = any(hasattr(given, name) for name in vars(source))
    if shadowed or any(_parts(part) != _DEFINED[part] for part in given.__mro__ if part in _DEFINED):
        return f"the methods of {given.__name__} were replaced while the program ran: what its noise hides is unknown"
    return FIXED_KEY if source.fixed else None


def _serves(given: type[Any], kind: type[Any]) -> bool:
    """Whether it is that kind, or one of ours that adds to it and changes nothing."""
    if given is kind:
        return kind in _DEFINED
    return (
        given in _DEFINED and issubclass(given, kind) and not _DEFINED[given].keys() & _DEFINED[kind].keys()
    )


def _parts(kind: type[Any]) -> dict[str, Any]:
    """Everything that says how a class behaves."""
    return {name: part for name, part in vars(kind).items() if not name.startswith("__") or callable(part)}


@own_noise
class Noise:
    """Standard normal numbers that cannot be predicted.

    Parameters
    ----------
    key
        Leave it out. With a key the stream repeats, and :attr:`fixed` says so to the gate and the statement.
    """

    excess = 1.0
    """How many times larger the noise comes out than it is asked for."""

    def __init__(self, *, key: bytes | None = None) -> None:
        self._key = key
        self._secret: bytes | None = None
        self._blocks = 0

    @classmethod
    def fixed_key_not_private(cls, key: bytes | str) -> Noise:
        """A repeatable stream for tests. Whoever knows the key can subtract the noise: nothing is private."""
        return cls(key=key.encode() if isinstance(key, str) else key)

    @classmethod
    def from_secret(cls, secret: bytes) -> Noise:
        """The stream of a secret that :func:`fresh_secret` made and nobody has seen, for a release that is kept.

        A gate that was killed draws the same noise once more with it, and never other noise (``proofs/kept.md``).
        """
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"a secret has {SECRET_BYTES} bytes, not {len(secret)}")
        noise = cls()
        noise._secret = secret
        return noise

    @property
    def kept(self) -> bool:
        """Whether it follows from a stored secret: for a gate that keeps its releases, and no other."""
        return self._secret is not None

    @property
    def fixed(self) -> bool:
        """Whether the stream repeats, which voids every privacy statement."""
        return self._key is not None

    def normals(self, size: int) -> Floats:
        """``size`` independent standard normal numbers."""
        out = np.empty(size)
        block = _BLOCK if self.fixed or self.kept else _FRESH_BLOCK
        pieces = [(out[start : start + block], self._next_key()) for start in range(0, size, block)]

        def some(numbers: slice) -> None:
            for piece in pieces[numbers]:
                _fill(*piece)

        kernels.by_rows(some, len(pieces), least=1)
        return out

    def integers(self, sigma: Floats) -> Floats:
        """Gaussian noise of scale ``sigma`` (one per entry, in grid steps), rounded to the grid.

        The exact sum it is added to is an integer, so rounding the noise equals rounding the noisy sum: it is
        post-processing and costs nothing.
        """
        noise = self.normals(sigma.size).reshape(sigma.shape)

        def some(rows: slice) -> None:
            noise[rows] *= sigma[rows]
            np.rint(noise[rows], out=noise[rows])

        kernels.by_rows(some, len(noise))
        return noise

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        """One symmetric ``order x order`` matrix for each sigma: (E + E^T)/2 with E of scale sigma, rounded.

        The diagonal has scale sigma and the rest sigma/sqrt(2): the noise of a full matrix with independent
        entries, symmetrised, which is post-processing.
        """
        triangle = order * (order + 1) // 2
        values = self.normals(sigma.size * triangle).reshape(sigma.size, triangle)
        rows, columns = np.triu_indices(order)
        values *= sigma[:, None]
        values[:, rows < columns] *= math.sqrt(0.5)
        matrices = np.empty((sigma.size, order, order))
        matrices[:, rows, columns] = matrices[:, columns, rows] = np.rint(values, out=values)
        return matrices

    def _next_key(self) -> int:
        self._blocks += 1
        key = self._key if self._secret is None else self._secret
        if key is None:
            return secrets.randbits(128)
        digest = hashlib.sha256(key + self._blocks.to_bytes(8, "little")).digest()
        return int.from_bytes(digest[:16], "little")


def fresh_secret() -> bytes:
    """A secret for the noise of one release, from the operating system's entropy."""
    return secrets.token_bytes(SECRET_BYTES)


def _fill(out: Floats, key: int) -> None:
    np.random.Generator(AESCounter(key=key)).standard_normal(out=out)
