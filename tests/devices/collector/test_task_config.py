"""The configuration of a task: what is wrong with it is named before it is sent, and its digest is the catalogue's."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.catalogue import Catalogue
from discreet.devices.collector.task_config import TaskConfig, make_config
from discreet.errors import DiscreetError

FILMS = Catalogue(["b", "a", "\u00e9"], {"a": "The film A"})


def make(**changes: Any) -> TaskConfig:
    given: dict[str, Any] = {
        "task": "films",
        "catalogue": FILMS,
        "range": (1.0, 5.0),
        "epsilon": 2.0,
        "settings": {},
        **changes,
    }
    return make_config(**given)


@pytest.mark.parametrize("catalogue", [FILMS, Catalogue([3, 1, -7]), Catalogue([2**63, 1])])
def test_ids_titles_and_digest_survive_the_way_to_the_collector(catalogue: Catalogue) -> None:
    config = TaskConfig.model_validate_json(make(catalogue=catalogue).model_dump_json())
    assert config.items == catalogue
    assert config.items.titles == catalogue.titles
    assert config.terms.catalogue == catalogue.digest
    assert (config.terms.items, config.terms.rounds) == (len(catalogue), 1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"task": "Films!"}, "task"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"range": (5.0, 1.0)}, "reversed"),
        ({"range": (1.0, float("inf"))}, "range"),
        ({"minimum": 0}, "minimum"),
        ({"settings": {"goal": "rate", "groups": 1}}, "groups"),
        ({"settings": {"goal": "rate", "factor_rounds": 3}}, "first two are needed"),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], why: str) -> None:
    with pytest.raises(DiscreetError, match=why):
        make(**change)


def test_what_a_rule_chose_is_written_down_so_that_a_later_rule_changes_no_cost() -> None:
    config = make(epsilon=9.0)
    decided = config.decided()
    assert config.settings.passes == "auto"
    assert decided.settings.passes == config.learner().schedule.passes == 4
    assert decided.learner().schedule.cost == config.learner().schedule.cost
    assert decided.terms == config.terms
    assert decided.decided() == decided
