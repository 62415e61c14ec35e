"""A statement document as text of at most 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from discreet.statements.document import Document
from discreet.statements.lines import lines
from discreet.statements.words import answers, attack_sentence, headline, in_a_hundred, printable, terms_for

__all__ = ["identity", "text_lines"]

_WIDTH = 100


def text_lines(document: Document) -> Iterator[str]:
    """The document line by line: in plain words, then in full, then the terms."""
    yield from map(printable, _lines(document))


def _lines(document: Document) -> Iterator[str]:
    statement, meaning = document.statement, document.meaning
    yield "In plain words"
    yield from _entry(headline(statement))
    for answer in answers(statement, meaning):
        yield from _entry(f"{answer.question} {answer.short}. {answer.more}")
    if meaning is not None and statement.released:
        yield "What it means"
        yield from _entry(attack_sentence(statement, meaning))
        for attack in meaning.attacks:
            yield from _entry(
                f"At {in_a_hundred(attack.false_alarms)} % false alarms at most {in_a_hundred(attack.detected)} % are "
                f"found, and at even odds an alarm is right in at most {in_a_hundred(attack.alarm_right)} % of cases",
            )
        yield from _entry(f"These bounds follow from {meaning.follows_from}")
    yield from lines(statement)
    yield "Model"
    for key, fact in identity(document).items():
        yield from _entry(f"{key}: {fact}")
    yield "Terms"
    for term, words in terms_for(statement).items():
        yield from _entry(f"{term}: {words}")


def identity(document: Document) -> dict[str, str]:
    """Which model this is about, when it was written, and the digests that say so."""
    model = document.model
    goal = {"rank": ", trained to rank", "rate": ", trained to predict ratings"}.get(
        model.statement.goal or "", ""
    )
    return {
        "method": f"{model.method}{goal}, {model.items:,} items",
        "written": _written(document),
        "stated": f"on {document.issued_on} by discreet {document.issued_by}",
        "model digest": model.digest,
        "catalogue digest": model.digests["catalogue.json"],
        "settings digest": model.settings_digest,
    }


def _written(document: Document) -> str:
    written = document.model.written
    if written.on is None:
        return f"by discreet {written.by}; no date, as it would tell how long the search took"
    return f"on {written.on} by discreet {written.by}"


def _entry(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  - ", subsequent_indent="    ")
