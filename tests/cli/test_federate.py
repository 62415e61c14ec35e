"""``discreet federate``: the commands, one by one and a whole run each by hand and by processes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from discreet.methods.registry import DEFAULTS
from discreet.model import Model
from discreet.silos.shared.outcome import encode_model
from discreet.silos.shared.signing import SigningKey, signing_public_key
from tests.cli.conftest import Run
from tests.forked import Forked

Refused = Callable[..., str]

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars")
TERMS = (
    *("--epsilon", 5, "--delta", "1e-4", "--rating-range", 1, 5, "--goal", "rate"),
    *("--rank", 2, "--rounds", 2, "--honest", 2),
)


@pytest.fixture(scope="module")
def site(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the ratings of three silos, which share no user."""
    folder = tmp_path_factory.mktemp("site")
    frame = pl.read_csv(shop / "train.csv")
    users = frame["user"].unique(maintain_order=True)
    places = pl.DataFrame(
        {"user": users, "silo": [("east", "north", "south")[k % 3] for k in range(len(users))]}
    )
    frame = frame.join(places, on="user")
    frame.write_csv(folder / "all.csv")
    for (name,), part in frame.partition_by("silo", as_dict=True).items():
        part.write_csv(folder / f"{name}.csv")
    (folder / "items.csv").write_bytes((shop / "items.csv").read_bytes())
    return folder


@pytest.fixture
def agreed(run: Run, site: Path, tmp_path: Path) -> Path:
    """A folder with a test authority and an agreement."""
    assert run("federate", "authority", tmp_path / "tls", "--silos", "north,south,east").exit_code == 0
    keys = ("--keys", tmp_path / "tls" / "keys.json", "--catalogue", site / "items.csv")
    out = ("--out", tmp_path / "agreement.json")
    assert run("federate", "agree", "--name", "trial", *keys, *TERMS, *out).exit_code == 0
    return tmp_path


def silo(agreed: Path, site: Path, name: str) -> tuple[object, ...]:
    return (
        *("--agreement", agreed / "agreement.json", "--name", name, "--ratings", site / f"{name}.csv"),
        *(*COLUMNS, "--catalogue", site / "items.csv", "--store", agreed / f"{name}.sqlite"),
    )


def mask_key(agreed: Path, name: str) -> tuple[object, ...]:
    return ("--mask-key", agreed / "tls" / "silos" / name / "mask.key")


def server_key(agreed: Path) -> tuple[object, ...]:
    return ("--signing-key", agreed / "tls" / "server" / "signing.key")


def server(agreed: Path) -> tuple[object, ...]:
    return ("--agreement", agreed / "agreement.json", "--store", agreed / "run.sqlite")


def read(result: object) -> dict[str, object]:
    content = json.loads(result.stdout)  # type: ignore[attr-defined]
    assert isinstance(content, dict)
    return content


def last_word_bytes(model: Path) -> int:
    """Length of the message with a model, written again from where it was saved."""
    agreement = SimpleNamespace(run_id="f" * 32)
    return signed_size(encode_model(Model.load(model), agreement))  # type: ignore[arg-type]


def signed_size(model: bytes) -> int:
    """Length of a model's message under the server's signature."""
    private = bytes(32)
    key = SimpleNamespace(signing_keys={}, server_key=signing_public_key(private), digest="0" * 64)
    return len(SigningKey(key, "", private).seal("model", model))  # type: ignore[arg-type]


def test_the_authority_says_that_it_is_for_tests(run: Run, tmp_path: Path) -> None:
    assert "TEST authority" in run("federate", "authority", tmp_path / "a", "--silos", "north").stdout
    content = read(run("federate", "authority", tmp_path / "b", "--silos", "north,south", "--json"))
    assert content["for_tests_only"] is True
    assert sorted(content["public_mask_keys"]) == ["north", "south"]  # type: ignore[call-overload]


def test_a_key_of_ones_own_goes_into_an_agreement(run: Run, site: Path, tmp_path: Path) -> None:
    keys = [run("federate", "key", tmp_path / name).stdout.strip() for name in ("one", "two")]
    signing = [run("federate", "key", "--signing", tmp_path / f"s{k}").stdout.strip() for k in range(3)]
    pairs = ("--silo", f"north={keys[0]}:{signing[0]}", "--silo", f"south={keys[1]}:{signing[1]}")
    pairs += ("--server-key", signing[2], "--catalogue", site / "items.csv")
    content = read(
        run("federate", "agree", "--name", "x", *pairs, *TERMS, "--out", tmp_path / "a.json", "--json")
    )
    assert content["silos"] == {"north": keys[0], "south": keys[1]}
    assert content["signing_keys"] == {"north": signing[0], "south": signing[1]}
    assert content["server_key"] == signing[2]
    assert content["rating_range"] == [1.0, 5.0]
    assert content["settings"]["rank"] == 2  # type: ignore[index]


