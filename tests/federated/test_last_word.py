"""The model that comes down at the end: a server cannot make it promise more than was agreed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet import Budget, Catalogue
from discreet.errors import Refused
from discreet.federated.transport.last_word import decode_model, encode_model
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import SiloTerms, Statement
from tests.federated.worlds import Run, agree, world

RATINGS = world(users=300)


def stated(epsilon: float, delta: float) -> Statement:
    ledger = Ledger(Budget(epsilon, delta))
    ledger.redeem(ledger.charge("round 1", mu=ledger.remaining_mu))
    return Statement.from_ledger(ledger, adaptive=True, silos=SiloTerms(3, 2, "shares"))


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
    ]
    for lie in lies:
        with pytest.raises(Refused, match="promises more"):
            decode_model(encode_model(replace(model, statement=lie), agreed), agreed, catalogue)
    open_ = replace(model, statement=Statement.not_private("for a test"))
    assert not decode_model(encode_model(open_, agreed), agreed, catalogue).statement.private
    run.close()
