"""Which experiments there are."""

from __future__ import annotations

import pytest

from discreet.errors import SettingsInvalid
from reproduction import registry


def test_every_experiment_is_called_like_its_module_and_described() -> None:
    found = registry.find(["all"])
    assert [experiment.name for experiment in found] == registry.names()
    assert {"figure-2", "figure-6", "table-2", "table-4"} <= set(registry.names())
    for experiment in found:
        assert experiment.shows.endswith(".")
        assert experiment.paper_found


def test_names_are_taken_once_and_in_order() -> None:
    found = registry.find(["table-2", "figure-2", "table-2"])
    assert [experiment.name for experiment in found] == ["table-2", "figure-2"]


def test_an_unknown_name_lists_the_others() -> None:
    with pytest.raises(SettingsInvalid, match=r"'figure-99'; there are figure-2, .*table-2.* and all"):
        registry.find(["figure-99"])
