"""The papers' figures and tables, run again: what comes out, and whether it agrees. Not part of the installed package.

``experiments/``
    One module for each figure, table or plot, or for a few that are alike; `registry` says where each is.
``central/``, ``local/``, ``silos/``
    What the experiments of a trust model share, and the published schemes and references they compare with.
``datasets/``
    Loaders of the published data sets, and which one is used where the paper's is not at hand.
``context``, ``experiment``, ``result``, ``registry``, ``scoring``, ``tuning``
    What an experiment is given, what it is, what it hands back, which there are, how it scores and tunes.
``output/``
    A run's record and picture, and the pages and tables made from records.
``results/``
    The stored records and pictures: the only copy.

The scores, counts and pictures made here are statistics of the data themselves: they are for published data sets,
not for release.
"""

from reproduction.context import Context
from reproduction.datasets.lookup import Dataset
from reproduction.experiment import Experiment, Finished, perform
from reproduction.result import Column, Finding, Result, Table

__all__ = ["Column", "Context", "Dataset", "Experiment", "Finding", "Finished", "Result", "Table", "perform"]
