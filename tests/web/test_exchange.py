"""Another model takes the place of the one that is served, and no request fails."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.sizes import sized
from tests.web.support.models import make_model
from tests.web.support.running import Running, wait_until

EXCHANGES = sized(6, 100)


class Asking(threading.Thread):
    """Asks for lists until it is told to stop, and keeps which model answered, and whatever went wrong."""

    def __init__(self, service: Running) -> None:
        super().__init__()
        self._service, self._stop_asking = service, threading.Event()
        self.answered: list[str] = []
        self.failed: list[object] = []

    def run(self) -> None:
        while not self._stop_asking.is_set():
            try:
                answer = self._service.recommend(history=[{"item": "film-1", "rating": 4}], n=10)
                assert len(answer["recommendations"]) == 10
                self.answered.append(answer["model"])
            except Exception as error:
                self.failed.append(error)

    def stop(self) -> None:
        self._stop_asking.set()
        self.join()


def test_models_are_exchanged_under_load_and_no_request_fails(tmp_path: Path) -> None:
    models = [make_model("Ridge", 50, 4, seed) for seed in range(3)]
    folder = models[0].save(tmp_path / "model")
    with Running(folder, watch=0.05) as service:
        asking = [Asking(service) for _ in range(3)]
        for one in asking:
            one.start()
        for number in range(1, EXCHANGES + 1):
            fresh = models[number % 3]
            fresh.save(folder, overwrite=True)
            wait_until(lambda digest=fresh.digest: service.get("/health/ready")["model"] == digest)
            wait_until(lambda digest=fresh.digest: any(one.answered[-1:] == [digest] for one in asking))
        for one in asking:
            one.stop()
        assert [failure for one in asking for failure in one.failed] == []
        seen = {digest for one in asking for digest in one.answered}
        assert seen == {model.digest for model in models}
        _, text = service.ask("GET", "/metrics")
        assert f'discreet_model_exchanges_total{{outcome="served"}} {EXCHANGES}'.encode() in text


def test_what_cannot_be_used_is_not_served(tmp_path: Path) -> None:
    old, new = make_model("Ridge", 50, 4, 0), make_model("Clicks", 30, 2, 1)
    folder = old.save(tmp_path / "model")
    with Running(folder, watch=0.05) as service:
        manifest = (folder / "manifest.json").read_text()
        (folder / "manifest.json").write_text(manifest + " ")
        (folder / "statement.json").write_text("{}")
        wait_until(lambda: b'{outcome="refused"} 1.0' in service.ask("GET", "/metrics")[1])
        assert service.get("/health/ready")["model"] == old.digest
        assert "the model was not exchanged" in service.log
        new.save(folder, overwrite=True)
        wait_until(lambda: service.get("/health/ready")["model"] == new.digest)
        assert service.get("/items")["found"] == 30
