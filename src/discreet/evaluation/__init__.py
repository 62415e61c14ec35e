"""Evaluation: what lists and predictions are worth on held-out rows, beside baselines, with intervals."""

from discreet.evaluation.comparison import Comparison
from discreet.evaluation.intervals import Measured
from discreet.evaluation.protocol import evaluate
from discreet.evaluation.protocols import (
    RankingScores,
    RatingScores,
    evaluate_percentile_rank,
    evaluate_ranking,
    evaluate_ratings,
)
from discreet.evaluation.result import Evaluation

__all__ = [
    "Comparison",
    "Evaluation",
    "Measured",
    "RankingScores",
    "RatingScores",
    "evaluate",
    "evaluate_percentile_rank",
    "evaluate_ranking",
    "evaluate_ratings",
]
