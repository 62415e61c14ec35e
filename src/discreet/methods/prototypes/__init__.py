"""Private prototypes: one message from each silo, one back, nothing else (prototypes paper, with its corrections)."""

from discreet.methods.prototypes.private.pipeline import PrivatePrototypes
from discreet.methods.prototypes.public.factorise import factorise
from discreet.methods.prototypes.public.message import GlobalFactors, PrototypeMessage
from discreet.methods.prototypes.recommender import SiloRecommender
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings, Shares, as_printed
from discreet.methods.prototypes.shares import ShareTable

__all__ = [
    "FactorSettings",
    "GlobalFactors",
    "PrivatePrototypes",
    "PrototypeMessage",
    "PrototypeSettings",
    "ShareTable",
    "Shares",
    "SiloRecommender",
    "as_printed",
    "factorise",
]
