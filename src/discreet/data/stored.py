"""Prepared ratings: Parquet files on disk, each a block of users, read one at a time. See docs/guides/formats.md.

    manifest.json          how the rows were read, and every block with its size and SHA-256; written last
    block-00003.parquet    some users, whole: user, item (place in the catalogue), rating

**Privacy.** All of it is as private as the ratings themselves. Folder and files are for their owner alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.catalogue import Catalogue, Id, RatingScale, as_ids, infer_ids
from discreet.catalogue.columns import Columns, TextFormat
from discreet.data.ratings import Ratings
from discreet.data.rules import LeftOut, RowRules
from discreet.errors import HistoryInvalid, RatingsInvalid

__all__ = ["MANIFEST", "BlockEntry", "Manifest", "StoredRatings", "StoredReading", "deal", "is_prepared"]

MANIFEST = "manifest.json"
_Count = Annotated[int, Field(ge=0)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class StoredReading(_Frozen):
    """How the rows were read: what must agree for blocks to be used again."""

    columns: Columns
    rating_range: Annotated[tuple[float, float] | None, Field(strict=False)]
    catalogue: str
    rules: RowRules
    text: TextFormat


class BlockEntry(_Frozen):
    """One block: its number, how much is in it, and the SHA-256 of its file."""

    number: _Count
    users: _Count
    ratings: _Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @property
    def file(self) -> str:
        """Its name in the folder."""
        return f"block-{self.number:05}.parquet"


class Manifest(_Frozen):
    """What is in a folder of blocks. Written last: a folder without it is unfinished."""

    format: Literal["discreet-ratings"] = "discreet-ratings"
    version: Literal[1] = 1
    reading: StoredReading
    source: str
    dealt: _Count
    """Among how many blocks the users were dealt; those that nobody came to have no file."""
    left_out: LeftOut
    blocks: list[BlockEntry]

    @property
    def digest(self) -> str:
        """SHA-256 over how the rows were read and over all blocks: the same ratings have the same one."""
        told = self.reading.model_dump_json() + "".join(entry.sha256 for entry in self.blocks)
        return hashlib.sha256(told.encode()).hexdigest()

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """From a folder; refuses what is none."""
        try:
            return cls.model_validate_json((folder / MANIFEST).read_bytes())
        except FileNotFoundError:
            raise RatingsInvalid(f"{folder} has no prepared ratings, or they are unfinished") from None
        except (OSError, ValidationError, ValueError) as error:
            reason = str(error).split("\n")[0]
            raise RatingsInvalid(
                f"{folder / MANIFEST} is no manifest of prepared ratings: {reason}"
            ) from None


def is_prepared(path: str | Path) -> bool:
    """Whether a path is a folder of prepared ratings, and not of files of ratings."""
    try:
        return '"discreet-ratings"' in (Path(path) / MANIFEST).read_text(encoding="utf-8")[:200]
    except (OSError, ValueError):
        return False


def deal(ids: pl.Series, blocks: int) -> npt.NDArray[np.int64]:
    """The block of each user, by a public hash of the id; a whole number goes where its decimal text goes."""
    hashed = ids.hash(0)
    if ids.dtype == pl.String:
        numbers = ids.cast(pl.Int64, strict=False)
        plain = (numbers.cast(pl.String) == ids).fill_null(False)
        hashed = numbers.hash(0).zip_with(plain, hashed)
    return (hashed % blocks).cast(pl.Int64).to_numpy()


class StoredRatings:
    """Ratings on disk, by user. Made by :func:`discreet.data.prepare`; has the public facts of `Ratings`.

    ``dealt`` says among how many blocks users were dealt, which must agree for two tables to be read side by side;
    ``block_sizes`` has the ratings of each block.

    **Privacy.** Everything here is private but `catalogue`, `rating_range` and `rules`.
    """

    def __init__(self, folder: Path, manifest: Manifest, catalogue: Catalogue, rules: RowRules) -> None:
        if manifest.reading.catalogue != catalogue.digest:
            raise RatingsInvalid(f"{folder} was prepared with another catalogue; give that one")
        self.folder, self._manifest = folder, manifest
        self.catalogue, self.rules = catalogue, rules
        self.rating_range, self.left_out = manifest.reading.rating_range, manifest.left_out
        self.dealt, self.n_items, self.n_blocks = manifest.dealt, len(catalogue), len(manifest.blocks)
        self.n_users = sum(entry.users for entry in manifest.blocks)
        self.n_ratings = sum(entry.ratings for entry in manifest.blocks)
        self.n_rows = self.n_ratings + self.left_out.gone
        self.block_sizes = [entry.ratings for entry in manifest.blocks]

    @classmethod
    def open(cls, folder: str | Path, catalogue: Catalogue) -> StoredRatings:
        """Ratings that were prepared earlier, over this catalogue."""
        manifest = Manifest.read(Path(folder))
        return cls(Path(folder), manifest, catalogue, manifest.reading.rules)

    @property
    def explicit(self) -> bool:
        """Whether there are rating values, and not only the fact of an interaction."""
        return self.rating_range is not None

    @property
    def scale(self) -> RatingScale:
        """The scale of the ratings; public."""
        return RatingScale(self.rating_range)

    @property
    def digest(self) -> str:
        """SHA-256 that names these ratings and how they were read."""
        return self._manifest.digest

    def take_blocks(self, numbers: Sequence[int]) -> StoredRatings:
        """The users of some blocks alone, by the blocks' places in `block_sizes`."""
        chosen = [self._manifest.blocks[number] for number in numbers]
        manifest = self._manifest.model_copy(update={"blocks": chosen})
        return StoredRatings(self.folder, manifest, self.catalogue, self.rules)

    def blocks(self, *, with_ids: bool = False) -> Iterator[Ratings]:
        """All users, a block at a time; the next one is read and checked while the last is worked on.

        Without ids, `user_ids` are row numbers, which cost nothing.
        """
        entries = self._manifest.blocks
        with ThreadPoolExecutor(1, thread_name_prefix="blocks") as reader:
            following = reader.submit(self._read, entries[0], with_ids)
            for entry in (*entries[1:], None):
                ratings = following.result()
                if entry is not None:
                    following = reader.submit(self._read, entry, with_ids)
                yield ratings

    def users_dealt(self, number: int) -> Ratings | None:
        """The users who were dealt to a block, with the person's own ids; ``None`` where nobody was."""
        entry = next((entry for entry in self._manifest.blocks if entry.number == number), None)
        if entry is None:
            return None
        ratings = self._read(entry, with_ids=True)
        if (deal(as_ids(ratings.user_ids), self.dealt) != number).any():
            raise RatingsInvalid(
                f"{self.folder} was dealt to blocks by another version of polars; prepare it again"
            )
        return ratings

    def history(self, user_id: Id) -> dict[Id, float]:
        """What one user rated, and how: a history to recommend from."""
        users = self.users_dealt(int(deal(infer_ids(as_ids([user_id]).cast(pl.String)), self.dealt)[0]))
        if users is None:
            raise HistoryInvalid(f"there is no user {user_id!r} in {self.folder}")
        return users.history(user_id)

    def __repr__(self) -> str:
        return f"StoredRatings({self.n_users} users, {self.n_items} items, {self.n_ratings} ratings, {self.scale})"

    def _read(self, entry: BlockEntry, with_ids: bool) -> Ratings:
        """A block, if its bytes are those that were written."""
        path = self.folder / entry.file
        try:
            content = path.read_bytes()
        except OSError as error:
            raise RatingsInvalid(f"{path} cannot be read: {error}; prepare the ratings again") from None
        if hashlib.sha256(content).hexdigest() != entry.sha256:
            raise RatingsInvalid(f"{path} was altered or damaged; prepare the ratings again")
        table = pl.read_parquet(content, parallel="none")
        begins = (table["user"] != table["user"].shift()).fill_null(True)
        first = np.append(begins.arg_true().to_numpy().astype(np.int64), table.height)
        indptr = first - np.searchsorted(table["item"].is_null().arg_true().to_numpy(), first)
        # Writable, though nobody writes: compiled code has one version for arrays that can be written to.
        items = table["item"].drop_nulls().to_numpy(writable=True)
        values = (
            table["rating"].drop_nulls().to_numpy(writable=True) if self.explicit else np.ones(len(items))
        )
        ids = table["user"].filter(begins).to_numpy(writable=True) if with_ids else np.arange(entry.users)
        return Ratings(indptr, items, values, ids, self.catalogue, self.rating_range, rules=self.rules)
