"""``discreet export arrays`` and ``card``: what others read of a model is what the model says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet import ALS, Budget, BudgetedALS, Model, Popularity
from discreet.data.synthetic import market
from discreet.statements.words import headline
from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ratings = market(400, 30, 3_500, rng=1)
    fitted = BudgetedALS(rank=2, rounds=2).fit(ratings, Budget(20.0, 1e-6), rng=0)
    return fitted.model_.save(tmp_path_factory.mktemp("export") / "my_model")


def test_arrays_order_items_as_the_model_does(run: Run, folder: Path, tmp_path: Path) -> None:
    done = run("export", "arrays", folder, "--out", tmp_path / "model.npz", "--json")
    assert done.exit_code == 0, done.output
    model = Model.load(folder)
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        assert {name: list(arrays[name].shape) for name in arrays} == json.loads(done.stdout)["arrays"]
        taken = np.array([0, 3])
        coefficients = model.item_side.fold_in(np.array([0, 2]), taken, np.array([5.0, 1.0]))[0]
        scores = arrays["design"] @ coefficients + arrays["level"]
        scores[taken] = -np.inf
        best = arrays["ids"][np.argsort(-scores, kind="stable")[:5]].tolist()
    ids = model.catalogue.ids
    assert best == model.recommend({ids[0]: 5, ids[3]: 1}, 5).items


def test_the_card_says_what_the_statement_says(run: Run, folder: Path, tmp_path: Path) -> None:
    assert run("export", "card", folder, "--out", tmp_path / "README.md").exit_code == 0
    text = (tmp_path / "README.md").read_text()
    head, body = text.removeprefix("---\n").split("---\n", 1)
    assert head.splitlines() == [
        "library_name: discreet",
        'tags: ["recommender-system", "collaborative-filtering", "differential-privacy"]',
    ]
    assert body.startswith("\n# my\\_model\n")
    model = Model.load(folder)
    assert f"**{headline(model.statement)}.**" in body
    assert model.digest in body
    for line in model.statement.not_protected:
        assert line.split()[0] in body
    headings = [line for line in body.splitlines() if line.startswith("## ")]
    assert headings == [
        *(
            "## Privacy",
            "## Uses",
            "## Training data",
            "## Evaluation",
            "## Limitations",
            "## Use it",
            "## Model",
        )
    ]


def test_the_card_of_a_model_that_is_not_private_promises_nothing(run: Run, tmp_path: Path) -> None:
    ratings = market(60, 20, 300, rng=0)
    for name, model in (
        ("exact", ALS(rank=2, rounds=1).fit(ratings, rng=0).model_),
        ("private", Popularity().fit(ratings, Budget(5.0, 1e-6)).model_),
    ):
        model.save(tmp_path / name)
        run("export", "card", tmp_path / name, "--out", tmp_path / f"{name}.md")
        told = (tmp_path / f"{name}.md").read_text()
        assert ("neither are exact counts" in told) == (name == "private")
        assert ("may give ratings, and exact counts of them, away" in told) == (name == "exact")


def test_files_are_replaced_when_asked_alone(
    refused: Callable[..., str], run: Run, folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "a.npz"
    place.write_text("mine")
    assert "exists" in refused("export", "arrays", folder, "--out", place)
    assert place.read_text() == "mine"
    assert run("export", "arrays", folder, "--out", place, "--force").exit_code == 0
