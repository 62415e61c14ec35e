"""How pictures look: colours that are told apart by colour-blind readers (Okabe and Ito), light and dark."""

from __future__ import annotations

__all__ = ["STYLE", "standalone"]

_LIGHT = (
    "--paper: #fff; --ink: #1b2430; --soft: #536072; --line: #d5dbe3; "
    "--k0: #0b5fa5; --k1: #b34700; --k2: #1b2430; --k3: #00735a;"
)
_DARK = (
    "--paper: #12171e; --ink: #e8edf3; --soft: #a5b1c0; --line: #323c49; "
    "--k0: #79b8ff; --k1: #ffb454; --k2: #e8edf3; --k3: #4fd1ab;"
)

STYLE = f"""
:root {{ {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
@media print {{ :root {{ {_LIGHT} }} }}
svg.chart text {{ fill: var(--soft); font: 12px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }}
svg.chart text.name {{ fill: var(--ink); font-size: 10.5px; }}
svg.chart text.name {{ paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }}
svg.chart .frame {{ fill: none; stroke: var(--line); }}
svg.chart .grid {{ fill: none; stroke: var(--line); stroke-width: .7; }}
svg.chart .line {{ fill: none; stroke-width: 2; }}
svg.chart .band {{ fill: var(--k0); fill-opacity: .16; stroke: none; }}
svg.chart .line.k0 {{ stroke: var(--k0); }} svg.chart .mark.k0 {{ fill: var(--k0); }}
svg.chart .line.k1 {{ stroke: var(--k1); }} svg.chart .mark.k1 {{ fill: var(--k1); }}
svg.chart .line.k2 {{ stroke: var(--k2); }} svg.chart .mark.k2 {{ fill: var(--k2); }}
svg.chart .line.k3 {{ stroke: var(--k3); }} svg.chart .mark.k3 {{ fill: var(--k3); }}
"""
"""For the page that has pictures in it."""


def standalone(svg: str) -> str:
    """A picture as a file of its own, on paper of its own colour."""
    start = svg.index(">") + 1
    paper = "<rect width='100%' height='100%' style='fill: var(--paper)'/>"
    style = STYLE.replace(":root", "svg")
    return (
        f"<?xml version='1.0' encoding='UTF-8'?>\n{svg[:start]}<style>{style}</style>{paper}{svg[start:]}\n"
    )
