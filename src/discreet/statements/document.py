"""A statement about one model folder: promise, meaning, costs and digests; what is shown, stored and signed."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.model.folder import Description, describe
from discreet.privacy.statement import Statement
from discreet.statements.lines import grouped, label, lines
from discreet.statements.meaning import Meaning, meaning_of
from discreet.statements.words import answers, attack_sentence, headline, in_a_hundred, printable, terms_for
from discreet.version import __version__

__all__ = ["KIND", "VERSION", "Cost", "Document", "costs", "identity", "text_lines", "write_document"]

_WIDTH = 100
KIND, VERSION = "discreet privacy statement", 1


@dataclass(frozen=True)
class Cost:
    """A kind of release: its name, how often it was made, and its share of the whole cost."""

    name: str
    times: int
    share: float


@dataclass(frozen=True)
class Document:
    """A model's statement as it was issued on a day by a version of this package."""

    model: Description
    meaning: Meaning | None
    issued_on: str
    issued_by: str

    @property
    def statement(self) -> Statement:
        """What the model promises."""
        return self.model.statement

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        model, meaning = self.model, self.meaning
        return {
            "kind": KIND,
            "version": VERSION,
            "issued": {"on": self.issued_on, "by": self.issued_by},
            "headline": headline(self.statement),
            "model": {
                "name": model.name,
                "method": model.method,
                "items": model.items,
                "format": model.format,
                "written": asdict(model.written),
                "digest": model.digest,
                "files": model.digests,
                "catalogue": model.digests["catalogue.json"],
                "settings": model.settings_digest,
            },
            "meaning": None
            if meaning is None
            else {
                "attacks": [asdict(attack) for attack in meaning.attacks],
                "right_guess_at_even_odds": meaning.right_guess,
                "follows_from": meaning.follows_from,
            },
            "costs": [asdict(cost) for cost in costs(self.statement)],
            "statement": self.statement.model_dump(mode="json"),
        }

    def to_json(self) -> str:
        """One JSON object; the same document gives the same bytes."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_document(directory: str | Path) -> Document:
    """The statement of a model folder, as of today."""
    model = describe(directory)
    today = datetime.now(UTC).date().isoformat()
    return Document(model, meaning_of(model.statement), today, __version__)


def costs(statement: Statement) -> tuple[Cost, ...]:
    """Where the budget went: earlier runs, then this run's releases in their order; repetitions together."""
    own, *earlier = _shares(statement)
    before = (Cost(run.name, 1, share) for run, share in zip(statement.earlier_runs, earlier, strict=True))
    return (
        *before,
        *(
            Cost(label(group), len(group), min(1.0, own * math.fsum(release.share for release in group)))
            for group in grouped(statement.releases)
        ),
    )


def _shares(statement: Statement) -> list[float]:
    """Of this run, and of each earlier one: of the whole mu squared, or of all epsilons where there is no mu."""
    runs = statement.earlier_runs
    if not runs:
        return [1.0]
    if statement.mu:
        sizes = [(run.price.cost.gaussian_mu or 0.0) ** 2 for run in runs]
        sizes.insert(0, max(0.0, statement.mu**2 - math.fsum(sizes)))
    else:
        sizes = [statement.own.epsilon, *(run.epsilon for run in runs)]
    return [size / math.fsum(sizes) for size in sizes]


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
