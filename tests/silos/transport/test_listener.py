"""Who gets in, and what happens to those who misbehave: others notice nothing."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import ssl
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import Refused, Unreachable
from discreet.silos.shared.agreements import largest_message
from discreet.silos.shared.messages import AnswerMessage
from discreet.silos.shared.seal import SigningKey
from discreet.silos.transport.authority import make_authority
from discreet.silos.transport.client import Client
from discreet.silos.transport.identity import client_context, read_signing_key
from discreet.silos.transport.passes import PASS, pass_of
from tests.ports import free_port
from tests.silos.transport.conftest import SILOS, Hall, Halls, key_in
from tests.sizes import sized

FUZZ = sized(500, 20_000)


@pytest.fixture(scope="module")
def open_hall(halls: Halls) -> Iterator[Hall]:
    """A server that waits for silos."""
    hall = halls()
    hall.start("server")
    hall.wait_until_it_listens()
    yield hall
    hall.end()


def shown(hall: Hall, folder: Path) -> str:
    """The pass of the party of a ``--tls`` folder, as the silo that its folder is named after."""
    key = SigningKey.__new__(SigningKey)  # also for who is not in the agreement
    key.agreement, key.name = hall.agreement, "" if folder.name == "server" else folder.name
    key._private = read_signing_key(folder / "signing.key")
    return pass_of(key)


def line_to(hall: Hall, folder: Path, host: str = "localhost") -> Client:
    url, largest = f"https://{host}:{hall.port}", largest_message(hall.agreement)
    context, own = client_context(folder), shown(hall, folder)
    return Client(url, hall.agreement.run_id, largest, context, own, patience=60.0)


def send(hall: Hall, folder: Path, content: bytes, seconds: float = 20.0) -> bytes:
    """Whatever the server responds to some bytes, with the pass of the party of a folder after the first line."""
    received, context = b"", client_context(folder)
    header = f"\r\n{PASS}: {shown(hall, folder)}\r\n"
    content = content.replace(b"\r\n", header.encode(), 1)
    with connect(hall, context) as connection, contextlib.suppress(OSError):
        connection.sendall(content)
        connection.settimeout(seconds)
        while piece := connection.recv(1 << 16):
            received += piece
    return received


def connect(hall: Hall, context: ssl.SSLContext) -> ssl.SSLSocket:
    raw = socket.create_connection(("127.0.0.1", hall.port), 20.0)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(raw, server_hostname="localhost")


def status(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


def test_a_silo_of_the_agreement_gets_the_question(open_hall: Hall, tls: Path) -> None:
    for name in SILOS:
        offer = line_to(open_hall, tls / "silos" / name).question("")
        assert offer is not None
        assert not offer.finished


def test_nobody_without_a_pass_that_a_silo_of_the_agreement_has_signed(
    open_hall: Hall, tls: Path, elsewhere: Path
) -> None:
    own, other = (shown(open_hall, tls / "silos" / name) for name in SILOS[:2])
    for wrong, words in [
        ("", "does not say which silo"),
        (own[:-1], "does not say which silo"),
        (own.replace(SILOS[0], SILOS[1]), "is not signed by"),
        (f"{SILOS[0]} {other.split()[1]}", "is not signed by"),
        (shown(open_hall, elsewhere / "silos" / SILOS[0]), "is not signed by"),
        (shown(open_hall, tls / "server"), "does not say which silo"),
    ]:
        client = line_to(open_hall, tls / "silos" / SILOS[0])
        client._shown = wrong
        for call in (lambda line: line.question(""), lambda line: line.answer(b"x")):
            with pytest.raises(Refused, match=words):
                call(client)


def test_nobody_without_tls(open_hall: Hall) -> None:
    with socket.create_connection(("127.0.0.1", open_hall.port), 20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"HTTP" not in connection.recv(1 << 16)


def test_no_older_tls(open_hall: Hall, tls: Path) -> None:
    context = client_context(tls / "silos" / SILOS[0])
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", open_hall.port), 20) as raw, pytest.raises(ssl.SSLError):
        context.wrap_socket(raw, server_hostname="localhost")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another authority that names the same silos."""
    folder = tmp_path_factory.mktemp("elsewhere") / "tls"
    make_authority(folder, SILOS)
    return folder


