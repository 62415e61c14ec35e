"""Private prototypes: what is agreed on, the one message of each silo, and the model that comes back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from discreet.catalogue import Catalogue, RatingScale
from discreet.errors import ModelInvalid, Refused, SettingsInvalid
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import METHOD, wrong_kind
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.methods.public_half import check_features
from discreet.model import Model
from discreet.privacy.budget import Budget
from discreet.privacy.pure.ledger import PureLedger
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import MOST_WORDS, BaseAgreement, Name
from discreet.silos.shared.encoding import Header, decode, encode
from discreet.silos.shared.messages import digest
from discreet.silos.shared.outcome import read_model

__all__ = ["PrototypeAgreement", "decode_prototype_model", "decode_prototypes", "encode_prototypes"]

_MARK = b"dsP1"
# Budgets are sums of shares, and values travel as 32-bit numbers: the last bits may differ.
_ROOM = 1.0 + 1e-6


class _Header(Header):
    run: str
    silo: str
    digest: str


class PrototypeAgreement(BaseAgreement):
    """To send one message of prototypes each: all there is to know but the ratings, as no question is asked."""

    method: Literal["prototypes"] = "prototypes"
    silos: Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]
    settings: PrototypeSettings = PrototypeSettings()
    factors: FactorSettings = FactorSettings()

    @classmethod
    def make(cls, name: str, *, silos: Iterable[str], **fields: Any) -> Self:
        """A new run."""
        return cls._make(name, silos=tuple(sorted(silos)), **fields)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            check_features(self.method, used=False, given=self.features is not None)
        except SettingsInvalid as error:
            raise ValueError(str(error)) from None
        if self.silos != tuple(sorted(self.silos)):
            raise ValueError("the silos must be in the order of their names")
        if self.rating_range is not None and self.rating_range[0] < 0.0:
            raise ValueError(
                "prototypes are non-negative: shift the rating range so that it starts at 0 or above"
            )
        return self

    @property
    def roster(self) -> tuple[str, ...]:
        """Names of all silos, sorted."""
        return self.silos

    @property
    def delta(self) -> float:
        """What each silo's users may spend beside epsilon; nothing with the paper's clustering."""
        return self.settings.delta if self.settings.clustering == "lloyd" else 0.0

    @property
    def scale(self) -> RatingScale:
        """Of the ratings."""
        return RatingScale(self.rating_range)

    @property
    def most_bytes(self) -> int:
        """Length that no message of the run exceeds."""
        prototypes, items = self.settings.most_prototypes, self.n_items
        # Prototypes with a bit for each entry, or evidence, which has two numbers more for each item; and in single
        # precision the model's offsets and factors.
        up = prototypes * items // 8 + 1 + 4 * prototypes * (items + 1) + 8 * items
        return MOST_WORDS + max(up, 4 * items * (1 + self.factors.rank))

    @property
    def smallest_roster(self) -> int:
        """Fewest silos that a run may have: each silo's message is private on its own."""
        return 1

    def check_budget(self) -> None:
        """Refuse a budget that is none."""
        if self.settings.clustering == "lloyd":
            Budget(self.epsilon, self.delta).check_users(self.settings.users)
        else:
            PureLedger(self.epsilon)


def encode_prototypes(agreement: PrototypeAgreement, silo: str, message: PrototypeMessage) -> bytes:
    """The one message of a silo."""
    content = message.to_bytes()
    facts = {"run": agreement.run_id, "silo": silo, "digest": digest(content)}
    return encode(_MARK, _Header, facts, {}) + content


def decode_prototypes(body: bytes, agreement: PrototypeAgreement) -> tuple[str, PrototypeMessage]:
    """Whose message it is, and what is in it."""
    header, _, content = decode(body, _MARK, _Header, agreement.most_bytes, rest=True)
    if header.run != agreement.run_id:
        raise Refused("the message belongs to another run; compare agreements")
    facts = header.model_dump(exclude={"arrays"})
    if header.digest != digest(content) or body != encode(_MARK, _Header, facts, {}) + content:
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
    """The model that came down; refuses what is none of this run, or hides what the silo's users have paid."""
    model = read_model(body, agreement, catalogue)
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
