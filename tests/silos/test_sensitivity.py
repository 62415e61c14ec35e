"""What one user of a silo can do to the sum over all silos, measured on the integers that leave."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from discreet import Ratings
from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.public.queries import RoundQuery
from discreet.methods.public.query import Query
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import UserVector
from discreet.privacy.gaussian.energy_scaled import Units
from discreet.privacy.gaussian.shares import ShareNoise, SiloGate
from discreet.privacy.gaussian.totals import exact_totals
from discreet.privacy.ledger import Ledger
from discreet.silos.shared.messages import AnswerMessage
from tests.silos.worlds import Run, agree, asked, world

# The gate lets an energy of 1 + 1e-9 pass and pays for it.
BOUND = np.sqrt(1.0 + 1e-9)


@cache
def questions() -> list[Query]:
    """All questions of a run."""
    ratings, found = world(users=250, items=25), []
    with TemporaryDirectory() as folder:
        run = Run(Path(folder), ratings, agree(ratings, 2))
        while run.coordinator.question() is not None:
            found.append(asked(run).question)
            run.step()
        run.close()
    return found


def with_user(ratings: Ratings, items: np.ndarray, values: np.ndarray) -> Ratings:
    return Ratings.from_arrays(
        np.append(ratings.indptr, ratings.indptr[-1] + len(items)),
        np.append(ratings.items, items),
        np.append(ratings.values, values),
        catalogue=ratings.catalogue,
        rating_range=ratings.rating_range,
    )


def totals(ratings: Ratings, question: Query) -> list[np.ndarray]:
    gate = SiloGate(Ledger(Budget(50.0, 1e-6)), None)
    sums = exact_totals(BudgetedContributions(ratings).contributions(question))
    return gate.totals("x", question.mechanism.empty(), sums, mu=question.mu, detail={})


def distance(one: Ratings, other: Ratings, question: Query) -> float:
    """L2 distance of two silos' totals, in units of the noise times mu."""
    blocks = question.mechanism.empty()
    square = 0.0
    for block, first, second in zip(blocks, totals(one, question), totals(other, question), strict=True):
        weights = getattr(block, "item_weights", np.ones(1))
        weights = weights.reshape(-1, *[1] * (first.ndim - 1))
        square += float((((first - second) * weights / block.unit) ** 2).sum())
    return float(np.sqrt(square))


def hostile_users(ratings: Ratings) -> list[tuple[np.ndarray, np.ndarray]]:
    n = ratings.n_items
    low, high = ratings.rating_range or (1.0, 1.0)
    rng = np.random.default_rng(5)
    everything = np.arange(n)
    return [
        (everything, np.full(n, high)),
        (everything, np.full(n, low)),
        (everything, np.where(everything % 2 == 0, low, high)),
        (np.array([0]), np.array([high])),
        (np.array([n - 1]), np.array([low])),
        (np.sort(rng.choice(n, 7, replace=False)), rng.uniform(low, high, 7)),
        (np.array([], dtype=np.int64), np.array([])),
    ]


def test_one_user_more_moves_the_totals_by_at_most_one() -> None:
    ratings = world(users=60, items=25, seed=3)
    largest = 0.0
    for question in questions():
        for items, values in hostile_users(ratings):
            largest = max(largest, distance(ratings, with_user(ratings, items, values), question))
        for user in range(0, 60, 6):
            rest = ratings.take_users(np.arange(60) != user)
            largest = max(largest, distance(ratings, rest, question))
    assert largest <= BOUND
    assert largest > 0.99, "and the budget is used"


def wild(side: ItemSide, rng: np.random.Generator) -> ItemSide:
    """Numbers that no run comes to."""
    offsets, factors = (
        rng.standard_normal(part.shape) * 10.0 ** rng.integers(-3, 6) for part in (side.offsets, side.factors)
    )
    return replace(side, offsets=offsets, factors=factors)


def test_no_question_makes_a_user_count_for_more() -> None:
    """Whatever a server might get past the comparison: the bound is in the answer, not in the question."""
    ratings, rng = world(users=40, items=25, seed=4), np.random.default_rng(6)
    asked_last = [question for question in questions() if isinstance(question, RoundQuery)][-1]
    checked = 0
    for _ in range(25):
        question = replace(
            asked_last,
            side=wild(asked_last.side, rng),
            item_weights=np.exp(rng.uniform(-1.0, 3.0, 25)),
            units=Units(*(10.0 ** rng.uniform(-4.0, 4.0, 2))),
        )
        for items, values in hostile_users(ratings)[:3]:
            assert distance(ratings, with_user(ratings, items, values), question) <= BOUND
            checked += 1
    assert checked == 75


