"""Records as lines that are chained by hashes. Proof note: ``privacy/proofs/ledger.md``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.errors import LedgerInvalid
from discreet.privacy.account.records import Begin, Record, read_record

__all__ = ["Chain", "encode", "read_chain"]

_START = b'{"hash":"'
_AFTER = b'",'
_HEX = 64
_BODY = len(_START) + _HEX + len(_AFTER)
_NOTHING = "0" * _HEX
# Far above any record; a file without line ends is not read into a message.
_LONGEST = 10_000


@dataclass(frozen=True)
class Chain:
    """A ledger as it was read.

    Parameters
    ----------
    records, hashes
        Every record, and the hash of its line.
    size
        Bytes of all whole lines.
    torn
        Bytes of an unfinished line behind them, left by a crash.
    unended
        Whether the last record is whole but lacks its line end; it counts.
    """

    records: tuple[Record, ...]
    hashes: tuple[str, ...]
    size: int
    torn: int = 0
    unended: bool = False

    @property
    def head(self) -> str:
        """Hash of the last record: kept elsewhere, it shows whether the file was set back."""
        return self.hashes[-1]

    @property
    def begin(self) -> Begin:
        """The first record."""
        first = self.records[0]
        assert isinstance(first, Begin)
        return first


def encode(records: Iterable[Record], previous: str = _NOTHING) -> bytes:
    """Lines of records that follow on the hash ``previous``."""
    lines = b""
    for record in records:
        content = {"previous": previous, **record.model_dump(mode="json")}
        body = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()[1:]
        previous = hashlib.sha256(body).hexdigest()
        lines += _START + previous.encode() + _AFTER + body + b"\n"
    return lines


def read_chain(content: bytes, path: object) -> Chain:
    """All records of a file.

    Raises
    ------
    LedgerInvalid
        When it is no ledger, or was damaged or edited; says which line.
    """
    if not content.startswith(_START):
        if content:
            raise LedgerInvalid(f"{path} is not a ledger; nothing was written to it")
        raise LedgerInvalid(
            f"{path} is empty, which a ledger never is: what was in it is lost. Restore it from a backup; if it never "
            "was one, remove it and a new ledger is begun"
        )
    *lines, tail = content.split(b"\n")
    records: list[Record] = []
    hashes: list[str] = []
    for number, line in enumerate(lines, 1):
        _read_line(line, number, records, hashes, path)
    size, unended = len(content) - len(tail), False
    if tail:
        number = len(lines) + 1
        if _whole(tail[:-1], hashes):
            raise LedgerInvalid(_damaged(path, number, "its line end was changed"))
        if _whole(tail, hashes):
            _read_line(tail, number, records, hashes, path)
            size, tail, unended = len(content), b"", True
    if not records:
        raise LedgerInvalid(_damaged(path, 1, "it is not whole"))
    return Chain(tuple(records), tuple(hashes), size, len(tail), unended)


def _read_line(line: bytes, number: int, records: list[Record], hashes: list[str], path: object) -> None:
    if not _sound(line):
        raise LedgerInvalid(_damaged(path, number, "its hash does not fit"))
    where = f"{path}, line {number},"
    try:
        content = json.loads(b"{" + line[_BODY:])
    except (ValueError, RecursionError):
        raise LedgerInvalid(f"{where} is no record of a ledger (not JSON)") from None
    previous = content.pop("previous", None)
    if previous != (hashes[-1] if hashes else _NOTHING):
        raise LedgerInvalid(_damaged(path, number, "it does not follow on the line before"))
    record = read_record(content, where)
    if isinstance(record, Begin) != (number == 1):
        raise LedgerInvalid(_damaged(path, number, "a ledger begins once"))
    records.append(record)
    hashes.append(line[len(_START) : len(_START) + _HEX].decode())


def _sound(line: bytes) -> bool:
    """Whether a line has the shape of a record, and the hash at its beginning is that of the rest."""
    body = line[_BODY:]
    shape = (
        len(line) <= _LONGEST
        and line[: len(_START)] == _START
        and line[_BODY - len(_AFTER) : _BODY] == _AFTER
    )
    return shape and line[len(_START) : _BODY - len(_AFTER)] == hashlib.sha256(body).hexdigest().encode()


def _whole(line: bytes, hashes: list[str]) -> bool:
    follows = f'"previous":"{hashes[-1] if hashes else _NOTHING}"'.encode()
    return _sound(line) and line[_BODY:].startswith(follows)


def _damaged(path: object, number: int, how: str) -> str:
    return (
        f"{path} was damaged or edited: line {number}: {how}. Nothing is charged to it any more. Restore it from a "
        "backup that passes 'discreet ledger verify' with the last head you kept"
    )
