"""Prepared ratings: read a block of users at a time, the next one while the last is worked on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl

from discreet.catalogue import Catalogue, Id, RatingScale, as_ids
from discreet.data.blocks.format import BlockEntry, IdKind, Manifest, read_block
from discreet.data.ratings import Ratings
from discreet.data.rules import LeftOut, RowRules
from discreet.errors import HistoryInvalid, RatingsInvalid

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

    @classmethod
    def open(cls, folder: str | Path, catalogue: Catalogue) -> StoredRatings:
        """Ratings that were prepared earlier, over this catalogue."""
        manifest = Manifest.read(Path(folder))
        told = manifest.reading
        rules = RowRules(told.missing, told.out_of_range, told.unknown_items, told.duplicates, told.graded)
        return cls(Path(folder), manifest, catalogue, rules)

    @property
    def partitions(self) -> int:
        """In how many partitions the users are: what must agree for two tables to be read side by side."""
        return self._manifest.partitions

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
        manifest = self._manifest
        return LeftOut(*manifest.left_out, merged=manifest.merged, weightless=manifest.weightless)

    @property
    def n_rows(self) -> int:
        """Number of rows that they were read from."""
        return self.n_ratings + self.left_out.dropped + self.left_out.merged + self.left_out.weightless

    @property
    def digest(self) -> str:
        """SHA-256 that names these ratings and how they were read."""
        return hashlib.sha256(f"blocks {self._manifest.digest}".encode()).hexdigest()

    @property
    def block_sizes(self) -> list[int]:
        """Ratings of each block."""
        return [entry.ratings for entry in self._manifest.blocks]

    def take_blocks(self, numbers: Sequence[int]) -> StoredRatings:
        """The users of some blocks alone, by the blocks' numbers from 0."""
        chosen = [self._manifest.blocks[number] for number in numbers]
        manifest = self._manifest.model_copy(update={"blocks": chosen})
        return StoredRatings(self.folder, manifest, self.catalogue, self.rules)

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

    def partition(self, number: int) -> Iterator[Ratings]:
        """The blocks of one partition, with the person's own ids."""
        for entry in self._manifest.blocks:
            if entry.partition == number:
                ratings = self._read(entry, with_ids=True)
                dealt = as_ids(ratings.user_ids).hash(0) % self.partitions
                if (dealt != number).any():
                    raise RatingsInvalid(
                        f"{self.folder} was dealt to partitions by another version of polars; prepare it again"
                    )
                yield ratings

    def history(self, user_id: Id) -> dict[Id, float]:
        """What one user rated, and how: a history to recommend from."""
        kind = pl.String if self._manifest.user_ids == "text" else pl.Int64
        number = as_ids([user_id]).cast(kind, strict=False).hash(0)[0] % self.partitions
        for ratings in self.partition(number):
            with suppress(HistoryInvalid):
                return ratings.history(user_id)
        raise HistoryInvalid(f"there is no user {user_id!r} in {self.folder}")

    def id_kind_for(self, found: IdKind) -> IdKind:
        """Of which kind the user ids of another table must be to mean the same people."""
        own = self._manifest.user_ids
        if (own, found) == ("integer", "text"):
            raise RatingsInvalid(
                f"the user ids of {self.folder} are whole numbers, and those of the other table are not; both need "
                "the same ids"
            )
        return own

    def __repr__(self) -> str:
        return f"StoredRatings({self.n_users} users, {self.n_items} items, {self.n_ratings} ratings, {self.scale})"

    def _read(self, entry: BlockEntry, with_ids: bool) -> Ratings:
        block = read_block(self.folder, entry, with_ids=with_ids)
        ids = block.user_ids.to_numpy() if with_ids else np.arange(entry.users)
        return Ratings(*block.arrays, ids, self.catalogue, self.rating_range, rules=self.rules)
