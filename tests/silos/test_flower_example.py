"""The example for Flower, with a stand-in for the few parts of Flower that it uses."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from discreet import Model

EXAMPLE = Path(__file__).parents[2] / "examples" / "flower_app.py"


class App:
    """A ClientApp or a ServerApp: keeps the function that a decorator is given."""

    run: Callable[..., Any]

    def _keep(self) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def keep(function: Callable[..., Any]) -> Callable[..., Any]:
            self.run = function
            return function

        return keep

    train = main = _keep


class Message:
    """A request to a node, or a reply."""

    def __init__(
        self, content: dict[str, Any], node: int = 0, kind: str = "", *, reply_to: Any = None
    ) -> None:
        self.content, self.node, self.kind = content, node, kind

    def has_error(self) -> bool:
        return False


class Grid:
    """Hands every message to the client app at once."""

    def __init__(self, client: App) -> None:
        self._client = client

    def get_node_ids(self) -> list[int]:
        return [0, 1, 2]

    def send_and_receive(self, messages: Iterable[Message]) -> list[Message]:
        replies = []
        for one in messages:
            assert one.kind == "train"
            replies.append(self._client.run(one, SimpleNamespace(node_config={"partition-id": one.node})))
        return replies


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example as a module."""
    parts: dict[str, dict[str, Any]] = {
        "flwr": {},
        "flwr.app": {"ConfigRecord": dict, "RecordDict": dict, "Message": Message, "Context": object},
        "flwr.clientapp": {"ClientApp": App},
        "flwr.serverapp": {"ServerApp": App, "Grid": object},
    }
    for name, content in parts.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("flower_app", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_three_silos_train_a_model_that_states_its_budget(example: Any, tmp_path: Path) -> None:
    folder = tmp_path / "market"
    example.prepare(folder)
    assert (folder / "east" / "mask.key").stat().st_mode & 0o777 == 0o600
    example.server_app(folder).run(Grid(example.client_app(folder)), None)
    statement = Model.load(folder / "model").statement
    assert statement.private
    assert statement.model == "silos"
    assert statement.epsilon == pytest.approx(2.0, rel=1e-3)


def test_a_refusal_ends_the_run(example: Any, tmp_path: Path) -> None:
    folder = tmp_path / "market"
    example.prepare(folder)
    client = example.client_app(folder)
    found = client.run(
        Message({"round": {"question": b"{}"}}), SimpleNamespace(node_config={"partition-id": 1})
    )
    assert found.content["round"].keys() == {"silo", "refused"}
    client.run = lambda message, context: found
    with pytest.raises(RuntimeError, match="north refuses to answer"):
        example.server_app(folder).run(Grid(client), None)
