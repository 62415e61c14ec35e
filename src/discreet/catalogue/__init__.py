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

__all__ = ["Catalogue", "Id", "IdArray", "Ids", "as_ids", "infer_ids", "positions", "scan_table"]
