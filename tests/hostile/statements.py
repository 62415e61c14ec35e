"""Privacy statements, and documents with a detached signature."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import DiscreetError
from discreet.model.folder import describe
from discreet.privacy.accounting import compose, delta_from
from discreet.privacy.statement import Statement
from discreet.statements import write_document
from discreet.statements.signature import check_signed, sign
from discreet.statements.words import headline
from tests.hostile.byte_mutations import damage
from tests.hostile.json_mutations import mutate_json
from tests.hostile.kind import Kind, Outcome
from tests.hostile.models import STORED

__all__ = ["SignedStatement", "StatementText"]

_NAMES = ("central", "devices", "discovered", "prototypes", "silos", "tuned")


class StatementText(Kind):
    """The statement of a model: what does not add up is refused, whatever else it says."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._genuine = [(STORED / f"{name}" / "statement.json").read_bytes() for name in _NAMES]

    def attempt(self, draw: Random) -> Outcome:
        """Spoil the text; what is read is at least as expensive as its releases, and survives being written."""
        genuine = draw.choice(self._genuine)
        statement = Statement.from_json(mutate_json(draw, genuine))
        if statement.private and statement.releases:
            assert statement.epsilon is not None
            assert statement.delta is not None
            _check_promise(statement, statement.epsilon, statement.delta)
        assert Statement.from_json(statement.to_json()) == statement
        assert headline(statement).encode()
        assert str(statement).encode()
        return "same" if statement == Statement.from_json(genuine) else "other"


def _check_promise(statement: Statement, epsilon: float, delta: float) -> None:
    """By the definition, from the releases alone."""
    pure = math.fsum(release.epsilon for release in statement.releases)
    extra = math.fsum(release.delta for release in statement.releases)
    assert pure <= epsilon < math.inf
    assert extra <= delta < 1.0
    mu = compose(release.mu for release in statement.releases)
    assert math.isfinite(mu)
    if mu > 0.0 and statement.selection is None:
        assert delta_from(mu, epsilon - pure) + extra <= delta * (1.0 + 1e-9)


class NotSigned(DiscreetError):
    """The check says that the document is not to be relied on: exit code 1."""


class SignedStatement(Kind):
    """Document, signature and model folder: good if and only if nothing was altered."""

    may_differ = False
    refusals = (NotSigned, DiscreetError)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        model = STORED / "central"
        key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
        self._content, self._signature = sign(write_document(model), key)
        self._key, self._model = key.public_key(), describe(model)

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one of the two files."""
        content, signature = self._content, self._signature
        if draw.random() < 0.2:
            signature = damage(draw, signature)
        else:
            content = mutate_json(draw, content)
        check = check_signed(content, signature, self._key, self._model)
        if not check.good:
            raise NotSigned
        return "same" if (content, signature) == (self._content, self._signature) else "other"
