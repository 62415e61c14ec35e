"""Server and silos over TLS on the loopback: who is answered, who is waited for, and what is refused unread."""

from __future__ import annotations

import hashlib
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.errors import Refused, SettingsInvalid, Unreachable
from discreet.model import Model
from discreet.silos.server.server import url_of
from discreet.silos.shared.keys import client_context, make_authority
from discreet.silos.shared.messages import RollCall
from discreet.silos.shared.signing import PASS, SERVER, open_seal
from discreet.silos.silo.client import Client
from tests.silos.transport.conftest import SILOS, Hall, Halls, key_in
from tests.silos.worlds import Run

LONG = 60.0


class Line:
    """A server in a process of its own, and silos here that call it."""

    def __init__(self, halls: Halls, folder: Path, **terms: Any) -> None:
        self.hall = halls()
        self.tls, self.agreement = halls.tls, self.hall.agreement
        self.keys = {name: key_in(self.tls / "silos" / name, self.agreement, name) for name in SILOS}
        self.run = Run(folder, halls.ratings, self.agreement, keys=self.keys)
        self.url = f"https://localhost:{self.hall.port}"
        self.hall.start("server", linger=0.0, **terms)
        self.hall.wait_until_it_listens()
        self._clients: list[Client] = []

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.hall.end()
        self.run.close()

    def client(self, name: str, url: str = "", trust: Path | None = None, patience: float = LONG) -> Client:
        context = client_context(trust or self.tls / "silos" / name)
        self._clients.append(Client(url or self.url, self.keys[name], context, patience=patience))
        return self._clients[-1]

    def raw(self, path: str, shown: str = "", body: bytes | None = None) -> httpx.Response:
        method = "GET" if body is None else "POST"
        verify = client_context(self.tls / "silos" / SILOS[0])
        headers = {PASS: shown} if shown else {}
        return httpx.request(
            method, self.url + path, content=body, headers=headers, verify=verify, timeout=LONG
        )

    def offered(self, name: str, after: str = "") -> bytes:
        """What a silo is sent, as soon as there is something."""
        client, until = self.client(name), time.monotonic() + LONG
        while (offer := client.question(after)) is None:
            assert time.monotonic() < until
            time.sleep(0.02)
        return offer.body

    def answer(self, name: str, question: bytes) -> bytes:
        """A silo's answer, not signed yet."""
        return self.run.silos[name].answer(open_seal(self.agreement, question, "question", SERVER).body)


@pytest.fixture(scope="module")
def line(halls: Halls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    with closing(Line(halls, tmp_path_factory.mktemp("line"))) as made:
        yield made


def test_over_the_network_as_in_one_process(undisturbed: Hall, halls: Halls, tmp_path: Path) -> None:
    agreement = undisturbed.agreement
    keys = {name: key_in(halls.tls / "silos" / name, agreement, name) for name in SILOS}
    run = Run(tmp_path, halls.ratings, agreement, keys=keys)
    wanted = run.finish()
    for folder in ("model", *(f"{name}-model" for name in SILOS)):
        model = Model.load(undisturbed.folder / folder)
        assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
        assert model.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()
        assert model.statement == wanted.statement
    run.close()


def test_only_silos_of_the_agreement_are_answered_and_only_about_its_run(line: Line) -> None:
    root = f"/v1/{line.agreement.run_id}"
    right = line.keys[SILOS[0]].shown
    other = right.replace(SILOS[0], SILOS[1])
    for shown in ("", "stranger " + right.partition(" ")[2], other, right[:-1]):
        for path, body in (("question", None), ("answer", b"x"), ("goodbye", b"")):
            assert line.raw(f"{root}/{path}", shown, body).status_code == 403
    assert line.raw("/v1/" + "0" * 32 + "/question", right).status_code == 404
    assert "compare agreements" in line.raw("/v1/" + "0" * 32 + "/question", right).text
    assert line.raw(f"{root}/goodbye", right, b"").status_code == 409
    assert line.raw(f"{root}/question", right).status_code in (200, 204)


def test_no_silo_speaks_for_another_and_nothing_unsigned_is_taken(line: Line) -> None:
    root, one, two = f"/v1/{line.agreement.run_id}/answer", *SILOS[:2]
    body = line.answer(one, line.offered(one))
    sealed = line.keys[one].seal("answer", body)
    for shown, message in (
        (two, sealed),
        (one, body),
        (one, b""),
        (one, line.keys[two].seal("answer", body)),
    ):
        assert line.raw(root, line.keys[shown].shown, message).status_code == 409
    assert line.raw(root, line.keys[one].shown, sealed).json() == {"repeated": False}
    assert line.raw(root, line.keys[one].shown, sealed).json() == {"repeated": True}


def test_an_oversized_message_is_refused(line: Line) -> None:
    path, body = f"/v1/{line.agreement.run_id}/answer", bytes(line.agreement.most_bytes + 1)
    assert line.raw(path, line.keys[SILOS[0]].shown, body).status_code == 413
    chunks = httpx.post(
        line.url + path,
        content=iter([body[:1_000_000]] * (len(body) // 1_000_000 + 1)),
        headers={PASS: line.keys[SILOS[0]].shown},
        verify=client_context(line.tls / "silos" / SILOS[0]),
        timeout=LONG,
    )
    assert chunks.status_code == 413


def test_tls_is_of_version_13_and_of_the_authority_that_the_silo_trusts(line: Line, tmp_path: Path) -> None:
    old = client_context(line.tls / "silos" / SILOS[0])
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2
    with pytest.raises(httpx.ConnectError):
        httpx.get(line.url, verify=old)
    with pytest.raises(httpx.HTTPError):
        httpx.get(line.url.replace("https", "http"))
    make_authority(tmp_path / "tls", ["a"])
    with pytest.raises(Refused, match="not the server this silo trusts"):
        line.client(SILOS[0], trust=tmp_path / "tls" / "silos" / "a").question("")


def test_a_server_that_is_away_is_tried_for_as_long_as_was_said(line: Line) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = url_of(free)
    said: list[str] = []
    client = line.client(SILOS[0], url, patience=0.5)
    client._on_trouble = said.append
    with pytest.raises(Unreachable, match=r"0\.5 s.*nothing is lost"):
        client.question("")
    assert len(said) >= 2


def test_what_is_no_address_of_a_server(line: Line) -> None:
    for url in ("x", "http://a:1", "https://", "https://a/b", "https://a?x", "https://a b", "https://..:1"):
        with pytest.raises(SettingsInvalid, match="write https://HOST:PORT"):
            line.client(SILOS[0], url)


def test_who_is_late_is_dropped_and_an_answer_sent_again_keeps_nobody_in(
    halls: Halls, tmp_path: Path
) -> None:
    with closing(Line(halls, tmp_path, drop_after=1.0)) as line:
        here, late = SILOS[:2], SILOS[2]
        call, asked, until = line.offered(late), b"", time.monotonic() + LONG
        sealed = {name: line.keys[name].seal("answer", line.answer(name, call)) for name in here}
        while not asked:
            assert time.monotonic() < until
            for name in here:
                with suppress(Refused):  # once the others are asked anew, without the late one
                    line.client(name).answer(sealed[name])
            offer = line.client(here[0]).question(hashlib.sha256(call).hexdigest())
            asked = b"" if offer is None else offer.body
        body = open_seal(line.agreement, asked, "question", SERVER).body
        assert RollCall.decode(body, line.agreement).roster == tuple(here)
