"""Evaluation: metrics, protocols, baselines, and comparison tables."""

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
