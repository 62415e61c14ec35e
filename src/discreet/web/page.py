"""All files of the page for one model: what ``discreet export web`` writes and ``discreet serve`` hands out."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from discreet.model import Model
from discreet.statements.document import Document
from discreet.statements.page import page as statement_page
from discreet.web.packed import Precision, pack

__all__ = ["INDEX", "MODEL", "POLICY", "SENT_WITH", "STATEMENT", "File", "page_files"]

INDEX, MODEL, STATEMENT = "index.html", "model.bin", "statement.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""What the page may load. The page itself allows nothing at all any more once the model is there."""
SENT_WITH = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Headers of each file where the service hands it out."""

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "bin": "application/octet-stream",
}


@dataclass(frozen=True)
class File:
    """One file: its bytes, what they are, and the same compressed, where that is not done already."""

    content: bytes
    media_type: str
    packed: bytes | None
    digest: str


def page_files(model: Model, document: Document, precision: Precision = "int8") -> dict[str, File]:
    """Names and files; the model's own is compressed in itself, so that any host will do."""
    static = {entry.name: entry.read_bytes() for entry in (files("discreet.web") / "static").iterdir()}
    contents = {
        **static,
        STATEMENT: statement_page(document).encode(),
        MODEL: gzip.compress(pack(model, document, precision), compresslevel=9, mtime=0),
    }
    return {name: _file(name, content) for name, content in contents.items()}


def _file(name: str, content: bytes) -> File:
    packed = None if name == MODEL else gzip.compress(content, mtime=0)
    digest = hashlib.sha256(content).hexdigest()[:32]
    return File(content, _TYPES[name.rpartition(".")[2]], packed, digest)
