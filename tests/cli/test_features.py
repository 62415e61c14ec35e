"""``--features``: columns of the catalogue that describe the items, in every command that trains."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from discreet.model import Model
from tests.cli.conftest import Run

Refused = Callable[..., str]

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars")
RATED = (*COLUMNS, "--rating-range", 1, 5)
SMALL = ("--epsilon", 5, "--delta", "1e-4", "--goal", "rate", "--rank", 2, "--rounds", 2)


@pytest.fixture
def items(shop: Path, tmp_path: Path) -> Path:
    """A catalogue with columns to take features from."""
    frame = pl.read_csv(shop / "items.csv")
    described = frame.with_columns(
        title=pl.Series([f"word{k // 2} ({1990 + k % 7})" for k in range(len(frame))]),
        genres=pl.Series([("drama|war", "comedy", "war", None)[k % 4] for k in range(len(frame))]),
        authors=pl.Series([f"ann{k % 5}, bob{k % 3}" for k in range(len(frame))]),
    )
    described.write_csv(tmp_path / "items.csv")
    return tmp_path / "items.csv"


@pytest.mark.parametrize(
    "given",
    [
        ("--features", "genres,authors:tags"),
        ("--features", "genres", "--features", "authors:tags"),
    ],
)
def test_train_with_features(
    run: Run, shop: Path, items: Path, tmp_path: Path, given: tuple[str, ...]
) -> None:
    out = tmp_path / "model"
    result = run("train", shop / "train.csv", *RATED, "--catalogue", items, *given, *SMALL, "--out", out)
    assert result.exit_code == 0, result.output
    model = Model.load(out)
    assert model.catalogue.feature_encoder is not None
    assert model.catalogue.feature_encoder.kinds == {"authors": "tags", "genres": "tags"}
    assert "the items' features: authors, genres" in model.statement.public
    assert model.catalogue.titles


def _agree(run: Run, items: Path, folder: Path, *more: object) -> None:
    assert run("federate", "authority", folder / "tls", "--silos", "north,south").exit_code == 0
    terms = (*SMALL, "--rating-range", 1, 5, "--noise", "server", *more)
    keys = ("--keys", folder / "tls" / "keys.json", "--catalogue", items)
    out = ("--out", folder / "agreement.json")
    result = run("federate", "agree", "--name", "trial", *keys, *terms, *out)
    assert result.exit_code == 0, result.output


def _silo(folder: Path, ratings: Path, items: Path, name: str, question: Path) -> tuple[object, ...]:
    return (
        *(
            "federate",
            "answer",
            "--agreement",
            folder / "agreement.json",
            "--name",
            name,
            "--ratings",
            ratings,
        ),
        *(*COLUMNS, "--catalogue", items, "--store", folder / f"{name}.sqlite"),
        *("--mask-key", folder / "tls" / "silos" / name / "mask.key"),
        *("--question", question, "--out", folder / f"{question.stem}-{name}.bin"),
    )


def test_a_run_by_hand_reads_the_agreed_features(
    run: Run, refused: Refused, shop: Path, items: Path, tmp_path: Path
) -> None:
    _agree(run, items, tmp_path, "--features", "genres,title")
    agreed = json.loads((tmp_path / "agreement.json").read_text())
    assert agreed["features"] == {"genres": "tags", "title": "text"}
    frame = pl.read_csv(shop / "train.csv")
    north = frame["user"].hash(0) % 2 == 0
    for name, part in (("north", frame.filter(north)), ("south", frame.filter(~north))):
        part.write_csv(tmp_path / f"{name}.csv")
    server = ("--agreement", tmp_path / "agreement.json", "--store", tmp_path / "run.sqlite")
    catalogue = ("--catalogue", items)
    question = tmp_path / "question.bin"
    key = ("--signing-key", tmp_path / "tls" / "server" / "signing.key")
    said = refused("federate", "export", *server, *key, "--out", question)
    assert "item features were agreed on: name the file that has them with --catalogue" in said
    assert run("federate", "export", *server, *key, *catalogue, "--out", question).exit_code == 0

    other = tmp_path / "other.csv"
    other.write_text(items.read_text().replace("comedy", "tragedy").replace("war", "comedy"))
    silo = _silo(tmp_path, tmp_path / "north.csv", other, "north", question)
    said = refused(*silo)
    assert "item features are not those agreed on (genres:tags, title:text)" in said
    assert not (tmp_path / "north.sqlite").exists()

    for number in range(20):
        for name in ("north", "south"):
            assert run(*_silo(tmp_path, tmp_path / f"{name}.csv", items, name, question)).exit_code == 0
        answers = [tmp_path / f"{question.stem}-{name}.bin" for name in ("north", "south")]
        status = run("federate", "import", *answers, *server, *catalogue, "--json")
        if json.loads(status.stdout)["state"] == "finished":
            break
        question = tmp_path / f"question{number}.bin"
        assert run("federate", "export", *server, *key, *catalogue, "--out", question).exit_code == 0
    assert run("federate", "model", *server, *catalogue, "--out", tmp_path / "model").exit_code == 0
    model = Model.load(tmp_path / "model")
    assert "the items' features: genres, title" in model.statement.public
    assert model.catalogue.feature_encoder is not None


@pytest.mark.parametrize("method", ["dpals", "prototypes"])
def test_methods_that_use_no_features_make_no_agreement_with_them(
    run: Run, refused: Refused, items: Path, tmp_path: Path, method: str
) -> None:
    assert run("federate", "authority", tmp_path / "tls", "--silos", "north,south").exit_code == 0
    said = refused(
        *(
            "federate",
            "agree",
            "--name",
            "trial",
            "--method",
            method,
            "--keys",
            tmp_path / "tls" / "keys.json",
        ),
        *("--catalogue", items, "--features", "genres", "--epsilon", 1, "--delta", "1e-4"),
        *("--rating-range", 1, 5, "--out", tmp_path / "agreement.json"),
    )
    assert f"{method} does not use item features" in said
    assert "agreement cannot be used" not in said
