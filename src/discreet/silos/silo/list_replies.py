"""A silo and the server's list of who is in a sum: it stands by one list for a question, and reveals by that alone.

Proof note: ``proofs/lost_silos.md``. What is revealed takes off the self masks of the members of the list, and the
masks between them and the lost; were two lists believed, both masks of one silo would come off.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import Refused
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.listing import ListMessage, ReplyMessage, Stage
from discreet.silos.shared.pair_keys import MAC_BYTES, PairKeys
from discreet.silos.shared.sealed_shares import MAC_WORDS, SHARE_WORDS, ShareLayout, from_words, to_words
from discreet.silos.shared.secret_sharing import SHARE_BYTES
from discreet.silos.silo.silo_store import SiloStore
from discreet.types import Words

__all__ = ["reply_to_list"]


def reply_to_list(
    message: ListMessage, agreement: Agreement, name: str, private_key: bytes, store: SiloStore
) -> bytes:
    """The reply to a list, ready to be sent; the same bytes whenever it is asked for.

    Raises
    ------
    Refused
        For a list that is not of the question this silo answered last, cannot be, is another than it has stood by, or
        has too few countersignatures. Nothing is revealed then.
    """
    round_, attempt = message.round, message.attempt
    layout = _checked(message, agreement, name, store)
    store.stand_by(round_, attempt, message.listing, message.members)
    pairs = PairKeys(agreement, name, private_key, message.question)
    stage: Stage = "countersign" if message.signatures is None else "reveal"
    if stage == "countersign":
        text = message.bare
        content = to_words((pairs.countersign(member, text) for member in message.members), MAC_WORDS)
    else:
        _check_signatures(message, name, pairs, layout)
        content = _shares(message, name, pairs, layout)
    return ReplyMessage(message.run, round_, attempt, name, message.listing, stage, content).encode()


def _checked(message: ListMessage, agreement: Agreement, name: str, store: SiloStore) -> ShareLayout:
    """The layout of the shares, if this can be the list of the question that was answered last."""
    last = store.last()
    if last is None or (last.round, last.attempt, last.question) != (
        message.round,
        message.attempt,
        message.question,
    ):
        raise Refused(
            f"{name} has not answered this question of round {message.round}, so it has no part in its sum; the next "
            "question will be for it again"
        )
    layout, members = ShareLayout(agreement, last.roster), message.members
    if name not in members:
        raise Refused(
            f"{name} is not in the sum of round {message.round}: the server goes on without its answer"
        )
    if list(members) != sorted(set(members)) or not set(members) <= set(layout.roster):
        raise Refused("a list of members names silos of the round, each once and in order")
    if len(members) < layout.threshold:
        raise Refused(
            f"the sum of {len(members)} silos is refused: the agreement needs {layout.threshold} of "
            f"{len(layout.roster)}"
        )
    if not agreement.dropouts_among(len(layout.roster)):
        raise Refused("nobody can be lost in this round by the agreement, so there is nothing to reveal")
    return layout


def _check_signatures(message: ListMessage, name: str, pairs: PairKeys, layout: ShareLayout) -> None:
    """Refuse a list that fewer members than the threshold have countersigned for this silo."""
    signers, members = message.signers, message.members
    assert message.signatures is not None
    if message.signatures.shape != (len(signers), len(members), MAC_WORDS):
        raise Refused("the countersignatures of the list have another form than agreed")
    own, text = members.index(name), message.bare
    valid = {
        signer
        for signer, row in zip(signers, message.signatures, strict=True)
        if signer in members and pairs.is_countersigned(signer, text, from_words(row[own], MAC_BYTES))
    }
    if len(valid) < layout.threshold:
        raise Refused(
            f"{len(valid)} silos have countersigned who is in the sum of round {message.round}, and "
            f"{layout.threshold} must have: nothing is revealed"
        )


def _shares(message: ListMessage, name: str, pairs: PairKeys, layout: ShareLayout) -> Words:
    """This silo's shares of what the list lets be revealed."""
    members, sealed = message.members, message.shares
    if sealed is None or sealed.shape != (len(members), len(members), layout.words):
        raise Refused("the sealed shares of the list have another form than agreed")
    own, rows = members.index(name), []
    for dealer, for_all in zip(members, sealed, strict=True):
        content = pairs.open(dealer, from_words(for_all[own], layout.size))
        rows += [
            content[SHARE_BYTES * number : SHARE_BYTES * (number + 1)]
            for number in layout.revealed(dealer, members)
        ]
    return to_words(rows, SHARE_WORDS).reshape(-1, SHARE_WORDS).astype(np.uint64, copy=False)
