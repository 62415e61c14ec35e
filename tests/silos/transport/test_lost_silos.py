"""A silo lost in a round, over TLS: the server is stopped, told so, and goes on; the silo rests, and comes back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from click.testing import CliRunner

from discreet import Model
from discreet.cli import main
from tests.silos.transport.conftest import SILOS, Halls
from tests.silos.transport.test_fault_matrix_tls import Party

PRESENT, ABSENT = SILOS[:2], SILOS[2]


def federate(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["federate", *map(str, arguments)])
    return result.exit_code, result.output


def test_a_lost_silo_rests_and_comes_back(halls: Halls) -> None:
    hall = halls(honest=3, dropouts=1)
    options = {"wait": 0.3}
    hall.start("server", **options)
    hall.wait_until_it_listens()
    parties = {name: Party(hall, halls.ratings, name) for name in SILOS}
    for name in PRESENT:
        party = parties[name]
        party.line.greet(party.signed.hello())
        offer = party.line.question("")
        assert offer is not None
        said = party.line.answer(party.signed.answer(offer.body))
    assert said["waiting_for"] == [ABSENT]
    hall.end()
    where = ["--agreement", hall.folder / "agreement.json", "--store", hall.folder / "server.db"]
    assert federate("drop", *where, "--silo", PRESENT[0], "--round-only")[0] == 2
    code, output = federate("drop", *where, "--silo", ABSENT, "--round-only", "--json")
    assert (code, json.loads(output)["lost"]) == (0, [ABSENT])
    assert f"{ABSENT}: this round goes on without" in federate("show", hall.folder / "server.db")[1]
    hall.start("server", **options)
    hall.wait_until_it_listens()
    parties[ABSENT].line.greet(parties[ABSENT].signed.hello())
    assert parties[ABSENT].line.question("") is None, "nothing is asked of a silo that rests"
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(parties[name].take_part) for name in SILOS]
        for run in runs:
            run.result()
    assert hall.wait("server") == 0, hall.log("server")
    releases = Model.load(hall.folder / "model").statement.releases
    assert [release.detail.get("lost") for release in releases] == [ABSENT, None, None, None]
    for party in parties.values():
        party.silo.close()
    assert "released without this silo's answer" in federate("show", hall.folder / f"{ABSENT}.db")[1]
    assert "round 0 was released without silo-02" in federate("show", hall.folder / "server.db")[1]
    assert "up to 1 silo, at no cost" in federate("show", hall.folder / "agreement.json")[1]
