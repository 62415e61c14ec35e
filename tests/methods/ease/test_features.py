"""What public features say of pairs: found where it is there, nothing where it is not, and used beyond the head."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from discreet import EASE, Budget, Catalogue, Model, Ratings, evaluate
from discreet.catalogue import ItemFeatures
from discreet.data import splits
from discreet.errors import ModelInvalid
from discreet.methods.ease.public.features import FeatureRows, said
from discreet.methods.ease.public.train import square_of
from discreet.model.item_weights import ItemWeights
from discreet.model.likeness import Likeness
from discreet.privacy import Noise
from discreet.types import Singles
from tests.methods.ease.test_invariances import KINDS, PER_KIND, M, kinds_of_taste

KIND_OF = np.repeat(np.arange(KINDS), PER_KIND)
NAMES = [f"item {number}" for number in range(M)]


def with_features(**columns: list[Any]) -> Catalogue:
    return Catalogue(NAMES, features=ItemFeatures.learn(columns))


def kinds() -> Catalogue:
    return with_features(kind=[f"kind {kind}" for kind in KIND_OF])


def chance(seed: int) -> Catalogue:
    rng = np.random.default_rng(seed)
    return with_features(
        colour=[f"colour {one}" for one in rng.integers(0, 8, M)], weight=rng.standard_normal(M).tolist()
    )


def fit(
    ratings: Ratings, catalogue: Catalogue | None, epsilon: float, key: str = "k", head: int = 6000
) -> Model:
    ratings = ratings if catalogue is None else ratings.with_catalogue(catalogue)
    noise = Noise.fixed_key_not_private(key)
    return EASE(head=head).fit(ratings, Budget(epsilon, 1e-6), rng=0, noise=noise).model_


def recall(model: Model, train: Ratings, test: Ratings) -> float:
    history, kept = (one.with_catalogue(model.catalogue) for one in (train, test))
    return float(evaluate(model, kept, history=history, k=10)["recall@10"].value)


def weights(model: Model) -> ItemWeights:
    assert isinstance(model.item_side, ItemWeights)
    return model.item_side


@pytest.fixture(scope="module")
def split() -> tuple[Ratings, Ratings]:
    return splits.by_rating(kinds_of_taste(1_200, 1), (0.8, 0.2), rng=0)


def rows_of(order: int, groups: int, seed: int) -> FeatureRows:
    """Tokens, each item with one of every group."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(groups):
        tokens = rng.integers(0, 12, order)
        made.append(csr_array((np.ones(order, np.float32), (np.arange(order), tokens)), shape=(order, 12)))
    return FeatureRows(tuple(made), np.sqrt(rng.uniform(1.0, 9.0, order)).astype(np.float32))


