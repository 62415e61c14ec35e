"""``discreet export index``: a real index, searched and compared with exact lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet import BudgetedALS, kernels
from discreet.data.synthetic import market
from discreet.model import Model
from discreet.model.listing import order_terms
from discreet.model.vector_index import IndexedItems, item_vectors, query_vectors
from discreet.privacy.budget import Budget
from tests.cli.conftest import Run
from tests.model.models import make_model

usearch = pytest.importorskip("usearch.index", reason="needs the extra index")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a market with 1,500 items."""
    ratings = market(800, 1_500, 30_000, rng=1)
    model = BudgetedALS(goal="rate", rank=8, rounds=2).fit(ratings, Budget(200.0, 1e-6), rng=1).model_
    return model.save(tmp_path_factory.mktemp("index") / "model")


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_inner_products_order_items_as_lists_do(feedback: str) -> None:
    model = make_model(feedback)  # type: ignore[arg-type]
    coefficients = np.random.default_rng(0).normal(size=(7, 1 + model.item_side.rank))
    rows, level = order_terms(model.item_side, model.by_popularity)
    wanted, _ = kernels.top_n(coefficients, rows, level, len(rows))
    products = query_vectors(coefficients) @ item_vectors(model).T
    assert (np.argsort(-products, axis=1, kind="stable") == wanted).all()
    lengths = np.linalg.norm(item_vectors(model), axis=1)
    assert lengths == pytest.approx(lengths[0], rel=1e-6)


@pytest.mark.parametrize(("stored", "least"), [("float32", 0.97), ("int8", 0.6)])
def test_what_is_found_is_measured_and_said(
    run: Run, trained: Path, tmp_path: Path, stored: str, least: float
) -> None:
    done = run("export", "index", trained, "--out", tmp_path / "index", "--stored", stored, "--json")
    told = json.loads(done.stdout)
    assert least <= told["recall"] <= 1.0
    model = Model.load(trained)
    saved = usearch.Index.restore(str(tmp_path / "index" / "items.usearch"))
    ids = (tmp_path / "index" / "items.txt").read_text().splitlines()
    history = {ids[3]: 5.0, ids[70]: 1.0}
    coefficients, _ = model._coefficients(history, "error")
    found = [ids[key] for key in saved.search(query_vectors(coefficients)[0], 10).keys.tolist()]
    wanted = model.recommend(history, 10, exclude_seen=False).items
    assert len(set(found) & set(map(str, wanted))) >= (8 if stored == "float32" else 5)
    assert json.loads((tmp_path / "index" / "about.json").read_text())["recall"] == told["recall"]


def test_real_histories_leave_nothing_in_the_folder(run: Run, trained: Path, tmp_path: Path) -> None:
    """Neighbours: with one user more in the histories the folder is the same, and the holder alone is told of it."""
    ids = Model.load(trained).catalogue.ids.tolist()
    rows = [f"{user},{ids[(user * 7 + step * 31) % 1_500]},4" for user in range(30) for step in range(9)]
    folders, holders = [], []
    for name, lines in (("all", rows), ("less", rows[9:])):
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["user,item,rating", *lines]) + "\n")
        options = ("--history", path, "--stored", "int8", "--connectivity", 4, "--expansion", 10, "--json")
        told = json.loads(run("export", "index", trained, "--out", tmp_path / name, *options).stdout)
        folders.append(json.loads((tmp_path / name / "about.json").read_text()))
        holders.append(told["holder"])
        assert folders[-1].pop("recall") == told["recall"]  # a graph that threads build is another each time
    assert folders[0] == folders[1]
    assert (folders[0]["people"], folders[0]["histories"]) == (1_000, "made-up histories")
    assert [holder["people"] for holder in holders] == [30, 29]
    shown = run(
        "export", "index", trained, "--out", tmp_path / "all", "--history", tmp_path / "all.csv", "--force"
    )
    assert "For you alone" in shown.stdout
    assert shown.stdout.index("For you alone") < shown.stdout.rindex("recall@10")


def test_recall_of_a_poor_index_is_poor(trained: Path) -> None:
    model = Model.load(trained)
    coefficients = np.random.default_rng(0).normal(size=(50, 9))
    whole = IndexedItems.build(model)
    half = IndexedItems.build(model)
    for key in range(0, 1_500, 2):
        half.index.remove(key)
    assert half.recall(coefficients, 10) < 0.75 < whole.recall(coefficients, 10)


def test_refusals(run: Run, refused: Callable[..., str], trained: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    assert "something else" in refused("export", "index", trained, "--out", tmp_path / "other", "--force")
    assert run("export", "index", trained, "--out", tmp_path / "index").exit_code == 0
    assert "--force" in refused("export", "index", trained, "--out", tmp_path / "index")
