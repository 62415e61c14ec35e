"""A model card: Markdown with a head of YAML, in the shape that model hubs show; all of it from the statement."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from discreet.statements.document import Document
from discreet.statements.text import identity
from discreet.statements.words import alone, answers, attack_sentence, headline, printable

__all__ = ["card"]

_GOALS = {
    "rank": "to order items for a person, from that person's own history",
    "rate": "to predict ratings of a person, from that person's own history",
}


def card(document: Document) -> str:
    """The card of a model folder; it holds nothing that the folder does not."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Document) -> Iterator[str]:
    statement, model = document.statement, document.model
    tags = ["recommender-system", "collaborative-filtering"]
    tags += ["differential-privacy"] if statement.private else []
    yield from ("---", "library_name: discreet", f"tags: {json.dumps(tags)}", "---", "")
    yield from (f"# {_plain(model.name)}", "")
    yield from (
        f"A recommender over {model.items:,} items, made {_GOALS.get(statement.goal or '', 'to recommend items')}.",
        "",
    )
    yield from (f"**{_plain(headline(statement))}.**", "", "## Privacy", "")
    for answer in answers(statement, document.meaning):
        yield f"- **{_plain(answer.question)}** {_plain(answer.short)}. {_plain(answer.more)}"
    if document.meaning is not None and statement.released:
        yield from ("", _plain(attack_sentence(statement, document.meaning)), "")
        yield from (f"- {_plain(line)}" for line in alone(statement))
    yield from ("", "## Uses", "")
    yield "- Lists for anybody who hands in a history, in the training data or not; it costs no budget."
    yield "- Similar items. Not meant: to say anything about a person whose history was not handed in."
    yield from ("", "## Training data", "")
    for line in statement.domain:
        yield f"- {_plain(line)}"
    yield from (f"- public: {_plain(what)}" for what in statement.public)
    if statement.private:
        yield "- The ratings are not in the model, and neither are exact counts of them."
    else:
        yield "- The model is not private: what it holds may give ratings, and exact counts of them, away."
    yield from ("", "## Evaluation", "")
    yield "Numbers on held-out ratings are not covered by the promise above; whoever adds them here decides so."
    yield from ("", "## Limitations", "")
    for line in (*statement.not_protected, *statement.notes):
        yield f"- {_plain(line)}"
    yield from ("", "## Use it", "", "```python", "import discreet", "")
    yield 'model = discreet.Model.load("model")'
    yield "print(model.recommend({}, n=10))"
    yield from ("```", "", "## Model", "")
    for key, value in identity(document).items():
        yield f"- {key}: {_plain(value)}"


def _plain(text: str) -> str:
    """One line of text that Markdown shows as it is."""
    return re.sub(r"([\\`*_<>\[\]#|])", r"\\\1", " ".join(printable(text).split()))
