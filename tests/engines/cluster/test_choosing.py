"""What is refused before a cluster is touched, and before anything is spent."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet import Budget, ItemMean, UserMean
from discreet.cli import main
from discreet.engines.cluster import Cluster
from discreet.errors import SettingsInvalid
from tests.engines.tables import in_memory, stored, table

BUDGET = Budget(5.0, 1e-3)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    table(rows=60, users=10).write_parquet(tmp_path / "ratings.parquet")
    return tmp_path / "ratings.parquet"


@pytest.mark.parametrize(
    "address", ["head", "ray://head:10001", ":6379", "head:port", "head:0", "head:70000"]
)
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(SettingsInvalid, match="no address of a cluster; give HOST:PORT"):
        Cluster(address)


@pytest.mark.parametrize("method", [ItemMean(), UserMean()], ids=str)
def test_an_engine_that_does_not_go_with_the_rest_is_refused(
    method: ItemMean | UserMean, source: Path
) -> None:
    whole, blocks = in_memory(source), stored(source, source.parent / "blocks")
    with pytest.raises(SettingsInvalid, match="there is no engine 'spark'"):
        method.fit(blocks, BUDGET, engine="spark")
    with pytest.raises(SettingsInvalid, match=r"prepare them with discreet\.data\.prepare"):
        method.fit(whole, BUDGET, engine="ray")


def test_without_ray_the_extra_is_named_and_nothing_is_reserved(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ray" else find(name))
    blocks, ledger = stored(source, source.parent / "blocks"), source.parent / "people.ledger"
    with pytest.raises(SettingsInvalid, match=r"pip install 'discreet\[ray\]'"):
        ItemMean().fit(blocks, BUDGET, engine="ray", ledger=ledger)
    assert not ledger.exists()


def given(source: Path, *more: str) -> list[str]:
    told = f"train {source} --user who --item what --catalogue none.csv --out {source.parent / 'model'}"
    return [*told.split(), *["--epsilon", "1", "--delta", "1e-6", "--method", "popularity"], *more]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--address", "head:6379"), "--address belongs to --engine ray"),
        (("--engine", "disk", "--workers", "2"), "--workers belongs to --engine ray"),
        (("--engine", "ray", "--address", "head"), "give HOST:PORT"),
    ],
    ids=str,
)
def test_the_command_line_refuses_in_words(more: tuple[str, ...], words: str, source: Path) -> None:
    result = CliRunner().invoke(main, given(source, *more))
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.output.split())
    assert not (source.parent / "model.run").exists()
