"""Prepared ratings: read a block of users at a time, the next one while the last is worked on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from discreet.catalogue import Catalogue, RatingScale
from discreet.data.blocks.format import BlockEntry, Manifest, read_block
from discreet.data.ratings import Ratings
from discreet.data.rules import LeftOut, RowRules
from discreet.errors import RatingsInvalid

__all__ = ["StoredRatings"]


class StoredRatings:
    """Ratings on disk, by user. Made by :func:`discreet.data.blocks.prepare`; has the public facts of `Ratings`.

    Parameters
    ----------
    folder, manifest
        Where the blocks are, and what they are.
    catalogue, rules
        Public: what they were read with.

    Notes
    -----
    **Privacy.** Everything here is private but `catalogue`, `rating_range` and `rules`.
    """

    def __init__(self, folder: Path, manifest: Manifest, catalogue: Catalogue, rules: RowRules) -> None:
        if manifest.reading.catalogue != catalogue.digest:
            raise RatingsInvalid(f"{folder} was prepared with another catalogue; give that one")
        self.folder, self._manifest = folder, manifest
        self.catalogue, self.rules = catalogue, rules

    @property
    def n_users(self) -> int:
        """Number of users, those without ratings included."""
        return sum(entry.users for entry in self._manifest.blocks)

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue."""
        return len(self.catalogue)

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return sum(entry.ratings for entry in self._manifest.blocks)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self._manifest.blocks)

    @property
    def rating_range(self) -> tuple[float, float] | None:
        """Lowest and highest possible rating; None for implicit feedback."""
        return self._manifest.reading.rating_range

    @property
    def explicit(self) -> bool:
        """Whether there are rating values, and not only the fact of an interaction."""
        return self.rating_range is not None

    @property
    def scale(self) -> RatingScale:
        """The scale of the ratings; public."""
        return RatingScale(self.rating_range)

    @property
    def left_out(self) -> LeftOut:
        """How many rows were left out or mended."""
        return LeftOut(*self._manifest.left_out)

    @property
    def digest(self) -> str:
        """SHA-256 that names these ratings and how they were read."""
        return hashlib.sha256(f"blocks {self._manifest.digest}".encode()).hexdigest()

    def blocks(self, *, with_ids: bool = False) -> Iterator[Ratings]:
        """All users, a block at a time; at most two blocks are held at once.

        Parameters
        ----------
        with_ids
            Whether `user_ids` are the person's own; else they are row numbers, which cost nothing.
        """
        entries = self._manifest.blocks
        with ThreadPoolExecutor(1, thread_name_prefix="blocks") as reader:
            following = reader.submit(self._read, entries[0], with_ids)
            for entry in (*entries[1:], None):
                ratings = following.result()
                if entry is not None:
                    following = reader.submit(self._read, entry, with_ids)
                yield ratings

    def __repr__(self) -> str:
        return f"StoredRatings({self.n_users} users, {self.n_items} items, {self.n_ratings} ratings, {self.scale})"

    def _read(self, entry: BlockEntry, with_ids: bool) -> Ratings:
        block = read_block(self.folder, entry)
        ids = block.user_ids.to_numpy() if with_ids else np.arange(entry.users)
        return Ratings(*block.arrays, ids, self.catalogue, self.rating_range, rules=self.rules)
