"""Which experiments there are: every module in ``experiments``."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable

from discreet.errors import SettingsInvalid
from reproduction import experiments
from reproduction.experiment import Experiment

__all__ = ["find", "names"]


def names() -> list[str]:
    """All names, figures first, in the papers' order; those of the local model and of silos at the end."""
    return list(_modules())


def find(wanted: Iterable[str]) -> list[Experiment]:
    """The experiments of these names, each once; ``all`` stands for every one."""
    modules = _modules()
    chosen: dict[str, None] = {}
    for name in wanted:
        if name != "all" and name not in modules:
            raise SettingsInvalid(
                f"no experiment is called {name!r}; there are {', '.join(modules)}, and all"
            )
        chosen.update(dict.fromkeys(modules if name == "all" else [name]))
    return [_load(modules[name]) for name in chosen]


def _modules() -> dict[str, str]:
    """Name to module: ``figure-2`` to ``figure_02``."""
    modules = [module.name for module in pkgutil.iter_modules(experiments.__path__)]
    found = sorted(modules, key=lambda name: (name.startswith(("local", "silos")), name))
    return {re.sub(r"-0+(?=\d)", "-", module.replace("_", "-")): module for module in found}


def _load(module: str) -> Experiment:
    experiment: Experiment = importlib.import_module(f"{experiments.__name__}.{module}").EXPERIMENT
    return experiment
