"""Every figure and table: run small, with a record that can be read and pictures with something on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.data.synthetic import market
from reproduction import Context, perform, registry
from reproduction.datasets import lookup
from reproduction.experiments import silos_poisson
from reproduction.output.record import picture, read_all, write
from reproduction.output.report import page
from reproduction.silos.worlds import poisson_world
from tests.reproduction.pictures import open_picture
from tests.reproduction.worlds import shrink

QUICKEST = ("figure-2", "figure-6", "table-2", "table-4", "local-table-3")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds of a few hundred users in place of the quick ones."""
    ratings = market(700, 50, 9_000, rng=0)
    few = lookup.Dataset("market", "market", "synthetic market", ratings, "A synthetic market (small).")
    shrink(monkeypatch)
    monkeypatch.setattr("reproduction.local.world._CROWD", {"quick": (900, 80, 14_000)})
    monkeypatch.setattr(lookup, "market", lambda *_: few)
    monkeypatch.setattr(silos_poisson, "poisson_world", lambda context, *_: poisson_world(context, 600, 30))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "name",
    [name if name in QUICKEST else pytest.param(name, marks=pytest.mark.slow) for name in registry.names()],
)
def test_a_quick_run_writes_a_record_and_pictures(name: str, tmp_path: Path) -> None:
    (experiment,) = registry.find([name])
    finished = perform(experiment, Context("quick"))
    write(finished, tmp_path)
    (record,) = read_all(tmp_path, allow_quick=True)
    assert record["data"]
    assert record["findings"]
    assert record["tables"][0]["rows"]
    for key in record["pictures"]:
        height, width, marks = open_picture(tmp_path / picture(name, key))
        assert height > 2
        assert width > 3
        assert marks > 2
    shown = page(record, results=".")
    if name.startswith("local"):
        assert "user mean" in shown  # what is free stands beside every private number
    if record["trials"] is not None:
        assert "trials for whatever is tuned" in shown
