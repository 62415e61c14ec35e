"""Everything that is attacked, by name."""

from __future__ import annotations

from tests.hostile.kind import Kind
from tests.hostile.ledgers import DamagedLedger
from tests.hostile.models import Arrays, DamagedModel, ForgedModel
from tests.hostile.requests import AgreementFile, HistoryFile
from tests.hostile.statements import SignedStatement, StatementText
from tests.hostile.tables import CatalogueFile, RatingsFile, RatingsParquet

__all__ = ["KINDS"]

KINDS: dict[str, type[Kind]] = {
    "damaged models": DamagedModel,
    "forged models": ForgedModel,
    "arrays": Arrays,
    "statements": StatementText,
    "signed statements": SignedStatement,
    "damaged ledgers": DamagedLedger,
    "ratings": RatingsFile,
    "ratings in Parquet": RatingsParquet,
    "catalogues": CatalogueFile,
    "agreements": AgreementFile,
    "histories": HistoryFile,
}
