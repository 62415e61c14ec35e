"""How often a test kills, spoils or draws: a little in ``make test``, at full size in ``make check``.

A file whose numbers come from here is marked ``grows``. ``make check`` runs it again with ``DISCREET_FULL=1``, and
then with fresh entropy.
"""

from __future__ import annotations

import os

__all__ = ["FULL", "sized"]

FULL = os.environ.get("DISCREET_FULL") == "1"


def sized(quick: int, full: int) -> int:
    """The number of a run."""
    return full if FULL else quick
