"""``benchmarks/results/assurance.md``: every promise, what tested it, the number that came out, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["write_document"]

HEAD = """# Assurance: what was tried, and what it found

Every number here was measured by `make audit`, which writes this page from `benchmarks/results/audit.json`. `discreet
audit` repeats any of it ([how it works](../../src/discreet/audit/proofs/audit.md)). An audit cannot prove a promise; it
can refute one, and the closer it comes to the claim without passing it, the less room is left for a mistake.
"""

REPLAY = """
## Replay: no release moves by more than its bound

One run is written down; its queries are made again with one synthetic user more or less. Exact integers, no
chance: the largest change of any release, in units of the bound it was charged for. At epsilon 4, 1,000 users, 60
items.

| promise | neighbours | worst ratio (allowed: 1) | nobody else moved | same on every engine |
|---|---|---|---|---|
"""

GAMES = """
## Games: what the best attacker can tell

Production code on a miniature instance, with a canary and without; the attacker sees every release. Lower bounds on
epsilon, each game wrong with a chance of at most 1e-5. Means: from how far apart the worlds' scores lie. Noise: from
the scale of the noise along the canary's direction (devices: of the coins). Guesses: by Clopper-Pearson on right and
wrong guesses, which assumes nothing and sees less. Two runs, each of epsilon 4: the second starts from the first one's
model, or is over the catalogue that it found; the claim is what the second model's statement says first.

| promise | epsilon | delta | runs in each world | by means | by noise | by guesses | best, of the claim |
|---|---|---|---|---|---|---|---|
"""

PLANTED = """
## Power: half the noise is found

The same games, shorter, against mechanisms with half the noise they claim.

| planted in | epsilon claimed | lower bound found | all refuted |
|---|---|---|---|
"""

REPEATS = """
## False alarms: none

The honest code, audited again and again with fresh noise at epsilon 1, 4 and 8: how many of these audits claim to
have refuted it.

| promise | audits | alarms |
|---|---|---|
"""


def write_document(findings: dict[str, Any], path: Path) -> None:
    """Write the page from what was found."""
    days = sorted({found["date"] for found in findings.values()})
    text = HEAD + f"Measured from {days[0]} to {days[-1]}.\n"
    for head, kind, row in ((REPLAY, "replay", _replay), (GAMES, "game", _game)):
        found = _of(findings, kind)
        if found:
            text += head + "".join(line + "\n" for key in found for line in row(key, found[key]))
    for head, kind, joined in ((PLANTED, "planted", _planted), (REPEATS, "repeats", _repeats)):
        together: dict[str, list[dict[str, Any]]] = {}
        for key, one in _of(findings, kind).items():
            together.setdefault(_name(key), []).append(one)
        if together:
            text += head + "".join(line + "\n" for key in together for line in joined(key, together[key]))
    path.write_text(text)


def _of(findings: dict[str, Any], kind: str) -> dict[str, Any]:
    """One kind of finding, by promise and rising epsilon."""
    found = {key.split("/", 1)[1]: value for key, value in findings.items() if key.startswith(f"{kind}/")}
    return {
        key: found[key] for key in sorted(found, key=lambda key: (_name(key), float(key.rpartition("/")[2])))
    }


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _name(key: str) -> str:
    return key.rpartition("/")[0]


def _yes(holds: bool) -> str:
    return "yes" if holds else "**NO**"


def _replay(key: str, found: dict[str, Any]) -> list[str]:
    return [
        _row(
            f"{_name(key)}, {kind}",
            one["neighbours"],
            f"{one['worst_ratio']:.6f}",
            _yes(one["nobody_else_moved"]),
            _yes(all(one["engines"].values())) if one["engines"] else "one engine",
        )
        for kind, one in found["replay"].items()
    ]


def _game(key: str, found: dict[str, Any]) -> list[str]:
    bounds = found["bounds"]
    cells = [bounds.get("means"), bounds.get("noise", bounds.get("coins")), bounds["guesses"]]
    return [
        _row(
            _name(key),
            f"{found['claimed']:.4g}",
            f"{found['delta']:g}",
            f"{found['runs']:,}",
            *("" if cell is None else f"{cell:.3f}" for cell in cells),
            f"{found['lower_bound'] / found['claimed']:.3f}" + ("" if found["passed"] else " **REFUTED**"),
        )
    ]


def _planted(key: str, found: list[dict[str, Any]]) -> list[str]:
    claimed = " / ".join(f"{one['claimed']:g}" for one in found)
    bounds = " / ".join(f"{one['lower_bound']:.3f}" for one in found)
    return [_row(key, claimed, bounds, _yes(all(one["caught"] for one in found)))]


def _repeats(key: str, found: list[dict[str, Any]]) -> list[str]:
    return [_row(key, sum(one["repeats"] for one in found), sum(one["alarms"] for one in found))]
