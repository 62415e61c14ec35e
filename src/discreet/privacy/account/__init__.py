"""The ledger of a data set: one file that outlives every run, and what all of them cost together."""
