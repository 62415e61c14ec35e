"""The last thing that goes down: the released model, so that every silo can recommend for its own users."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.catalogue import Catalogue
from discreet.errors import ModelInvalid, Refused
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.privacy.accounting import compose
from discreet.privacy.statement import Release, SiloTerms, Statement, owed_in_silos
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.encoding import MOST_HEADER, Header, decode, encode, shapes
from discreet.silos.shared.messages import max_bytes

__all__ = ["decode_model", "encode_model"]

_MARK = b"dsM1"
_STATEMENT_BYTES = MOST_HEADER // 2


class _Header(Header):
    run: str
    feedback: Literal["explicit", "implicit"]
    centre: float
    rating_range: tuple[float, float] | None
    offset_penalty: float
    factor_penalty: float
    gravity: float
    method: Annotated[str, Field(max_length=100)]
    settings: dict[str, Any]
    statement: str


def encode_model(model: Model, agreement: Agreement) -> bytes:
    """Item side and statement; the catalogue is known to everybody."""
    side, statement = model.item_side, _short(model.statement)
    arrays = {"offsets": side.offsets, "factors": side.factors}
    header = _Header(
        run=agreement.run_id,
        feedback=side.feedback,
        centre=side.centre,
        rating_range=side.rating_range,
        offset_penalty=side.offset_penalty,
        factor_penalty=side.factor_penalty,
        gravity=side.gravity,
        method=model.method,
        settings=model.settings,
        statement=statement.to_json(),
        arrays=shapes(arrays),
    )
    return encode(_MARK, header, arrays, "<f8")


def _short(statement: Statement) -> Statement:
    """A statement that fits: of hundreds of rounds the costs matter and not their notes, of many more their sum."""
    if len(statement.to_json()) <= _STATEMENT_BYTES:
        return statement
    bare = tuple(release.model_copy(update={"detail": {}}) for release in statement.releases)
    shorter = statement.model_copy(update={"releases": bare})
    if len(shorter.to_json()) <= _STATEMENT_BYTES:
        return shorter
    mu = min(compose(release.mu for release in bare), statement.mu or math.inf)
    whole = Release(name=f"all {len(bare)} releases together", mu=mu, delta=0.0, share=1.0, detail={})
    return statement.model_copy(update={"releases": (whole,)})


def decode_model(body: bytes, agreement: Agreement, catalogue: Catalogue) -> Model:
    """The model back; refuses what is none of this run."""
    header, arrays = decode(body, _MARK, _Header, "<f8", max_bytes(agreement))
    if header.run != agreement.run_id or list(arrays) != ["offsets", "factors"]:
        raise Refused("what the server sent at the end is not the model of this run")
    if (header.feedback == "explicit", header.rating_range) != (agreement.explicit, agreement.rating_range):
        raise Refused("the model that the server sent at the end is for other ratings than was agreed")
    side = ItemSide(
        header.feedback,
        header.centre,
        arrays["offsets"],
        arrays["factors"],
        header.rating_range,
        offset_penalty=header.offset_penalty,
        factor_penalty=header.factor_penalty,
        gravity=header.gravity,
    )
    try:
        statement = Statement.from_json(header.statement)
        if not _as_agreed(statement, agreement):
            raise Refused("the model that the server sent at the end promises more privacy than was agreed")
        return Model(side, catalogue, statement, header.method, header.settings)
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
