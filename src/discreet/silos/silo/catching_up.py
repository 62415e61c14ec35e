"""A silo that has missed a round makes up for it: its users count more in the rounds that are left.

Proof note: ``privacy/gaussian/proofs/reach.md``.
"""

from __future__ import annotations

from typing import Any

from discreet.methods.question import Question
from discreet.privacy.gaussian.reach import MOST_REACH
from discreet.silos.shared.agreement import Agreement

__all__ = ["reach_of"]

# Less than this is rounding: a silo that has missed nothing counts once, to the last bit.
_NOTHING = 1e-6
# Held back, so that what is charged is within the silo's budget to the last bit.
_MARGIN = 1.0 - 1e-9


def reach_of(agreement: Agreement, question: Question[Any], own_left: float, plan_left: float) -> float:
    """How often the silo's users count in the answer to a question.

    What the silo has left of its own budget is divided over this question and the ones to come as the plan divides
    what it has left itself. So all of it is spent at the end if nothing more is missed, and never more.

    Parameters
    ----------
    agreement
        Where no silo may be lost, nobody has anything to make up for.
    question
        The one to answer.
    own_left
        Gaussian cost that the silo's own ledger still allows.
    plan_left
        What everybody's plan has left for this question and all later ones.
    """
    if not agreement.dropouts or not question.weighs or not plan_left > 0.0:
        return 1.0
    reach = own_left / plan_left * _MARGIN
    return 1.0 if reach < 1.0 + _NOTHING else min(reach, MOST_REACH)
