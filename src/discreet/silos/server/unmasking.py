"""What is taken off a sum once its members have revealed: their own masks, their masks with the lost, surplus noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.errors import Refused
from discreet.privacy.gaussian.gate import paid
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import from_totals, key_stream
from discreet.silos.shared.position import Position
from discreet.silos.shared.sealed_shares import ShareLayout, from_words
from discreet.silos.shared.secret_sharing import SHARE_BYTES, recover
from discreet.types import Words

__all__ = ["to_take_off"]


def to_take_off(
    agreement: Agreement,
    position: Position,
    members: Sequence[str],
    revealed: Mapping[str, Words],
    size: int,
) -> Words:
    """What the sum of the members' answers has too much, modulo 2^64.

    Parameters
    ----------
    agreement, position
        What was agreed, and the question.
    members
        Silos whose answers are in the sum.
    revealed
        Shares, by the member that has revealed them: one row for each secret, dealer by dealer.
    size
        Length of the sum.

    Raises
    ------
    Refused
        When shares do not fit together: some silo has dealt or revealed others than it should.
    """
    layout = ShareLayout(agreement, position.roster)
    # As many as are needed, and the same whoever comes later.
    chosen = sorted(revealed)[: layout.threshold]
    total, row = np.zeros(size, dtype=np.uint64), 0
    for dealer in members:
        for number in layout.revealed(dealer, members):
            shares = {layout.place(one): from_words(revealed[one][row], SHARE_BYTES) for one in chosen}
            secret = recover(shares)
            if secret is None:
                raise Refused(
                    f"the shares of {dealer}'s secrets in round {position.round} do not fit together: some silo has "
                    "dealt or revealed others than agreed. Go on without it ('discreet federate drop'), or end the run "
                    "with the rounds before ('discreet federate finish')"
                )
            total += _part(agreement, position, layout, dealer, number, secret, size)
            row += 1
    return total


def _part(
    agreement: Agreement,
    position: Position,
    layout: ShareLayout,
    dealer: str,
    number: int,
    secret: bytes,
    size: int,
) -> Words:
    """What the dealer has added by one of its secrets."""
    if number == 0:
        return key_stream(secret, size)
    if number <= layout.top_ups:
        return _noise(agreement, position, number, secret)
    peer = layout.peers(dealer)[number - 1 - layout.top_ups]
    stream = key_stream(secret, size)
    return stream if dealer < peer else np.negative(stream)


def _noise(agreement: Agreement, position: Position, number: int, secret: bytes) -> Words:
    assert position.question is not None
    source = ShareNoise.top_up(agreement.honest_among(len(position.roster)), number, secret)
    mu = paid(position.question.mu)
    return from_totals([form.noise(source, mu).astype(np.int64) for form in position.forms()])
