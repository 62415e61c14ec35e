"""Private prototypes: one message from each silo, one back, nothing else (prototypes paper, with its corrections)."""

from discreet.federated.prototypes.factorise import factorise
from discreet.federated.prototypes.message import GlobalFactors, PrototypeMessage
from discreet.federated.prototypes.pipeline import PrivatePrototypes
from discreet.federated.prototypes.recommender import SiloRecommender
from discreet.federated.prototypes.references import central_factors, k_means_message, random_message
from discreet.federated.prototypes.settings import FactorSettings, PrototypeSettings, Shares, as_printed
from discreet.federated.prototypes.shares import ShareTable

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
    "central_factors",
    "factorise",
    "k_means_message",
    "random_message",
]
