"""How good is a model: metrics, protocols, free baselines, and tables to compare methods in."""

from discreet.evaluation.comparison import Comparison
from discreet.evaluation.protocols import (
    RankingScores,
    RatingScores,
    evaluate_percentile_rank,
    evaluate_ranking,
    evaluate_ratings,
)

__all__ = [
    "Comparison",
    "RankingScores",
    "RatingScores",
    "evaluate_percentile_rank",
    "evaluate_ranking",
    "evaluate_ratings",
]
