"""The pictures of a report."""

from __future__ import annotations

import numpy as np

from discreet.pictures import Axis, Chart
from discreet.reports.figures import label
from discreet.reports.items import ItemMap
from discreet.reports.knowledge import Knowledge
from discreet.reports.quality import Quality
from discreet.types import Floats

__all__ = ["interval_picture", "knowledge_picture", "map_picture", "more_picture"]

_MOST_DOTS = 500
# Units of the picture that a name takes: in height, and along for each letter after the gap to its mark.
_HIGH, _LETTER, _GAP = 15.0, 6.0, 3.0


def knowledge_picture(known: Knowledge) -> Chart:
    """Share learnt of each item against its place in popularity."""
    count = len(known.learnt)
    places = np.arange(1, count + 1)
    chosen = np.unique(np.geomspace(1, count, min(_MOST_DOTS, count)).astype(int)) - 1
    words = "Share learnt of each item against its place in popularity: " + "; ".join(
        f"{name} {learnt:.0%}" for name, _, learnt in known.groups
    )
    picture = Chart(
        Axis.decades("item, by place in popularity", [1.0, float(count)]),
        Axis("share learnt", 0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0)),
        words,
    )
    picture.dots([(float(places[k]), float(known.learnt[k])) for k in chosen], "one item", 0)
    window = max(1, len(chosen) // 12)
    middle = [
        (float(np.exp(np.log(places[part]).mean())), float(np.median(known.learnt[part])))
        for part in np.array_split(chosen, max(2, len(chosen) // window))
        if len(part)
    ]
    picture.line(middle, "median of items of about that place", 1)
    return picture


def map_picture(items: ItemMap) -> Chart:
    """Items by the two directions in which they differ most; the popular ones have names."""
    across, along = (items.places[:, axis] for axis in (0, 1))
    words = (
        f"Map of {len(items.positions)} items; near each other are items that the same people like. Named: "
        + ", ".join(items.names)
    )
    picture = Chart(_around("first direction", across), _around("second direction", along), words, height=330)
    named = len(items.names)
    points = [(float(x), float(y)) for x, y in items.places]
    picture.dots(points[named:], "item", 0, size=1.5)
    picture.dots(points[:named], "popular item, with its name where there is room", 1, size=3.2)
    marks = [picture.place(*point) for point in points[:named]]
    taken: list[tuple[float, float, float]] = [(at, at, height) for at, height in marks]
    for (x, y), (at, height), name in zip(points, marks, items.names, strict=False):
        text, after = label(name, 24), at < 250.0
        far = at + (1 if after else -1) * _LETTER * len(text)
        first, last = sorted((at + (_GAP if after else -_GAP), far))
        if not any(abs(height - other) < _HIGH and low < last and high > first for low, high, other in taken):
            taken.append((first, last, height))
            picture.label(x, y, text, after=after)
    return picture


def more_picture(known: Knowledge) -> Chart:
    """Share learnt against how many times more users, or mu."""
    words = "Mean share learnt: " + "; ".join(f"{one.factor:g} times: {one.learnt:.0%}" for one in known.more)
    picture = Chart(
        Axis.by_factors("times as many users (or times mu)", [one.factor for one in known.more]),
        Axis("share learnt, mean over items", 0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0)),
        words,
        height=180,
    )
    picture.line([(one.factor, one.learnt) for one in known.more], "at best", 0)
    return picture


def interval_picture(quality: Quality) -> Chart:
    """Model and baselines with their intervals, one above the other."""
    names = list(quality.scores)
    ends = [end for one in quality.scores.values() for end in (one.low, one.high)]
    words = "; ".join(
        f"{name} {one.value:.4f} ({one.low:.4f} to {one.high:.4f})" for name, one in quality.scores.items()
    )
    better = "less is better" if quality.lower_is_better else "more is better"
    picture = Chart(
        Axis.over(f"{quality.measure}, {better}", ends),
        Axis("", 0.0, float(len(names) + 1)),
        f"With 95 % intervals: {words}",
        height=36 * (len(names) + 1),
    )
    for row, name in enumerate(names):
        one, height = quality.scores[name], float(len(names) - row)
        look = min(row, 3)
        picture.line([(one.low, height), (one.value, height), (one.high, height)], name, look)
    return picture


def _around(name: str, values: Floats) -> Axis:
    """With some room on both sides; its numbers mean nothing, so there are no ticks."""
    low, high = float(values.min()), float(values.max())
    room = 0.05 * (high - low) or 1.0
    return Axis(name, low - room, high + room)
