"""Budget, accounting, the gate and the statement. The only place that makes noise for privacy."""

from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Charge, Ledger
from discreet.privacy.promise import Release
from discreet.privacy.statement import Statement

__all__ = ["Budget", "Charge", "Gate", "Ledger", "Noise", "Release", "Statement"]