def test_a_run_by_hand(run: Run, site: Path, agreed: Path) -> None:
    question, answer = agreed / "question.bin", agreed / "answer.bin"
    for step in range(8):  # in each round the roll is called, then the question is asked
        exported = read(
            run("federate", "export", *server(agreed), *server_key(agreed), "--out", question, "--json")
        )
        assert exported["round"] == step // 2
        assert exported["stage"] == ("answer" if step % 2 else "roll call")
        for name in ("south", "north", "east"):
            party = (*silo(agreed, site, name), *mask_key(agreed, name), "--question", question)
            first = read(run("federate", "answer", *party, "--out", answer, "--json"))
            if step == 1:
                content = answer.read_bytes()
                assert read(run("federate", "answer", *party, "--out", answer, "--json")) == first
                assert answer.read_bytes() == content
            imported = read(run("federate", "import", answer, *server(agreed), "--json"))
    assert imported["state"] == "finished"
    out = agreed / "model"
    saved = read(
        run("federate", "model", *server(agreed), "--catalogue", site / "items.csv", "--out", out, "--json")
    )
    statement = Model.load(out).statement
    assert statement.private
    assert statement.silos is not None
    assert (statement.silos.count, statement.silos.honest) == (3, 2)
    assert saved["rank"] == 2
    assert saved["rounds"] == 4
    assert first["charged_mu"] == pytest.approx(saved["mu"])
    assert sum(row["bytes_up"] for row in saved["traffic"]) == saved["bytes_up"]  # type: ignore[attr-defined]
    assert sum(row["bytes_down"] for row in saved["traffic"]) == saved["bytes_down"]  # type: ignore[attr-defined]
    assert saved["model_bytes_down"] == 0  # nobody has sent it


def test_a_run_over_the_network(run: Run, site: Path, agreed: Path) -> None:
    """Server and silos as processes; one silo is killed and started again."""
    (agreed / "agreement.json").unlink()
    keys = ("--keys", agreed / "tls" / "keys.json", "--catalogue", site / "items.csv")
    terms = ("--method", "item-mean", "--epsilon", 5, "--delta", "1e-4", "--rating-range", 1, 5)
    agree = ("federate", "agree", "--name", "net", *keys, *terms, "--out", agreed / "agreement.json")
    assert run(*agree).exit_code == 0

    def start(name: str, *arguments: object) -> Forked:
        command = [sys.executable, "-m", "discreet", "federate", *map(str, arguments), "--json"]
        with (agreed / f"{name}.out").open("wb") as out, (agreed / f"{name}.log").open("wb") as log:
            return Forked(command, stdout=out, stderr=log)

    def said(name: str, kind: str = "out") -> str:
        return (agreed / f"{name}.{kind}").read_text()

    at_server = ("--tls", agreed / "tls" / "server", "--listen", "127.0.0.1:0", "--out", agreed / "model")
    catalogue = ("--catalogue", site / "items.csv")
    parties = {"server": start("server", "server", *server(agreed), *catalogue, *at_server)}
    try:
        while "Listening on" not in said("server", "log"):
            assert parties["server"].poll() is None, said("server", "log")
            time.sleep(0.02)
        url = said("server", "log").split("Listening on ")[1].split()[0]

        def join(name: str) -> Forked:
            own = ("--tls", agreed / "tls" / "silos" / name, "--server", url, "--out", agreed / f"at-{name}")
            return start(name, "silo", *silo(agreed, site, name), *own)

        parties["north"] = join("north")
        while "roll call is signed" not in said("north", "log"):
            assert parties["north"].poll() is None, said("north", "log")
            time.sleep(0.02)
        parties["north"].kill()
        parties["north"].wait(30)
        parties |= {name: join(name) for name in ("north", "south", "east")}
        for name, process in parties.items():
            process.wait(120)
            assert process.returncode == 0, said(name, "log")
    finally:
        for process in parties.values():
            process.kill()
    told = json.loads(said("server"))
    assert (told["silos"], told["private"], told["rounds"]) == (["east", "north", "south"], True, 1)
    own = json.loads(said("north"))
    assert own["charged_mu"] == pytest.approx(told["mu"])
    assert own["statement"]["epsilon"] == told["epsilon"]
    assert Model.load(agreed / "at-north").digest == Model.load(agreed / "model").digest


