"""What travels: a silo's prototypes with its name and the run on them, and the model back."""

from __future__ import annotations

import hashlib

from discreet.catalogue import Catalogue
from discreet.errors import ModelInvalid, Refused
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import METHOD, wrong_kind
from discreet.model import Model
from discreet.privacy.statement import Statement
from discreet.silos.shared.encoding import MOST_HEADER, Header, decode, encode
from discreet.silos.shared.model_message import read_model
from discreet.silos.shared.prototype_agreement import PrototypeAgreement

__all__ = ["decode_prototype_model", "decode_prototypes", "encode_prototypes", "largest"]

_MARK = b"dsP1"
_PREFIX = 8
# The header of a message of prototypes, which has the whole statement in it.
_STATEMENT = 1 << 20
# Budgets are sums of shares, and values travel as 32-bit numbers: the last bits may differ.
_ROOM = 1.0 + 1e-6


class _Header(Header):
    run: str
    silo: str
    digest: str


def largest(agreement: PrototypeAgreement) -> int:
    """Bytes of the largest message in either direction."""
    prototypes, items = agreement.settings.most_prototypes, agreement.n_items
    # Prototypes with a bit for each entry; or evidence, which has two numbers more for each item.
    up = prototypes * items // 8 + 1 + 4 * prototypes * (items + 1) + 8 * items
    # Offsets and factors, in single precision.
    down = 4 * items * (1 + agreement.factors.rank)
    return _PREFIX + MOST_HEADER + _STATEMENT + max(up, down)


def encode_prototypes(agreement: PrototypeAgreement, silo: str, message: PrototypeMessage) -> bytes:
    """The one message of a silo."""
    body = message.to_bytes()
    return encode(_MARK, _header(agreement, silo, body), {}, "<f8") + body


def decode_prototypes(body: bytes, agreement: PrototypeAgreement) -> tuple[str, PrototypeMessage]:
    """Whose message it is, and what is in it.

    Raises
    ------
    Refused
        For anything that is not a whole message of this run, within what was agreed on.
    """
    if len(body) > largest(agreement):
        raise Refused(f"a message of {len(body):,} bytes is larger than any in this run")
    end = _PREFIX + int.from_bytes(body[4:_PREFIX], "little")
    header, _ = decode(body[:end], _MARK, _Header, "<f8", _PREFIX + MOST_HEADER)
    if header.run != agreement.run_id:
        raise Refused("the message belongs to another run; compare agreements")
    content = body[end:]
    if header != _header(agreement, header.silo, content) or body[:end] != encode(_MARK, header, {}, "<f8"):
        raise Refused("the message was damaged on its way")
    try:
        message = PrototypeMessage.from_bytes(content)
    except ModelInvalid as error:
        raise Refused(str(error)) from None
    _check(message, agreement)
    return header.silo, message


def decode_prototype_model(
    body: bytes, agreement: PrototypeAgreement, catalogue: Catalogue, own: Statement | None = None
) -> Model:
    """The model that came down; refuses what is none of this run, or hides what the silo's users have paid.

    Parameters
    ----------
    own
        What the silo's users have paid, as the silo knows it; ``None`` where they have paid nothing.
    """
    model = read_model(body, agreement, catalogue, largest(agreement), agreement.scale)
    level = agreement.settings.rows(agreement.explicit) == "level"
    wrong = wrong_kind(model.factors, agreement.factors, level=level)
    if (model.method, model.factors.n_items) != (METHOD, agreement.n_items) or wrong is not None:
        raise Refused(
            f"the model that the server sent at the end {wrong or 'is not of the kind that was agreed on'}"
        )
    if own is not None and model.statement.private and not _covers(model.statement, own):
        raise Refused(
            "the model that the server sent at the end promises more privacy than this silo's users have"
        )
    return model


def _covers(statement: Statement, own: Statement) -> bool:
    """Whether a statement that calls itself private owns up to all that a silo's own says was paid."""
    if not own.private or statement.silos is None or statement.relation != own.relation:
        return False
    stated = statement.epsilon or 0.0, statement.delta or 0.0, statement.silos.epsilon_in_two
    paid = own.epsilon or 0.0, own.delta or 0.0, own.silos.epsilon_in_two if own.silos else 0.0
    return all(one >= owed for one, owed in zip(stated, paid, strict=True))


def _header(agreement: PrototypeAgreement, silo: str, body: bytes) -> _Header:
    return _Header(run=agreement.run_id, silo=silo, digest=hashlib.sha256(body).hexdigest(), arrays=[])


def _check(message: PrototypeMessage, agreement: PrototypeAgreement) -> None:
    if (message.catalogue, message.scale) != (agreement.catalogue, agreement.scale):
        raise Refused("the prototypes are over another catalogue or scale than agreed on")
    prototypes, items = message.values.shape
    if prototypes > agreement.settings.most_prototypes or items != agreement.n_items:
        raise Refused("there are more prototypes than agreed on, or they have more or fewer items")
    if (message.evidence is not None) != (agreement.settings.rows(agreement.explicit) == "level"):
        raise Refused("the prototypes are of another kind than agreed on: of ratings, or of deviations")
    if message.values.max(initial=0.0) > agreement.scale.bounds[1] * _ROOM:
        raise Refused("the prototypes leave the agreed scale")
    if message.statement.private and message.statement.silos is None:
        raise Refused("the prototypes do not say what a user in two silos pays")
    own = message.statement.own if message.statement.private else None
    spent = (0.0, 0.0) if own is None else (own.epsilon, own.delta)
    if spent[0] > agreement.epsilon * _ROOM or spent[1] > agreement.delta * _ROOM:
        raise Refused("the prototypes have cost their users more than was agreed on")
