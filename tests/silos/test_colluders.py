"""A server and all dishonest silos together: what they hold after a round, whatever they say to whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet.errors import Refused
from discreet.silos.shared.listing import ListMessage, ReplyMessage
from discreet.silos.shared.masks import key_stream
from discreet.silos.shared.messages import AnswerMessage, QuestionMessage, digest
from discreet.silos.shared.pair_keys import PairKeys
from discreet.silos.shared.sealed_shares import MAC_WORDS, ShareLayout, from_words, to_words
from discreet.silos.shared.secret_sharing import SHARE_BYTES, recover
from discreet.silos.silo.own_secrets import OwnSecrets
from discreet.types import Words
from tests.silos.test_lost_silos import RATINGS, agreed, step
from tests.silos.worlds import Run, asked, dump, private_key

LAST_BITS = 1.0 - 1e-12
"""Costs that differ by so little are both answered."""


class Colluders:
    """The server, and the last silos of the roster, which answer, countersign and reveal whatever they like."""

    def __init__(self, run: Run, question: bytes, honest: int) -> None:
        self.run, self.agreement, self.body = run, run.agreement, question
        self.question = QuestionMessage.decode(question, run.agreement)
        self.digest, roster = digest(question), self.question.roster
        self.layout = ShareLayout(run.agreement, roster)
        self.honest, self.liars = roster[:honest], roster[honest:]
        self.answers: dict[str, AnswerMessage] = {}
        self.shares = {name: self._dealt(name) for name in self.liars}
        self.revealed: dict[tuple[str, int], dict[int, bytes]] = {}

    def ask(self, *names: str) -> None:
        for name in names:
            answer = AnswerMessage.decode(self.run.silos[name].answer(self.body), self.agreement)
            assert answer.shares is not None
            self.answers[name], self.shares[name] = answer, answer.shares

    def listed(self, *lost: str) -> ListMessage:
        members = tuple(name for name in self.layout.roster if name not in lost)
        return ListMessage(
            self.agreement.run_id, self.question.round, self.question.attempt, self.digest, members
        )

    def signed(self, listed: ListMessage, *names: str) -> dict[str, Words]:
        """Countersignatures of these honest silos, and of all colluders."""
        found = {name: self._reply(name, listed) for name in names}
        for name in self.liars:
            rows = (self._pairs(name).countersign(member, listed.bare) for member in listed.members)
            found[name] = to_words(rows, MAC_WORDS)
        return found

    def reveal(self, name: str, listed: ListMessage, signed: dict[str, Words]) -> None:
        """An honest silo's reveal, whose shares are kept by dealer and secret."""
        members = listed.members
        places = [self.layout.place(member) - 1 for member in members]
        nothing = np.zeros((len(self.layout.roster), self.layout.words), dtype=np.uint64)
        sealed = np.array([self.shares.get(member, nothing)[places] for member in members])
        opened = replace(
            listed, signers=tuple(signed), signatures=np.array(list(signed.values())), shares=sealed
        )
        rows = iter(self._reply(name, opened))
        for dealer in members:
            for number in self.layout.revealed(dealer, members):
                share = from_words(next(rows), SHARE_BYTES)
                self.revealed.setdefault((dealer, number), {})[self.layout.place(name)] = share

    def held(self, dealer: str, number: int) -> dict[int, bytes]:
        """Shares of an honest silo's secret: those that were sealed for colluders, and those that were revealed."""
        found = dict(self.revealed.get((dealer, number), {}))
        for name in self.liars:
            sealed = from_words(self.shares[dealer][self.layout.place(name) - 1], self.layout.size)
            content = self._pairs(name).open(dealer, sealed)
            found[self.layout.place(name)] = content[SHARE_BYTES * number : SHARE_BYTES * (number + 1)]
        return found

    def known(self, dealer: str) -> set[int]:
        """Numbers of an honest silo's secrets of which colluders hold enough shares."""
        numbers = range(self.layout.count)
        return {number for number in numbers if len(self.held(dealer, number)) >= self.layout.threshold}

    def left_of(self, name: str) -> Words:
        """An honest silo's answer without every mask that colluders know."""
        left, roster = self.answers[name].masked.copy(), self.layout.roster
        streams: dict[str, bytes] = {}
        for peer in self.liars:
            streams[peer] = self._pairs(peer).mask(name)
        for dealer in self.honest:
            for number in self.known(dealer) if dealer in self.answers else ():
                other = self.peer(dealer, number)
                if name in (dealer, other):
                    secret = recover(dict(list(self.held(dealer, number).items())[: self.layout.threshold]))
                    assert secret is not None
                    if other is None and number == 0 and dealer == name:
                        left -= key_stream(secret, len(left))
                    elif other is not None:
                        streams[other if dealer == name else dealer] = secret
        for peer, secret in streams.items():
            assert peer in roster
            left = left + key_stream(secret, len(left)) * np.uint64(1 if peer < name else 2**64 - 1)
        return left

    def peer(self, dealer: str, number: int) -> str | None:
        """With whom a secret is the key of a mask, if it is one."""
        first = 1 + self.layout.top_ups
        return self.layout.peers(dealer)[number - first] if number >= first else None

    def _reply(self, name: str, listed: ListMessage) -> Words:
        return ReplyMessage.decode(self.run.silos[name].answer(listed.encode()), self.agreement).content

    def _dealt(self, name: str) -> Words:
        return OwnSecrets.draw(self.layout, None).sealed(name, self._pairs(name))

    def _pairs(self, name: str) -> PairKeys:
        return PairKeys(self.agreement, name, private_key(name), self.digest)


