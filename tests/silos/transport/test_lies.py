"""A server that asks for what was not agreed: silos end with exit code 2, words, and their accounts as they were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from discreet import Ratings
from discreet.cli import main
from discreet.silos.silo.silo import Silo
from tests.silos.transport.conftest import SILOS, Hall, Halls
from tests.silos.worlds import noise_key, parts, private_key


def account(hall: Hall, ratings: Ratings, name: str) -> Silo:
    """A silo's store, opened after the silo has ended."""
    part = dict(zip(SILOS, parts(ratings, len(SILOS)), strict=True))[name]
    key = noise_key(name)
    return Silo(
        hall.folder / f"{name}.db",
        hall.agreement,
        name,
        private_key(name),
        part,
        fixed_noise_key_not_private=key,
    )


def test_a_round_too_many_is_refused_by_all(halls: Halls, undisturbed: Hall) -> None:
    hall = halls()
    hall.start_all(kind="one-more")
    assert [hall.wait(name) for name in SILOS] == [2, 2, 2]
    assert hall.wait("server", 0.0) is None
    hall.end()
    for name in SILOS:
        assert "a round more than was agreed" in hall.log(name)
        with account(hall, halls.ratings, name) as silo:
            assert silo.statement().to_json() == undisturbed.accounts()[name]
            assert len(silo.status()["refusals"]) == 1


@pytest.fixture
def silo_files(halls: Halls, tls: Path, tmp_path: Path) -> Path:
    """What ``discreet federate silo`` needs: ratings, items, certificates and mask key."""
    part = parts(halls.ratings, len(SILOS))[0]
    assert part.catalogue is not None
    ids = part.catalogue.ids
    rows = {
        "user": np.repeat(part.user_ids, np.diff(part.indptr)),
        "item": ids[part.items].tolist(),
        "stars": part.values,
    }
    pl.DataFrame(rows).write_csv(tmp_path / "ratings.csv")
    pl.DataFrame({"item": ids.tolist()}).write_csv(tmp_path / "items.csv")
    for name in ("authority.pem", "signing.key"):
        (tmp_path / name).write_bytes((tls / "silos" / SILOS[0] / name).read_bytes())
    (tmp_path / "mask.key").write_text(private_key(SILOS[0]).hex())
    return tmp_path


def test_the_command_refuses_less_noise(halls: Halls, silo_files: Path) -> None:
    hall = halls()
    hall.start("server", kind="less-noise")
    hall.wait_until_it_listens()
    for name in SILOS[1:]:  # the roll is called before anything is asked
        hall.start(name)
    files = ["--ratings", silo_files / "ratings.csv", "--catalogue", silo_files / "items.csv"]
    columns = ["--user", "user", "--item", "item", "--rating", "stars"]
    party = ["--agreement", hall.folder / "agreement.json", "--name", SILOS[0], "--tls", silo_files]
    store = ["--store", hall.folder / f"{SILOS[0]}.db", "--server", f"https://localhost:{hall.port}"]
    arguments = ["federate", "silo", *files, *columns, *party, *store, "--json"]
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "the server asks for less noise than agreed" in " ".join(result.stderr.split())
    with account(hall, halls.ratings, SILOS[0]) as silo:
        status = silo.status()
    assert json.loads(json.dumps(status))["charged_mu"] == 0.0
    assert len(status["refusals"]) == 1
    hall.end()
