"""One organisation: holds ratings, answers what the agreement allows, keeps its own ledger."""