def mixed(folder: Path, trust: Path, identity: Path) -> Path:
    """A party that trusts one authority and has its key from another."""
    folder.mkdir()
    (folder / "authority.pem").write_bytes((trust / "silos" / SILOS[0] / "authority.pem").read_bytes())
    (folder / "signing.key").write_bytes((identity / "signing.key").read_bytes())
    return folder


def test_a_silo_does_not_talk_to_another_authoritys_server(
    open_hall: Hall, tls: Path, elsewhere: Path, tmp_path: Path
) -> None:
    deceived = mixed(tmp_path / "a", elsewhere, tls / "silos" / SILOS[0])
    with pytest.raises(Refused, match="is not the server this silo trusts"):
        line_to(open_hall, deceived).question("")


def test_nobody_who_is_not_in_the_agreement(open_hall: Hall, tls: Path) -> None:
    with pytest.raises(Refused, match="stranger is not in the agreement"):
        line_to(open_hall, tls / "silos" / "stranger").question("")


def test_no_silo_speaks_for_another(open_hall: Hall, tls: Path) -> None:
    run = open_hall.agreement.run_id
    forged = AnswerMessage(run, 0, 0, SILOS[0], "0" * 64, False, np.zeros(3, np.uint64)).encode()
    own, other = (key_in(tls / "silos" / name, open_hall.agreement, name) for name in (SILOS[1], SILOS[0]))
    for message, words in [
        (own.seal("answer", forged), f"{SILOS[1]} sent an answer in the name of {SILOS[0]}"),
        (other.seal("answer", forged), f"{SILOS[1]} sent a message in the name of {SILOS[0]}"),
        (forged, "not a message that anybody has signed"),
        (own.seal("question", forged), "a signed question where the answer"),
    ]:
        with pytest.raises(Refused, match=words):
            line_to(open_hall, tls / "silos" / SILOS[1]).answer(message)


def test_another_run_is_named(open_hall: Hall, tls: Path) -> None:
    context = client_context(tls / "silos" / SILOS[0])
    own = shown(open_hall, tls / "silos" / SILOS[0])
    other = Client(f"https://localhost:{open_hall.port}", "f" * 32, 1000, context, own, patience=60.0)
    with pytest.raises(Refused, match="compare agreements"):
        other.question("")


def test_a_server_that_is_away_is_tried_for_as_long_as_was_said(tls: Path) -> None:
    trouble: list[str] = []
    context = client_context(tls / "silos" / SILOS[0])
    client = Client(
        f"https://localhost:{free_port()}",
        "f" * 32,
        1000,
        context,
        "",
        patience=2.0,
        on_trouble=trouble.append,
    )
    started = time.monotonic()
    with pytest.raises(Unreachable, match="nothing is lost"):
        client.question("")
    assert time.monotonic() - started < 60.0
    assert trouble, "it was tried again"


def test_an_oversized_message_is_refused_before_it_is_read(open_hall: Hall, tls: Path) -> None:
    size = largest_message(open_hall.agreement) + 1
    head = f"POST /v1/{open_hall.agreement.run_id}/answer HTTP/1.1\r\nContent-Length: {size}\r\n\r\n"
    response = send(open_hall, tls / "silos" / SILOS[0], head.encode())
    assert status(response) == 413
    assert "more than any message of this run" in json.loads(response.partition(b"\r\n\r\n")[2])["error"]


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 20_000 + b"\r\n\r\n", 431),
        (b"nonsense\r\n\r\n", 400),
        (b"GET //[ HTTP/1.1\r\n\r\n", 400),
        (b"DELETE /v1/RUN/answer HTTP/1.1\r\n\r\n", 400),
        (b"POST /v1/RUN/answer HTTP/1.1\r\n\r\n", 411),
        (b"POST /v1/RUN/answer HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /v1/RUN/answer HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
        (b"POST /v1/RUN/answer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        (b"GET /v1/RUN/question HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", 413),
        (b"GET /v1/RUN/elsewhere HTTP/1.1\r\n\r\n", 404),
        (b"POST /v1/RUN/answer HTTP/1.1\r\nContent-Length: 4\r\n\r\nnone", 409),
    ],
)
def test_what_is_no_request_is_refused(open_hall: Hall, tls: Path, request_: bytes, wanted: int) -> None:
    content = request_.replace(b"RUN", open_hall.agreement.run_id.encode())
    assert status(send(open_hall, tls / "silos" / SILOS[0], content)) == wanted