def noise(order: int, sigma: float, seed: int) -> Singles:
    rng = np.random.default_rng(seed)
    return square_of((sigma * rng.standard_normal(order * (order - 1) // 2)).astype(np.float32), order)


def test_what_features_say_is_found_beside_the_noise() -> None:
    features = rows_of(240, 3, 0)
    (size, _, second, _) = np.concatenate([parts for _, parts in features.blocks()], axis=1)
    found = said((-0.3 * size + 0.9 * second).astype(np.float32) + noise(240, 3.0, 1), features)
    assert found is not None
    assert found.groups[[0, 2]].tolist() == [0.0, 0.0]
    assert found.groups[1] == pytest.approx(0.9, abs=0.1)
    assert found.constant == pytest.approx(-0.3, abs=0.05)


def test_chance_is_hardly_ever_taken_for_what_features_say() -> None:
    """Two deviations above the largest of all groups: of forty releases, one is expected to pass."""
    passed = [said(noise(150, 3.0, seed), rows_of(150, 4, seed)) is not None for seed in range(40)]
    assert sum(passed) <= 4


def test_features_that_say_nothing_leave_lists_as_they_are(split: tuple[Ratings, Ratings]) -> None:
    for seed in range(3):
        plain, told = fit(split[0], None, 8.0, str(seed)), fit(split[0], chance(seed), 8.0, str(seed))
        assert np.array_equal(weights(plain).weights, weights(told).weights)
        assert np.array_equal(weights(plain).base, weights(told).base)


def test_nothing_is_guessed_from_features_that_say_nothing(split: tuple[Ratings, Ratings]) -> None:
    model = fit(split[0], chance(1), 8.0, head=40)
    outside = NAMES[int(np.flatnonzero(~weights(model).counted)[0])]
    found = model.similar(outside, 3)
    assert not found.items
    assert "features do not say" in found.notes[0]
    assert "are left" not in str(found)


def test_features_find_what_noise_has_drowned(split: tuple[Ratings, Ratings]) -> None:
    plain, told = (
        np.mean([recall(fit(split[0], one, 1.5, str(key)), *split) for key in range(3)])
        for one in (None, kinds())
    )
    assert told > plain + 0.05


def test_items_outside_the_head_are_listed_for_who_likes_their_kind(split: tuple[Ratings, Ratings]) -> None:
    plain, told = (fit(split[0], one, 8.0, head=40) for one in (None, kinds()))
    assert recall(told, *split) > recall(plain, *split) + 0.05
    side = weights(told)
    assert side.known.all()
    outside = int(np.flatnonzero(~side.counted)[0])
    # Of its own kind are those to which it speaks, and those that speak of it.
    row = slice(side.starts[outside], side.starts[outside + 1])
    assert (KIND_OF[side.others[row]] == KIND_OF[outside]).all()
    alike = told.similar(NAMES[outside], 5)
    assert all(KIND_OF[NAMES.index(one.item)] == KIND_OF[outside] for one in alike)
    assert all(one.deviation is None for one in alike)
    assert "guessed from its features" in alike.notes[0]


def likeness(items: int) -> Likeness:
    features, rng = rows_of(items, 1, 3), np.random.default_rng(4)
    matrix = features.groups[0]
    return Likeness(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data,
        np.ones(12),
        0.1,
        rng.uniform(1.0, 9.0, items),
        rng.uniform(5.0, 9.0, items),
        rng.uniform(0.5, 1.0, items),
    )


def test_a_weight_is_the_first_term_of_the_formula() -> None:
    """Of EASE's (D + G)^-1, off the diagonal and over it, where G is small."""
    found = likeness(15)
    small = 1e-4 * found.alike(np.arange(15)) * np.sqrt(np.outer(found.mass, found.mass))
    inverse = np.linalg.inv(np.diag(found.ridge) + small)
    wanted = -1e4 * inverse / np.diagonal(inverse) * found.scale
    rows, others, got = found.weights(np.zeros(15, np.bool_))
    assert got == pytest.approx(wanted[rows, others], rel=0.01)


# New items


@pytest.fixture(scope="module")
def longer(split: tuple[Ratings, Ratings]) -> Model:
    model = fit(split[0], kinds(), 8.0)
    return model.with_items(["new 2", "new 4", "odd"], {"kind": ["kind 2", "kind 4", None]}, {"odd": "Odd"})


def test_new_items_are_listed_for_who_likes_their_kind(longer: Model, tmp_path: Any) -> None:
    def places(kind: int) -> dict[Any, int]:
        found = longer.recommend(
            [name for name, one in zip(NAMES, KIND_OF, strict=True) if one == kind][:6], n=90
        )
        return {one.item: place for place, one in enumerate(found)}

    assert places(2)["new 2"] < places(4).get("new 2", 90) - 10
    assert places(4)["new 4"] < places(2).get("new 4", 90) - 10
    found = longer.recommend(["new 2"], n=10, allowed=NAMES)
    assert sum(KIND_OF[NAMES.index(one.item)] == 2 for one in found) >= 4
    marks = {one.item: one.mark for one in longer.recommend(NAMES[:3], n=M)}
    assert {item for item, mark in marks.items() if mark == "guess"} <= {"new 2", "new 4", "odd"}
    assert marks["new 2"] == "guess"
    base = weights(longer).base
    assert base[M:] == pytest.approx(np.full(3, base[:M].mean()))
    assert [one.item for one in longer.similar("new 2", 3)]
    longer.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert again.digest == longer.digest
    assert again.recommend(["new 2"], n=10, allowed=NAMES) == found
    more = again.with_items(["newer"], {"kind": ["kind 1"]})
    assert weights(more).likeness is not None
    assert weights(more).marks(range(M + 4)) == [None] * M + ["guess"] * 4


def test_a_model_without_features_says_that_it_cannot_add_items(split: tuple[Ratings, Ratings]) -> None:
    with pytest.raises(ModelInvalid, match="trained without item features"):
        fit(split[0], None, 8.0).with_items(["new"], {"kind": ["kind 1"]})


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"starts": np.array([0, 1])}, "has the shape"),
        ({"mass": np.ones(3)}, "has the shape"),
        ({"columns": np.full(20, 12, np.int32)}, "not there"),
        ({"columns": np.full(20, -1, np.int32)}, "not there"),
        ({"starts": np.arange(21)[::-1].astype(np.int64)}, "must rise"),
        ({"values": np.full(20, np.nan, np.float32)}, "not finite"),
        ({"constant": np.inf}, "not finite"),
        ({"ridge": np.zeros(20)}, "above 0"),
        ({"roots": np.full(12, -1.0)}, "above 0"),
        ({"added": 21}, "cannot have been added"),
    ],
)
def test_a_likeness_that_cannot_be_is_refused(changed: dict[str, Any], says: str) -> None:
    likeness(20).check(20)
    with pytest.raises(ModelInvalid, match=says):
        replace(likeness(20), **changed).check(20)
