"""The model that comes down at the end: a server cannot make it promise more than was agreed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet import Budget, Catalogue
from discreet.catalogue import CLICKS, RatingScale
from discreet.errors import Refused
from discreet.model.fold_in import Clicks
from discreet.privacy.accounting import compose
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import SiloTerms, Statement
from discreet.silos.shared.outcome import decode_model, encode_model
from tests.silos.worlds import Run, agree, world

RATINGS = world(users=300)
TERMS = SiloTerms(3, 2, "shares")


def stated(epsilon: float, delta: float, silos: SiloTerms | None = TERMS) -> Statement:
    ledger = Ledger(Budget(epsilon, delta))
    ledger.redeem(ledger.charge("round 1", mu=ledger.remaining_mu))
    if silos is None:
        return Statement.from_ledger(ledger, adaptive=True)
    return Statement.over_silos(ledger, silos, adaptive=True)


def hiding_the_second_silo(statement: Statement) -> Statement:
    """A user in two silos pays more than this."""
    assert statement.silos is not None
    silos = statement.silos.model_copy(update={"epsilon_in_two": 1.01 * (statement.epsilon or 0.0)})
    return statement.model_copy(update={"silos": silos})


def hiding_half(statement: Statement, *, of_epsilon: bool) -> Statement:
    """All that is said about silos is right; what one of their users pays is not."""
    epsilon, delta = statement.epsilon or 0.0, statement.delta or 0.0
    less = stated(epsilon / 2, delta) if of_epsilon else stated(epsilon, delta / 2)
    return less.model_copy(update={"silos": statement.silos})


def test_a_statement_that_promises_more_than_was_agreed_is_refused(tmp_path: Path) -> None:
    run = Run(tmp_path, RATINGS, agree(RATINGS, 3), fixed=False)
    model = run.finish()
    catalogue = run.catalogue
    assert isinstance(catalogue, Catalogue)
    honest = decode_model(encode_model(model, run.agreement), run.agreement, catalogue)
    assert honest.statement == model.statement
    agreed = run.agreement
    lies = [
        stated(agreed.epsilon / 2, agreed.delta),
        stated(agreed.epsilon, agreed.delta / 2),
        stated(agreed.epsilon, agreed.delta, None),
        stated(agreed.epsilon, agreed.delta, SiloTerms(3, 1, "shares")),
        stated(agreed.epsilon, agreed.delta, SiloTerms(3, 2, "server")),
        hiding_the_second_silo(stated(agreed.epsilon, agreed.delta)),
        hiding_half(stated(agreed.epsilon, agreed.delta), of_epsilon=True),
        hiding_half(stated(agreed.epsilon, agreed.delta), of_epsilon=False),
    ]
    for lie in lies:
        with pytest.raises(Refused, match="promises more"):
            decode_model(encode_model(replace(model, statement=lie), agreed), agreed, catalogue)
    open_ = replace(model, statement=Statement.not_private("for a test"))
    assert not decode_model(encode_model(open_, agreed), agreed, catalogue).statement.private
    run.close()


def test_a_model_of_other_ratings_is_refused(tmp_path: Path) -> None:
    run = Run(tmp_path, RATINGS, agree(RATINGS, 3), fixed=False)
    model = run.finish()
    statement = model.statement.model_copy(update={"goal": None})
    for side in (
        replace(model.item_side, scale=RatingScale((0.0, 100.0)), centre=50.0),
        replace(model.item_side, scale=CLICKS, rule=Clicks()),
    ):
        other = replace(model, item_side=side, statement=statement)
        with pytest.raises(Refused, match="other ratings"):
            decode_model(encode_model(other, run.agreement), run.agreement, run.catalogue)
    run.close()


def test_the_model_of_as_many_rounds_as_can_be_agreed_on_fits(tmp_path: Path) -> None:
    rounds = 1000
    run = Run(tmp_path, RATINGS, agree(RATINGS, 3), fixed=False)
    model = run.finish()
    ledger = Ledger(run.agreement.budget)
    mu = ledger.remaining_mu / (rounds + 2) ** 0.5 * (1.0 - 1e-12)
    for number in range(rounds + 2):
        ledger.redeem(ledger.charge(f"round {number}", mu=mu, detail={"silos": 3, "attempt": 0}))
    statement = Statement.over_silos(ledger, TERMS, adaptive=True)
    body = encode_model(replace(model, statement=statement), run.agreement)
    read = decode_model(body, run.agreement, run.catalogue).statement
    assert compose(release.mu for release in read.releases) == pytest.approx(ledger.spent_mu)
    assert read.epsilon == run.agreement.epsilon
    run.close()
