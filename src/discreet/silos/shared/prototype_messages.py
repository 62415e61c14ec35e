"""What travels: a silo's prototypes with its name and the run on them, and the factors back."""

from __future__ import annotations

import hashlib

from discreet.errors import ModelInvalid, Refused
from discreet.methods.prototypes.public.message import GlobalFactors, PrototypeMessage
from discreet.privacy.statement import Statement
from discreet.silos.shared.encoding import MOST_HEADER, Header, decode, encode
from discreet.silos.shared.prototype_agreement import PrototypeAgreement

__all__ = ["largest", "open_factors", "open_letter", "seal"]

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
    prototypes, items = agreement.settings.prototypes, agreement.n_items
    up = prototypes * items // 8 + 1 + 4 * prototypes * (items + 1)
    return _PREFIX + MOST_HEADER + _STATEMENT + max(up, 4 * items * agreement.factors.rank)


def seal(agreement: PrototypeAgreement, silo: str, message: PrototypeMessage) -> bytes:
    """The letter of a silo."""
    body = message.to_bytes()
    return encode(_MARK, _header(agreement, silo, body), {}, "<f8") + body


def open_letter(letter: bytes, agreement: PrototypeAgreement) -> tuple[str, PrototypeMessage]:
    """Whose letter it is, and what is in it.

    Raises
    ------
    Refused
        For anything that is not a whole letter of this run, within what was agreed on.
    """
    if len(letter) > largest(agreement):
        raise Refused(f"a message of {len(letter):,} bytes is larger than any in this run")
    end = _PREFIX + int.from_bytes(letter[4:_PREFIX], "little")
    header, _ = decode(letter[:end], _MARK, _Header, "<f8", _PREFIX + MOST_HEADER)
    if header.run != agreement.run_id:
        raise Refused("the message belongs to another run; compare agreements")
    body = letter[end:]
    if header != _header(agreement, header.silo, body) or letter[:end] != encode(_MARK, header, {}, "<f8"):
        raise Refused("the message was damaged on its way")
    try:
        message = PrototypeMessage.from_bytes(body)
    except ModelInvalid as error:
        raise Refused(str(error)) from None
    _check(message, agreement)
    return header.silo, message


def open_factors(body: bytes, agreement: PrototypeAgreement, own: Statement | None = None) -> GlobalFactors:
    """The factors that came down; refuses what is none of this run, or hides what the silo's users have paid."""
    if len(body) > largest(agreement):
        raise Refused("what the server sent at the end is larger than any message of this run")
    try:
        factors = GlobalFactors.from_bytes(body)
    except ModelInvalid as error:
        raise Refused(f"what the server sent at the end cannot be used: {error}") from None
    agreed = agreement.catalogue, agreement.scale, (agreement.n_items, agreement.factors.rank)
    found = factors.catalogue, factors.rating_range, factors.factors.shape
    if found != agreed or factors.run != agreement.run_id:
        raise Refused("what the server sent at the end are not the factors of this run")
    if own is not None and factors.private:
        stated = factors.epsilon, factors.delta, factors.epsilon_in_two
        paid = own.epsilon or 0.0, own.delta or 0.0, own.silos.epsilon_in_two if own.silos else 0.0
        if not own.private or any(less < owed for less, owed in zip(stated, paid, strict=True)):
            raise Refused("the factors that the server sent promise more privacy than this silo's users have")
    return factors


def _header(agreement: PrototypeAgreement, silo: str, body: bytes) -> _Header:
    return _Header(run=agreement.run_id, silo=silo, digest=hashlib.sha256(body).hexdigest(), arrays=[])


def _check(message: PrototypeMessage, agreement: PrototypeAgreement) -> None:
    if (message.catalogue, message.rating_range) != (agreement.catalogue, agreement.scale):
        raise Refused("the prototypes are over another catalogue or scale than agreed on")
    prototypes, items = message.values.shape
    if prototypes > agreement.settings.prototypes or items != agreement.n_items:
        raise Refused("there are more prototypes than agreed on, or they have more or fewer items")
    if message.values.max(initial=0.0) > agreement.scale[1] * _ROOM:
        raise Refused("the prototypes leave the agreed scale")
    spent = message.statement.epsilon or 0.0, message.statement.delta or 0.0
    if spent[0] > agreement.epsilon * _ROOM or spent[1] > agreement.delta * _ROOM:
        raise Refused("the prototypes have cost their users more than was agreed on")
