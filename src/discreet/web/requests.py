"""What may be asked, read strictly: a field too many, a number as text, or a number that is none is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.errors import HistoryInvalid
from discreet.model import History

__all__ = ["Rated", "RecommendRequest", "SearchQuery", "SimilarQuery"]

MOST = 10_000
"""Most entries in a history or a list of ids."""

Id = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | Annotated[str, Field(max_length=1000)]
Count = Annotated[int, Field(ge=1, le=1000)]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Rated(_Asked):
    """One item of a history, with its rating where the model was trained on ratings."""

    item: Id
    rating: float | None = None


class RecommendRequest(_Asked):
    """A person's own history, what is not for them, and what to make of both."""

    history: Annotated[list[Rated], Field(max_length=MOST)]
    disliked: Annotated[list[Id], Field(max_length=MOST)] = []
    n: Count = 10
    exclude_seen: bool = True
    allowed: Annotated[list[Id], Field(max_length=MOST)] | None = None
    blocked: Annotated[list[Id], Field(max_length=MOST)] | None = None
    unknown_items: Literal["error", "drop"] = "error"

    def owned(self, explicit: bool) -> History:
        """The history as a model takes it."""
        if explicit:
            return [(entry.item, entry.rating) for entry in self.history]
        if any(entry.rating is not None for entry in self.history):
            raise HistoryInvalid(
                "this model was trained on what people chose, without ratings; leave the ratings out"
            )
        return [entry.item for entry in self.history]

    def options(self) -> dict[str, Any]:
        """Everything else, as `Model.recommend` takes it."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "history"}


class SimilarQuery(BaseModel):
    """Which item, and how many like it; as words of an address, so numbers come as text."""

    item: Annotated[str, Field(max_length=1000)]
    n: Count = 10


class SearchQuery(BaseModel):
    """Words of a title."""

    search: Annotated[str, Field(max_length=200)] = ""
    n: Count = 20
