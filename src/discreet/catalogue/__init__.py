"""What is public about the data: the items with their features, and the scale of the ratings."""

from discreet.catalogue.catalogue import Catalogue, scan_items
from discreet.catalogue.feature_columns import FeatureNames
from discreet.catalogue.features import FeatureEncoder, ItemFeatures
from discreet.catalogue.ids import Id, IdArray, Ids, as_ids, infer_ids, positions
from discreet.catalogue.scale import CLICKS, Goal, RatingScale
from discreet.catalogue.tables import TABLE_ERRORS, scan_table

__all__ = [
    "CLICKS",
    "TABLE_ERRORS",
    "Catalogue",
    "FeatureEncoder",
    "FeatureNames",
    "Goal",
    "Id",
    "IdArray",
    "Ids",
    "ItemFeatures",
    "RatingScale",
    "as_ids",
    "infer_ids",
    "positions",
    "scan_items",
    "scan_table",
]
