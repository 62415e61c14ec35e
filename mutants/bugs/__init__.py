"""All bugs, room by room."""

from __future__ import annotations

from mutants.bugs import (
    accounting,
    data_and_model,
    devices,
    gaussian,
    gaussian_gate,
    kept,
    kernels,
    list_tables,
    lists,
    local,
    methods,
    prototypes,
    pure,
    releases,
    scaling,
    several_runs,
    silos,
    statements,
    trail,
)
from mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS: tuple[Mutant, ...] = (
    *accounting.MUTANTS,
    *statements.MUTANTS,
    *several_runs.MUTANTS,
    *trail.MUTANTS,
    *gaussian_gate.MUTANTS,
    *gaussian.MUTANTS,
    *scaling.MUTANTS,
    *releases.MUTANTS,
    *kept.MUTANTS,
    *pure.MUTANTS,
    *local.MUTANTS,
    *kernels.MUTANTS,
    *lists.MUTANTS,
    *list_tables.MUTANTS,
    *methods.MUTANTS,
    *prototypes.MUTANTS,
    *silos.MUTANTS,
    *devices.MUTANTS,
    *data_and_model.MUTANTS,
)
