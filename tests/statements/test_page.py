"""The page: whole in one file, safe, readable by everybody, and two sheets of paper."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from discreet.privacy.costs import Carried, Price, RunCost
from discreet.privacy.statement import Statement
from discreet.statements import Document, write_document
from discreet.statements.document import text_lines
from discreet.statements.page import page
from tests.statements.test_stored_models import FIXTURES, MODELS

VOID = {"meta", "br", "rect", "path", "polyline"}
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Reader(HTMLParser):
    """Text, tags and attributes of a page whose tags must all be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def with_statement(document: Document, **changes: object) -> Document:
    content = {**document.statement.model_dump(mode="json"), **changes}
    statement = Statement.model_validate_json(json.dumps(content))
    return replace(document, model=replace(document.model, statement=statement))


@pytest.fixture
def central() -> Document:
    return write_document(FIXTURES / "central")


@pytest.mark.parametrize("name", MODELS)
def test_one_file_without_script_or_host(name: str) -> None:
    text = page(write_document(FIXTURES / name))
    read = Reader(text)
    assert not {"script", "link", "img", "iframe", "object", "form"} & {tag for tag, _ in read.tags}
    assert not re.search(r"https?:|//|url\(|@import|javascript:", text)
    assert not any(
        key.startswith("on") or key in ("src", "href") for _, attributes in read.tags for key in attributes
    )
    assert "default-src 'none'" in text


def test_a_stranger_finds_the_answers(central: Document) -> None:
    text = Reader(page(central)).text
    for part in (
        "Who is protected? Every person in the data",
        "Against what? Anybody who gets the model",
        "How strongly? epsilon 1: strong",
        "What is left of the budget? Nothing of this run's budget",
        "epsilon 1 at delta 1e-6 (mu 0.2368)",
        "Unit of privacy: one user, with all of that user's ratings. Neighbouring relation: add or remove one user",
        "it finds at most 1.9 of 100 who are; blind guessing finds 1",
        "5 of 100 8 of 100 5 of 100 61.5 of 100",
        "popularity 2 99.0 %",
        central.model.digest,
        central.model.settings_digest,
    ):
        assert part in text
    for entry in (*central.statement.public, *central.statement.not_protected):
        assert entry in text


def test_names_are_shown_and_never_obeyed(central: Document) -> None:
    evil = "<script>alert('x')</script>\"><img src=x onerror=y>"
    releases = [{**release.model_dump(mode="json"), "name": evil} for release in central.statement.releases]
    document = with_statement(central, public=[evil], not_protected=[evil], notes=[evil], releases=releases)
    document = replace(document, model=replace(document.model, name=evil, method=evil))
    read = Reader(page(document))
    assert not {"script", "img"} & {tag for tag, _ in read.tags}
    assert read.text.count("alert('x')") >= 5


def test_signs_that_move_a_cursor_or_turn_the_reading_are_taken_out(central: Document) -> None:
    evil = "fine\x1b[2J\u202eetavirp\n\x00" + "x" * 10_000
    document = with_statement(central, public=[evil])
    document = replace(document, model=replace(document.model, name=evil, method=evil))
    for text in (page(document), "\n".join(text_lines(document))):
        assert "fine" in text
        assert not any(not sign.isprintable() and sign != "\n" for sign in text)
    assert len(page(document)) < len(page(central)) + 3_000


def test_a_model_that_is_not_private_says_so_first() -> None:
    text = Reader(page(write_document(FIXTURES / "not-private"))).text
    assert "Not private: people in the data are not protected" in text
    assert "Who is protected? Nobody" in text
    assert "What that means" not in text


def many_releases(central: Document, count: int) -> Document:
    mu = (central.statement.mu or 0.0) / (count + 1) ** 0.5
    names = [f"kind {chr(97 + i // 26)}{chr(97 + i % 26)} of a thing" for i in range(count)]
    releases = [{"name": name, "mu": mu, "share": 1.0 / count} for name in names]
    return with_statement(central, releases=releases)


def sheets(document: Document, folder: Path) -> int:
    (folder / "page.html").write_text(page(document))
    subprocess.run(
        [
            *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
            *(f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={folder / 'page.pdf'}"),
            (folder / "page.html").as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=280,
    )
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", (folder / "page.pdf").read_bytes()))


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium to print")
def test_a_long_statement_prints_on_two_sheets(central: Document, tmp_path: Path) -> None:
    silos = write_document(FIXTURES / "silos")
    long = [
        f"entry {i}: something that is said in about as many words as these lists usually have"
        for i in range(30)
    ]
    document = with_statement(many_releases(silos, 30), public=long, not_protected=long, notes=long[:3])
    assert sheets(document, tmp_path) == 2
    price = Price(kind="gaussian", mu=0.1)
    runs = [
        RunCost(run=f"{i:032x}", model=f"{i:064x}", epsilon=4.0, delta=1e-6, price=price) for i in range(30)
    ]
    statement = many_releases(silos, 30).statement.carrying(Carried(runs=tuple(runs)))
    assert statement.runs == 31
    assert sheets(replace(silos, model=replace(silos.model, statement=statement)), tmp_path) == 2


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("width", [360, 900, 1440])
def test_nothing_is_wider_than_the_screen_and_no_card_stands_alone(
    name: str, width: int, tmp_path: Path, browser: Any
) -> None:
    (tmp_path / "page.html").write_text(page(write_document(FIXTURES / name)), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900})
    shown = context.new_page()
    shown.goto((tmp_path / "page.html").as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    tops = shown.evaluate("[...document.querySelectorAll('.answers li')].map(card => card.offsetTop)")
    assert set(Counter(tops).values()) == {4 if width > 960 else 2 if width > 480 else 1}
    context.close()
