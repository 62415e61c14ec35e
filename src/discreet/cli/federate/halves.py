"""The server's and a silo's part of a run, by what was agreed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.cli.federate.als import ModelGuest, ModelHost
from discreet.cli.federate.options import read_catalogue
from discreet.cli.federate.prototypes import FactorGuest, FactorHost
from discreet.silos.shared.methods import AnyAgreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement

__all__ = ["make_guest", "make_host"]


def make_host(agreement: AnyAgreement, catalogue: str, store: Path, out: str, *, force: bool) -> Any:
    """The server's part; refuses another catalogue than the agreed one, and a place where nothing can be put."""
    items = read_catalogue(catalogue, agreement)
    if isinstance(agreement, PrototypeAgreement):
        return FactorHost(agreement, store, out, force=force)
    return ModelHost(agreement, items, store, out, force=force)


def make_guest(
    agreement: AnyAgreement, options: dict[str, Any], out: str | None = None, *, force: bool = False
) -> Any:
    """A silo's part, from the options of the ``silo`` command."""
    if isinstance(agreement, PrototypeAgreement):
        return FactorGuest(agreement, options, out, force=force)
    return ModelGuest(agreement, options, out, force=force)
