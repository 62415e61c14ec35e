"""``docs/assurance.md``: every promise, what tested it, the number that came out, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["write_document"]

HEAD = """# Assurance: what was tried, and what it found

Every number here was measured by `make audit`, which writes this page from `benchmarks/results/audit.json`. `discreet
audit` repeats any of it ([how it works](../src/discreet/audit/proofs/audit.md)). An audit cannot prove a promise; it
can refute one, and the closer it comes to the claim without passing it, the less room is left for a mistake.
"""

REPLAY = """
## Replay: no release moves by more than its bound

One run is written down; its questions are asked again with one synthetic user more or less. Exact integers, no
chance: the largest change of any release, in units of the bound it was charged for. At epsilon 4, 1,000 users, 60
items.

| promise | neighbours | worst ratio (allowed: 1) | nobody else moved | same integers on every engine | date |
|---|---|---|---|---|---|
"""

GAMES = """
## Games: what the best attacker can tell

Production code on a miniature instance, with a canary and without; the attacker sees every release. Lower bounds on
epsilon, each game wrong with a chance of at most 1e-5. Means: from how far apart the worlds' scores lie. Noise: from
the scale of the noise along the canary's direction (devices: of the coins). Guesses: by Clopper-Pearson on right and
wrong guesses, which assumes nothing and sees less.

| promise | epsilon | delta | runs in each world | by means | by noise | by guesses | best, of the claim | date |
|---|---|---|---|---|---|---|---|---|
"""

PLANTED = """
## Power: half the noise is found

The same games, shorter, against mechanisms with half the noise they claim.

| planted in | epsilon claimed | runs in each world | lower bound found | refuted | date |
|---|---|---|---|---|---|
"""

REPEATS = """
## False alarms: none

The honest code, audited again and again with fresh noise; how many of these audits claim to have refuted it.

| promise | epsilon claimed | audits | runs in each world, each | alarms | date |
|---|---|---|---|---|---|
"""

MODELS = """
## Models as they are served

Membership inference with shadow models against what is served: members recognised at 1 % and 5 % false alarms. What mu
allows is the limit for an attacker who sees every release; whoever sees the model alone is far from it.

| promise | epsilon | models | 1 % / 5 % | not private (ALS) | limit | date |
|---|---|---|---|---|---|---|
"""


def write_document(findings: dict[str, Any], path: Path) -> None:
    """Write the page from what was found."""
    text = HEAD
    for head, kind, row in (
        (REPLAY, "replay", _replay),
        (GAMES, "game", _game),
        (PLANTED, "planted", _planted),
        (REPEATS, "repeats", _repeats),
        (MODELS, "models", _models),
    ):
        found = {key.split("/", 1)[1]: value for key, value in findings.items() if key.startswith(f"{kind}/")}
        if found:
            ordered = sorted(found, key=lambda key: (key.rpartition("/")[0], float(key.rpartition("/")[2])))
            text += head + "".join(line + "\n" for key in ordered for line in row(key, found[key]))
    path.write_text(text)


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
            found["date"],
        )
        for kind, one in found["replay"].items()
    ]


def _game(key: str, found: dict[str, Any]) -> list[str]:
    bounds = found["bounds"]
    cells = [bounds.get("means"), bounds.get("noise", bounds.get("coins")), bounds["guesses"]]
    return [
        _row(
            _name(key),
            f"{found['claimed']:g}",
            f"{found['delta']:g}",
            f"{found['runs']:,}",
            *("" if cell is None else f"{cell:.3f}" for cell in cells),
            f"{found['lower_bound'] / found['claimed']:.3f}" + ("" if found["passed"] else " **REFUTED**"),
            found["date"],
        )
    ]


def _planted(key: str, found: dict[str, Any]) -> list[str]:
    bound, claimed = f"{found['lower_bound']:.3f}", f"{found['claimed']:g}"
    return [_row(_name(key), claimed, f"{found['runs']:,}", bound, _yes(found["caught"]), found["date"])]


def _repeats(key: str, found: dict[str, Any]) -> list[str]:
    epsilon = key.rpartition("/")[2]
    return [_row(_name(key), epsilon, found["repeats"], found["runs"], found["alarms"], found["date"])]


def _models(key: str, found: dict[str, Any]) -> list[str]:
    curves, name = found["membership"], found["method"]
    seen = [
        f"{curves[who]['hits_at_1_percent']:.1%} / {curves[who]['hits_at_5_percent']:.1%}"
        for who in (name, "not private", "limit")
    ]
    size = found["size"]
    models = f"{size['models']} of {size['users'] // 2:,} users"
    return [_row(name, f"{found['claimed']:g}", models, *seen, found["date"])]
