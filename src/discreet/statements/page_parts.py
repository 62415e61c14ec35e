"""Pieces of the statement page: escaped text, lists, tables with bars, and the curve of what an attacker can reach."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

from discreet.statements.document import Cost
from discreet.statements.meaning import Meaning
from discreet.statements.words import in_a_hundred, printable

__all__ = ["attack_table", "bullets", "cost_table", "curve", "escape", "fact_table", "glossary"]

MOST_COSTS = 9
"""Rows of the table of costs; smaller ones share the last row, so that the page prints on two sheets."""

MOST_ENTRIES = 12
"""Entries of a list; the JSON has all of them."""

MOST_SIGNS = 400
"""Length of a text on the page; the JSON has the whole."""

_LEFT, _TOP, _SIDE = 34, 8, 160


def escape(text: str) -> str:
    """Text as it is, whatever it holds, for the page; a very long one is cut."""
    shown = printable(text)
    return html.escape(shown if len(shown) <= MOST_SIGNS else f"{shown[:MOST_SIGNS]} …")


def bullets(entries: Sequence[str]) -> str:
    """A list; of a long one the first entries, and how many there are more."""
    shown = [*entries[:MOST_ENTRIES]]
    if len(entries) > MOST_ENTRIES:
        shown.append(f"and {len(entries) - MOST_ENTRIES} more, which the JSON of this statement lists")
    return "<ul>" + "".join(f"<li>{escape(entry)}</li>" for entry in shown) + "</ul>"


def attack_table(meaning: Meaning) -> str:
    """Each rate of false alarms with what the best attacker finds, drawn and in figures."""
    rows = "".join(
        f"<tr><th scope='row'>{in_a_hundred(attack.false_alarms)} of 100</th>"
        f"<td>{_bar(attack.detected)}</td>"
        f"<td class='number'>{in_a_hundred(attack.detected)} of 100</td>"
        f"<td class='number'>{in_a_hundred(attack.false_alarms)} of 100</td>"
        f"<td class='number'>{in_a_hundred(attack.alarm_right)} of 100</td></tr>"
        for attack in meaning.attacks
    )
    return (
        "<table><thead><tr>"
        "<th scope='col'>wrongly named</th><th scope='col' colspan='2'>found, at most</th>"
        "<th scope='col' class='number'>found by guessing</th>"
        "<th scope='col' class='number'>an alarm is right, at most</th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def cost_table(costs: Sequence[Cost], unit: str) -> str:
    """A bar for each kind of release, by its share of the whole cost."""
    shown = list(costs)
    if len(shown) > MOST_COSTS:
        kept = sorted(sorted(range(len(costs)), key=lambda i: -costs[i].share)[: MOST_COSTS - 1])
        rest = [cost for i, cost in enumerate(costs) if i not in kept]
        shown = [costs[i] for i in kept]
        together = min(1.0, sum(cost.share for cost in rest))
        shown.append(Cost(f"{len(rest)} smaller kinds together", sum(cost.times for cost in rest), together))
    rows = "".join(
        f"<tr><th scope='row' class='name'>{escape(cost.name)}</th><td class='number'>{cost.times}</td>"
        f"<td>{_bar(cost.share)}</td><td class='number'>{100 * cost.share:.1f} %</td></tr>"
        for cost in shown
    )
    return (
        "<table><thead><tr><th scope='col'>release</th><th scope='col' class='number'>times</th>"
        f"<th scope='col' colspan='2'>share of {escape(unit)}</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def fact_table(facts: Mapping[str, str], code: Iterable[str] = ()) -> str:
    """Names and facts; those named in ``code`` are set as code."""
    digests = set(code)
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>"
        + (f"<code>{escape(fact)}</code>" if name in digests else escape(fact))
        + "</td></tr>"
        for name, fact in facts.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


def glossary(terms: Mapping[str, str]) -> str:
    """Terms and what they mean."""
    entries = (f"<div><dt>{escape(term)}</dt><dd>{escape(words)}</dd></div>" for term, words in terms.items())
    return f"<dl>{''.join(entries)}</dl>"


def curve(meaning: Meaning) -> str:
    """Power against false alarms, with the diagonal of blind guessing; in words for who cannot see it."""
    last = len(meaning.curve) - 1
    points = " ".join(
        f"{_LEFT + _SIDE * i / last:.1f},{_TOP + _SIDE * (1 - power):.1f}"
        for i, power in enumerate(meaning.curve)
    )
    right, bottom = _LEFT + _SIDE, _TOP + _SIDE
    half = in_a_hundred(meaning.curve[last // 2])
    said = "; ".join(
        f"at {in_a_hundred(attack.false_alarms)} % false alarms at most {in_a_hundred(attack.detected)} %"
        for attack in meaning.attacks
    )
    return (
        "<figure>"
        f"<svg viewBox='0 0 {right + 8} {bottom + 30}' role='img' aria-label='Share of people found against "
        f"false alarms: {said}; at 50 % at most {half} %. Blind guessing finds as many as it wrongly names.'>"
        f"<rect class='frame' x='{_LEFT}' y='{_TOP}' width='{_SIDE}' height='{_SIDE}'/>"
        f"<path class='guess' d='M{_LEFT} {bottom}L{right} {_TOP}'/><polyline class='bound' points='{points}'/>"
        f"<text x='{_LEFT - 4}' y='{_TOP + 8}' text-anchor='end'>100</text>"
        f"<text x='{_LEFT - 4}' y='{bottom}' text-anchor='end'>0</text>"
        f"<text x='{_LEFT}' y='{bottom + 12}'>0</text><text x='{right}' y='{bottom + 12}' text-anchor='end'>100</text>"
        f"<text x='{_LEFT + _SIDE / 2}' y='{bottom + 25}' text-anchor='middle'>wrongly named, of 100</text>"
        f"<text transform='translate(12 {_TOP + _SIDE / 2}) rotate(-90)' text-anchor='middle'>found, of 100</text>"
        "</svg><figcaption>Solid: no attacker is above it. Dashed: blind guessing.</figcaption></figure>"
    )


def _bar(share: float) -> str:
    return f"<span class='track' aria-hidden='true'><span class='bar' style='width:{100 * share:.1f}%'></span></span>"
