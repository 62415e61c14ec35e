"""The files of prepared ratings: blocks of users, and a manifest with the digest of each. See docs/blocks.md.

    manifest.json                how the ratings were read, and every block with its size and SHA-256
    block-00003-000.safetensors  some users: indptr, items, values, and their ids

**Privacy.** All of it is as private as the ratings themselves. Folder and files are for their owner alone.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors.numpy import save

from discreet.data.arrays import Arrays
from discreet.data.rules import Duplicates, Missing, OutOfRange, UnknownItems
from discreet.errors import RatingsInvalid
from discreet.model.directory import replace_file

__all__ = [
    "MANIFEST",
    "Block",
    "BlockEntry",
    "IdKind",
    "Manifest",
    "Reading",
    "is_prepared",
    "read_block",
    "write_block",
    "write_json",
]

MANIFEST = "manifest.json"
IdKind = Literal["integer", "text"]
_Count = Annotated[int, Field(ge=0)]
_TYPES = {"I64": "<i8", "I32": "<i4", "F64": "<f8", "F32": "<f4", "U8": "u1"}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Reading(_Frozen):
    """How the rows were read: what must agree for blocks to be used again."""

    user: str
    item: str
    rating: str | None
    rating_range: Annotated[tuple[float, float] | None, Field(strict=False)]
    catalogue: str
    n_items: _Count
    missing: Missing
    out_of_range: OutOfRange
    unknown_items: UnknownItems
    duplicates: Duplicates
    weight: str | None = None
    time: str | None = None
    graded: float | None = None
    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None

    def to_json(self) -> str:
        """As text that names it; what is not said is left out, so that folders from before it could be keep theirs."""
        later = ("weight", "time", "graded", "separator", "encoding", "decimal")
        return self.model_dump_json(exclude={name for name in later if getattr(self, name) is None})


class BlockEntry(_Frozen):
    """One block: its file, how much is in it, and the SHA-256 of the file."""

    file: Annotated[str, Field(pattern=r"^block-[0-9]{5,}-[0-9]{3,}\.safetensors$")]
    users: _Count
    ratings: _Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @property
    def partition(self) -> int:
        """Number of the partition that its users were dealt to."""
        return int(self.file.split("-")[1])


class Manifest(_Frozen):
    """What is in a folder of blocks. Written last: a folder without it is unfinished."""

    format: Literal["discreet-blocks"] = "discreet-blocks"
    version: Literal[1] = 1
    reading: Reading
    source: str
    user_ids: IdKind
    partitions: _Count
    left_out: Annotated[tuple[_Count, _Count, _Count, _Count], Field(strict=False)]
    blocks: list[BlockEntry]
    merged: _Count
    weightless: _Count

    @property
    def digest(self) -> str:
        """SHA-256 over how the rows were read and over all blocks: the same ratings have the same one."""
        told = self.reading.to_json() + "".join(entry.sha256 for entry in self.blocks)
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


class Block(NamedTuple):
    """Some users: their ratings, and their ids."""

    arrays: Arrays
    user_ids: pl.Series


def is_prepared(path: str | Path) -> bool:
    """Whether a path is a folder of prepared ratings, and not of files of ratings."""
    try:
        return '"discreet-blocks"' in (Path(path) / MANIFEST).read_text(encoding="utf-8")[:200]
    except (OSError, ValueError):
        return False


def write_json(path: Path, content: BaseModel) -> None:
    """Whole or not at all, and on the disk when this returns. For its owner alone, as all that is prepared."""
    replace_file(path, lambda file: file.write(content.model_dump_json(indent=1).encode()), private=True)


def write_block(folder: Path, file: str, block: Block, *, rated: bool) -> BlockEntry:
    """Write a block whole or not at all, and say what is in it."""
    arrays: dict[str, npt.NDArray[Any]] = {"indptr": block.arrays.indptr, "items": block.arrays.items}
    if rated:
        arrays["values"] = _narrow(block.arrays.values)
    arrays |= _id_arrays(block.user_ids)
    content = save(arrays)
    replace_file(folder / file, lambda out: out.write(content), private=True)
    return BlockEntry(
        file=file,
        users=len(block.user_ids),
        ratings=len(block.arrays.items),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def read_block(folder: Path, entry: BlockEntry, *, with_ids: bool = True) -> Block:
    """A block, mapped into memory, if its bytes are those that were written; ids are left where they are, or read."""
    path = folder / entry.file
    try:
        # Copied where it is written to, which nobody does: compiled code has one version for arrays that can be.
        content = np.asarray(np.memmap(path, dtype=np.uint8, mode="c"))
    except (OSError, ValueError) as error:
        raise RatingsInvalid(f"{path} cannot be read: {error}; prepare the ratings again") from None
    if hashlib.sha256(content.data).hexdigest() != entry.sha256:
        raise RatingsInvalid(f"{path} was altered or damaged; prepare the ratings again")
    arrays = _views(content)
    items = arrays["items"]
    values = arrays["values"].astype(np.float64) if "values" in arrays else np.ones(len(items))
    ids = _ids(arrays) if with_ids else pl.Series(dtype=pl.Int64)
    return Block(Arrays(arrays["indptr"], items, values), ids)


def _views(content: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a safetensors file where they stand. Its digest was checked, so it is what `save` wrote."""
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:start].tobytes())
    views = {}
    for name, told in header.items():
        first, last = told["data_offsets"]
        views[name] = content[start + first : start + last].view(_TYPES[told["dtype"]])
    return views


def _narrow(values: npt.NDArray[np.float64]) -> npt.NDArray[np.floating[Any]]:
    """In single precision where that holds every value to the last bit."""
    narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow.astype(np.float64), values) else values


def _id_arrays(ids: pl.Series) -> dict[str, npt.NDArray[Any]]:
    """Integers as they are, text as an Arrow file of one column: never an object for each user."""
    if ids.dtype != pl.String:
        return {"user_ids": ids.to_numpy()}
    arrow = io.BytesIO()
    ids.alias("id").to_frame().write_ipc(arrow)
    return {"user_ids_arrow": np.frombuffer(arrow.getvalue(), dtype=np.uint8)}


def _ids(arrays: dict[str, npt.NDArray[Any]]) -> pl.Series:
    if "user_ids" in arrays:
        return pl.Series(arrays["user_ids"])
    return pl.read_ipc(io.BytesIO(arrays["user_ids_arrow"].tobytes()))["id"]
