"""A process that is held to the manners of Windows, as far as Linux can play them; run as a program by the tests.

What only POSIX has cannot be imported or called. Files have Windows' rules: a folder cannot be opened, a file that is
open only for reading cannot be synced, nothing is renamed onto what exists, and what is open is neither renamed nor
removed. Event loops take no signals. Locks are those of ``msvcrt``, played by real ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import importlib
import os
import shutil
import signal
import stat
import sys
import tempfile
import types
import urllib.request
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

__all__ = ["keep_manners"]

MODULES = ("fcntl", "resource", "termios", "pwd", "grp", "uvloop", "posix_ipc")
CALLS = ("sysconf", "fchmod", "sched_getaffinity", "fork", "geteuid", "getuid", "sync", "mkfifo", "chown")
SIGNALS = ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGPIPE")
# Modules of ours that ask which system this is; what others do with the answer is theirs.
ASKING = ("model.directory", "privacy.account.store", "private_files")


def keep_manners() -> None:
    """Take away what Windows lacks and forbid what it forbids; then import what asks for the system."""
    importlib.import_module("discreet.privacy")  # with all that it needs of others
    for name in [name for name in sys.modules if name.startswith("discreet")]:
        del sys.modules[name]
    played = types.SimpleNamespace(LK_NBLCK=2, locking=_locking(fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB))
    sys.modules["msvcrt"] = played  # type: ignore[assignment]
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    _forbid()
    real, sys.platform = sys.platform, "win32"
    importlib.import_module("discreet.private_files")
    sys.platform = real
    del sys.modules["msvcrt"]
    for name in ASKING:
        asking: Any = importlib.import_module(f"discreet.{name}")
        asking.sys = types.SimpleNamespace(platform="win32")


def _locking(flock: Callable[[int, int], None], how: int) -> Callable[[int, int, int], None]:
    def locking(descriptor: int, mode: int, size: int) -> None:
        flock(descriptor, how)

    return locking


def _forbid() -> None:
    writable = {os.O_WRONLY, os.O_RDWR}
    flags, get = fcntl.fcntl, fcntl.F_GETFL
    opened, synced, renamed, replaced, unlinked = os.open, os.fsync, os.rename, os.replace, os.unlink

    def open_file(path: Any, how: int, *rest: Any, **more: Any) -> int:
        if not more and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Windows opens no folders", str(path))
        return opened(path, how, *rest, **more)

    def fsync(descriptor: int) -> None:
        if (
            stat.S_ISDIR(os.fstat(descriptor).st_mode)
            or flags(descriptor, get) & os.O_ACCMODE not in writable
        ):
            raise OSError(errno.EBADF, "Windows syncs only what is open for writing")
        synced(descriptor)

    def rename(source: Any, target: Any, **more: Any) -> None:
        if os.path.exists(target):
            raise FileExistsError(errno.EEXIST, "Windows renames onto nothing", str(target))
        _refuse_open(source)
        renamed(source, target, **more)

    def replace(source: Any, target: Any, **more: Any) -> None:
        _refuse_open(source)
        _refuse_open(target)
        replaced(source, target, **more)

    def unlink(path: Any, **more: Any) -> None:
        _refuse_open(path)
        unlinked(path, **more)

    os.open, os.fsync, os.rename, os.replace, os.unlink, os.remove = (
        open_file,
        fsync,
        rename,
        replace,
        unlink,
        unlink,
    )  # type: ignore[assignment]
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # as the standard library does there
    for name in CALLS:
        if hasattr(os, name):
            delattr(os, name)
    for name in SIGNALS:
        if hasattr(signal, name):
            delattr(signal, name)

    def no_signals(*_: Any) -> None:
        raise NotImplementedError

    asyncio.SelectorEventLoop.add_signal_handler = no_signals  # type: ignore[method-assign,assignment]


def _refuse_open(path: Any) -> None:
    """Windows neither renames nor removes what is open, or what a mapping or an open file below it keeps."""
    place = os.path.realpath(path)
    kept = {os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")}
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    kept |= {line.split(maxsplit=5)[5] for line in maps if "/" in line}
    if held := [one for one in kept if one == place or one.startswith(place + os.sep)]:
        raise PermissionError(errno.EACCES, f"Windows keeps what is open ({held[0]})", str(path))


def run(*arguments: object) -> str:
    """A command, in this process."""
    from click.testing import CliRunner

    from discreet.cli import main

    done = CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, (arguments, done.output)
    return done.stdout


def use() -> None:
    """What people do with the package, in the folder where this is called."""
    run("sample", "--out", ".", "--users", 400)
    run("split", "ratings.csv", "--user", "user", "--test", 0.2, "--out", "parts")
    rated = ("--user", "user", "--item", "item", "--rating", "rating", "--rating-range", 1, 5)
    train = (
        "train",
        "parts/train.csv",
        *rated,
        "--delta",
        1e-6,
        "--ledger",
        "ledger.jsonl",
        "--out",
        "model",
    )
    known = ("--catalogue", "items.csv")
    assert '"peak_rss_mb": null' in run(*train, *known, "--epsilon", 4, "--json")
    for more in (
        ("--engine", "disk", *known),
        ("--checkpoint", "kept", *known),
        ("--discover-items",),
        known,
    ):
        run(*train, *more, "--epsilon", 8, "--force")
    assert run("ledger", "show", "ledger.jsonl", "--json").count('"state"') >= 5
    run("ledger", "verify", "ledger.jsonl")
    assert " 10 " in run("recommend", "model", "--history", "my-history.csv", "-n", 10)
    run("recommend", "model", "--history", "parts/train.csv", "--out", "lists.parquet")
    run("evaluate", "model", "parts/test.csv", "--history", "parts/train.csv", *rated[:6])
    run("explain", "model", "--history", "my-history.csv")
    run("statement", "model", "--html", "statement.html")
    run("report", "model", "--out", "report.html")
    run(*train[:-1], "rated", *known, "--goal", "rate", "--epsilon", 8)
    for kind, model, name in (
        ("web", "model", "page"),
        ("card", "model", "CARD.md"),
    ):
        run("export", kind, model, "--out", name)
    work_together()
    serve()


def work_together() -> None:
    """Silos and devices within one process, and a collector's store that is copied and put back."""
    import discreet
    from discreet.data.synthetic import market
    from discreet.devices.collector.store import Store, back_up, restore

    ratings = market(300, 40, 3_000, rng=0)
    shares = [ratings.take_users(slice(start, None, 3)) for start in range(3)]
    discreet.silos.fit(shares, method=discreet.Popularity(), budget=discreet.Budget(8.0, 1e-6), honest=2)
    discreet.devices.fit(ratings, epsilon=4.0)
    Store(Path("collected.sqlite")).close()
    back_up(Path("collected.sqlite"), Path("copy.sqlite"))
    assert restore(Path("copy.sqlite"), Path("restored.sqlite"), lambda opened: 0) == 0


def serve() -> None:
    """The service answers, and ends when Ctrl-C is pressed."""
    from discreet.web.service import ServiceSettings
    from discreet.web.service import serve as start

    asked = []

    def ask(address: str) -> None:
        try:
            with urllib.request.urlopen(f"{address}/health/ready", timeout=60) as answer:
                asked.append(answer.status)
        finally:
            signal.raise_signal(signal.SIGINT)

    settings = ServiceSettings(model=Path("model"), port=0)
    with contextlib.suppress(KeyboardInterrupt):
        start(settings, lambda address: Thread(target=ask, args=(address,)).start())
    assert asked == [200]


if __name__ == "__main__":
    keep_manners()
    use()
