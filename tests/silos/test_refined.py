"""A silo's own exact sums on top of what all silos released: better for its own people, and not private."""

from __future__ import annotations

import pytest

from discreet import EASE, Budget
from discreet.errors import SettingsInvalid
from discreet.silos import fit, refined
from tests.methods.ease.test_earlier import clubs, recall


def test_a_refined_model_is_better_for_its_own_silo_than_the_shared_one_and_than_its_own_alone() -> None:
    (own, kept), (others, _) = clubs(150, 1), clubs(1_200, 2)
    shared = fit([own, others], Budget(1.0, 1e-5), honest=2).model_
    found = recall(refined(shared, own), own, kept)
    assert found > recall(shared, own, kept) + 0.03
    assert found > recall(EASE().fit(own).model_, own, kept) + 0.03


def test_its_statement_says_that_it_is_for_nobody_else_and_it_carries_no_sums() -> None:
    (own, _), (others, _) = clubs(150, 1), clubs(300, 2)
    shared = fit([own, others], Budget(2.0, 1e-5)).model_
    model = refined(shared, own)
    assert not model.statement.private
    assert model.statement.reason is not None
    assert "own ratings without noise" in model.statement.reason
    assert "not to be released" in model.statement.reason
    assert shared.digest[:16] in model.statement.reason
    assert model.item_side.sums is None
    bare = fit([own, others], Budget(2.0, 1e-5), method=EASE(keep_sums=False)).model_
    with pytest.raises(SettingsInvalid, match="does not carry its released sums"):
        refined(bare, own)
