"""A silo that stays away: the run goes on without it, says so, and does not take it back."""

from __future__ import annotations

import time

from discreet.model import Model
from tests.federated.transport.conftest import SILOS, Halls


def test_the_others_go_on_after_a_while(halls: Halls) -> None:
    hall = halls()
    hall.start("server", drop_after=1.0)
    present, absent = SILOS[:2], SILOS[2]
    for name in present:
        hall.start(name)
    while "is out of this run" not in (hall.log(absent) if (hall.folder / f"{absent}.log").exists() else ""):
        assert [hall.wait(name, 0.0) for name in list(hall.pids) if name != absent].count(2) == 0
        if (hall.folder / "model").exists():
            break
        time.sleep(0.05)
    assert [hall.wait(name) for name in (*present, "server")] == [0, 0, 0]
    releases = Model.load(hall.folder / "model").statement.releases
    assert [release.name for release in releases[:2]] == [
        "activity: users and ratings per user (given up)",
        "activity: users and ratings per user, repeat 1 with fewer silos",
    ]
    assert [release.detail["silos"] for release in releases[2:]] == [2, 2, 2]
    for name in present:
        own = (hall.folder / f"{name}.json").read_text()
        assert "repeat 1 with fewer silos" in own
