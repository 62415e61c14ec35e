"""Every file that a command writes: for the holder's eyes alone, unless it is listed here as public."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from discreet.cli import main
from discreet.devices.collector.store import Store
from tests.cli.conftest import Run

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars")
READ = (*COLUMNS, "--rating-range", 1, 5, "--catalogue", "items.csv")
BUDGET = ("--epsilon", 5, "--delta", "1e-4")
PEOPLE = ("--history", "train.csv", "--user-column", "user", "--rating-column", "stars")
TERMS = (
    *BUDGET,
    "--rating-range",
    1,
    5,
    "--catalogue",
    "items.csv",
    "--goal",
    "rate",
    "--rank",
    1,
    "--rounds",
    1,
)
SILO = ("--agreement", "agreed.json", "--name", "a", "--ratings", "train.csv", *COLUMNS)
SERVER = ("--agreement", "agreed.json", "--store", "run.sqlite", "--signing-key", "tls/server/signing.key")
ANSWER = ("federate", "answer", "--question", "question.bin", "--mask-key", "tls/silos/a/mask.key")
KEPT = ("--method", "item-mean", "--engine", "disk", "--blocks", "blocks", "--checkpoint", "run")
PLAN = ("plan", "--users", 300, "--items", 40, "--ratings-per-user", 10, "--rating-range", 1, 5, "--quick")
Command = Sequence[object]

# One after another, in one folder: what each writes there for the holder, and what is public.
WRITING: list[tuple[Command, set[str], set[str]]] = [
    (("split", "train.csv", "--user", "user", "--seed", 1, "--out", "parts/inner"), {"parts"}, set()),
    (("train", "train.csv", *READ, *BUDGET, "--method", "item-mean", "--out", "model"), set(), {"model"}),
    (("train", "train.csv", *READ, "--method", "als", "--rounds", 1, "--out", "exact"), {"exact"}, set()),
    (
        ("train", "train.csv", *READ, *BUDGET, *KEPT, "--ledger", "people.ledger", "--out", "again"),
        {"people.ledger", "blocks"},  # the checkpoint is gone with the run; tests/engines looks at it
        {"again"},
    ),
    (("ledger", "cap", "other.ledger", *BUDGET), {"other.ledger"}, set()),
    (("recommend", "model", *PEOPLE, "--out", "lists.csv"), {"lists.csv"}, set()),
    (("recommend", "model", *PEOPLE, "--out", "lists.parquet"), {"lists.parquet"}, set()),
    (("report", "model", "--out", "report.html"), set(), {"report.html"}),
    (("report", "exact", "--out", "exact.html"), {"exact.html"}, set()),
    (
        (
            "report",
            "model",
            "--ratings",
            "train.csv",
            "--test",
            "test.csv",
            *COLUMNS,
            "--out",
            "quality.html",
        ),
        {"quality.html"},
        set(),
    ),
    (("export", "web", "model", "--out", "page"), set(), {"page"}),
    (("export", "web", "exact", "--out", "exact-page"), {"exact-page"}, set()),
    (("export", "card", "model", "--out", "card.md"), set(), {"card.md"}),
    (
        ("evaluate", "model", "test.csv", "--history", "train.csv", *COLUMNS, "--per-user", "a.csv"),
        {"a.csv"},
        set(),
    ),
    (("statement", "model", "--html", "statement.html"), set(), {"statement.html"}),
    (("sample", "--out", "made-up"), set(), {"made-up"}),
    ((*PLAN, "--epsilon", "5", "--picture", "plan.svg"), set(), {"plan.svg"}),
    (("federate", "key", "mask.key"), {"mask.key"}, set()),
    (
        ("federate", "authority", "tls", "--silos", "a,b"),
        {"tls"},
        {"tls/keys.json", "tls/README.txt", "tls/server/[ac]*.pem", "tls/silos/*/[ac]*.pem"},
    ),
    (
        ("federate", "agree", "--name", "trial", "--keys", "tls/keys.json", *TERMS, "--out", "agreed.json"),
        set(),
        {"agreed.json"},
    ),
    (
        ("federate", "export", *SERVER, "--out", "question.bin"),
        {"run.sqlite", "run.sqlite.status.json", "question.bin"},
        set(),
    ),
    (
        (*ANSWER, *SILO, "--catalogue", "items.csv", "--store", "a.sqlite", "--out", "answer.bin"),
        {"a.sqlite", "a.sqlite.status.json", "answer.bin"},
        set(),
    ),
    (("collect", "backup", "--store", "reports.sqlite", "--out", "copy.sqlite"), {"copy.sqlite"}, set()),
    (("collect", "restore", "copy.sqlite", "--store", "back.sqlite"), {"back.sqlite"}, set()),
]


# Commands that write and are not above: what they write is looked at where they are tested, or is a model alone.
ELSEWHERE = {
    *("add-items", "export table"),  # what follows from a model that everybody may have
    *("federate simulate", "federate server", "federate silo", "federate drop", "federate finish"),
    *("federate import", "federate model"),  # the same stores, by tests/silos/test_store_files.py
    *("collect simulate", "collect model"),  # a model
    "collect serve",  # the store of the test below, by tests/devices/collector
}
PLACES = {"--out", "--per-user", "--html", "--picture", "--store", "--ledger", "--blocks", "--checkpoint"}


def commands(group: click.Group, *before: str) -> Iterator[tuple[str, set[str]]]:
    """Every command, and the options that name a place to write to."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)
        elif command is not None:
            known = {option for parameter in command.params for option in parameter.opts}
            yield " ".join((*before, name)), known & PLACES


