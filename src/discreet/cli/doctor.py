"""``discreet doctor``: checks of this installation, what one must trust, and a run from file to file.

Each check takes well under a second once the kernels are compiled.
"""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np
import threadpoolctl
from randomgen import AESCounter

from discreet import kernels
from discreet.catalogue import Catalogue, RatingScale
from discreet.cli.output import Answer, Output, show_table
from discreet.cli.request import option, takes
from discreet.cli.walk import trusted, walk
from discreet.model import Model
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.statement import Statement

__all__ = ["CHECKS", "command", "noise_source"]

PACKAGES = (
    *("discreet", "numpy", "scipy", "numba", "polars", "pydantic", "randomgen", "dp-accounting"),
    *("safetensors", "threadpoolctl", "click", "rich"),
)
EXTRAS = ("duckdb", "pandas", "pyarrow", "matplotlib", "torch", "ray")


class _Asked(Output):
    trusted: bool = option("List the files one must trust to believe train, no checks.")
    walk: Literal["train"] | None = option("Follow a run from file to file, function by function; no checks.")


@takes(_Asked, "doctor")
def command(request: _Asked) -> Answer:
    """Exit code 1 if something is not as it must be.

    \b
    Example:
      discreet doctor
      discreet doctor --trusted
      discreet doctor --walk train
    """
    if request.trusted:
        lines = trusted()
        rows = [*lines.items(), (f"{len(lines)} files", f"{sum(lines.values()):,}")]
        show = partial(show_table, rows, ("module", "lines of code"))
        return Answer({"lines": sum(lines.values()), "files": lines}, show)
    if request.walk is not None:
        steps = walk()
        show = partial(show_table, steps, ("file", "function", "what it does"))
        return Answer({"walk": request.walk, "steps": [step._asdict() for step in steps]}, show)
    outcomes = [_run(name) for name in CHECKS]
    healthy = all(outcome["ok"] for outcome in outcomes)
    report = {"ok": healthy, **_surroundings(), "checks": outcomes}
    return Answer(report, partial(_show, report), exit_code=0 if healthy else 1)


def _surroundings() -> dict[str, Any]:
    def version(package: str) -> str | None:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return None

    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: version(name) for name in PACKAGES},
        "extras": {name: version(name) for name in EXTRAS},
        "threads": kernels.get_threads(),
        "blas": [
            f"{library['internal_api']} {library['version']} ({library['num_threads']} threads)"
            for library in threadpoolctl.threadpool_info()
            if library["user_api"] == "blas"
        ],
    }


def _show(report: dict[str, Any]) -> None:
    facts = [("python", f"{report['python']} on {report['platform']}")]
    for group in ("versions", "extras"):
        versions = report[group].items()
        facts.append((group, ", ".join(f"{name} {version or 'absent'}" for name, version in versions)))
    show_table([*facts, ("threads", report["threads"]), ("BLAS", ", ".join(report["blas"]))])
    checks = [(one["name"], "ok" if one["ok"] else "FAILED", one["detail"]) for one in report["checks"]]
    show_table(checks, ("check", "", "detail"))


Outcome = tuple[bool, str]
"""Whether a check passed, and what it saw."""


def _run(name: str) -> dict[str, Any]:
    """A check that breaks in an unforeseen way has failed too: finding that out is what the doctor is for."""
    try:
        passed, detail = CHECKS[name]()
    except Exception as error:
        passed, detail = False, f"{type(error).__name__}: {error}"
    return {"name": name, "ok": passed, "detail": detail}


def noise_source() -> Outcome:
    """Cryptographic noise: the right scale, and never the same twice."""
    first, second = Noise().normals(100_000), Noise().normals(100_000)
    scale = float(first.std())
    # the standard deviation of 100,000 normals strays by 0.0022; five times that is a wrong generator
    right = abs(scale - 1.0) < 0.011 and abs(float(first.mean())) < 0.016
    return right and not np.array_equal(first, second), f"standard deviation {scale:.4f} of 100,000 draws"


def _aes_hardware() -> Outcome:
    """AES instructions make noise fast; without them it is the same noise, more slowly."""
    fast = AESCounter(key=1).use_aesni
    return True, "AES instructions are used" if fast else "no AES instructions: noise is slower, not weaker"


def _accounting() -> Outcome:
    """A known conversion, exact to the digits shown."""
    mu = Budget(1.0, 1e-6).mu
    return abs(mu - 0.2367) < 5e-5, f"epsilon 1, delta 1e-6 buys mu {mu:.4f}"


def _kernels() -> Outcome:
    """Compiled kernels against plain NumPy on a small problem."""
    rng = np.random.default_rng(0)
    people, features, targets = (
        rng.standard_normal((9, 5)),
        rng.standard_normal((40, 5)),
        rng.standard_normal(40),
    )
    everything = np.arange(40, dtype=np.int32)
    solved = kernels.solve_rows(np.array([0, 40]), everything, targets, features, np.full(5, 0.5))[0]
    wanted = np.linalg.solve(features.T @ features + 0.5 * np.eye(5), features.T @ targets)
    scores = kernels.top_n(people, features, np.zeros(40), 7)[1]
    differences = {
        "solve_rows": float(np.abs(solved - wanted).max()),
        "top_n": float(np.abs(scores + np.sort(-(people @ features.T))[:, :7]).max()),
    }
    right = all(value < 1e-9 for value in differences.values())
    return right, ", ".join(f"{name} {value:.1g}" for name, value in differences.items())


def _compile_cache() -> Outcome:
    """Compiled kernels are kept on disk; otherwise every start pays for compiling them."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("discreet.kernels.")]
    values = [value for module in modules for value in vars(module).values()]
    folders = sorted({value.stats.cache_path for value in values if hasattr(value, "stats")} - {None})
    for folder in folders:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    return bool(folders), ", ".join(folders) or "no kernel is cached"


def _storage() -> Outcome:
    """Save a model, load it, and find it unchanged."""
    rng, scale = np.random.default_rng(0), RatingScale((1.0, 5.0))
    side = ItemSide(scale, 3.0, rng.standard_normal(9), rng.standard_normal((9, 2)), Ridge())
    model = Model(side, Catalogue(range(9)), Statement.not_private("made by the doctor"), "none")
    with tempfile.TemporaryDirectory() as folder:
        back = Model.load(model.save(Path(folder) / "model"))
    same = np.array_equal(back.predict({3: 5.0}, range(9)), model.predict({3: 5.0}, range(9)))
    return same, "a model came back to the last bit" if same else "a model came back changed"


CHECKS: dict[str, Callable[[], Outcome]] = {
    "noise source": noise_source,
    "AES hardware": _aes_hardware,
    "accounting": _accounting,
    "kernels": _kernels,
    "compile cache": _compile_cache,
    "storage": _storage,
}
