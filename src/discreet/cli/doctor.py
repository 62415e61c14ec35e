"""``discreet doctor``: checks of this installation."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import Annotated, Any, Literal

import threadpoolctl
from rich.table import Table

from discreet.cli.output import Output, print_json, printer
from discreet.cli.request import Option, takes
from discreet.cli.self_test import CHECKS, Outcome
from discreet.cli.trusted import trusted
from discreet.cli.walk import walk
from discreet.kernels.threads import get_threads

__all__ = ["Doctor", "command"]

PACKAGES = (
    "discreet",
    "numpy",
    "scipy",
    "numba",
    "polars",
    "pydantic",
    "randomgen",
    "dp-accounting",
    "safetensors",
    "threadpoolctl",
    "click",
    "rich",
)
EXTRAS = ("duckdb", "pandas", "pyarrow", "matplotlib", "torch", "ray")


class Doctor(Output):
    """What `doctor` can be asked."""

    trusted: Annotated[bool, Option("List the files one must trust to believe train, no checks.")] = False
    walk: Annotated[
        Literal["train"] | None, Option("Follow a run from file to file, function by function; no checks.")
    ] = None


@takes(Doctor, "doctor")
def command(request: Doctor) -> None:
    """Show versions, threads and libraries, and test noise, kernels and storage on this machine.

    Exit code 1 if something is not as it must be.

    \b
    Example:
      discreet doctor
      discreet doctor --trusted
      discreet doctor --walk train
    """
    if request.trusted:
        _show_trusted(request.as_json)
        return
    if request.walk is not None:
        _show_walk(request.walk, request.as_json)
        return
    outcomes = [_run(name) for name in CHECKS]
    healthy = all(outcome["ok"] for outcome in outcomes)
    report = {"ok": healthy, **_surroundings(), "checks": outcomes}
    if request.as_json:
        print_json(report)
    else:
        _show(report)
    sys.exit(0 if healthy else 1)


def _run(name: str) -> dict[str, Any]:
    """A check that breaks in an unforeseen way has failed too: finding that out is what the doctor is for."""
    try:
        outcome = CHECKS[name]()
    except Exception as error:
        outcome = Outcome(False, f"{type(error).__name__}: {error}")
    return {"name": name, "ok": outcome.ok, "detail": outcome.detail}


def _show_trusted(as_json: bool) -> None:
    """What imports reach from where ratings are read, bounded, summed, noised, charged and stated."""
    lines = trusted()
    if as_json:
        print_json({"lines": sum(lines.values()), "files": lines})
        return
    table = Table("module", "lines of code")
    for module, number in lines.items():
        table.add_row(module, f"{number:,}")
    table.add_row(f"{len(lines)} files", f"{sum(lines.values()):,}")
    printer().print(table)


def _show_walk(name: str, as_json: bool) -> None:
    """Which file does what in a run."""
    steps = walk(name)
    if as_json:
        print_json({"walk": name, "steps": [step._asdict() for step in steps]})
        return
    table = Table("file", "function", "what it does")
    for step in steps:
        table.add_row(*step)
    printer().print(table)


def _surroundings() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: _version(name) for name in PACKAGES},
        "extras": {name: _version(name) for name in EXTRAS},
        "threads": get_threads(),
        "blas": [
            f"{library['internal_api']} {library['version']} ({library['num_threads']} threads)"
            for library in threadpoolctl.threadpool_info()
            if library["user_api"] == "blas"
        ],
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _show(report: dict[str, Any]) -> None:
    table = Table(show_header=False)
    table.add_row("python", f"{report['python']} on {report['platform']}")
    for group in ("versions", "extras"):
        table.add_row(
            group, ", ".join(f"{name} {version or 'absent'}" for name, version in report[group].items())
        )
    table.add_row("threads", str(report["threads"]))
    table.add_row("BLAS", ", ".join(report["blas"]))
    checks = Table("check", "", "detail")
    for check in report["checks"]:
        checks.add_row(check["name"], "ok" if check["ok"] else "FAILED", check["detail"])
    console = printer()
    console.print(table)
    console.print(checks)
