"""``discreet collect``: what a person types to keep a collector running."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from click.testing import CliRunner

from discreet.cli import main
from tests.devices.support.running import Running, asked_devices


def _run(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(main, ["collect", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def _refusal(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["collect", *arguments])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_count_delete_back_up_and_restore(tmp_path: Path) -> None:
    items = tmp_path / "items.csv"
    items.write_text("item\n" + "".join(f"film-{number}\n" for number in range(10)))
    copy, new = tmp_path / "copy.sqlite", tmp_path / "new.sqlite"
    options = ("--rating-range", "1", "5", "--epsilon", "2", "--catalogue", str(items), "--minimum", "2")
    with Running(tmp_path / "s.sqlite") as server:
        _run("task", "create", server.url, "films", *options, "--enough", "9", "--hours", "5")
        config = json.loads(server.ask("GET", "/v1/tasks/films/config")[1])
        assert (config["enough"], config["hours"]) == (9, 5.0)
        for device in itertools.islice(asked_devices(server.question()), 3):
            assert server.report(device, 1)[0] == 200
        assert _run("task", "count", server.url, "films") == {
            "task": "films",
            "round": 1,
            "reports": 3,
            "minimum": 2,
            "released": [],
        }
        assert "is open" in _refusal("task", "delete", server.url, "films", "--all")
        assert server.close()[0] == 200
        assert _run("task", "delete", server.url, "films") == {"task": "films", "deleted": 3}
        assert _run("backup", "--store", str(server.store), "--out", str(copy))["out"] == str(copy)
    assert _run("restore", str(copy), "--store", str(new)) == {"store": str(new), "tasks": 1}
    assert "is there already" in _refusal("restore", str(copy), "--store", str(new))
    assert "there is no store" in _refusal(
        "backup", "--store", str(tmp_path / "no"), "--out", str(tmp_path / "x")
    )