def hidden(vector: Words) -> bool:
    """Whether a vector looks uniform modulo 2^64; totals under their noise are far smaller."""
    even = bool(stats.chisquare(np.bincount(vector.view(np.uint8), minlength=256)).pvalue > 1e-9)
    large = float(np.abs(vector.view(np.int64).astype(float)).max()) > 2.0**58
    assert even == large
    return even


def together(us: Colluders, names: Sequence[str]) -> Words:
    """The sum of some answers, without every mask that colluders know."""
    return reduce(np.add, (us.left_of(name) for name in names))


def begun(folder: Path, *terms: int) -> Run:
    run = Run(folder, RATINGS, agreed(*terms))
    step(run)
    return run


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = begun(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("terms", "lost"),
    [
        ((5, 3, 1), ()),
        ((5, 3, 1), ("silo-02",)),
        ((5, 3, 1), ("silo-04",)),
        ((7, 5, 2), ("silo-00", "silo-04")),
        ((7, 5, 2), ("silo-01", "silo-06")),
    ],
)
def test_of_honest_members_and_of_the_lost_one_mask_stays_on_every_answer(
    tmp_path: Path, terms: tuple[int, int, int], lost: Sequence[str]
) -> None:
    """Everybody has answered, some are said to be lost, and all who are asked reveal: lemmas 2 and 3 of the proof."""
    run = begun(tmp_path, *terms)
    question = run.coordinator.question()
    assert question is not None
    us = Colluders(run, question, honest=terms[1])
    us.ask(*us.honest)
    listed = us.listed(*lost)
    honest = [name for name in us.honest if name not in lost]
    signed = us.signed(listed, *honest)
    for name in honest:
        us.reveal(name, listed, signed)
    for dealer in us.honest:
        known = us.known(dealer)
        with_honest = {us.peer(dealer, number) for number in known} & set(honest)
        assert not with_honest, "keys of masks between honest members stay theirs"
        if dealer in lost:
            assert known == set()
        else:
            surplus = range(1 + len(lost), 1 + us.layout.top_ups)
            parts = {number for number in known if us.peer(dealer, number) is None}
            assert parts == {0, *surplus}, "its own mask, and the parts of its noise that are too many"
    for name in us.honest:
        assert hidden(us.left_of(name))
    # All honest members together are what the round is about: their masks cancel.
    assert not hidden(together(us, honest))
    for few in ([one for one in honest if one != gone] for gone in honest):
        assert hidden(together(us, few))
    run.close()


def test_two_questions_in_one_round_open_one_sum_at_most(run: Run) -> None:
    """Costs that differ in the last bits: two honest silos are asked one, the third the other."""
    message = asked(run)
    cheaper = replace(message, question=replace(message.question, mu=message.question.mu * LAST_BITS))
    one, other = (Colluders(run, body, honest=3) for body in (message.encode(), cheaper.encode()))
    assert one.digest != other.digest
    one.ask("silo-00", "silo-01")
    other.ask("silo-02")
    with pytest.raises(Refused, match="answered already; a second, different question"):
        other.ask("silo-00")
    # Of the second question only one honest silo can stand by a list: three signatures, and four are needed.
    for lost in ((), ("silo-00",)):
        listed = other.listed(*lost)
        with pytest.raises(Refused, match="has not answered this question"):
            other.signed(listed, "silo-01")
    listed = other.listed()
    with pytest.raises(Refused, match="3 silos have countersigned"):
        other.reveal("silo-02", listed, other.signed(listed, "silo-02"))
    # Of the first the list names the third silo as one that is in: its masks with the others stay on.
    listed = one.listed()
    signed = one.signed(listed, "silo-00", "silo-01")
    with pytest.raises(Refused, match="in the name of silo-02 are not what it sealed"):
        one.reveal("silo-00", listed, signed)
    one.shares["silo-02"] = other.shares["silo-02"]
    with pytest.raises(Refused, match="in the name of silo-02 are not what it sealed"):
        one.reveal("silo-00", listed, signed)
    for name in ("silo-00", "silo-01"):
        with pytest.raises(Refused, match="two accounts of who is in the sum"):
            one.signed(one.listed("silo-02"), name)
    assert all(hidden(one.left_of(name)) for name in ("silo-00", "silo-01"))
    assert hidden(other.left_of("silo-02"))
    assert hidden(one.left_of("silo-00") + one.left_of("silo-01") + other.left_of("silo-02"))


