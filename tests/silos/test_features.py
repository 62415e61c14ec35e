"""Features of the items in silos: agreed on by digest, the same for every party, and others are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import Refused, SettingsInvalid
from discreet.methods.budgeted.private.contributions import BudgetedALS
from discreet.methods.budgeted.public import train as budgeted
from discreet.methods.lookup import find_public_half
from discreet.methods.public.half import Facts
from discreet.model import Model
from discreet.model.fold_in import Ridge
from discreet.model.item_side import FeatureMap, ItemSide
from discreet.privacy.statement import Statement
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement, PrototypeAgreement
from discreet.silos.shared.outcome import decode_model, encode_model
from tests.conformance.runs import same
from tests.silos.worlds import Run, agree, central, parts, world


def described(ratings: Ratings, shift: int = 0) -> Ratings:
    """The same ratings over items with features."""
    assert ratings.catalogue is not None
    genres = [("drama|war", "comedy", "war", None)[(k + shift) % 4] for k in range(ratings.n_items)]
    table = {"genres": genres, "year": list(range(ratings.n_items))}
    return replace(ratings, catalogue=Catalogue(ratings.catalogue.ids, features=table))


@pytest.fixture(scope="module")
def plain() -> Ratings:
    return world()


@pytest.fixture(scope="module")
def ratings(plain: Ratings) -> Ratings:
    return described(plain)


def test_an_agreement_has_kinds_and_digest_and_they_are_signed(plain: Ratings, ratings: Ratings) -> None:
    agreement = agree(ratings, 2)
    assert ratings.catalogue is not None
    assert ratings.catalogue.features is not None
    assert agreement.features == {"genres": "tags", "year": "number"}
    assert agreement.features_digest == ratings.catalogue.features.digest
    assert Agreement.parse(agreement.model_dump_json().encode()) == agreement
    whole = agreement.model_dump(mode="json")
    for changes in ({"features_digest": "0" * 64}, {"features": {"genres": "text", "year": "number"}}):
        assert Agreement.parse(json.dumps(whole | changes).encode()).digest != agreement.digest
    assert agree(plain, 2).features is None


def test_methods_that_do_not_use_features_make_no_agreement_with_them(ratings: Ratings) -> None:
    with pytest.raises(SettingsInvalid, match="dpals does not use item features"):
        agree(ratings, 2, method="dpals", settings=find_public_half("dpals").settings_type())
    assert ratings.catalogue is not None
    with pytest.raises(SettingsInvalid, match="prototypes does not use item features"):
        PrototypeAgreement.make(
            "a test", silos=["a"], epsilon=1.0, catalogue=ratings.catalogue, rating_range=(1, 5)
        )


def test_a_silo_with_other_features_is_refused(tmp_path: Path, plain: Ratings, ratings: Ratings) -> None:
    agreement = agree(ratings, 2)
    for number, (own, message) in enumerate(
        (
            (described(plain, 1), r"are not those agreed on \(genres:tags, year:number\)"),
            (plain, r"item features were agreed on \(genres:tags, year:number\), and the catalogue has none"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(Refused, match=message):
            Run(folder, ratings, agreement, split=parts(own, 2))
        assert {file.name.partition(".")[0] for file in folder.iterdir()} == {"server"}
    with pytest.raises(Refused, match="none were agreed on; read it without features"):
        Run(tmp_path, plain, agree(plain, 2), split=parts(ratings, 2))


def test_a_server_with_other_features_is_refused(tmp_path: Path, plain: Ratings, ratings: Ratings) -> None:
    agreement = agree(ratings, 2)
    other = described(plain, 1).catalogue
    assert other is not None
    for features in (None, other.features):
        with pytest.raises(Refused, match="agreed on"):
            Coordinator(tmp_path / "server.db", agreement, features=features)
    assert not (tmp_path / "server.db").exists()


def test_all_parties_work_the_questions_out_from_the_same_features(
    tmp_path: Path, ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []

    def spy(settings: Any, facts: Facts, rng: np.random.Generator) -> Any:
        seen.append(None if facts.features is None else facts.features.digest)
        return half.train(settings, facts, rng)

    half = find_public_half("budgeted")
    watched = replace(half, train=spy)
    monkeypatch.setattr(budgeted, "BUDGETED", watched)
    monkeypatch.setattr(BudgetedALS, "public_half", watched)
    agreement = agree(ratings, 3)
    seen.clear()  # whether the agreement can work at all is asked without features
    run = Run(tmp_path, ratings, agreement)
    model = run.finish()
    assert set(seen) == {agreement.features_digest}
    assert len(seen) >= 4
    wanted = central(ratings, agreement)
    assert model.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    said = "the items' features: genres, year"
    assert said in model.statement.public
    assert all(said in silo.statement().public for silo in run.silos.values())
    run.close()


def test_the_model_comes_down_with_its_noise_ratios_and_what_it_makes_of_features(plain: Ratings) -> None:
    """However many columns the features have: here more than all other numbers of the run."""
    rng, n, columns = np.random.default_rng(0), plain.n_items, 100_000
    assert plain.catalogue is not None
    catalogue = Catalogue(plain.catalogue.ids, features={"embedding": rng.normal(size=(n, columns))})
    agreement = agree(replace(plain, catalogue=catalogue), 2)
    assert catalogue.features is not None
    guesses = FeatureMap(rng.normal(size=(len(catalogue.features.group_of), 4)), rng.normal(size=4), 0.5)
    arrays = rng.normal(size=n), rng.normal(size=(n, 3))
    side = ItemSide(plain.scale, 3.0, *arrays, Ridge(), noise_ratio=rng.random(n), feature_map=guesses)
    model = Model(side, catalogue, Statement.not_private("made by hand"), "budgeted")
    body = encode_model(model, agreement)
    sent = decode_model(body, agreement, catalogue)
    assert same(sent.item_side, model.item_side)
    new = {"embedding": rng.normal(size=(1, columns))}
    assert same(sent.with_items(["new"], new).item_side, model.with_items(["new"], new).item_side)
    silent = agreement.model_copy(update={"features": None, "features_digest": None})
    with pytest.raises(Refused, match="larger than any in"):
        decode_model(body, silent, catalogue)