def test_two_silos_that_are_away_when_the_roll_is_called_are_dropped_for_nothing(
    run: Run, refused: Refused, site: Path, tmp_path: Path
) -> None:
    names = "a,b,c,d"
    assert run("federate", "authority", tmp_path / "tls", "--silos", names).exit_code == 0
    keys = ("--keys", tmp_path / "tls" / "keys.json", "--catalogue", site / "items.csv")
    out = ("--out", tmp_path / "agreement.json")
    assert run("federate", "agree", "--name", "x", *keys, *TERMS, *out, "--honest", 3).exit_code == 0
    begin = (
        "federate",
        "export",
        *server(tmp_path),
        *server_key(tmp_path),
        "--out",
        tmp_path / "question.bin",
    )
    assert run(*begin).exit_code == 0
    drop = ("federate", "drop", *server(tmp_path), "--silo", "b", "--silo", "d")
    assert "too few" in refused(*drop, "--silo", "a")
    status = read(run(*drop, "--json"))
    assert (status["attempt"], status["roster"], status["charged_mu"]) == (0, ["a", "c"], 0.0)


def test_simulate(run: Run, site: Path, tmp_path: Path) -> None:
    options = ("--silo-column", "silo", "--catalogue", site / "items.csv", "--out", tmp_path / "model")
    result = run("federate", "simulate", site / "all.csv", *COLUMNS, *TERMS, *options, "--json")
    assert result.exit_code == 0, result.output
    content = read(result)
    assert content["silos"] == ["east", "north", "south"]
    assert content["private"] is True
    assert content["epsilon"] == 5.0
    assert [row["round"] for row in content["traffic"]] == [0, 1, 2, 3]  # type: ignore[attr-defined]
    assert all(row["bytes_up"] > 0 for row in content["traffic"])  # type: ignore[attr-defined]
    asked = sum(row["bytes_down"] for row in content["traffic"])  # type: ignore[attr-defined]
    assert content["model_bytes_down"] == 3 * last_word_bytes(tmp_path / "model")
    assert content["bytes_down"] == asked + content["model_bytes_down"]
    assert set(content["holder"]) == {"users", "items", "ratings", "dropped", "merged", "seconds"}  # type: ignore[call-overload]
    assert not {"users", "ratings", "dropped", "merged", "seconds"} & set(content)
    for account in content["accounts"].values():  # type: ignore[attr-defined]
        assert account["charged_mu"] == pytest.approx(content["mu"], rel=1e-15)
    assert content["goal"] == "rate"
    assert "3 of 4 rounds done: waiting for" in result.stderr
    assert Model.load(tmp_path / "model").item_side.rank == 2


def simulation(site: Path, out: Path, *split: object) -> tuple[object, ...]:
    return (*COLUMNS, *TERMS, *split, "--catalogue", site / "items.csv", "--out", out)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_simulate_loses_no_row_without_a_user_or_a_silo(
    refused: Refused, site: Path, tmp_path: Path, kind: str
) -> None:
    frame = pl.read_csv(site / "all.csv")
    third = pl.int_range(pl.len()) == 2
    for column in ("user", "silo"):
        holed = frame.with_columns(pl.when(third).then(None).otherwise(pl.col(column)).alias(column))
        (holed.write_csv if kind == "csv" else holed.write_parquet)(tmp_path / f"{column}.{kind}")
    out = tmp_path / "model"
    for split in (("--silos", 3, "--missing", "error"), ("--silo-column", "silo", "--missing", "error")):
        said = refused("federate", "simulate", tmp_path / f"user.{kind}", *simulation(site, out, *split))
        assert "row 3: the user is missing" in said
    split = ("--silo-column", "silo")
    said = refused("federate", "simulate", tmp_path / f"silo.{kind}", *simulation(site, out, *split))
    assert "names no silo in 1 rows" in said
    assert not out.exists()


def test_simulate_names_a_bad_row_by_its_place_in_the_whole_file(
    refused: Refused, site: Path, tmp_path: Path
) -> None:
    lines = (site / "all.csv").read_text().splitlines()
    columns = lines[0].split(",")
    row = lines[41].split(",")
    row[columns.index("stars")] = "77"
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:41], ",".join(row), *lines[42:]]) + "\n")
    options = ("--silo-column", "silo", "--catalogue", site / "items.csv", "--out", tmp_path / "model")
    options = (*options, "--out-of-range", "error")
    said = refused("federate", "simulate", tmp_path / "bad.csv", *COLUMNS, *TERMS, *options)
    assert "row 41: the rating 77 is outside 1 to 5" in said
    assert not (tmp_path / "model").exists()


