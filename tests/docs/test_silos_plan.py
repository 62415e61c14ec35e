"""The page on plans: its command lines run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli import main
from discreet.data.synthetic import market
from discreet.methods.method import PrivateMethod
from discreet.methods.registry import METHODS
from discreet.silos import plan as planning

PAGE = (Path(__file__).parents[2] / "docs" / "silos-plan.md").read_text()
COMMANDS = re.findall(r"^    discreet (.*)$", PAGE.replace("\\\n", " "), re.MULTILINE)


def run(command: str, *more: str) -> None:
    done = CliRunner().invoke(main, [*shlex.split(command), *more])
    assert done.exit_code == 0, (command, done.output)


@pytest.mark.slow
def test_the_command_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "NEWCOMERS", 100)
    plans = [command for command in COMMANDS if command.startswith("federate plan")]
    simulate, train = (command for command in COMMANDS if command not in plans)
    for command in plans:
        small = re.sub(r"--users \S+|--silos \S+", "", command)
        run(small, "--users", "60,60", "--items", "60", "--ratings-per-user", "8", "--draws", "1")
    # So many that they stand out of the noise of any run.
    ratings = market(1_200, 40, 9_000, rng=0)
    assert ratings.catalogue is not None
    users = [
        user
        for user, count in zip(ratings.user_ids, ratings.indptr[1:] - ratings.indptr[:-1], strict=True)
        for _ in range(count)
    ]
    frame = pl.DataFrame(
        {"user": users, "item": ratings.catalogue.ids[ratings.items], "rating": ratings.values}
    )
    frame.select("user", "item").write_csv("plays.csv")
    pl.DataFrame({"item": ratings.catalogue.ids}).write_csv("items.csv")
    frame.filter(pl.col("user") <= 150).write_csv("ours.csv")
    run(simulate.replace("--out model", "--out clicks"))
    parts = [ratings.take_users(slice(start, start + 200)) for start in (0, 200, 400)]
    discreet.silos.fit(parts, discreet.Budget(20.0, 1e-6), honest=2, rng=0).model_.save("model")
    run(train, "--epsilon", "20")


def test_the_python_of_the_page_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(code, "silos-plan.md", "exec"), {})


def test_every_private_method_is_in_the_table_or_among_those_that_cannot() -> None:
    section, without = PAGE.split("## Which methods")[1].split("\n## ")[0].split(" do not run over silos")
    table, without = section.rsplit("\n\n", 1)
    cannot = {"user-mean"}
    for name, method in METHODS.items():
        if (
            issubclass(method, PrivateMethod)
            and name not in cannot
            and method.__module__.startswith("discreet.")
        ):
            assert f"`{name}`" in table, name
        elif method.__module__.startswith("discreet."):
            assert f"`{name}`" in without, name
