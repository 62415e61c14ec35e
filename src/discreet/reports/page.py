"""The report as one HTML file that needs nothing else: no script, no font, no host; light, dark and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from discreet.pictures import STYLE as PICTURES
from discreet.pictures import Chart
from discreet.reports.figures import figure, label, table
from discreet.reports.pictures import interval_picture, knowledge_picture, map_picture, more_picture
from discreet.reports.quality import Quality
from discreet.reports.report import Report
from discreet.statements.document import costs
from discreet.statements.page import PARTS, POLICY, STYLE, escape
from discreet.statements.text import identity
from discreet.statements.words import alone, answers, attack_sentence, headline

__all__ = ["page"]

_MOST_RELEASES = 40

Told = dict[str, Any]


def page(report: Report) -> str:
    """The whole page."""
    style = STYLE + PICTURES + (files("discreet.reports") / "page.css").read_text(encoding="utf-8")
    title = f"Report: {report.document.model.name}"
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n<body><main>\n"
        + "\n".join(_parts(report, report.to_dict()))
        + "\n</main></body></html>\n"
    )


def _parts(report: Report, told: Told) -> Iterator[str]:
    yield from _head(report)
    yield from _promise(report, told)
    if report.quality is not None:
        yield from _quality(report.quality, told)
    yield from _knowledge(report, told)
    yield from _neighbours(report, told)
    if report.map is not None:
        yield (
            "<section><h2>A map of the items</h2><p>Items that the same people like lie near each other. The two "
            f"directions show {figure(told, 'map.share', '.0%')} of what tells "
            f"{figure(told, 'map.items', ',')} items apart.{_blurred(report.map.believed)}</p>"
            f"{_picture(map_picture(report.map))}</section>"
        )
    yield from _more(report, told)
    yield (
        "<section class='whole'><h2>Which model this is about</h2>"
        f"{PARTS.fact_table(identity(report.document))}</section>"
    )


def _head(report: Report) -> Iterator[str]:
    statement = report.document.statement
    side = report.model.item_side
    yield "<header><p class='over'>Model report</p>"
    yield f"<h1>{escape(report.document.model.name)}</h1>"
    yield f"<p class='lead'>{escape(headline(statement))}</p>"
    does = "predicts ratings" if report.model.goal == "rate" else "ranks items"
    made_of = (
        f"{side.rank} factors each"
        if report.table is None
        else f"{report.table.weights:,} weights between them"
    )
    yield f"<p class='terms'>It {does}: {side.n_items:,} items, {made_of}.</p>"
    if not statement.private:
        yield "<p class='warning' role='note'>Not private: people in the data are not protected by this model.</p>"
    if report.quality is None:
        yield (
            "<p class='soft'>Everything on this page follows from the released model, so it is as public as the model "
            "is. Quality is measured where the holder of ratings gives some to test with.</p>"
        )
    else:
        yield (
            "<p class='warning' role='note'>One part of this page, in a dashed frame, was computed from ratings "
            "without any noise. No promise covers it: keep the page to yourself, or make it again without ratings.</p>"
        )
    yield f"</header>{PARTS.answers(answers(statement, report.document.meaning), 'h2')}"


def _promise(report: Report, told: Told) -> Iterator[str]:
    statement, meaning = report.document.statement, report.document.meaning
    if meaning is not None and statement.released:
        yield (
            "<section><h2>What the promise means</h2><div class='beside'><div>"
            f"<p>{escape(attack_sentence(statement, meaning))}</p>"
            f"{_wide(PARTS.attack_table(meaning), 'attackers')}</div>{PARTS.curve(meaning)}</div></section>"
        )
    if statement.earlier_runs:
        yield f"<section><h2>Who was not in all runs</h2>{PARTS.bullets(alone(statement))}</section>"
    if not statement.released:
        return
    unit = "epsilon" if not statement.mu else "mu squared"
    yield f"<section><h2>Where the budget went</h2>{_wide(PARTS.cost_table(costs(statement), unit), 'costs by kind')}"
    number = len(statement.releases)
    columns = [one for one in _RELEASE if any(getattr(release, one[0]) for release in statement.releases)]
    if number <= _MOST_RELEASES:
        rows = [
            (escape(one.name), *(figure(told, f"releases.{k}.{key}", form) for key, form in columns))
            for k, one in enumerate(statement.releases)
        ]
        yield "<p>Release by release, in the order in which they were made:</p>"
        share = "share of this run" if statement.earlier_runs else "share"
        heads = ("release", *(share if key == "share" else key for key, _ in columns))
        yield table(heads, rows, "releases") + "</section>"
    else:
        yield f"<p class='soft'>{number} releases in all; the JSON of this report lists each.</p></section>"


_RELEASE = (("mu", ".4f"), ("epsilon", ".4g"), ("share", ".1%"))


def _quality(quality: Quality, told: Told) -> Iterator[str]:
    yield "<section class='holder'><h2>Quality on the holder's ratings</h2>"
    yield (
        "<p class='warning' role='note'>For the holder alone: exact, computed from ratings, covered by no promise, not "
        "to be published.</p>"
    )
    way = "less is better" if quality.lower_is_better else "more is better"
    yield (
        f"<p>{escape(quality.measure)} on {figure(told, 'holder.quality.ratings', ',')} test ratings of "
        f"{figure(told, 'holder.quality.users', ',')} users; {way}. Intervals: 95 %, users drawn anew 500 times.</p>"
    )
    at = "holder.quality"
    rows = [
        (
            escape(name),
            *(figure(told, f"{at}.scores.{name}.{key}", ".4f") for key in ("value", "low", "high")),
        )
        for name in quality.scores
    ]
    last = list(quality.scores)[-1]
    rows.append(
        (
            f"better than {escape(last)} by",
            *(figure(told, f"{at}.better.{key}", "+.4f") for key in ("value", "low", "high")),
        )
    )
    yield table(("", quality.measure, "from", "to"), rows, "quality beside baselines")
    yield _picture(interval_picture(quality))
    yield f"<p>{escape(_verdict(quality, last))}</p>"
    slices = [
        (
            escape(f"{one.name} ({one.items:,} items)"),
            *(figure(told, f"{at}.slices.{k}.{key}", form) for key, form in _SLICE),
        )
        for k, one in enumerate(quality.slices)
    ]
    yield (
        "<p>From head to tail: the fifth of the items that is met most often in the histories, the next three tenths, "
        "and the other half.</p>"
    )
    yield table(("items", "test ratings", "model", last), slices, "quality from head to tail") + "</section>"


_SLICE = (("ratings", ","), ("model", ".4f"), ("baseline", ".4f"))


def _verdict(quality: Quality, last: str) -> str:
    if quality.better.low > 0.0:
        return f"The model is better than {last}; the interval of the difference is above zero."
    if quality.better.high < 0.0:
        return f"The model is worse than {last}: a larger budget or more users are needed, or {last} alone."
    return f"Whether the model is better than {last} cannot be said from these test ratings."


def _knowledge(report: Report, told: Told) -> Iterator[str]:
    yield "<section><h2>Signal against noise, item by item</h2>"
    known = report.knowledge
    if report.table is not None:
        yield (
            f"<p>The table of weights speaks of {figure(told, 'table.items', ',')} items. "
            f"{figure(told, 'table.others', ',')} others keep their place by popularity alone. What one person takes "
            "together adds at most 1 to all pairs of items; each pair was released with noise of standard deviation "
            f"{figure(told, 'table.noise', '.3g')}.</p></section>"
        )
        return
    if known is None:
        yield "<p>This model does not say how sure it is of its items.</p></section>"
        return
    added = f", and {figure(told, 'knowledge.added', ',')} were added after training" if known.added else ""
    yield (
        "<p>Of what could be learnt of an item, a share was learnt; the rest is noise. "
        f"Something is known of {figure(told, 'knowledge.known', ',')} items, next to nothing of "
        f"{figure(told, 'knowledge.unknown', ',')}{added}.</p>"
    )
    rows = [
        (
            escape(name),
            figure(told, f"knowledge.groups.{k}.items", ","),
            figure(told, f"knowledge.groups.{k}.learnt", ".0%"),
        )
        for k, (name, _, _) in enumerate(known.groups)
    ]
    yield table(("items", "number", "learnt"), rows, "share learnt, from head to tail")
    yield _picture(knowledge_picture(known)) + "</section>"


def _neighbours(report: Report, told: Told) -> Iterator[str]:
    yield "<section><h2>Neighbours of well-known items</h2>"
    if not report.neighbours:
        nothing = "no factors" if report.table is None else "no weights: nothing stood out of the noise"
        yield f"<p>This model has {nothing}, so it cannot say which items are alike.</p></section>"
        return
    yield f"<p>{_CORRELATED if report.table is None else _TOGETHER}</p><div class='near'>"
    for k, one in enumerate(report.neighbours):
        entries = "".join(
            f"<li>{escape(label(title or str(item), 60))} <span class='soft'>"
            f"{figure(told, f'neighbours.{k}.neighbours.{n}.similarity', '.2f')}"
            f"{_give_or_take(told, f'neighbours.{k}.neighbours.{n}.deviation', deviation)}</span></li>"
            for n, (item, title, _, deviation) in enumerate(one.others)
        )
        nothing = "<p class='soft'>Nothing that stands out of the noise.</p>"
        name = escape(label(one.title or str(one.item), 60))
        yield f"<section><h3>{name}</h3>{f'<ol>{entries}</ol>' if entries else nothing}</section>"
    yield "</div></section>"


_CORRELATED = "The similarity is the expected correlation of what people think of two items."
_TOGETHER = (
    "The similarity is how often two items are taken together, over the root of how often each is; after it stands the "
    "standard deviation that the noise gives it."
)


def _give_or_take(told: Told, path: str, deviation: float | None) -> str:
    return "" if deviation is None else f" ± {figure(told, path, '.2g')}"


def _blurred(believed: float) -> str:
    if believed > 0.5:
        return ""
    return " The factors hardly stand out of their noise: do not read much into who lies beside whom."


def _more(report: Report, told: Told) -> Iterator[str]:
    yield "<section><h2>What a larger epsilon or more users would bring</h2>"
    known = report.knowledge
    if known is None or not known.more:
        yield "<p>That cannot be said from this model alone; see <code>discreet plan</code>.</p></section>"
        return
    yield (
        "<p>Noise in what is learnt of an item falls with the number of users, and in the same way with mu: twice as "
        "many users at the same epsilon, or twice the mu with the same users. At best: what is not known because an "
        "item has few ratings does not fall that fast. <code>discreet plan</code> simulates what that does to lists "
        "and errors.</p>"
    )
    rows = [
        (
            f"{one.factor:g} times",
            figure(told, f"knowledge.more.{k}.epsilon", ".3g"),
            figure(told, f"knowledge.more.{k}.mean_learnt", ".0%"),
            figure(told, f"knowledge.more.{k}.known", ","),
        )
        for k, one in enumerate(known.more)
    ]
    heads = ("users (same epsilon), or mu", "epsilon for that mu", "learnt, mean", "items known")
    yield table(heads, rows, "what less noise would bring") + _picture(more_picture(known)) + "</section>"


def _picture(chart: Chart) -> str:
    return f"<figure class='picture'>{chart.svg()}</figure>"


def _wide(content: str, name: str) -> str:
    return f"<div class='wide' role='region' aria-label='{name}' tabindex='0'>{content}</div>"