def test_a_message_that_has_no_place_is_refused_before_anything_is_charged(
    run: Run, refused: Refused, site: Path, agreed: Path
) -> None:
    question, store = agreed / "question.bin", agreed / "north.sqlite"
    export = ("federate", "export", *server(agreed), *server_key(agreed), "--out")
    assert "another file of this command" in refused(*export, agreed / "run.sqlite")
    assert not (agreed / "run.sqlite").exists()
    assert run(*export, question).exit_code == 0
    party = (*silo(agreed, site, "north"), *mask_key(agreed, "north"), "--question", question)
    for place in (store, question, site / "north.csv", agreed / "nowhere" / "answer.bin"):
        refused("federate", "answer", *party, "--out", place)
    assert not store.exists()


def test_a_run_by_hand_that_fails_says_why(run: Run, refused: Refused, site: Path, agreed: Path) -> None:
    keys = ("--keys", agreed / "tls" / "keys.json", "--catalogue", site / "items.csv")
    terms = (*TERMS, "--epsilon", "0.01", "--delta", "1e-6", "--out", agreed / "tiny.json")
    assert run("federate", "agree", "--name", "tiny", *keys, *terms).exit_code == 0
    tiny = ("--agreement", agreed / "tiny.json")
    question, answers = agreed / "question.bin", []
    export = ("federate", "export", *server(agreed), *server_key(agreed), *tiny, "--out", question)
    for stage in ("roll call", "answer"):
        answers.clear()
        assert run(*export).exit_code == 0
        for name in ("north", "south", "east"):
            answers.append(agreed / f"{name}-{stage[:4]}.bin")
            party = (*silo(agreed, site, name), *mask_key(agreed, name), *tiny, "--question", question)
            assert run("federate", "answer", *party, "--out", answers[-1]).exit_code == 0
        if stage == "roll call":
            assert run("federate", "import", *answers, *server(agreed), *tiny).exit_code == 0
    for json_or_not in ((), ("--json",)):
        said = refused("federate", "import", *answers, *server(agreed), *tiny, *json_or_not)
        assert "the run has failed" in said
        assert "too small to train" in said


def test_a_mistyped_store_begins_no_run(refused: Refused, site: Path, agreed: Path) -> None:
    typo = ("--agreement", agreed / "agreement.json", "--store", agreed / "rum.sqlite")
    out = ("--catalogue", site / "items.csv", "--out", agreed / "model")
    assert "there is no store" in refused("federate", "model", *typo, *out)
    run_file = agreed / "answer.bin"
    run_file.write_bytes(b"x")
    refused("federate", "import", run_file, *typo)
    assert "there is no store" in refused("federate", "drop", *typo, "--silo", "north")
    assert "there is no store" in refused("federate", "finish", *typo)
    assert not (agreed / "rum.sqlite").exists()


def test_a_plan_of_impossible_silos_is_refused(refused: Refused) -> None:
    assert "whole numbers" in refused("federate", "plan", "--users", "many")
    assert "leave --silos out" in refused("federate", "plan", "--users", "10,20", "--silos", 3)
    assert "cannot be honest" in refused("federate", "plan", "--users", "10,20", "--honest", 3)


def test_simulate_needs_one_way_to_split(refused: Refused, site: Path, tmp_path: Path) -> None:
    options = (*COLUMNS, *TERMS, "--catalogue", site / "items.csv", "--out", tmp_path / "model")
    assert "either --silo-column" in refused("federate", "simulate", site / "all.csv", *options)
    both = ("--silos", 2, "--silo-column", "silo")
    assert "either --silo-column" in refused("federate", "simulate", site / "all.csv", *options, *both)
    other = ("--silo-column", "country")
    assert "no column 'country'" in refused("federate", "simulate", site / "all.csv", *options, *other)


def test_a_goal_is_a_method_that_silos_agree_on(run: Run, site: Path, agreed: Path) -> None:
    assert json.loads((agreed / "agreement.json").read_text())["method"] == DEFAULTS["rate"]
    keys = ("--keys", agreed / "tls" / "keys.json", "--catalogue", site / "items.csv")
    terms = ("--epsilon", 5, "--delta", "1e-4", "--rating-range", 1, 5, "--out", agreed / "other.json")
    assert run("federate", "agree", "--name", "x", *keys, *terms).exit_code == 0
    assert json.loads((agreed / "other.json").read_text())["method"] == DEFAULTS["rank"]


