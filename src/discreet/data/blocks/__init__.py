"""Ratings on disk, a block of users at a time: preparation, format, reading. See docs/blocks.md."""

from discreet.data.blocks.preparation import prepare
from discreet.data.blocks.stored import StoredRatings

__all__ = ["StoredRatings", "prepare"]
