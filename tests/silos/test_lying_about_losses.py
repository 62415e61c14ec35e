"""A server that lies about who was lost: one list, countersigned by enough, and nothing that opens a single silo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet.errors import Refused
from discreet.silos.shared.listing import ListMessage, ReplyMessage
from discreet.silos.shared.masks import key_stream
from discreet.silos.shared.messages import AnswerMessage, QuestionMessage, digest
from discreet.silos.shared.pair_keys import PairKeys
from discreet.silos.shared.passed import Passed
from discreet.silos.shared.sealed_shares import ShareLayout, from_words, to_words
from discreet.silos.shared.secret_sharing import SHARE_BYTES, recover
from tests.silos.test_lost_silos import RATINGS, agreed, step
from tests.silos.worlds import Run, dump, private_key

NAMES = [f"silo-{k:02}" for k in range(5)]
VICTIM = "silo-02"


class Liar:
    """A server that has everybody's answer to the current question and says what it likes about it."""

    def __init__(self, run: Run) -> None:
        self.run, self.agreement = run, run.agreement
        question = run.coordinator.question()
        assert question is not None
        self.digest = digest(question)
        self.status = run.coordinator.status()
        self.answers = {
            name: AnswerMessage.decode(run.silos[name].answer(question), run.agreement)
            for name in self.status["roster"]
        }
        self.layout = ShareLayout(run.agreement, self.status["roster"])

    def listed(self, members: Sequence[str]) -> ListMessage:
        run = self.agreement.run_id
        return ListMessage(run, self.status["round"], 0, self.digest, tuple(members))

    def countersign(self, name: str, listed: ListMessage) -> np.ndarray:
        reply = self.run.silos[name].answer(listed.encode())
        return ReplyMessage.decode(reply, self.agreement).content

    def opened(self, listed: ListMessage, signed: dict[str, np.ndarray]) -> ListMessage:
        places = [self.layout.place(name) - 1 for name in listed.members]
        dealt = [self.answers[name].shares for name in listed.members]
        shares = np.array([one[places] for one in dealt if one is not None])
        return replace(
            listed, signers=tuple(signed), signatures=np.array(list(signed.values())), shares=shares
        )

    def reveal(self, name: str, opened: ListMessage) -> np.ndarray:
        reply = self.run.silos[name].answer(opened.encode())
        return ReplyMessage.decode(reply, self.agreement).content


@pytest.fixture
def liar(tmp_path: Path) -> Iterator[Liar]:
    run = Run(tmp_path, RATINGS, agreed())
    step(run)
    yield Liar(run)
    run.close()


def test_a_silo_stands_by_one_list_whatever_happens(liar: Liar) -> None:
    """All in, or the victim lost: the server has all five answers and would like both."""
    everybody, without = liar.listed(NAMES), liar.listed([name for name in NAMES if name != VICTIM])
    signed = liar.countersign("silo-00", everybody)
    run = liar.run
    for _ in range(2):
        with pytest.raises(Refused, match="two accounts of who is in the sum"):
            liar.countersign("silo-00", without)
        run.silos["silo-00"].close()
        run.silos["silo-00"] = run.open_silo("silo-00")
    assert np.array_equal(liar.countersign("silo-00", everybody), signed)
    assert any("two accounts" in reason for reason in run.silos["silo-00"].status()["refusals"])
    # The same by way of a list that claims to be countersigned.
    with pytest.raises(Refused, match="two accounts of who is in the sum"):
        liar.reveal(
            "silo-00", liar.opened(without, {name: np.zeros((4, 4), np.uint64) for name in NAMES[:4]})
        )


def test_two_lists_cannot_both_be_countersigned_with_as_many_liars_as_agreed(liar: Liar) -> None:
    """Three of five are honest; two silos countersign anything. Four signatures are needed for each list."""
    liars, honest = NAMES[3:], NAMES[:3]
    everybody, without = liar.listed(NAMES), liar.listed([name for name in NAMES if name != VICTIM])
    signed = {name: liar.countersign(name, everybody) for name in honest[:2]}
    signed |= {name: forged(liar, name, everybody) for name in liars}
    liar.reveal("silo-00", liar.opened(everybody, signed))
    for name in honest[:2]:
        with pytest.raises(Refused, match="two accounts"):
            liar.countersign(name, without)
    assert VICTIM not in without.members
    # Left are the two liars: two signatures, where four are needed.
    few = {name: forged(liar, name, without) for name in liars}
    with pytest.raises(Refused, match="two accounts"):
        liar.reveal("silo-01", liar.opened(without, few))


def forged(liar: Liar, name: str, listed: ListMessage) -> np.ndarray:
    """What a silo that works with the server countersigns: anything, with its own key."""
    pairs = PairKeys(liar.agreement, name, private_key(name), listed.question)
    return to_words((pairs.countersign(member, listed.bare) for member in listed.members), 4)


