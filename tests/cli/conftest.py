"""Run commands in this process, and small files to run them on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from discreet.cli import main
from discreet.data.synthetic import market
from tests.model.models import make_doubtful, make_model

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run a command; an exception that is not a message to a person fails the test."""

    def call(*arguments: object) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run a command that must be refused: exit code 2, nothing on stdout, a message on stderr."""

    def call(*arguments: object) -> str:
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        return " ".join(result.stderr.split())

    return call


@pytest.fixture
def explicit_model(tmp_path: Path) -> Path:
    """A saved model with the items item-0 to item-11 and ratings 1 to 5."""
    return make_model("explicit").save(tmp_path / "explicit")


@pytest.fixture
def implicit_model(tmp_path: Path) -> Path:
    """A saved model with the items 0, 10, ..., 110 and no ratings."""
    return make_model("implicit").save(tmp_path / "implicit")


@pytest.fixture
def doubtful_model(tmp_path: Path) -> Path:
    """A saved model like the explicit one that says how sure it is (not of item-5), with features genres and year."""
    return make_doubtful("explicit").save(tmp_path / "doubtful")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.csv, test.csv (user, item, stars) and items.csv (item) of a small market."""
    folder = tmp_path_factory.mktemp("shop")
    ratings = market(300, 40, 3_000, rng=1)
    assert ratings.catalogue is not None
    frame = pl.DataFrame(
        {
            "user": np.repeat(ratings.user_ids, np.diff(ratings.indptr)),
            "item": ratings.catalogue.ids[ratings.items].tolist(),
            "stars": ratings.values,
        }
    )
    held_out = np.random.default_rng(1).random(frame.height) < 0.1
    frame.filter(~held_out).write_csv(folder / "train.csv")
    frame.filter(held_out).write_csv(folder / "test.csv")
    pl.DataFrame({"item": ratings.catalogue.ids.tolist()}).write_csv(folder / "items.csv")
    return folder
