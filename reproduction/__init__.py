"""One module for each figure or table of the papers: run it, see what comes out, and whether it agrees.

A module ``figure_02`` exports ``EXPERIMENT``; ``discreet reproduce figure-2`` runs it. The scores, counts and
pictures made here are statistics of the data themselves: they are for published data sets, not for release.
"""

from reproduction.context import Context
from reproduction.experiment import Experiment, Finished, perform
from reproduction.result import Column, Finding, Result, Table
from reproduction.sources import Dataset

__all__ = ["Column", "Context", "Dataset", "Experiment", "Finding", "Finished", "Result", "Table", "perform"]
