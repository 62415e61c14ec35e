"""A silo that stays away: the run goes on without it, says so, and does not take it back."""

from __future__ import annotations

import time

from click.testing import CliRunner

from discreet.cli import main
from discreet.model import Model
from tests.silos.transport.conftest import SILOS, Hall, Halls
from tests.silos.transport.test_listener import line_to

PRESENT, ABSENT = SILOS[:2], SILOS[2]


def check_statements(hall: Hall) -> None:
    """Who did not sign the roll call costs nothing: no round was given up, and the others did all of them."""
    releases = Model.load(hall.folder / "model").statement.releases
    assert releases[0].name == "activity: users and ratings per user"
    assert not any("given up" in release.name or "repeat" in release.name for release in releases)
    assert [release.detail["silos"] for release in releases] == [2, 2, 2, 2]
    for name in PRESENT:
        assert "repeat" not in (hall.folder / f"{name}.json").read_text()


def test_the_others_go_on_after_a_while(halls: Halls) -> None:
    hall = halls()
    hall.start("server", drop_after=1.0)
    hall.wait_until_it_listens()
    time.sleep(1.5)  # nobody is dropped while too few would be left
    for name in PRESENT:
        hall.start(name)
    assert [hall.wait(name) for name in (*PRESENT, "server")] == [0, 0, 0]
    check_statements(hall)


def test_dropped_by_a_command_a_silo_is_out(halls: Halls) -> None:
    hall = halls()
    hall.start("server")
    hall.wait_until_it_listens()
    assert line_to(hall, hall.tls / "silos" / ABSENT).question("") is not None  # so the run has begun
    hall.end()
    agreed, store = hall.folder / "agreement.json", hall.folder / "server.db"
    options = ["--agreement", str(agreed), "--store", str(store), "--silo", ABSENT]
    assert CliRunner().invoke(main, ["federate", "drop", *options]).exit_code == 0
    assert CliRunner().invoke(main, ["federate", "drop", *options]).exit_code == 2
    hall.start("server")
    hall.start(ABSENT)
    assert hall.wait(ABSENT) == 2
    assert f"{ABSENT} is out of this run" in hall.log(ABSENT)
    for name in PRESENT:
        hall.start(name)
    assert [hall.wait(name) for name in (*PRESENT, "server")] == [0, 0, 0]
    check_statements(hall)