def test_a_user_who_exceeds_the_bound_counts_for_nothing() -> None:
    """Should the code that scales users fail, the silo's own check on the integers holds."""
    rows = np.array([[3, 0], [0, 4000], [5, 1]], dtype=np.int32)
    gate = SiloGate(Ledger(Budget(50.0, 1e-6)), None)
    block = UserVector("x", 1100.0, rows)
    (total,) = gate.totals("x", [block], exact_totals([block]), mu=1.0, detail={})
    assert total.tolist() == [8.0, 1.0]
    assert gate.ledger.spent_mu == 1.0


def test_the_noise_that_leaves_suffices_for_every_subset_of_honest_silos(tmp_path: Path) -> None:
    """Real answers, unmasked by adding all of them up: what stays when the others' shares are known and taken off."""
    ratings = world(users=200, items=2000)
    honest, count = 2, 3
    run = Run(tmp_path, ratings, agree(ratings, count, honest=honest), fixed=True)
    run.step()
    question = asked(run).question
    total = np.zeros(0, dtype=np.uint64)
    for name, silo in run.silos.items():
        message = AnswerMessage.decode(silo.answer(asked(run).encode()), run.agreement)
        total = message.masked if not len(total) else total + message.masked
        assert name == message.silo
    exact = np.concatenate(
        [block.total().ravel() for block in BudgetedContributions(ratings).contributions(question)]
    )
    everything = total.view(np.int64) - exact
    blocks = question.mechanism.empty()
    shares = {}
    for name in run.silos:
        source = ShareNoise(honest, key=f"noise of {name}, for tests|1|0".encode())
        drawn = [block.noise(source, question.mu / (1.0 + 1e-9)) for block in blocks]
        shares[name] = np.concatenate([part.ravel() for part in drawn])
    assert np.array_equal(everything, np.sum(list(shares.values()), axis=0)), "these are the shares that left"
    gradient = slice(0, ratings.n_items)
    sigma = blocks[0].sigmas(question.mu)[:, 0]
    room = 6.0 * np.sqrt(2.0 / ratings.n_items)
    for known in combinations(run.silos, count - honest):
        left = everything - np.sum([shares[name] for name in known], axis=0)
        assert np.mean((left[gradient] / sigma) ** 2) > 1.0 - room
        assert np.mean((left[gradient] / sigma) ** 2) < 1.0 + room
    run.close()


@pytest.mark.parametrize("kind", ["ratings", "clicks"])
def test_in_a_whole_run_of_lists_nobody_moves_what_leaves_a_silo_by_more_than_was_charged(
    tmp_path: Path, kind: str
) -> None:
    """Real messages: the same silo with one user more or less, asked the same, under the same noise and masks."""
    ratings = world(kind, users=120, items=40, seed=3)
    run = Run(tmp_path / "run", ratings, agree(ratings, 2, method="ease", settings=None))
    own = run.parts["silo-01"]
    others = [with_user(own, items, values) for items, values in hostile_users(own)]
    others += [own.take_users(np.arange(own.n_users) != user) for user in range(0, own.n_users, 9)]
    silos = []
    for number, other in enumerate(others):
        run.folder, run.parts["silo-01"] = tmp_path / str(number), other
        silos.append(run.open_silo("silo-01"))
    squares, charged = np.zeros(len(silos)), 0.0
    while (body := run.coordinator.question()) is not None:
        question = asked(run).question
        sigmas = np.concatenate(
            [
                np.broadcast_to(block.sigmas(question.mu), block.total().shape).ravel()
                for block in question.mechanism.empty()
            ]
        )
        masked = AnswerMessage.decode(run.silos["silo-01"].answer(body), run.agreement).masked
        for number, silo in enumerate(silos):
            moved = AnswerMessage.decode(silo.answer(body), run.agreement).masked - masked
            squares[number] += ((moved.view(np.int64) / sigmas) ** 2).sum()
        charged += question.mu**2
        run.step()
    assert charged == pytest.approx(run.agreement.budget.mu**2)
    assert np.sqrt(squares / charged).max() <= BOUND
    assert np.sqrt(squares / charged).max() > 1.0 - 1e-6, "and the budget is used"
    for party in (run, *silos):
        party.close()
