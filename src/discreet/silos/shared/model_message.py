"""The last thing that goes down: the released model, so that every silo can recommend for its own users."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from discreet.catalogue import Catalogue, RatingScale
from discreet.errors import ModelInvalid, Refused
from discreet.model import Model
from discreet.model.item_weights import AnySide
from discreet.model.wire import item_side_to_bytes, side_from_bytes, to_parts
from discreet.privacy.accounting import compose
from discreet.privacy.statement import Statement
from discreet.privacy.statement_parts import Release, SiloTerms, owed_in_silos
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.base_agreement import BaseAgreement
from discreet.silos.shared.encoding import MOST_HEADER, PREFIX, Header, decode, encode
from discreet.silos.shared.messages import max_bytes

__all__ = ["decode_model", "encode_model", "read_model"]

_MARK = b"dsM1"
_STATEMENT_BYTES = MOST_HEADER // 2


class _Header(Header):
    run: str
    method: Annotated[str, Field(max_length=100)]
    settings: dict[str, Any]
    statement: str
    digest: str


def encode_model(model: Model, agreement: BaseAgreement) -> bytes:
    """Item side and statement, whatever was trained; the catalogue is known to everybody."""
    side = item_side_to_bytes(model.item_side, precision=_precision(model.item_side))
    header = _Header(
        run=agreement.run_id,
        method=model.method,
        settings=model.settings,
        statement=_short(model.statement).to_json(),
        digest=hashlib.sha256(side).hexdigest(),
        arrays=[],
    )
    return encode(_MARK, header, {}, "<f8") + side


def _precision(side: AnySide) -> Literal["double", "single"]:
    """Single precision halves the message where it loses nothing, as with prototypes, which are released in it."""
    floats = [array for array in to_parts(side)[1].values() if array.dtype == np.float64]
    with np.errstate(over="ignore"):
        exact = all(np.array_equal(array, array.astype(np.float32)) for array in floats)
    return "single" if exact else "double"


def _short(statement: Statement) -> Statement:
    """A statement that fits: of hundreds of rounds the costs matter and not their notes, of many more their sum."""
    if len(statement.to_json()) <= _STATEMENT_BYTES:
        return statement
    bare = tuple(release.model_copy(update={"detail": {}}) for release in statement.releases)
    shorter = statement.model_copy(update={"releases": bare})
    if len(shorter.to_json()) <= _STATEMENT_BYTES:
        return shorter
    return statement.model_copy(update={"releases": (_sum(bare, statement),)})


def _sum(releases: Sequence[Release], statement: Statement) -> Release:
    """All releases as one: Gaussian ones compose, the epsilons of purely private ones add up."""
    name = f"all {len(releases)} releases together"
    pure = math.fsum(release.epsilon for release in releases)
    if pure > 0.0:
        return Release(name=name, epsilon=min(pure, statement.epsilon or math.inf), share=1.0)
    mu = min(compose(release.mu for release in releases), statement.mu or math.inf)
    return Release(name=name, mu=mu, share=1.0)


def decode_model(body: bytes, agreement: Agreement, catalogue: Catalogue) -> Model:
    """The model of a run whose sums were released; refuses what is none of this run."""
    scale = RatingScale(agreement.rating_range)
    model = read_model(body, agreement, catalogue, max_bytes(agreement), scale)
    if not _as_agreed(model.statement, agreement):
        raise Refused("the model that the server sent at the end promises more privacy than was agreed")
    return model


def read_model(
    body: bytes, agreement: BaseAgreement, catalogue: Catalogue, most: int, scale: RatingScale
) -> Model:
    """The model in a message of at most ``most`` bytes; what it promises is for the caller to judge.

    Raises
    ------
    Refused
        For anything that is not a whole model of this run, over this scale.
    """
    if len(body) > most:
        raise Refused("what the server sent at the end is larger than any message of this run")
    end = PREFIX + int.from_bytes(body[4:PREFIX], "little")
    header, _ = decode(body[:end], _MARK, _Header, "<f8", PREFIX + MOST_HEADER)
    if header.run != agreement.run_id or header.digest != hashlib.sha256(body[end:]).hexdigest():
        raise Refused("what the server sent at the end is not the model of this run")
    try:
        side = side_from_bytes(body[end:])
        if side.scale != scale:
            raise Refused("the model that the server sent at the end is for other ratings than was agreed")
        return Model(side, catalogue, Statement.from_json(header.statement), header.method, header.settings)
    except ModelInvalid as error:
        raise Refused(f"the model that the server sent at the end cannot be used: {error}") from None


def _as_agreed(statement: Statement, agreement: Agreement) -> bool:
    """Whether a statement owns up to all that the silos' users may have spent."""
    if not statement.private:
        return True
    terms = SiloTerms(len(agreement.silos), agreement.honest, agreement.noise)
    owed = owed_in_silos(terms, agreement.budget)
    stated = statement.silos
    return (
        (statement.epsilon or 0.0) >= agreement.epsilon
        and (statement.delta or 0.0) >= agreement.delta
        and statement.model == "silos"
        and stated is not None
        and (stated.count, stated.honest, stated.noise) == (owed.count, owed.honest, owed.noise)
        and stated.epsilon_in_two >= owed.epsilon_in_two
    )
