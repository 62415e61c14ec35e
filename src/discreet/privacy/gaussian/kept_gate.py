"""The gate of a run that may be killed and go on: every release is on the disk before anything uses it.

Proof note: ``proofs/kept.md``. In short: a secret is stored, then the charge, then the release that follows from the
secret; then the secret is forgotten. Killed anywhere between, the run draws the same noise for the same totals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.gate import Gate, check_noise, check_totals
from discreet.privacy.gaussian.noise import Noise, fresh_secret
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Ledger
from discreet.types import Floats

__all__ = ["Intent", "Keeper", "KeptGate", "Terms"]


@dataclass(frozen=True)
class Terms:
    """What a release is called and what it costs."""

    name: str
    mu: float
    delta: float


@dataclass(frozen=True)
class Intent:
    """A release that is about to be made: its terms, the secret of its noise, and a digest of the totals under it."""

    terms: Terms
    secret: bytes
    totals: str


class Keeper(Protocol):
    """Where releases are kept, by their numbers from 0. What a method has written is on the disk when it returns."""

    def released(self, number: int) -> tuple[Terms, dict[str, Floats]] | None:
        """A release that was made."""

    def intended(self, number: int) -> Intent | None:
        """A release that was about to be made."""

    def intend(self, number: int, intent: Intent) -> None:
        """Note that it is about to be made."""

    def keep(self, number: int, terms: Terms, release: Mapping[str, Floats]) -> None:
        """Store a release, and forget the secret of its noise."""


class KeptGate(Gate):
    """A gate whose releases outlive the process: ``keeper`` stores them.

    Where a data set's ledger is kept, the run's own pays through
    :class:`discreet.privacy.account.ledger_file.ResumedRun`.
    """

    def __init__(self, ledger: Ledger, keeper: Keeper) -> None:
        super().__init__(ledger)
        self._keeper, self._number = keeper, 0

    def recall(self, name: str, *, mu: float, delta: float = 0.0) -> dict[str, Floats] | None:
        found = self._keeper.released(self._number)
        if found is None:
            return None
        terms, release = found
        _check_terms(terms, Terms(name, float(mu), float(delta)))
        self.ledger.redeem(
            self.ledger.charge(name, mu=mu, delta=delta, detail={"blocks": ", ".join(release)})
        )
        self._number += 1
        return release

    def release_totals(
        self,
        name: str,
        forms: Sequence[Block],
        totals: Sequence[Total],
        *,
        mu: float,
        delta: float = 0.0,
        noised: bool = False,
    ) -> dict[str, Floats]:
        known = self.recall(name, mu=mu, delta=delta)
        if known is not None:
            return known
        # What would be refused is refused before anything is written down.
        check_noise(name, forms, mu)
        check_totals(name, forms, totals)
        terms = Terms(name, float(mu), float(delta))
        intent = self._keeper.intended(self._number)
        if intent is None:
            secret = fresh_secret()
            intent = Intent(terms, secret, _digest(secret, totals))
            self._keeper.intend(self._number, intent)
        _check_terms(intent.terms, terms)
        if intent.totals != _digest(intent.secret, totals):
            raise SettingsInvalid(
                f"{name!r} was about to be released when the run was stopped, and comes out differently now: "
                "the same noise must not meet other sums. Go on with the same ratings and program, or begin a new run"
            )
        self._noise = Noise.from_secret(intent.secret)
        release = super().release_totals(name, forms, totals, mu=mu, delta=delta, noised=noised)
        self._keeper.keep(self._number, terms, release)
        self._number += 1
        return release


def _digest(secret: bytes, totals: Sequence[Total]) -> str:
    digest = hashlib.sha256(secret)
    for total in totals:
        digest.update(repr((total.name, total.value.shape)).encode())
        digest.update(total.value.tobytes())
        digest.update(total.unit.tobytes())
    return digest.hexdigest()


def _check_terms(known: Terms, asked: Terms) -> None:
    if known != asked:
        raise SettingsInvalid(
            f"the stopped run released {known.name!r} (mu {known.mu:.6g}) where this one asks for {asked.name!r} (mu "
            f"{asked.mu:.6g}): it went another way. Go on with the same settings and program, or begin a new run"
        )
