"""Three silos and a server as processes of their own, with TLS between them."""

from __future__ import annotations

import pytest

from discreet import Budget
from discreet.model import Model
from tests.silos.transport.conftest import SILOS, Hall, Halls
from tests.silos.worlds import central


def same_model(hall: Hall, halls: Halls) -> None:
    model, wanted = Model.load(hall.folder / "model"), central(halls.ratings, hall.agreement)
    assert model.item_side.rank == 2
    assert model.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()


def test_the_model_is_the_central_one(undisturbed: Hall, halls: Halls) -> None:
    same_model(undisturbed, halls)


def test_with_noise_of_the_server_too(halls: Halls) -> None:
    hall = halls(noise="server")
    hall.start_all()
    assert [hall.wait(name) for name in (*SILOS, "server")] == [0, 0, 0, 0]
    same_model(hall, halls)


@pytest.mark.parametrize("name", SILOS)
def test_every_silo_gets_the_model_to_recommend_from(undisturbed: Hall, name: str) -> None:
    assert undisturbed.model(f"{name}-model") == undisturbed.model()


def test_a_run_that_fails_ends_for_everybody(halls: Halls) -> None:
    hall = halls(budget=Budget(0.01, 1e-6))
    hall.start_all()
    assert [hall.wait(name) for name in (*SILOS, "server")] == [2, 2, 2, 2]
    for name in (*SILOS, "server"):
        assert "too small to train" in hall.log(name)
    assert not (hall.folder / "model").exists()
