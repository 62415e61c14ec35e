"""From the silos' masked vectors to one release."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import numpy as np

from discreet.errors import DiscreetError, Refused, SettingsInvalid
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Ledger
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import to_totals
from discreet.silos.shared.messages import AnswerMessage
from discreet.silos.shared.position import Position
from discreet.types import Floats

__all__ = ["answer_size", "release_sum"]

# What 2^32 users can add up to who count twice. Masks that do not cancel leave numbers anywhere below 2^63.
_LARGEST_SUM = 2**62


def answer_size(position: Position) -> int:
    """Numbers in an answer to the current question."""
    return sum(prod(shape) for shape in position.shapes().values())


def release_sum(
    agreement: Agreement, position: Position, answers: Iterable[bytes], noise: Noise
) -> dict[str, Floats]:
    """The release of the current question from all answers to it.

    Notes
    -----
    **Privacy**. The sum is all that the masks leave visible. Noise is in it already, or is added here by the gate.
    """
    question, forms = position.question, position.forms()
    assert question is not None
    total = np.zeros(answer_size(position), dtype=np.uint64)
    for body in answers:
        total += AnswerMessage.decode(body, agreement).masked
    values = to_totals(total, list(position.shapes().values()))
    totals = [Total(form.name, value, form.sigmas(1.0)) for form, value in zip(forms, values, strict=True)]
    # A ledger of its own: the run's is charged once the release is on the disk.
    gate, noised = Gate(Ledger(agreement.budget), noise), agreement.noise == "shares"
    try:
        for one in totals:
            if one.value.max(initial=0) >= _LARGEST_SUM or one.value.min(initial=0) <= -_LARGEST_SUM:
                raise SettingsInvalid(f"{one.name}: a sum passes 2^62")
        return gate.release_totals(question.name, forms, totals, mu=question.mu, noised=noised)
    except DiscreetError as error:
        raise Refused(
            f"wrong shares: the answers to round {position.round} do not add up to a sum over users, so some silo has "
            f"masked or summed otherwise than agreed ({error}). Go on without that silo ('discreet federate drop'), or "
            "end the run with the rounds before ('discreet federate finish')"
        ) from None
