"""Ratings on disk, a block of users at a time: preparation, format, reading. See docs/blocks.md."""

from discreet.data.blocks.prepare import prepare
from discreet.data.blocks.stored import StoredRatings

__all__ = ["StoredRatings", "prepare"]
