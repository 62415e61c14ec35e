"""Numbers on the page that a program can find again: each names the field of the JSON that it shows."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from discreet.statements.page import escape

__all__ = ["figure", "label", "table"]


def figure(told: dict[str, Any], path: str, form: str) -> str:
    """The value at a path of the JSON (``holder.quality.better.low``), in a format; a dash where there is none."""
    value: Any = told
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    if value is None:
        return "<span class='soft'>–</span>"
    shown = format(value, form).replace("%", "\N{NO-BREAK SPACE}%")
    return f"<data data-field='{html.escape(path)}' value='{value!r}'>{html.escape(shown)}</data>"


def label(text: str, most: int = 40) -> str:
    """A title that may be long, for a picture or a narrow column: cut, not escaped."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Rows of ready cells, the first of which names the row; all other columns are numbers."""
    first, *others = heads
    head = f"<th scope='col'>{escape(first)}</th>" + "".join(
        f"<th scope='col' class='number'>{escape(one)}</th>" for one in others
    )
    body = "".join(
        f"<tr><th scope='row' class='name'>{name}</th>"
        + "".join(f"<td class='number'>{cell}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return (
        f"<div class='wide' role='region' aria-label='{html.escape(caption, quote=True)}' tabindex='0'><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
