"""Every error a person can meet, in one tree.

    DiscreetError
    ├── RatingsInvalid      what was handed in as ratings cannot be used (which row, and what to do)
    ├── CatalogueMissing    no public item list was given and none was paid for
    ├── CatalogueInvalid    the item list itself is unusable
    ├── HistoryInvalid      a history to recommend from names unknown items or impossible ratings
    ├── BudgetInvalid       epsilon, delta or a share of them is not a usable number
    ├── BudgetExceeded      a release would cost more than is left
    ├── LedgerInvalid       the ledger of a data set was damaged, edited, set back, or is none
    ├── UnchargedRelease    something tried to leave without being charged
    ├── NotFitted           a method was asked for what it learns before it was fitted
    ├── SettingsInvalid     a hyper-parameter is out of its range or unknown
    ├── ModelInvalid        a saved model is missing, incomplete or was altered
    ├── Refused             a message or request that training together does not allow
    └── Unreachable         the server of a run in silos stays away, or a cluster

All of them end the command line with exit code 2 and no traceback.
"""

from __future__ import annotations

__all__ = [
    "BudgetExceeded",
    "BudgetInvalid",
    "CatalogueInvalid",
    "CatalogueMissing",
    "DiscreetError",
    "HistoryInvalid",
    "LedgerInvalid",
    "ModelInvalid",
    "NotFitted",
    "RatingsInvalid",
    "Refused",
    "SettingsInvalid",
    "UnchargedRelease",
    "Unreachable",
]


class DiscreetError(Exception):
    """Base of all errors raised on purpose by this package."""


class RatingsInvalid(DiscreetError):
    """The ratings handed in cannot be used; the message names the row and the remedy."""


class CatalogueMissing(DiscreetError):
    """A private method needs a public item list, given or paid for, and has neither."""


class CatalogueInvalid(DiscreetError):
    """The item list is empty, has duplicates or missing ids."""


class HistoryInvalid(DiscreetError):
    """A history to recommend from cannot be used."""


class BudgetInvalid(DiscreetError):
    """Epsilon, delta or mu is not a usable number."""


class BudgetExceeded(DiscreetError):
    """A release would cost more than the budget has left."""


class LedgerInvalid(DiscreetError):
    """The ledger of a data set was damaged, edited, set back, or is none; nothing is charged to it."""


class UnchargedRelease(DiscreetError):
    """Something tried to leave the private side without being charged."""


class SettingsInvalid(DiscreetError):
    """A hyper-parameter is unknown or out of its range."""


class NotFitted(DiscreetError, AttributeError):
    """A method was asked for its model before it was fitted."""


class ModelInvalid(DiscreetError):
    """A saved model is missing, incomplete or altered."""


class Refused(DiscreetError):
    """What another party sent or asked for is not what was agreed; nothing was charged and nothing changed."""


class Unreachable(DiscreetError):
    """The server of a run in silos, or the cluster of a run, could not be reached for as long as was allowed."""
