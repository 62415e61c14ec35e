"""The public side of the gate: what is released and how it is improved from noisy sums. Holds no ratings."""

from discreet.item_side.side import ItemSide

__all__ = ["ItemSide"]
