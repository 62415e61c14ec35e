"""Which experiments there are, and in which module of ``experiments`` each is."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping

from discreet.errors import SettingsInvalid
from reproduction.experiment import Experiment

_HOMES: Mapping[str, str] = {
    "figure-2": "figure_02",
    "figure-4": "figure_04",
    "figure-5": "frequent_items",
    "figure-6": "figure_06",
    "figure-7": "figure_07",
    "figure-8": "figure_08",
    "figure-9": "figure_09",
    "figure-10": "frequent_items",
    "figure-11": "frequent_items",
    "figure-12": "frequent_items",
    "poster-jester": "posters",
    "poster-synthetic": "posters",
    "table-2": "table_02",
    "table-4": "table_04",
    "table-5": "table_05",
    "local-figure-2": "local_figure_2",
    "local-figure-3": "local_figure_3",
    "local-figure-5": "local_figure_5",
    "local-figure-7": "local_figure_7",
    "local-figure-9": "local_figure_9",
    "local-table-3": "local_table_3",
    "silos-entities": "silos_entities",
    "silos-movielens": "silos_movielens",
    "silos-objective": "silos_objective",
    "silos-poisson": "silos_poisson",
}


def names() -> list[str]:
    """All names, figures first, in the papers' order; those of the local model and of silos at the end."""
    return list(_HOMES)


def find(wanted: Iterable[str]) -> list[Experiment]:
    """The experiments of these names, each once; ``all`` stands for every one."""
    chosen: dict[str, None] = {}
    for name in wanted:
        if name != "all" and name not in _HOMES:
            raise SettingsInvalid(f"no experiment is called {name!r}; there are {', '.join(_HOMES)}, and all")
        chosen.update(dict.fromkeys(_HOMES if name == "all" else [name]))
    return [_load(name) for name in chosen]


def _load(name: str) -> Experiment:
    found = vars(importlib.import_module(f"reproduction.experiments.{_HOMES[name]}")).values()
    return next(one for one in found if isinstance(one, Experiment) and one.name == name)
