"""What a run over silos is released as: its statement, and its model."""

from __future__ import annotations

from discreet.catalogue import Catalogue
from discreet.errors import Refused
from discreet.methods.public_half import described
from discreet.methods.query import Trained
from discreet.model import Model
from discreet.privacy.carried import Carried
from discreet.privacy.ledger import Ledger
from discreet.privacy.own_noise import FIXED_KEY
from discreet.privacy.statement import Statement
from discreet.privacy.statement_parts import SiloTerms
from discreet.silos.shared.agreement import Agreement, catalogue_digest

__all__ = ["build_model", "state"]

_ABOUT_SILOS = "the names of the silos, and which of them stayed away from which round"
_DOMAIN = (
    "any table of ratings at each silo; what becomes of rows that cannot be used follows each silo's own rules, which "
    "its own statement gives. A silo that chose to refuse such tables shows by staying away that it has such a row",
)


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
    stated = Statement.from_ledger(
        ledger,
        public=(*catalogue, "the rating range", *told, _ABOUT_SILOS),
        not_protected=open_,
        # The agreed budget is what users may have paid, whatever this run came to: a round may have been repeated.
        adaptive=True,
        silos=SiloTerms(count, agreement.honest, agreement.noise),
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
    if catalogue_digest(catalogue) != agreement.catalogue:
        raise Refused("this is not the catalogue that was agreed on")
    agreement.check_features(catalogue.features)
    # The statement ends a ledger; the run's own goes on.
    copy = Ledger(ledger.budget)
    for charge in ledger.charges:
        copy.charge(charge.name, mu=charge.mu, detail=charge.detail)
    statement = state(agreement, copy, fixed_noise_key=fixed_noise_key, paid=catalogue.paid)
    settings = described(agreement.half, agreement.settings, trained)
    return Model(trained.side, catalogue, statement, agreement.half.name, settings)