def test_agreements_that_cannot_be(refused: Refused, site: Path, agreed: Path) -> None:
    def agree(*changes: object, terms: tuple[object, ...] = TERMS) -> str:
        keys = ("--keys", agreed / "tls" / "keys.json", "--catalogue", site / "items.csv")
        out = () if "--out" in changes else ("--out", agreed / "other.json")
        return refused("federate", "agree", "--name", "x", *keys, *terms, *out, *changes)

    assert "never replaced" in agree("--out", agreed / "agreement.json")
    assert "3" in agree("--honest", 4)
    assert "--rating-range" in agree("--implicit")
    assert "use --rank" in agree("--set", "rank=3")
    assert "use --goal" in agree("--set", "goal=rank")
    assert "makes no lists" in agree("--goal", "rank", "--method", "svd")
    assert "makes no lists" in agree("--goal", "rank", "--method", "prototypes")
    assert "NAME=MASK:SIGNING" in agree("--silo", "west")
    assert "needs a mask key of every silo" in agree("--silo", f"west={'0' * 64}")
    assert "--server-key" in agree("--server-key", "short")
    assert "Known settings" in agree("--set", "flavour=3")
    assert not (agreed / "other.json").exists()


def test_silos_that_do_not_keep_to_the_agreement(
    run: Run, refused: Refused, site: Path, agreed: Path
) -> None:
    question = agreed / "question.bin"
    assert run("federate", "export", *server(agreed), *server_key(agreed), "--out", question).exit_code == 0

    def answer(name: str, *changes: object, key: str | None = None) -> str:
        party = (*silo(agreed, site, name), *mask_key(agreed, key or name), "--question", question)
        party += ("--signing-key", agreed / "tls" / "silos" / name / "signing.key")
        return refused("federate", "answer", *party, "--out", agreed / "answer.bin", *changes)

    (agreed / "fewer.csv").write_text("\n".join((site / "items.csv").read_text().splitlines()[:-1]))
    assert "not the catalogue that was agreed on" in answer("north", "--catalogue", agreed / "fewer.csv")
    assert "not in the agreement" in answer("north", "--name", "west")
    assert "not that of north" in answer("north", key="south")
    (agreed / "nonsense.bin").write_bytes(b"nonsense")
    assert "not a message" in answer("north", "--question", agreed / "nonsense.bin")
    (agreed / "one.csv").write_text("user,item,stars\n1,item-0001,3\n")
    assert "two users" in answer("north", "--ratings", agreed / "one.csv", "--unknown-items", "drop")
    assert not (agreed / "answer.bin").exists()


def test_a_server_that_cannot_start(refused: Refused, site: Path, agreed: Path) -> None:
    def start(*changes: object) -> str:
        options = ("--tls", agreed / "tls" / "server", "--listen", "127.0.0.1:0", "--out", agreed / "model")
        return refused(
            "federate", "server", *server(agreed), "--catalogue", site / "items.csv", *options, *changes
        )

    assert "HOST:PORT" in start("--listen", "8443")
    assert "cannot listen on" in start("--listen", "é" * 70 + ":0")
    assert "authority.pem" in start("--tls", agreed)
    assert "not a directory" in start("--out", agreed / "nowhere" / "model")
    assert "cannot be read" in start("--agreement", agreed / "none.json")


def test_a_silo_that_cannot_start(refused: Refused, site: Path, agreed: Path) -> None:
    def start(*changes: object) -> str:
        options = (
            "--tls",
            agreed / "tls" / "silos" / "north",
            "--server",
            "https://localhost:1",
            "--patience",
            0,
        )
        return refused("federate", "silo", *silo(agreed, site, "north"), *options, *changes)

    assert "could not be reached" in start()
    assert "https://HOST:PORT" in start("--server", "http://localhost:1")
    assert "https://HOST:PORT" in start("--server", "https://.example.com:1")
    assert "https://HOST:PORT" in start("--server", f"https://{'a' * 64}:1")
    assert "authority.pem is missing" in start("--tls", agreed / "tls")
    assert "authority.pem is missing" in start("--tls", agreed / "tls" / "server")
    assert "signing key is not that of north" in start("--tls", agreed / "tls" / "silos" / "south")
