"""A model goes to its folder once, however often who makes it is killed and started again."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import ModelInvalid
from discreet.model import Model
from discreet.model.wire import item_side_to_bytes

__all__ = ["save_once"]


def save_once(model: Model, out: str | Path, *, overwrite: bool) -> None:
    """Save the model, unless this very model is there already: who was killed afterwards starts again."""
    target = Path(out)
    if not overwrite and target.is_dir() and any(target.iterdir()):
        there = Model.load(target)
        if (there.catalogue, there.statement) == (model.catalogue, model.statement) and item_side_to_bytes(
            there.item_side
        ) == item_side_to_bytes(model.item_side):
            return
        raise ModelInvalid(f"{target} already has another model; choose another name, or give --force")
    model.save(target, overwrite=overwrite)
