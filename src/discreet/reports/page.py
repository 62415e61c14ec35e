"""The report as one HTML file that needs nothing else: no script, no font, no host; light, dark and on paper."""

from __future__ import annotations

import html
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from discreet.pictures import STYLE as PICTURES
from discreet.pictures import Axis, Chart
from discreet.reports.report import Knowledge, Quality, Report
from discreet.statements.document import costs, identity
from discreet.statements.page import POLICY, STYLE, TEMPLATES
from discreet.statements.words import alone, answers, attack_sentence, headline

__all__ = ["page"]

_MOST_RELEASES, _MOST_DOTS, _MOST_LETTERS = 40, 500, 60


def page(report: Report) -> str:
    """The whole page."""
    told, document = report.to_dict(), report.document
    statement, meaning, quality = document.statement, document.meaning, report.quality
    both = jinja2.ChoiceLoader([jinja2.PackageLoader("discreet.reports", "."), TEMPLATES.loader])  # type: ignore[list-item]
    columns = [("mu", ".4f"), ("epsilon", ".4g"), ("share", ".1%")]
    return (
        TEMPLATES.overlay(loader=both)
        .get_template("report.html")
        .render(
            policy=Markup(POLICY),
            style=Markup(STYLE + PICTURES + (files("discreet.reports") / "page.css").read_text("utf-8")),
            report=report,
            statement=statement,
            meaning=meaning,
            side=report.model.item_side,
            headline=headline(statement),
            answers=answers(statement, meaning),
            attack=None if meaning is None else attack_sentence(statement, meaning),
            alone=alone(statement),
            costs=costs(statement),
            columns=[one for one in columns if any(getattr(row, one[0]) for row in statement.releases)],
            most_releases=_MOST_RELEASES,
            identity=identity(document),
            known=report.knowledge,
            neighbours=told["neighbours"],
            quality=quality,
            verdict=None if quality is None else _verdict(quality),
            figure=lambda path, form: _figure(told, path, form),
            name=lambda one: _short(one["title"] or str(one["item"])),
            known_picture=lambda: Markup(_known_picture(report.knowledge).svg()),
            quality_picture=lambda: Markup(_quality_picture(quality).svg()),
        )
    )


def _figure(told: dict[str, Any], path: str, form: str) -> Markup:
    """The value at a path of the JSON (``holder.quality.better.low``), which the page names; a dash for none."""
    value: Any = told
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    if value is None:
        return Markup("<span class='soft'>–</span>")
    shown = format(value, form).replace("%", "\N{NO-BREAK SPACE}%")
    return Markup(f"<data data-field='{html.escape(path)}' value='{value!r}'>{html.escape(shown)}</data>")


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _verdict(quality: Quality) -> str:
    last = list(quality.scores)[-1]
    if quality.better.low > 0.0:
        return f"The model is better than {last}; the interval of the difference is above zero."
    if quality.better.high < 0.0:
        return f"The model is worse than {last}: a larger budget or more users are needed, or {last} alone."
    return f"Whether the model is better than {last} cannot be said from these test ratings."


def _known_picture(known: Knowledge | None) -> Chart:
    """Share learnt of each item against its place in popularity."""
    assert known is not None
    count = len(known.learnt)
    chosen = np.unique(np.geomspace(1, count, min(_MOST_DOTS, count)).astype(int))
    words = "Share learnt of each item against its place in popularity: " + "; ".join(
        f"{name} {learnt:.0%}" for name, _, learnt in known.groups
    )
    picture = Chart(
        Axis.decades("item, by place in popularity", [1.0, float(count)]),
        Axis("share learnt", 0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0)),
        words,
    )
    picture.dots([(float(place), float(known.learnt[place - 1])) for place in chosen], "one item", 0)
    parts = [part for part in np.array_split(chosen, min(12, len(chosen))) if len(part)]
    middle = [
        (float(np.exp(np.log(part).mean())), float(np.median(known.learnt[part - 1]))) for part in parts
    ]
    picture.line(middle, "median of items of about that place", 1)
    return picture


def _quality_picture(quality: Quality | None) -> Chart:
    """Model and baselines with their intervals, one above the other."""
    assert quality is not None
    ends = [end for one in quality.scores.values() for end in (one.low, one.high)]
    words = "; ".join(f"{name} {one}" for name, one in quality.scores.items())
    better, rows = "less is better" if quality.lower_is_better else "more is better", len(quality.scores)
    picture = Chart(
        Axis.over(f"{quality.measure}, {better}", ends),
        Axis("", 0.0, float(rows + 1)),
        f"With 95 % intervals: {words}",
        height=36 * (rows + 1),
    )
    for row, (name, one) in enumerate(quality.scores.items()):
        height = float(rows - row)
        picture.line([(one.low, height), (one.value, height), (one.high, height)], name, min(row, 3))
    return picture
