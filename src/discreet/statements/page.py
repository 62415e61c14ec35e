"""The statement as one HTML file that needs nothing else, and as a model card: both from templates beside this file.

The page has no script, no font and no host, and prints on two sheets of A4. The card is Markdown with a head of YAML,
in the shape that model hubs show; it holds nothing that the model folder does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from discreet.statements.document import Cost, Document, costs, identity
from discreet.statements.lines import selection_words
from discreet.statements.words import (
    alone,
    answers,
    attack_sentence,
    earlier_runs,
    headline,
    in_a_hundred,
    printable,
    terms_for,
)

__all__ = ["POLICY", "STYLE", "TEMPLATES", "card", "escape", "page"]

# Nothing is fetched, run or sent, whatever ids and names say.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Of every page that is a file."""
STYLE = (files("discreet.statements") / "page.css").read_text(encoding="utf-8")
"""Of every page about a model."""
MOST_COSTS, MOST_ENTRIES, MOST_SIGNS = 9, 12, 400
"""Rows of the table of costs, entries of a list, length of a text: the page prints on two sheets, the JSON has all."""

_GOALS = {
    "rank": "to order items for a person, from that person's own history",
    "rate": "to predict ratings of a person, from that person's own history",
}


def page(document: Document) -> str:
    """The whole page."""
    statement = document.statement
    lists = (
        ("What is public: given, not read off the ratings", statement.public),
        ("What is not protected", statement.not_protected),
        ("Which data the promise is about", statement.domain),
        ("Notes", statement.notes),
    )
    return TEMPLATES.get_template("page.html").render(
        **_told(document),
        policy=Markup(POLICY),
        style=Markup(STYLE),
        chosen=None if statement.selection is None else selection_words(statement.selection),
        costs=costs(statement),
        earlier_runs=earlier_runs(statement),
        lists=lists,
        terms=terms_for(statement),
    )


def card(document: Document) -> str:
    """The card of a model folder."""
    statement = document.statement
    tags = ["recommender-system", "collaborative-filtering"]
    tags += ["differential-privacy"] if statement.private else []
    goal = _GOALS.get(statement.goal or "", "to recommend items")
    return TEMPLATES.get_template("card.md").render(**_told(document), tags=tags, goal=goal)


def escape(text: str) -> str:
    """Text as it is, whatever it holds, for a page; a very long one is cut."""
    shown = printable(text)
    return str(Markup.escape(shown if len(shown) <= MOST_SIGNS else f"{shown[:MOST_SIGNS]} …"))


def _told(document: Document) -> dict[str, Any]:
    """What both say."""
    statement, meaning = document.statement, document.meaning
    return {
        "statement": statement,
        "meaning": meaning,
        "model": document.model,
        "headline": headline(statement),
        "answers": answers(statement, meaning),
        "attack": None if meaning is None else attack_sentence(statement, meaning),
        "alone": alone(statement),
        "identity": identity(document),
    }


def _fewer(costs: Sequence[Cost]) -> list[Cost]:
    """The largest costs in their order; smaller ones share the last row."""
    if len(costs) <= MOST_COSTS:
        return list(costs)
    kept = sorted(sorted(range(len(costs)), key=lambda i: -costs[i].share)[: MOST_COSTS - 1])
    rest = [cost for i, cost in enumerate(costs) if i not in kept]
    together = min(1.0, sum(cost.share for cost in rest))
    last = Cost(f"{len(rest)} smaller kinds together", sum(cost.times for cost in rest), together)
    return [*(costs[i] for i in kept), last]


def _plain(text: str) -> str:
    """One line of text that Markdown shows as it is."""
    return re.sub(r"([\\`*_<>\[\]#|])", r"\\\1", " ".join(printable(text).split()))


TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("discreet.statements", "."),
    autoescape=lambda name: name is not None and name.endswith(".html"),
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
)
TEMPLATES.filters |= {
    "shown": lambda text: Markup(escape(text)),
    "hundred": in_a_hundred,
    "fewer": _fewer,
    "plain": _plain,
}
TEMPLATES.globals |= {"most_entries": MOST_ENTRIES}
"""Also of other pages about a model, which import parts.html."""
