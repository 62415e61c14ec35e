"""What ``benchmarks/noise.py`` found, as a document."""

from __future__ import annotations

from typing import Any

__all__ = ["page"]

_HEAD = """\
# Noise: what was drawn, and what attacks made of it

Written by `make noise` from `benchmarks/results/noise.json`; `make test` runs the same checks with a million
draws. Noise is keyed by the operating system, so every run draws anew. A statistic raises an alarm at a p-value
of {alarm:g}; all of them together do so less often than once in a million runs of honest code.
"""

_DRAWS = """
## Draws against exact laws

Statistics: scale (mean square or mean size), mean, 64 cells by chi-square, both tails at 1e-4 and 1e-6 by exact
binomial tests, range. Power: the chance of an alarm if the scale were off by 0.1 %, or a coin by 1e-4.

| sampler | draws | must see | found off by | standard error | power | smallest p-value | passed |
|---|---|---|---|---|---|---|---|
"""

_STREAMS = """
## Streams against each other

Of one source in threads, of a source for each thread, of a copy, of forked children and their parent, and all
of these again in a restarted program. Correlation: the largest of any two streams at any lag, and what chance
allows, in standard errors.

| numbers | streams | length | numbers that came twice | correlation | allowed | passed |
|---|---|---|---|---|---|---|
"""

_ATTACKS = """
## Published attacks

Tried on {date}. One user more or less, at an epsilon or a mu of 0.1. Share of outputs for which an attack
excludes the wrong value and not the true one, and the other way round. Any attack on an honest mechanism may
have a difference of up to {allowed:.1%}.

| attack | on | outputs | only the wrong value excluded | only the truth excluded |
|---|---|---|---|---|
"""

_LATTICE = """
Lattice of the normal numbers (Jin et al. 2022): noise so wide (mu 2^-35) that nothing should be learnt.
Evidence for the truth over {attacked:,} outputs, without the user and with, in standard errors:

"""

_SUMS = """
Rounding of sums (Casacuberta et al. 2022): how far one user moves a sum over {users:,} hostile users, in units
of what a user may:

"""

_CITED = {
    "inverse logarithm": "inverse logarithm (Mironov 2012)",
    "precision": "precision (Haney et al. 2022)",
}


def page(found: dict[str, Any]) -> str:
    """The document."""
    attacks = found["attacks"]
    return "".join(
        [
            _HEAD.format(**found),
            _DRAWS,
            *(_sampler(name, row) for name, row in found["samplers"].items()),
            _STREAMS,
            *(_stream(kind, row) for kind, row in found["streams"].items()),
            _ATTACKS.format(**attacks),
            *(
                f"| {_CITED[attack]} | {noise} | {row['outputs']:,} | {row['wrong']:.2%} | {row['truth']:.2%} |\n"
                for attack, outcomes in attacks["exclusions"].items()
                for noise, row in outcomes.items()
            ),
            _LATTICE.format(**attacks),
            *(f"- {noise}: {one:.1f}, {other:.1f}\n" for noise, (one, other) in attacks["lattice"].items()),
            _SUMS.format(**attacks),
            *(f"- {kind}: {moved:.6g}\n" for kind, moved in attacks["moved"].items()),
        ]
    )


def _sampler(name: str, row: dict[str, Any]) -> str:
    power = "above 0.9999" if row["power"] > 0.9999 else f"{row['power']:.4f}"
    return (
        f"| {name} | {row['draws']:,} | {row['off']:g} | {row['estimated_off']:.1e} | {row['standard_error']:.1e} "
        f"| {power} | {row['least_p']:.2g} ({row['least_p_of']}) | {_word(row)} |\n"
    )


def _stream(kind: str, row: dict[str, Any]) -> str:
    return (
        f"| {kind} | {row['streams']} | {row['length']:,} | {row['common']} | {row['correlation']:.2f} "
        f"| {row['most']:.2f} | {_word(row)} |\n"
    )


def _word(row: dict[str, Any]) -> str:
    return "yes" if row["passed"] else "**no**"
