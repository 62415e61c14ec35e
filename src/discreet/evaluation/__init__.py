"""Evaluation: what lists and predictions are worth on held-out rows, beside baselines, with intervals."""

from discreet.evaluation.protocol import evaluate
from discreet.evaluation.protocols import RankingScores, RatingScores, evaluate_ranking, evaluate_ratings
from discreet.evaluation.result import Evaluation, Measured

__all__ = [
    "Evaluation",
    "Measured",
    "RankingScores",
    "RatingScores",
    "evaluate",
    "evaluate_ranking",
    "evaluate_ratings",
]
