"""The one refusal that tells something about a silo's users, and is paid for."""

from __future__ import annotations

from discreet.errors import RatingsInvalid
from discreet.privacy.statement import Statement

__all__ = ["TooFewUsers"]


class TooFewUsers(RatingsInvalid):
    """A silo whose noisy number of users does not stand out; ``statement`` says what finding that out has cost."""

    statement: Statement | None = None
