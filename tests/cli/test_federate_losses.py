"""``federate`` where silos may be lost: the agreement says so, and a round carried by hand goes on without one."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.test_federate import TERMS, Refused, agreed, mask_key, read, server, server_key, silo, site

__all__ = ["agreed", "site"]  # fixtures


def agree(run: Run, site: Path, agreed: Path, *changes: object) -> dict[str, object]:
    keys = ("--keys", agreed / "tls" / "keys.json", "--catalogue", site / "items.csv")
    out = agreed / "agreement.json"
    out.unlink()
    return read(run("federate", "agree", "--name", "x", *keys, *TERMS, *changes, "--out", out, "--json"))


def test_one_silo_may_be_lost_wherever_that_is_possible(
    run: Run, refused: Refused, site: Path, agreed: Path
) -> None:
    assert "dropouts" not in agree(run, site, agreed)
    assert "dropouts" not in agree(run, site, agreed, "--honest", 3, "--dropouts", 0)
    assert "nobody may be" in run("federate", "show", agreed / "agreement.json").stdout
    assert agree(run, site, agreed, "--honest", 3)["dropouts"] == 1
    keys = ("--keys", agreed / "tls" / "keys.json", "--catalogue", site / "items.csv")
    other = ("--out", agreed / "other.json")
    make = ("federate", "agree", "--name", "x", *keys, *TERMS, *other)
    assert "fewer than half of the honest" in refused(*make, "--dropouts", 1)
    prototypes = ("--method", "prototypes", "--epsilon", 5, "--rating-range", 1, 5, "--dropouts", 1)
    assert "--dropouts is for methods that sum" in refused(
        "federate", "agree", "--name", "x", *keys, *prototypes, *other
    )


def test_a_round_by_hand_goes_on_without_a_silo(run: Run, refused: Refused, site: Path, agreed: Path) -> None:
    agree(run, site, agreed, "--honest", 3)
    question = agreed / "question.bin"

    def export() -> dict[str, object]:
        out = ("--out", question, "--json")
        return read(run("federate", "export", *server(agreed), *server_key(agreed), *out))

    def answer(name: str) -> Path:
        out = agreed / f"{name}.bin"
        party = (*silo(agreed, site, name), *mask_key(agreed, name), "--question", question)
        assert run("federate", "answer", *party, "--out", out).exit_code == 0
        return out

    assert export()["stage"] == "answer"
    late = answer("south").rename(agreed / "late.bin")
    here = ("east", "north")
    for stage in ("countersign", "reveal", "answer"):
        answers = [answer(name) for name in here]
        imported = read(run("federate", "import", *answers, *server(agreed), "--json"))
        if imported["stage"] == "answer" and stage == "countersign":
            drop = ("federate", "drop", *server(agreed), "--round-only", "--silo")
            assert "name all of them" in refused(*drop, "north")
            assert "Going on with east, north" in run(*drop, "south").stdout
        assert export()["stage"] == stage
        if stage == "countersign":
            party = (*silo(agreed, site, "south"), *mask_key(agreed, "south"), "--question", question)
            assert "not in the sum of round 0" in refused(
                "federate", "answer", *party, "--out", agreed / "x.bin"
            )
            said = run("federate", "import", late, *server(agreed))
            assert "came too late" in said.stderr
            assert "Export again" in said.stdout
    status = read(run("federate", "show", agreed / "run.sqlite", "--json"))
    assert (status["round"], status["lost_in"]) == (1, {"0": ["south"]})
    assert status["waiting_for"] == ["east", "north", "south"]
    paid = [read(run("federate", "show", agreed / f"{name}.sqlite", "--json")) for name in (*here, "south")]
    assert len({one["charged_mu"] for one in paid}) == 1, "south has paid for the answer that it has sent"
    assert float(str(status["charged_mu"])) >= float(str(paid[0]["charged_mu"])) > 0.0
