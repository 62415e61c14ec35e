"""The statement as one HTML file that needs nothing else: no script, no font, no host; prints on two sheets of A4."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from discreet.privacy.statement_text import selection_words
from discreet.statements.document import Document, costs
from discreet.statements.glossary import terms_for
from discreet.statements.page_parts import (
    attack_table,
    bullets,
    cost_table,
    curve,
    escape,
    fact_table,
    glossary,
)
from discreet.statements.text import identity
from discreet.statements.words import alone, answers, attack_sentence, earlier_runs, headline

__all__ = ["POLICY", "page"]

# Nothing is fetched, run or sent, whatever ids and names say.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Of every page that is a file."""
_DIGESTS = ("model digest", "catalogue digest", "settings digest")


def page(document: Document) -> str:
    """The whole page."""
    style = (files("discreet.statements") / "page.css").read_text(encoding="utf-8")
    title = f"Privacy statement: {document.model.name}"
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n<body><main>\n"
        + "\n".join(_parts(document))
        + "\n</main></body></html>\n"
    )


def _parts(document: Document) -> Iterator[str]:
    statement, meaning = document.statement, document.meaning
    yield from _head(document)
    if meaning is not None and statement.released:
        yield "<section><h2>What that means</h2><div class='beside'><div>"
        yield f"<p>{escape(attack_sentence(statement, meaning))}</p>{attack_table(meaning)}"
        if statement.selection is not None:
            yield f"<p>Chosen among trials: {escape(selection_words(statement.selection))}.</p>"
        yield (
            "<p class='soft'>“An alarm is right” where both cases are equally likely beforehand. The bounds "
            f"follow from {escape(meaning.follows_from)}.</p></div>{curve(meaning)}</div></section>"
        )
    if statement.released:
        unit = "epsilon" if not statement.mu else "mu squared"
        yield f"<section><h2>Where the budget went</h2>{cost_table(costs(statement), unit)}</section>"
    if statement.earlier_runs:
        yield f"<section><h2>Who was not in all runs</h2>{bullets(alone(statement))}</section>"
    if statement.private and statement.released:
        runs = earlier_runs(statement)
        yield f"<section><h2>Earlier runs on the same ratings</h2><p>{escape(runs)}</p></section>"
    yield "<div class='halves'>"
    for name, entries in (
        ("What is public: given, not read off the ratings", statement.public),
        ("What is not protected", statement.not_protected),
        ("Which data the promise is about", getattr(statement, "domain", ())),
        ("Notes", statement.notes),
    ):
        if entries:
            yield f"<section><h2>{escape(name)}</h2>{bullets(entries)}</section>"
    yield "</div>"
    yield (
        f"<section class='whole'><h2>Which model this is about</h2>{fact_table(identity(document), _DIGESTS)}"
        "<p class='soft'>The model digest covers arrays, catalogue, settings and statement. <code>discreet "
        "statement MODEL --verify</code> checks a signed statement against the bytes of a model.</p></section>"
    )
    yield f"<section><h2>Terms</h2>{glossary(terms_for(statement))}</section>"
    yield "<div class='sign'><p>name and office</p><p>date</p><p>signature</p></div>"


def _head(document: Document) -> Iterator[str]:
    statement = document.statement
    yield "<header><p class='over'>Privacy statement</p>"
    yield f"<h1>{escape(document.model.name)}</h1>"
    yield f"<p class='lead'>{escape(headline(statement))}</p>"
    if statement.private:
        trust = {"central": "a central server", "silos": "silos", "local": "one's own device"}[
            statement.model
        ]
        yield (
            f"<p class='terms'>Unit of privacy: {escape(statement.unit)}. Neighbouring relation: "
            f"{escape(statement.relation)}. Trusted with ratings: {trust}.</p>"
        )
    else:
        yield "<p class='warning' role='note'>Not private: people in the data are not protected by this model.</p>"
    yield "</header><ul class='answers'>"
    for answer in answers(statement, document.meaning):
        yield (
            f"<li><h3>{escape(answer.question)}</h3><strong>{escape(answer.short)}</strong>"
            f"<p>{escape(answer.more)}</p></li>"
        )
    yield "</ul>"
