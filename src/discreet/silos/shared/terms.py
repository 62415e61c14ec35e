"""What a run over silos is released as: its statement, and its model."""

from __future__ import annotations

from discreet.catalogue import Catalogue
from discreet.errors import Refused
from discreet.methods.budgeted.public.schedule import BudgetedSchedule
from discreet.model import Model
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import SiloTerms, Statement
from discreet.silos.shared.agreement import Agreement, catalogue_digest

__all__ = ["build_model", "state"]

_PUBLIC = (
    "the item catalogue",
    "the rating range",
    "all settings; a rank or number of rounds left to the rule follows from the first release",
    "the random start of the factors",
    "the names of the silos, and which of them stayed away from which round",
)


def state(agreement: Agreement, ledger: Ledger, *, fixed_noise_key: bool) -> Statement:
    """The statement of a run, or of a silo's part in it; ends the ledger."""
    count = len(agreement.silos)
    if agreement.noise == "server":
        open_ = ["the exact totals of all silos together, towards the server: it is trusted to add the noise"]
    else:
        open_ = [f"users, if fewer than {agreement.honest} of all silos add their noise and keep it secret"]
    open_.append("whether a silo has at least two users with ratings: with fewer it cannot take part")
    return Statement.from_ledger(
        ledger,
        public=_PUBLIC,
        not_protected=open_,
        fixed_noise_key=fixed_noise_key,
        adaptive=True,
        silos=SiloTerms(count, agreement.honest, agreement.noise),
    )


def build_model(
    agreement: Agreement,
    schedule: BudgetedSchedule,
    catalogue: Catalogue,
    ledger: Ledger,
    *,
    fixed_noise_key: bool,
) -> Model:
    """The model at the end of a schedule, with the statement of what the ledger was charged."""
    if catalogue_digest(catalogue) != agreement.catalogue:
        raise Refused("this is not the catalogue that was agreed on")
    # The statement ends a ledger; the run's own goes on.
    copy = Ledger(ledger.budget)
    for charge in ledger.charges:
        copy.charge(charge.name, mu=charge.mu, detail=charge.detail)
    side = schedule.item_side()
    settings = agreement.settings.model_dump(mode="json")
    # The first answer of `done` is that of the offsets; a run that was ended early has fewer than it planned.
    settings |= {"rank": side.rank, "rounds": schedule.done - 1}
    statement = state(agreement, copy, fixed_noise_key=fixed_noise_key)
    return Model(side, catalogue, statement, "budgeted", settings)
