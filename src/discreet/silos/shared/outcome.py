"""What a run over silos is released as: its statement, its model, and the message that takes it to the silos."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from discreet.catalogue import Catalogue
from discreet.errors import ModelInvalid, Refused
from discreet.methods.prototypes.public.server import METHOD, wrong_kind
from discreet.methods.public.half import described
from discreet.methods.public.query import Trained
from discreet.model import Model
from discreet.model.storage import item_side_to_bytes, side_from_bytes
from discreet.privacy.costs import Carried
from discreet.privacy.gaussian.noise import FIXED_KEY
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import SiloTerms, Statement, owed_in_silos
from discreet.silos.shared.agreement import Agreement, AnyAgreement, BaseAgreement, PrototypeAgreement
from discreet.silos.shared.messages import Header, decode, encode

__all__ = ["build_model", "decode_model", "encode_model", "open_model", "state"]

_MARK = b"dsM1"

_ABOUT_SILOS = "the names of the silos, and which of them stayed away from which round"
_DOMAIN = (
    "any table of ratings at each silo; what becomes of rows that cannot be used follows each silo's own rules, which "
    "its own statement gives. A silo that chose to refuse such tables shows by staying away that it has such a row",
)


class _Header(Header):
    run: str
    method: Annotated[str, Field(max_length=100)]
    settings: dict[str, Any]
    statement: str


def state(
    agreement: Agreement,
    ledger: Ledger,
    *,
    fixed_noise_key: bool,
    domain: tuple[str, ...] = _DOMAIN,
    paid: Carried | None = None,
) -> Statement:
    """The statement of a run, or of a silo's part in it; ends the ledger.

    ``paid`` is the run that found the catalogue, where one did.
    """
    ledger.void(FIXED_KEY if fixed_noise_key else None)
    count = len(agreement.silos)
    if agreement.noise == "server":
        open_ = ["the exact totals of all silos together, towards the server: it is trusted to add the noise"]
    else:
        open_ = [f"users, if fewer than {agreement.honest} of all silos add their noise and keep it secret"]
    open_.append("whether a silo has at least two users with ratings: with fewer it cannot take part")
    told = agreement.half.public_things(tuple(agreement.features or ()))
    catalogue = ("the item catalogue",) if paid is None else ()
    stated = Statement.over_silos(
        ledger,
        SiloTerms(count, agreement.honest, agreement.noise),
        public=(*catalogue, "the rating range", *told, _ABOUT_SILOS),
        not_protected=open_,
        # The agreed budget is what users may have paid, whatever this run came to: a round may have been repeated.
        adaptive=True,
        domain=domain,
        run=agreement.run_id,
    )
    return stated.carrying(Carried() if paid is None else paid)


def build_model(
    agreement: Agreement,
    trained: Trained,
    catalogue: Catalogue,
    ledger: Ledger,
    *,
    fixed_noise_key: bool,
) -> Model:
    """The model at the end of a run, with the statement of what the ledger was charged."""
    if catalogue.digest != agreement.catalogue:
        raise Refused("this is not the catalogue that was agreed on")
    agreement.check_features(catalogue.features)
    # The statement ends a ledger; the run's own goes on.
    copy = Ledger(ledger.budget)
    for charge in ledger.charges:
        copy.charge(charge.name, mu=charge.mu, detail=charge.detail)
    statement = state(agreement, copy, fixed_noise_key=fixed_noise_key, paid=catalogue.paid)
    settings = described(agreement.half, agreement.settings, trained)
    return Model(trained.side, catalogue, statement, agreement.half.name, settings)


def encode_model(model: Model, agreement: BaseAgreement) -> bytes:
    """Item side and statement, whatever was trained; the catalogue is known to everybody."""
    facts = {
        "run": agreement.run_id,
        "method": model.method,
        "settings": model.settings,
        "statement": model.statement.to_json(),
    }
    side = item_side_to_bytes(model.item_side)
    return encode(_MARK, _Header, facts, {}) + side


def open_model(body: bytes, agreement: AnyAgreement, catalogue: Catalogue, own: Statement | None) -> Model:
    """The model that came down at the end; refuses what is none of this run, or promises too much."""
    if isinstance(agreement, PrototypeAgreement):
        return _decode_prototype_model(body, agreement, catalogue, own)
    return decode_model(body, agreement, catalogue)


def decode_model(body: bytes, agreement: Agreement, catalogue: Catalogue) -> Model:
    """The model of a run whose sums were released; refuses what is none of this run."""
    model = _read_model(body, agreement, catalogue)
    if not _as_agreed(model.statement, agreement):
        raise Refused("the model that the server sent at the end promises more privacy than was agreed")
    return model


def _read_model(body: bytes, agreement: BaseAgreement, catalogue: Catalogue) -> Model:
    """The model in a message; what it promises is for the caller to judge."""
    header, _, content = decode(body, _MARK, _Header, agreement.most_bytes, rest=True)
    if header.run != agreement.run_id:
        raise Refused("what the server sent at the end is not the model of this run")
    try:
        side = side_from_bytes(content)
        if side.scale != agreement.scale:
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


def _decode_prototype_model(
    body: bytes, agreement: PrototypeAgreement, catalogue: Catalogue, own: Statement | None = None
) -> Model:
    """The model that came down; refuses what is none of this run, or hides what the silo's users have paid."""
    model = _read_model(body, agreement, catalogue)
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
