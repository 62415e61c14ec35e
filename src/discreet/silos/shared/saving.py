"""The finished model goes to its folder once, however often a party is killed and started again."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import ModelInvalid
from discreet.model import Model
from discreet.model.storage import check_target
from discreet.model.wire import item_side_to_bytes

__all__ = ["check_out", "save_once"]


def check_out(out: str | Path, *, begun: bool, overwrite: bool) -> None:
    """Refuse at once a place where the model cannot be put; a run that had begun may find its own model there."""
    check_target(out, overwrite=overwrite or begun)


def save_once(model: Model, out: str | Path, *, overwrite: bool) -> None:
    """Save the model, unless this very model is there already: a server that was killed afterwards starts again."""
    target = Path(out)
    if not overwrite and target.is_dir() and any(target.iterdir()):
        if _same(Model.load(target), model):
            return
        raise ModelInvalid(f"{target} already has another model; choose another name, or give --force")
    model.save(target, overwrite=overwrite)


def _same(one: Model, other: Model) -> bool:
    return (
        one.catalogue == other.catalogue
        and one.statement == other.statement
        and item_side_to_bytes(one.item_side) == item_side_to_bytes(other.item_side)
    )
