"""How many lists the service makes in a second, and how long each waits: client and service on the same machine.

Run: python benchmarks/service.py            (writes benchmarks/results/service.md)

A closed loop of connections that each ask, read and ask again, in a process of its own that does nothing else, over
plain sockets: an HTTP library would take longer than the service.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from discreet.model import Model
from discreet.web.service import ServiceSettings, serve
from tests.web.support.models import make_model

RESULTS = Path(__file__).parent / "results" / "service.md"
ITEMS, RANK, HISTORY = 10_000, 64, 20
HEAD_ITEMS, KEPT = 6_000, 300
KINDS = ("Ridge", "Table")
HEAD = b"POST /recommend HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    lines = [
        "# The service",
        "",
        f"{asked.items:,} items, rank {RANK} or a table of {HEAD_ITEMS:,} with {KEPT} weights each, histories of "
        f"{HISTORY}, lists of 10; {os.cpu_count()} cores, which the client shares; {asked.seconds:g} seconds each.",
        "",
        "| model | connections | lists a second | median, ms | p99, ms | longest, ms | failed "
        "| processor time, ms a list |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        model = make_model(kind, asked.items, RANK, head=HEAD_ITEMS, kept=KEPT)
        with tempfile.TemporaryDirectory() as folder:
            saved = model.save(Path(folder) / "model")
            for connections in asked.connections:
                row = _measure(saved, _requests(model), connections, asked.seconds)
                lines.append(f"| {kind} | {connections} | " + " | ".join(row) + " |")
                print(lines[-1], flush=True)
    asked.out.write_text("\n".join(lines) + "\n")


def _serve(folder: Path, told: Any) -> None:
    serve(ServiceSettings(model=folder, port=0, watch=0.0, page=False), told.send)


def _measure(folder: Path, requests: list[bytes], connections: int, seconds: float) -> list[str]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(folder, there))
    process.start()
    try:
        port = int(here.recv().rpartition(":")[2])
        asyncio.run(_load(port, requests, connections, min(2.0, seconds)))  # whatever is still cold
        began, busy = time.perf_counter(), _processor_seconds(process.pid)
        waits, failed = asyncio.run(_load(port, requests, connections, seconds))
        took, busy = time.perf_counter() - began, _processor_seconds(process.pid) - busy
    finally:
        process.terminate()
        process.join()
    median, p99, longest = 1e3 * np.percentile(waits, [50, 99, 100])
    return [
        f"{len(waits) / took:,.0f}",
        f"{median:.1f}",
        f"{p99:.1f}",
        f"{longest:.1f}",
        str(failed),
        f"{1e3 * busy / len(waits):.2f}",
    ]


def _processor_seconds(pid: int | None) -> float:
    """Of a process so far; what others do on the machine hardly changes it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _load(
    port: int, requests: list[bytes], connections: int, seconds: float
) -> tuple[list[float], int]:
    waits: list[float] = []
    failed = 0
    end = time.perf_counter() + seconds

    async def ask(first: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        number = first
        while (began := time.perf_counter()) < end:
            writer.write(requests[number % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            waits.append(time.perf_counter() - began)
            failed += not head.startswith(b"HTTP/1.1 200")
            number += 1
        writer.close()

    await asyncio.gather(*(ask(31 * one) for one in range(connections)))
    return waits, failed


def _requests(model: Model) -> list[bytes]:
    rng = np.random.default_rng(4)
    made = []
    for _ in range(500):
        items = model.catalogue.ids[rng.choice(len(model.catalogue), HISTORY, replace=False)].tolist()
        history = [{"item": item, "rating": int(rng.integers(1, 6))} for item in items]
        body = json.dumps({"history": history}).encode()
        made.append(HEAD % len(body) + body)
    return made


if __name__ == "__main__":
    main()