def test_the_silo_that_was_asked_otherwise_counts_as_lost_or_nothing_opens(run: Run) -> None:
    """The same, and the list leaves the third silo out: the two others' sum has the noise that a loss needs."""
    message = asked(run)
    cheaper = replace(message, question=replace(message.question, mu=message.question.mu * LAST_BITS))
    one, other = (Colluders(run, body, honest=3) for body in (message.encode(), cheaper.encode()))
    one.ask("silo-00", "silo-01")
    other.ask("silo-02")
    listed = one.listed("silo-02")
    signed = one.signed(listed, "silo-00", "silo-01")
    for name in ("silo-00", "silo-01"):
        one.reveal(name, listed, signed)
        assert 1 not in one.known(name), "the part of the noise for one loss stays"
        assert hidden(one.left_of(name))
    assert not hidden(one.left_of("silo-00") + one.left_of("silo-01"))
    assert hidden(other.left_of("silo-02"))


def test_a_list_of_a_round_that_is_over_or_given_up_opens_nothing_more(run: Run) -> None:
    """Signatures and shares are genuine, and were never used: kept back until the next question is answered."""
    question = run.coordinator.question()
    assert question is not None
    old = Colluders(run, question, honest=3)
    listed = old.listed()
    for name in run.agreement.roster:
        run.coordinator.receive(name, run.silos[name].answer(question))
    old.ask(*old.honest)
    signed = old.signed(listed, *old.honest)
    replies = {name: run.silos[name].answer(listed.encode()) for name in run.agreement.roster}
    for name, reply in replies.items():
        run.coordinator.receive(name, reply)
    opened = run.coordinator.question()
    assert opened is not None
    for name in ("silo-01", "silo-02", "silo-03", "silo-04"):
        run.coordinator.receive(name, run.silos[name].answer(opened))
    following = run.coordinator.question()
    assert following is not None
    before = run.silos["silo-00"].answer(opened)
    run.silos["silo-00"].answer(following)
    for _ in range(2):
        for message in (opened, listed.encode()):
            with pytest.raises(Refused, match="has not answered this question"):
                run.silos["silo-00"].answer(message)
        with pytest.raises(Refused, match="has not answered this question"):
            old.reveal("silo-00", listed, signed)
        run.silos["silo-00"].close()
        run.silos["silo-00"] = run.open_silo("silo-00")
    assert before != run.silos["silo-00"].answer(following)
    # An attempt that was given up: the repeat is what counts.
    run.coordinator.drop("silo-04")
    repeat = run.coordinator.question()
    assert repeat is not None
    again = Colluders(run, following, honest=3)
    again.ask("silo-01")
    run.silos["silo-01"].answer(repeat)
    with pytest.raises(Refused, match="has not answered this question"):
        again.signed(again.listed(), "silo-01")


def test_what_lemma_1_counts_holds_for_every_agreement_and_every_roster() -> None:
    """Quorums meet in an honest silo, colluders alone open nothing, and an honest silo is left."""
    for count in range(1, 12):
        for honest in range(1, count + 1):
            most = (honest - 1) // 2
            made = agreed(count, honest, most)
            for roster in range(made.smallest_roster, count + 1):
                least, lost = made.honest_among(roster), made.dropouts_among(roster)
                needed, dishonest = made.threshold(roster), roster - made.honest_among(roster)
                assert dishonest <= count - honest
                assert lost == 0 or 2 * needed - roster > dishonest
                assert lost == 0 or needed > dishonest
                assert least - lost >= 1


def test_a_list_that_was_refused_for_its_signatures_binds_the_silo_all_the_same(run: Run) -> None:
    """Else a server could try lists one after another until one is countersigned."""
    question = run.coordinator.question()
    assert question is not None
    us = Colluders(run, question, honest=3)
    us.ask("silo-00")
    listed = us.listed("silo-02")
    with pytest.raises(Refused, match="2 silos have countersigned"):
        us.reveal("silo-00", listed, us.signed(listed))
    assert dump(run.silos["silo-00"])["lists"][-1][3] == '["silo-00", "silo-01", "silo-03", "silo-04"]'
    with pytest.raises(Refused, match="two accounts"):
        us.signed(us.listed(), "silo-00")
