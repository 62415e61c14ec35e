"""What is public about the data: the items, and the scale of the ratings."""

from discreet.catalogue.catalogue import (
    Catalogue,
    Id,
    IdArray,
    Ids,
    as_ids,
    infer_ids,
    positions,
    scan_table,
)
from discreet.catalogue.scale import CLICKS, RatingScale

__all__ = [
    "CLICKS",
    "Catalogue",
    "Id",
    "IdArray",
    "Ids",
    "RatingScale",
    "as_ids",
    "infer_ids",
    "positions",
    "scan_table",
]