def test_every_command_that_writes_is_looked_at() -> None:
    tried = [" ".join(map(str, command)) + " " for command, _, _ in WRITING]
    for name, places in commands(main):
        if places and name not in ELSEWHERE:
            assert any(one.startswith(f"{name} ") for one in tried), name


@pytest.fixture
def loose() -> Iterator[None]:
    """Somebody whose new files everybody may read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def below(path: Path) -> list[Path]:
    return [path, *path.rglob("*")]


def test_what_is_not_public_is_for_its_owner_alone(
    run: Run, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loose: None
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("train.csv", "test.csv", "items.csv"):
        Path(name).write_bytes((shop / name).read_bytes())
    # Of a collector that runs: the log and the shared memory beside its store as well.
    store = Store("reports.sqlite")
    with store.connect() as connection:
        connection.execute("CREATE TABLE t(x)")
        assert {path.name.removeprefix("reports.sqlite") for path in Path().glob("reports*")} == {
            *("", "-wal", "-shm", ".lock")
        }
        assert {mode(path) for path in Path().glob("reports*")} == {0o600}
        connection.execute("DROP TABLE t")
    connection.close()
    store.close()
    for command, private, public in WRITING:
        before = set(Path().iterdir())
        result = run(*command)
        assert result.exit_code == 0, (command, result.output)
        new = {path.name for path in set(Path().iterdir()) - before if path.suffix != ".lock"}
        listed = {name for name in private | public if "/" not in name}
        sides = {name for name in new if name.endswith(("-wal", "-shm", "-journal"))}
        assert new - sides == listed, command
        everybody = {found for pattern in public for top in Path().glob(pattern) for found in below(top)}
        for name in new - public:
            for path in set(below(Path(name))) - everybody:
                assert mode(path) == (0o700 if path.is_dir() else 0o600), f"{command}: {path}"
        for path in everybody:  # else the test would not see what the umask lets through
            assert mode(path) == (0o755 if path.is_dir() else 0o644), f"{command}: {path}"


def test_a_store_that_others_could_read_is_narrowed(tmp_path: Path, loose: None) -> None:
    path = tmp_path / "reports.sqlite"
    Store(path).close()
    path.chmod(0o644)
    Store(path).close()
    assert mode(path) == 0o600