def test_too_few_copied_or_foreign_signatures_open_nothing(liar: Liar) -> None:
    listed = liar.listed([name for name in NAMES if name != VICTIM])
    members = listed.members
    signed = {name: liar.countersign(name, listed) for name in members[:3]}
    words = "3 silos have countersigned who is in the sum of round 1, and 4 must have"

    def refused(signatures: dict[str, np.ndarray]) -> None:
        with pytest.raises(Refused, match=words):
            liar.reveal("silo-00", liar.opened(listed, signatures))

    refused(signed)
    last, rows = members[3], signed[members[0]]
    refused(signed | {last: rows})  # another's
    refused(signed | {last: np.zeros_like(rows)})
    refused(signed | {VICTIM: forged(liar, VICTIM, listed)})  # not in the list
    everybody = replace(liar.listed(NAMES))
    refused(signed | {last: forged(liar, last, everybody)[:4]})  # of another list
    earlier = replace(listed, round=0)
    refused(signed | {last: forged(liar, last, earlier)})
    other = replace(listed, question="0" * 64)
    refused(signed | {last: forged(liar, last, other)})  # of another question
    twice = liar.opened(listed, signed)
    assert twice.signatures is not None
    doubled = replace(
        twice,
        signers=(*twice.signers, twice.signers[0]),
        signatures=np.concatenate([twice.signatures, twice.signatures[:1]]),
    )
    with pytest.raises(Refused, match=words):
        liar.reveal("silo-00", doubled)
    signed[last] = liar.countersign(last, listed)
    liar.reveal("silo-00", liar.opened(listed, signed))


def test_lists_that_cannot_be_are_refused_before_they_are_kept(liar: Liar) -> None:
    before = dump(liar.run.silos["silo-00"])
    for members, words in (
        (NAMES[:3], "needs 4 of 5"),
        (NAMES[1:], "not in the sum"),
        ([*NAMES[:4], "stranger"], "names silos of the round"),
        (NAMES[::-1], "each once and in order"),
        ([*NAMES, NAMES[-1]], "each once and in order"),
    ):
        with pytest.raises(Refused, match=words):
            liar.countersign("silo-00", liar.listed(members))
    for changed in ({"round": 0}, {"attempt": 1}, {"question": "0" * 64}, {"round": 2}):
        with pytest.raises(Refused, match="has not answered this question"):
            liar.countersign("silo-00", replace(liar.listed(NAMES), **changed))
    with pytest.raises(Refused, match="another run"):
        liar.countersign("silo-00", replace(liar.listed(NAMES), run="0" * 32))
    assert dump(liar.run.silos["silo-00"]) == before


def test_shares_that_were_sealed_for_another_or_another_question_are_not_revealed(liar: Liar) -> None:
    listed = liar.listed(NAMES)
    signed = {name: liar.countersign(name, listed) for name in NAMES}
    opened = liar.opened(listed, signed)
    assert opened.shares is not None
    mixed = opened.shares.copy()
    mixed[1] = mixed[2]
    with pytest.raises(Refused, match="in the name of silo-01 are not what it sealed"):
        liar.reveal("silo-00", replace(opened, shares=mixed))
    turned = opened.shares.copy()
    turned[:, [0, 1]] = turned[:, [1, 0]]
    with pytest.raises(Refused, match="not what it sealed"):
        liar.reveal("silo-00", replace(opened, shares=turned))


def test_what_is_revealed_does_not_open_the_answer_of_a_silo_said_to_be_lost(liar: Liar) -> None:
    """The server has the victim's answer, says that it was lost, and works with two silos: the victim's own mask stays.

    With it on, what is left is uniform; were it taken off, the victim's totals would lie open under its noise alone.
    """
    run, agreement = liar.run, liar.agreement
    listed = liar.listed([name for name in NAMES if name != VICTIM])
    signed = {name: liar.countersign(name, listed) for name in listed.members}
    opened = liar.opened(listed, signed)
    revealed = {name: liar.reveal(name, opened) for name in listed.members}
    layout, row, masks = liar.layout, 0, {}
    for dealer in listed.members:
        for number in layout.revealed(dealer, listed.members):
            shares = {layout.place(one): from_words(revealed[one][row], SHARE_BYTES) for one in revealed}
            secret = recover(shares)
            assert secret is not None
            if number > layout.top_ups:
                masks[dealer] = secret
            row += 1
    # All masks between the victim and others have come off, as they must.
    answer = liar.answers[VICTIM]
    left = answer.masked.copy()
    for dealer, secret in masks.items():
        stream = key_stream(secret, len(left))
        left = left - stream if dealer > VICTIM else left + stream
    table = left.view(np.uint8)
    assert stats.chisquare(np.bincount(table, minlength=256)).pvalue > 1e-9
    assert np.abs(left.view(np.int64).astype(float)).max() > 2.0**58
    # What the two silos that work with the server can open is too little to find the victim's seed, by two shares.
    assert answer.shares is not None
    held = {}
    for name in NAMES[3:]:
        pairs = PairKeys(agreement, name, private_key(name), liar.digest)
        content = pairs.open(VICTIM, from_words(answer.shares[layout.place(name) - 1], layout.size))
        held[layout.place(name)] = content[:SHARE_BYTES]
    assert layout.threshold - len(held) == 2
    # The test could fail: with all shares of the seed the answer does lie open.
    for name in NAMES[:2]:
        pairs = PairKeys(agreement, name, private_key(name), liar.digest)
        content = pairs.open(VICTIM, from_words(answer.shares[layout.place(name) - 1], layout.size))
        held[layout.place(name)] = content[:SHARE_BYTES]
    seed = recover(held)
    assert seed is not None
    bare = (left - key_stream(seed, len(left))).view(np.int64)
    assert np.abs(bare.astype(float)).max() < 2.0**50
    assert run.silos[VICTIM].status()["refusals"] == []


