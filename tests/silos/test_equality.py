"""Over silos or in one place, with the same noise: the same model to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.catalogue import Catalogue
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.methods.lookup import find_public_half
from discreet.model.storage import item_side_to_bytes
from discreet.silos.shared.outcome import decode_model, encode_model
from tests.silos.worlds import Run, agree, central, world


@pytest.mark.parametrize(("count", "noise"), [(1, "shares"), (3, "server"), (10, "shares")])
def test_the_model_is_the_central_one(tmp_path: Path, count: int, noise: str) -> None:
    ratings = world()
    agreement = agree(ratings, count, noise=noise)
    run = Run(tmp_path, ratings, agreement)
    model, wanted = run.finish(), central(ratings, agreement)
    assert model.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    assert model.item_side.rule == wanted.item_side.rule
    assert model.item_side.rank == 3
    assert model.settings == wanted.settings
    charged = [(release.name, release.mu) for release in wanted.statement.releases]
    assert [(release.name, release.mu) for release in model.statement.releases] == charged
    for silo in run.silos.values():
        assert [(release.name, release.mu) for release in silo.statement().releases] == charged
    run.close()


RUNS: list[tuple[str, str, dict[str, Any]]] = [
    ("ease", "clicks", {}),
    ("ease", "ratings", {"head": 7, "keep_sums": False}),
    ("dpals", "ratings", {"rank": 3, "max_ratings": 6, "sampling": "weights", "frequent_share": 0.7}),
    ("dpals", "clicks", {"rank": 3, "max_ratings": 6, "start": "spectral", "split_users": True}),
    ("item-mean", "ratings", {}),
    ("global-mean", "ratings", {}),
    ("popularity", "clicks", {}),
    ("svd", "ratings", {"rank": 3}),
    ("frank-wolfe", "ratings", {"rounds": 3, "centre": "mean"}),
    ("frank-wolfe", "clicks", {"rounds": 2, "eigenvector": "oja", "skip_noise": False}),
    ("projected-gradient", "ratings", {"rounds": 3, "rank": 3}),
]


@pytest.mark.parametrize(("method", "kind", "settings"), RUNS)
def test_any_method_of_sums_gives_the_central_model(
    tmp_path: Path, method: str, settings: dict[str, Any], kind: str
) -> None:
    ratings = world(kind)
    chosen = find_public_half(method).settings_type.checked(**settings)
    agreement = agree(ratings, 3, method=method, settings=chosen)
    run = Run(tmp_path, ratings, agreement)
    model, wanted = run.finish(), central(ratings, agreement)
    assert item_side_to_bytes(model.item_side) == item_side_to_bytes(wanted.item_side)
    assert (model.method, model.settings) == (wanted.method, wanted.settings)
    assert isinstance(run.catalogue, Catalogue)
    sent = decode_model(encode_model(model, agreement), agreement, run.catalogue)
    assert item_side_to_bytes(sent.item_side) == item_side_to_bytes(wanted.item_side)
    charged = [(release.name, release.mu) for release in wanted.statement.releases]
    assert [(release.name, release.mu) for release in model.statement.releases] == charged
    for silo in run.silos.values():
        assert [(release.name, release.mu) for release in silo.statement().releases] == charged
    run.close()


def test_a_method_that_has_nothing_to_ask_makes_no_agreement() -> None:
    with pytest.raises(RatingsInvalid, match="nobody gave any"):
        agree(world("clicks"), 3, method="item-mean", settings=find_public_half("item-mean").settings_type())
    with pytest.raises(SettingsInvalid, match="asks nothing"):
        agree(world(), 3, method="user-mean", settings=find_public_half("user-mean").settings_type())
