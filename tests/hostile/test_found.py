"""What the attacks have found, each as small as it gets: a traceback once, a refusal now."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import Budget, Catalogue, Model, Ratings
from discreet.errors import (
    BudgetInvalid,
    CatalogueInvalid,
    HistoryInvalid,
    ModelInvalid,
    RatingsInvalid,
    SettingsInvalid,
)
from discreet.methods.published.public.dpals import DPALSSettings
from discreet.model.folder import describe
from discreet.model.storage import item_side_from_bytes, item_side_to_bytes
from discreet.privacy.costs import composed_epsilon
from discreet.silos.shared.agreement import load_agreement
from tests.hostile.requests import AgreementFile, HistoryFile
from tests.model.models import make_model

# Columns u, i and r of two rows, and four bytes of them changed.
PANIC = (
    b"c-nnaO;6iE5M6KFh(ittWmmD}gD<Q=RFJr!#8o(~L)y{?u%k*9M>~!og2u?^v%jD}1aaoXsp_xb+*5x+4_w=swQD#KM%KQae"
    b"Q(~(TDB*LEv7SzSpxt<h(_|D1v0`G*urZd=UJ6ib3)g&3T3*nL8|jcLpx)H>wL<m!WDA_q;*z*Vi({NzF<`QZ!}RxArHm9CT"
    b"=wH>}0QAoa`^e<78<$*#i|nC^1a#vULtZ*xhU8_JQVGMvcJ-Jx!8RFl727h076EL!2y<fr%1znu4!k8eMU#nX_I5|5agiBJQ"
    b"X;`-c2ag>fQ&SIpT%^Y1!n_)p4pF$Yk`ksCER9PWL2n~e^~UxUUqUBhs;B}5;W&N<|levzxAPf}*Gr_h%x9`F|zcn(Deg>DD"
    b"HRmm<c66<^WXsw)GS?H0<0eByI)hX|zR3miR`3y{FR5E!V_gzsby>H0(RUb5Xe+0``hJJg>TB-KSe&F0c04qd4pJS`Aa_~M)"
    b"S@wt0k7(K}^2nE)q_OKI$3dD|OD9*Shsku=Iv=OmB$-<FYHPJ=Ern;3<H%~qPSXyfH*p-<?Ktk(QET09cY>x9*v>{A+i^P>M"
    b"~=O0bm5c8AJT>I&x7CTA3a&1*Z"
)


def test_a_parquet_file_that_polars_panics_over(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(zlib.decompress(base64.b85decode(PANIC)))
    with pytest.raises(RatingsInvalid, match="cannot be read"):
        Ratings.from_file(path, user="u", item="i", rating="r", rating_range=(1, 5))
    with pytest.raises(CatalogueInvalid, match="cannot be read"):
        Catalogue.from_file(path, "i", "u,r")


@pytest.mark.parametrize(
    "content",
    [
        {"item-1": 10**400},
        {"item-1": "much"},
        {"item-1": None},
    ],
)
def test_ratings_of_a_history_that_are_no_numbers(tmp_path: Path, content: Any) -> None:
    histories = HistoryFile(tmp_path)
    with pytest.raises((HistoryInvalid, RatingsInvalid), match=r"number|is inf|is missing"):
        histories._recommend(histories._models[0], ".json", json.dumps(content).encode())


@pytest.mark.parametrize(
    "columns",
    [
        {"item": ["a", "b"], "title": [["x"], []]},
        {"item": ["a", "b"], "title": pl.Series([1, 2]).cast(pl.Duration("ms"))},
        {"item": [[1], [2]], "title": ["x", "y"]},
    ],
)
def test_titles_and_ids_that_are_no_text(tmp_path: Path, columns: dict[str, Any]) -> None:
    pl.DataFrame(columns).write_parquet(tmp_path / "items.parquet")
    with pytest.raises(CatalogueInvalid):
        Catalogue.from_file(tmp_path / "items.parquet")


def test_a_stored_catalogue_of_endless_brackets() -> None:
    with pytest.raises(CatalogueInvalid):
        Catalogue.from_json("[" * 100_000)


def forged(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["files"][name] = hashlib.sha256(content).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize("value", ["1e999", '"\\ud800"'])
@pytest.mark.parametrize("read", [Model.load, describe])
def test_settings_that_could_not_have_been_written(
    tmp_path: Path, value: str, read: Callable[[Path], Any]
) -> None:
    folder = make_model("explicit").save(tmp_path / "model")
    forged(folder, "model.json", b'{"method": "m", "settings": {"rank": %s}}' % value.encode())
    with pytest.raises(ModelInvalid, match=r"model\.json"):
        read(folder)


@pytest.mark.parametrize("name", ["manifest.json", "model.safetensors"])
def test_a_file_larger_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = make_model("explicit").save(tmp_path / "model")
    os.truncate(folder / name, 1 << 40)  # takes no room on the disk
    genuine = Path.read_bytes

    def without_room(path: Path) -> bytes:
        if path.stat().st_size > 1 << 30:
            raise MemoryError
        return genuine(path)

    monkeypatch.setattr(Path, "read_bytes", without_room)
    with pytest.raises(ModelInvalid, match="1,099,511,627,776 bytes"):
        Model.load(folder)


def test_factors_beyond_any_model() -> None:
    side = make_model("implicit").item_side
    body = item_side_to_bytes(side)
    assert np.array_equal(item_side_from_bytes(body).factors, side.factors)
    side.factors[0, 0] = 1e200
    with pytest.raises(ModelInvalid, match="factors has numbers that are not finite, or beyond"):
        item_side_from_bytes(item_side_to_bytes(side))


def test_arrays_without_metadata() -> None:
    body = item_side_to_bytes(make_model("implicit").item_side)
    length = int.from_bytes(body[:8], "little")
    header = json.loads(body[8 : 8 + length])
    header["__metadata__"] = None
    text = json.dumps(header).encode()
    with pytest.raises(ModelInvalid, match="the format is None"):
        item_side_from_bytes(len(text).to_bytes(8, "little") + text + body[8 + length :])


def test_an_agreement_on_more_items_than_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, agreement = AgreementFile(tmp_path)._genuine[1]

    def without_room(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(type(agreement), "check_budget", without_room)
    (tmp_path / "agreement.json").write_bytes(text)
    with pytest.raises(SettingsInvalid, match="no memory here for 20 items"):
        load_agreement(tmp_path / "agreement.json")


def test_an_epsilon_beyond_the_accounting() -> None:
    assert Budget(1e9, 1e-6).mu > 0.0
    with pytest.raises(BudgetInvalid, match="no privacy at all"):
        Budget(1e308, 1e-6)


def test_a_ratio_of_noise_whose_square_overflows() -> None:
    with pytest.raises(SettingsInvalid, match="noise_ratio"):
        DPALSSettings.checked(noise_ratio=1e-300)


@pytest.mark.filterwarnings("error")
def test_a_selection_whose_trials_cost_beyond_any_number() -> None:
    assert composed_epsilon(0.0, ((1e200, 3.0),), 1e-6) == math.inf