def test_no_reveal_ever_has_the_own_mask_and_the_honest_masks_of_one_silo() -> None:
    """For every list: of a member its own mask and those with the lost; of a lost one nothing that it dealt."""
    layout = ShareLayout(agreed(7, 5, 2), [f"silo-{k:02}" for k in range(7)])
    assert (layout.threshold, layout.top_ups, layout.count) == (5, 2, 9)
    for lost in ([], ["silo-03"], ["silo-00", "silo-06"]):
        members = [name for name in layout.roster if name not in lost]
        for dealer in members:
            numbers = layout.revealed(dealer, members)
            assert numbers[: 1 + 2 - len(lost)] == [0, *range(1 + len(lost), 3)]
            with_others = [layout.peers(dealer)[number - 3] for number in numbers if number > 2]
            assert with_others == lost


def test_what_two_silos_tell_each_other_is_for_one_question_one_use_and_one_direction(liar: Liar) -> None:
    ann, bob = (PairKeys(liar.agreement, name, private_key(name), liar.digest) for name in NAMES[:2])
    other = PairKeys(liar.agreement, NAMES[1], private_key(NAMES[1]), "0" * 64)
    sealed = ann.seal(NAMES[1], b"shares")
    assert bob.open(NAMES[0], sealed) == b"shares"
    assert sealed != ann.seal(NAMES[1], b"shares"), "a second store must not seal twice under one nonce"
    for wrong in (other, ann):
        with pytest.raises(Refused, match="not what it sealed"):
            wrong.open(NAMES[0] if wrong is other else NAMES[1], sealed)
    with pytest.raises(Refused, match="not what it sealed"):
        bob.open(NAMES[0], sealed[:-1] + bytes([sealed[-1] ^ 1]))
    signature = ann.countersign(NAMES[1], b"list")
    assert bob.is_countersigned(NAMES[0], b"list", signature)
    assert not bob.is_countersigned(NAMES[0], b"other", signature)
    assert not bob.is_countersigned(NAMES[2], b"list", signature)
    assert not other.is_countersigned(NAMES[0], b"list", signature)
    assert bob.countersign(NAMES[0], b"list") != signature, "or it could be sent back as the other's own"


def test_two_stories_of_who_was_lost_are_refused(tmp_path: Path) -> None:
    run = Run(tmp_path, RATINGS, agreed())
    step(run, {"answer": [VICTIM]})
    question = run.coordinator.question()
    assert question is not None
    message = QuestionMessage.decode(question, run.agreement)
    assert [one.lost for one in message.passed] == [(VICTIM,)]
    for lost, words in (
        ((), "two accounts of who was in the sum of round 0"),
        (("silo-03",), "two accounts of who was in the sum of round 0"),
    ):
        story = replace(message, passed=(replace(message.passed[0], lost=lost),)).encode()
        with pytest.raises(Refused, match=words):
            run.silos["silo-00"].answer(story)
    impossible, not_given = "cannot have ended without", "did not come from this store"
    for lost, words in (
        ((VICTIM, "silo-03"), impossible),
        ((VICTIM, "stranger"), impossible),
        ((VICTIM, VICTIM), impossible),
        (("silo-03",), not_given),
        ((), not_given),
    ):
        story = replace(message, passed=(replace(message.passed[0], lost=lost),)).encode()
        with pytest.raises(Refused, match=words):
            run.silos[VICTIM].answer(story)
    run.silos["silo-00"].answer(question)
    run.silos[VICTIM].answer(question)
    run.close()


@pytest.mark.parametrize("dropouts", [0, 1])
def test_what_a_silo_does_not_follow_it_does_not_keep(tmp_path: Path, dropouts: int) -> None:
    """Stories of rounds that it was in, or that are to come, would lead it elsewhere when it is started again."""
    run = Run(tmp_path, RATINGS, agreed(dropouts=dropouts))
    if dropouts:
        step(run)
    else:
        run.step()
    question = run.coordinator.question()
    assert question is not None
    message = QuestionMessage.decode(question, run.agreement)
    roster = message.roster
    invented = Passed(3, 0, roster, (), message.release)
    silo = run.silos["silo-00"]
    if dropouts:
        with pytest.raises(Refused, match="cannot follow"):
            silo.answer(replace(message, passed=(*message.passed, invented)).encode())
    silo.answer(question if dropouts else replace(message, passed=(invented,)).encode())
    kept = dump(silo)["passed"]
    assert [row[0] for row in kept] == ([0] if dropouts else [])
    silo.close()
    run.silos["silo-00"] = run.open_silo("silo-00")
    assert run.silos["silo-00"].status()["round"] == 1
    run.close()
