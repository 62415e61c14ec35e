"""``discreet ledger`` and ``--ledger``: what is kept, shown, planned, refused and found."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet import Budget, LedgerFile
from discreet.cli import main
from discreet.cli.options import LEDGER_VARIABLE
from discreet.model import Model
from discreet.privacy.accounting import epsilon_from
from tests.cli.conftest import Run

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars", "--rating-range", 1, 5)
Refused = Callable[..., str]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "shop.ledger"


def train(
    shop: Path, out: Path, ledger: Path | None, *more: object, epsilon: float = 2
) -> tuple[object, ...]:
    kept = () if ledger is None else ("--ledger", ledger)
    return (
        *("train", shop / "train.csv", *COLUMNS, "--catalogue", shop / "items.csv", "--method", "item-mean"),
        *("--epsilon", epsilon, "--delta", "1e-6", "--out", out, *kept, *more),
    )


def shown(run: Run, ledger: Path, *more: object) -> dict[str, object]:
    result = run("ledger", "show", ledger, "--json", *more)
    assert result.exit_code == 0, result.stderr
    content: dict[str, object] = json.loads(result.stdout)
    return content


def test_runs_add_up_in_the_ledger_and_in_their_statements(
    run: Run, shop: Path, tmp_path: Path, ledger: Path
) -> None:
    first = run(*train(shop, tmp_path / "one", ledger, "--json"))
    assert first.exit_code == 0, first.stderr
    assert "it knows of no earlier run" in first.stderr
    assert json.loads(first.stdout)["ledger"]["runs"] == 0
    second = run(*train(shop, tmp_path / "two", ledger))
    assert "1 earlier run on the same data cost epsilon 2; with this one epsilon 2.93" in " ".join(
        second.stdout.split()
    )
    content = shown(run, ledger)
    mu = Budget(2.0, 1e-6).mu * math.sqrt(2)
    spent = content["spent"]
    assert spent == {"epsilon": pytest.approx(epsilon_from(mu, 1e-6)), "delta": 1e-6, "mu": pytest.approx(mu)}
    assert content["cap"] is None
    runs = content["runs"]
    assert isinstance(runs, list)
    assert [(entry["model"], entry["method"], entry["state"]) for entry in runs] == [
        ("one", "item-mean", "ended"),
        ("two", "item-mean", "ended"),
    ]
    assert {"when", "model", "epsilon", "delta", "state"} <= set(runs[0])
    text = run("ledger", "show", ledger).stdout
    assert "All together: epsilon 2.93 at delta 1e-06" in text
    assert str(content["head"]) in text
    earlier = Model.load(tmp_path / "two").statement.earlier
    assert earlier is not None
    assert (earlier.ledger, earlier.runs, earlier.delta) == ("shop", 1, 1e-6)


def test_a_cap_refuses_before_the_ratings_are_read(
    run: Run, refused: Refused, shop: Path, tmp_path: Path, ledger: Path
) -> None:
    assert run("ledger", "cap", ledger, "--epsilon", 2.5, "--delta", "1e-6").exit_code == 0
    assert run(*train(shop, tmp_path / "one", ledger)).exit_code == 0
    without = tmp_path / "no ratings here"
    without.mkdir()
    (without / "items.csv").write_bytes((shop / "items.csv").read_bytes())
    words = refused(*train(without, tmp_path / "two", ledger))
    assert "has no room for epsilon 2" in words
    assert "No ratings were used" in words
    assert not (tmp_path / "two").exists()
    states = [entry["state"] for entry in shown(run, ledger)["runs"]]  # type: ignore[attr-defined]
    assert states == ["ended", "refused"]
    # A run that fits gets further: to the file that is not there, and costs nothing.
    words = refused(*train(without, tmp_path / "two", ledger, epsilon=0.5))
    assert "there is no file" in words
    content = shown(run, ledger)
    assert [entry["epsilon"] for entry in content["runs"]][1:] == [0.0, 0.0]  # type: ignore[attr-defined]
    assert content["cap"] == {"epsilon": 2.5, "delta": 1e-6}


def test_the_environment_names_a_ledger_once_for_all(shop: Path, tmp_path: Path, ledger: Path) -> None:
    asked = [str(argument) for argument in train(shop, tmp_path / "one", None)]
    result = CliRunner().invoke(main, asked, env={LEDGER_VARIABLE: str(ledger)})
    assert result.exit_code == 0, result.stderr
    result = CliRunner().invoke(main, ["ledger", "show", "--json"], env={LEDGER_VARIABLE: str(ledger)})
    assert len(json.loads(result.stdout)["runs"]) == 1
    baseline = [
        "train",
        str(shop / "train.csv"),
        *map(str, COLUMNS),
        "--method",
        "als",
        "--out",
        str(tmp_path / "b"),
    ]
    result = CliRunner().invoke(main, baseline, env={LEDGER_VARIABLE: str(ledger)})
    assert result.exit_code == 0, result.stderr
    assert len(LedgerFile(ledger).account().runs) == 1


def test_groups(run: Run, shop: Path, tmp_path: Path, ledger: Path) -> None:
    for month in ("january", "february"):
        asked = train(shop, tmp_path / month, ledger, "--ledger-group", month)
        assert run(*asked).exit_code == 0
    content = shown(run, ledger)
    assert [entry["group"] for entry in content["groups"]] == ["january", "february"]  # type: ignore[attr-defined]
    assert content["spent"]["epsilon"] == pytest.approx(2.0)  # type: ignore[index]
    assert content["undivided"]["epsilon"] == pytest.approx(2.93, abs=1e-2)  # type: ignore[index]
    assert "who is in all groups: epsilon 2.93" in run("ledger", "show", ledger).stdout
    assert Model.load(tmp_path / "february").statement.earlier.group == "february"  # type: ignore[union-attr]


def test_a_plan_of_twelve_months(run: Run, ledger: Path) -> None:
    plan = json.loads(run("ledger", "plan", "--runs", 12, "--epsilon", 1, "--delta", "1e-6", "--json").stdout)
    assert plan["together"]["epsilon"] == pytest.approx(3.904, abs=1e-3)
    assert (plan["cap"], plan["left"], plan["fits"]) == (None, None, None)
    run("ledger", "cap", ledger, "--epsilon", 3, "--delta", "1e-6")
    plan = json.loads(run("ledger", "plan", ledger, "--json").stdout)
    assert plan["fits"] is False
    assert plan["left"]["runs"] == 7
    each = plan["left"]["epsilon_of_each"]
    again = json.loads(run("ledger", "plan", ledger, "--epsilon", each, "--json").stdout)
    assert again["fits"] is True
    assert again["after"]["epsilon"] == pytest.approx(3.0, rel=1e-6)
    text = run("ledger", "plan", ledger).stdout
    assert "left: epsilon of each of 12 runs" in text


def test_damage_edits_and_a_ledger_set_back_are_found(
    run: Run, refused: Refused, shop: Path, tmp_path: Path, ledger: Path
) -> None:
    run("ledger", "cap", ledger, "--epsilon", 9, "--delta", "1e-6")
    before = ledger.read_bytes()
    run(*train(shop, tmp_path / "one", ledger))
    found = json.loads(run("ledger", "verify", ledger, "--json").stdout)
    assert (found["whole"], found["records"]) == (True, 5)
    kept = tmp_path / "head.txt"
    kept.write_text(f"{found['head']}\n")
    for head in (found["head"], kept, tmp_path / "one"):
        assert run("ledger", "verify", ledger, "--head", head).exit_code == 0
    whole = ledger.read_bytes()
    ledger.write_bytes(before)
    assert run("ledger", "verify", ledger).exit_code == 0
    for head in (found["head"], kept, tmp_path / "one"):
        assert "was set back" in refused("ledger", "verify", ledger, "--head", head)
    ledger.write_bytes(whole.replace(b'"epsilon":9.0', b'"epsilon":8.0', 1))
    assert "damaged or edited: line 2" in refused("ledger", "verify", ledger)
    assert "damaged or edited: line 2" in refused("ledger", "show", ledger)
    assert "line 2" in refused(*train(shop, tmp_path / "two", ledger))
    ledger.write_bytes(whole)
    assert "is neither a head" in refused("ledger", "verify", ledger, "--head", "abc")


def test_caps(run: Run, ledger: Path) -> None:
    assert (
        "cap epsilon 3, delta 1e-06" in run("ledger", "cap", ledger, "--epsilon", 3, "--delta", "1e-6").stdout
    )
    assert "no cap" in run("ledger", "cap", ledger, "--lift").stdout
    assert json.loads(run("ledger", "cap", ledger, "--json").stdout)["cap"] is None
    assert len(LedgerFile(ledger).verify().records) == 3
