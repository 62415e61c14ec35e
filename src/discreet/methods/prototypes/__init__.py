"""Private prototypes: one message from each silo, one back, nothing else (prototypes paper, with its corrections)."""

from discreet.methods.prototypes.private.pipeline import PrivatePrototypes
from discreet.methods.prototypes.public.factorise import factorise
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.model import build_model
from discreet.methods.prototypes.references import central_factors, k_means_message, random_message
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings, Shares, as_printed
from discreet.methods.prototypes.shares import ShareTable

__all__ = [
    "FactorSettings",
    "PrivatePrototypes",
    "PrototypeMessage",
    "PrototypeSettings",
    "ShareTable",
    "Shares",
    "as_printed",
    "build_model",
    "central_factors",
    "factorise",
    "k_means_message",
    "random_message",
]