def malformed(rng: random.Random, run: str, largest: int) -> bytes:
    """A request as a silo makes it, with something wrong about it."""
    body = rng.randbytes(rng.choice([0, 1, 8, 100, 3000]))
    if rng.random() < 0.5:
        body = rng.choice([b"dsS1", b"dsA1", b"dsQ1"]) + rng.randrange(1 << 12).to_bytes(4, "little") + body
    head = f"POST /v1/{run}/answer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    if rng.random() < 0.6:
        path = rng.choice(["answer", "question", "../answer", "\x00", "%2e%2e/answer", "x" * 600])
        size = rng.choice([len(body), len(body) // 2, largest + rng.randrange(1, 1 << 40), -1])
        first = (
            f"{rng.choice(['GET', 'POST', 'PUT', ''])} /v1/{rng.choice([run, run[:-1], ''])}/{path} HTTP/1.1"
        )
        rest = rng.sample(
            [f"Content-Length: {size}", "Host: x", "Connection: keep-alive", "A : b", "\x7f: c"], 3
        )
        head = "\r\n".join([first, *rest, "", ""])
    content = bytearray(head.encode() + body)
    for _ in range(rng.choice([0] * 8 + [1, 5])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def attack(hall: Hall, folder: Path, seed: int, count: int) -> Counter[int]:
    """Send malformed requests; how often each status came back (0: none in time, as for what is cut short)."""
    rng = random.Random(seed)
    seen: Counter[int] = Counter()
    for _ in range(count):
        content = malformed(rng, hall.agreement.run_id, largest_message(hall.agreement))
        response = send(hall, folder, content, 1.0)
        seen[status(response) if response else 0] += 1
    return seen


def test_a_server_under_attack_ends_its_run_as_any_other(halls: Halls, tls: Path, undisturbed: Hall) -> None:
    hall = halls()
    hall.start("server")
    hall.wait_until_it_listens()
    client = line_to(hall, tls / "silos" / SILOS[1])
    asked = client.question("")
    strangers = [socket.create_connection(("127.0.0.1", hall.port), 20) for _ in range(150)]
    slow = [connect(hall, client_context(tls / "silos" / SILOS[0])) for _ in range(8)]
    for connection in slow:
        connection.sendall(b"POST /v1/")
    with ThreadPoolExecutor() as pool:
        attacks = [
            pool.submit(attack, hall, tls / "silos" / name, seed, FUZZ // len(SILOS))
            for seed, name in enumerate(SILOS)
        ]
        seen = sum((running.result() for running in attacks), Counter())
    print(seen)
    assert set(seen) <= {0, 200, 400, 403, 404, 409, 411, 413, 431, 501}
    responded = seen.total() - seen[0]  # on a busy machine not everybody is served within a second
    assert responded > 20
    assert seen[409] > responded / 10
    assert seen[400] > responded / 10
    assert client.question("") == asked
    for name in SILOS:
        hall.start(name)
    assert [hall.wait(name) for name in (*SILOS, "server")] == [0, 0, 0, 0], hall.log("server")
    assert "Traceback" not in hall.log("server")
    assert hall.model() == undisturbed.model()
    assert hall.accounts() == undisturbed.accounts()
    for connection in (*strangers, *slow):
        connection.close()
