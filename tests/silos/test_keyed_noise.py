"""A silo's noise follows from its key, the question and its totals: copies say the same, and nothing else repeats."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from discreet import Ratings
from discreet.privacy.gaussian.noise import Noise, fresh_secret
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.silos.shared.masks import noise_secret
from discreet.silos.shared.messages import AnswerMessage
from discreet.silos.silo.silo import Silo
from tests.silos.worlds import Run, agree, asked, private_key, world

RATINGS = world(users=300)
NAME = "silo-01"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agree(RATINGS, 2), fixed=False)
    yield made
    made.close()


def due(run: Run) -> bytes:
    question = run.coordinator.question()
    assert question is not None
    return question


def test_a_copied_store_and_a_second_one_give_the_same_bytes(run: Run, tmp_path: Path) -> None:
    first = due(run)
    run.silos[NAME].close()
    shutil.copy(tmp_path / f"{NAME}.db", tmp_path / "copied.db")
    run.silos[NAME] = run.open_silo(NAME)
    answers = [run.silos[NAME].answer(first)]
    for store in ("copied.db", "second.db"):
        with Silo(tmp_path / store, run.agreement, NAME, private_key(NAME), run.parts[NAME]) as other:
            answers.append(other.answer(first))
            assert other.statement().private
    assert answers[1:] == answers[:1] * 2


def test_other_ratings_have_other_noise(run: Run, tmp_path: Path) -> None:
    """One user less: were the noise the same, the difference would be that user's contribution and nothing else."""
    first, part = due(run), run.parts[NAME]
    less = part.take_users(slice(1, part.n_users))
    vectors = [AnswerMessage.decode(run.silos[NAME].answer(first), run.agreement).masked]
    with Silo(tmp_path / "less.db", run.agreement, NAME, private_key(NAME), less) as other:
        vectors.append(AnswerMessage.decode(other.answer(first), run.agreement).masked)
    apart = (vectors[0] - vectors[1]).view(np.int64).astype(float)
    question = asked(run).question
    scale = np.concatenate(
        [np.broadcast_to(f.sigmas(question.mu), f.total().shape).ravel() for f in question.mechanism.empty()]
    )
    users = scale * question.mu  # a user's largest possible contribution
    shares = scale * np.sqrt(2.0 / run.agreement.honest)
    spread = float(np.sqrt(np.mean((apart / shares) ** 2)))
    assert 0.5 < spread < 2.0 + float((users / shares).max())
    assert np.count_nonzero(apart) == len(apart)


def test_a_secret_belongs_to_one_key_one_run_one_question_and_one_total() -> None:
    inputs = {"salt": b"run", "context": b"question", "totals": b"totals"}
    found = [noise_secret(bytes([1] * 32), **inputs), noise_secret(bytes([2] * 32), **inputs)]
    found += [noise_secret(bytes([1] * 32), **(inputs | {name: b"other"})) for name in inputs]
    found.append(noise_secret(bytes([1] * 32), salt=b"run", context=b"questiont", totals=b"otals"))
    assert len(set(found)) == len(found)
    assert noise_secret(bytes([1] * 32), **inputs) == found[0]


def test_keyed_noise_is_normal_of_the_right_scale_and_independent_between_secrets() -> None:
    sigma = np.full(40_000, 2.0**20)
    drawn = [ShareNoise.keyed(4, bytes([number]) * 32).integers(sigma) / 2.0**19 for number in range(3)]
    for one in drawn:
        assert abs(one.std() - 1.0) < 0.02
        assert abs(one.mean()) < 0.03
    for one, other in combinations(drawn, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.03
    again = ShareNoise.keyed(4, bytes(32)).integers(sigma) / 2.0**19
    assert np.array_equal(again, drawn[0])


def test_no_noise_comes_from_numpys_global_generator() -> None:
    """Whoever seeds it, as notebooks do, would know all noise that comes of it."""
    drawn = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        drawn.append((fresh_secret(), Noise().normals(8).tobytes(), ShareNoise(2).normals(8).tobytes()))
    assert all(one != other for one, other in zip(*drawn, strict=True))


def test_users_in_another_order_say_the_same(run: Run, tmp_path: Path) -> None:
    part = run.parts[NAME]
    order = np.random.default_rng(0).permutation(part.n_users)
    rows = [part.take_users(np.arange(part.n_users) == user) for user in order]
    mixed = Ratings.from_arrays(
        np.concatenate([[0], np.cumsum([len(row.items) for row in rows])]),
        np.concatenate([row.items for row in rows]),
        np.concatenate([row.values for row in rows]),
        catalogue=part.catalogue,
        rating_range=part.rating_range,
    )
    with Silo(tmp_path / "mixed.db", run.agreement, NAME, private_key(NAME), mixed) as other:
        assert other.answer(due(run)) == run.silos[NAME].answer(due(run))
