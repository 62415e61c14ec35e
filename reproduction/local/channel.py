"""How item gradients come from devices to the server: exactly, or through one of the published mechanisms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter
from scipy.linalg import cho_factor, cho_solve

from discreet.errors import SettingsInvalid
from discreet.privacy.local.rotated import Coin
from discreet.types import Floats
from reproduction.local.crowd import Crowd
from reproduction.local.response import BITS, amplification, respond, thresholds


@dataclass(frozen=True)
class Round:
    """What is asked in one round, and of whom."""

    crowd: Crowd
    profiles: Floats
    items: Floats
    epsilon: float
    public: np.random.Generator
    coin: Coin


class Channel(Protocol):
    """One way for devices to tell the server which way the items should move."""

    @property
    def name(self) -> str:
        """In words."""

    @property
    def protects(self) -> Literal["user", "user on paper", "rating", "nothing"]:
        """What an answer hides: all of a user's ratings (on paper: in exact arithmetic), one rating's, nothing."""

    def gradient(self, asked: Round) -> Floats:
        """Items x rank: an estimate of the mean over devices of ``-2 y_ij u_i (r_ij - u_i . v_j)``."""


@dataclass(frozen=True)
class Exact:
    """Every device hands its gradient over as it is: not private, the yardstick."""

    name: str = "non-private GD"
    protects: Literal["user", "rating", "nothing"] = field(default="nothing", init=False)

    def gradient(self, asked: Round) -> Floats:
        """The exact mean."""
        wrong = asked.crowd.residuals(asked.profiles, asked.items)
        return asked.crowd.by_item(wrong, asked.profiles) * (-2.0 / max(asked.crowd.size, 1))


@dataclass(frozen=True)
class OneCoordinate:
    """Algorithm 1: each device answers one bit about one coordinate of its items x rank gradient.

    Notes
    -----
    **Privacy.** Unit: one user with all ratings. Relation: replace all of one user's ratings. The coordinate comes from
    public randomness, the value is clipped to [-1, 1] before the coin, and a device that has not rated the item
    answers with an even coin. One answer is epsilon-LDP: ``proofs/descent.md``.
    """

    name: str = "private GD"
    protects: Literal["user", "rating", "nothing"] = "user"

    def gradient(self, asked: Round) -> Floats:
        """The mean of the answers, each put where it was asked and scaled to be right on average."""
        crowd, (m, d) = asked.crowd, asked.items.shape
        item = asked.public.integers(0, m, crowd.size)
        factor = asked.public.integers(0, d, crowd.size)
        values = self.values(asked, item, factor)
        bits = respond(values, asked.epsilon, asked.coin)
        sums = np.bincount(item * d + factor, weights=bits, minlength=m * d).reshape(m, d)
        return np.asarray(sums * (m * d * amplification(asked.epsilon) / max(crowd.size, 1)))

    def values(self, asked: Round, item: npt.NDArray[np.integer], factor: npt.NDArray[np.integer]) -> Floats:
        """Each device's own gradient at the coordinate it is asked for; 0 for an item it has not rated."""
        rated, place = asked.crowd.find(item)
        at = np.flatnonzero(rated)
        own = asked.profiles[at]
        wrong = asked.crowd.values[place[at]] - np.einsum("ij,ij->i", own, asked.items[item[at]])
        values = np.zeros(asked.crowd.size)
        values[at] = -2.0 * own[np.arange(len(at)), factor[at]] * wrong
        return values


class Projection:
    """A public random matrix of q rows and one column for each item, and its pseudo-inverse."""

    def __init__(self, dimensions: int, items: int, public: np.random.Generator) -> None:
        if not 1 <= dimensions <= items:
            raise SettingsInvalid(f"q must be between 1 and the number of items, {items}, not {dimensions}")
        self.matrix = public.standard_normal((dimensions, items), dtype=np.float32)
        self.matrix *= np.float32(dimensions**-0.5)
        gram = (self.matrix @ self.matrix.T).astype(np.float64)
        gram[np.diag_indices(dimensions)] += 1e-6 * items / dimensions
        self._factor = cho_factor(gram, overwrite_a=True)

    @property
    def dimensions(self) -> int:
        """q."""
        return int(self.matrix.shape[0])

    def recover(self, reduced: Floats) -> Floats:
        """Items x rank from q x rank, by the pseudo-inverse: on average q / items times what was projected."""
        solved = np.asarray(cho_solve(self._factor, reduced))
        return np.asarray((self.matrix.T @ solved.astype(np.float32)).astype(np.float64))


@dataclass(frozen=True)
class Projected:
    """Algorithm 2: each device answers one bit about one of q x rank coordinates of its projected gradient.

    Notes
    -----
    **Privacy.** As algorithm 1: the matrix is public, the coordinate comes from public randomness, the projected value
    is clipped to [-1, 1] before the coin. One answer is epsilon-LDP: ``proofs/descent.md``.
    """

    projection: Projection = field(repr=False)
    name: str = "private GD-DR"
    protects: Literal["user", "rating", "nothing"] = "user"

    def gradient(self, asked: Round) -> Floats:
        """The mean of the answers in q dimensions, brought back to all items."""
        return self.projection.recover(self.reduced(asked))

    def reduced(self, asked: Round) -> Floats:
        """What the server sends to everybody: q x rank."""
        n, d, q = asked.crowd.size, asked.items.shape[1], self.projection.dimensions
        row = asked.public.integers(0, q, n)
        factor = asked.public.integers(0, d, n)
        bits = respond(self.values(asked, row, factor), asked.epsilon, asked.coin)
        sums = np.bincount(row * d + factor, weights=bits, minlength=q * d).reshape(q, d)
        return np.asarray(sums * (q * d * amplification(asked.epsilon) / max(n, 1)))

    def values(self, asked: Round, row: npt.NDArray[np.integer], factor: npt.NDArray[np.integer]) -> Floats:
        """Each device's own projected gradient at the coordinate it is asked for."""
        crowd, n_items = asked.crowd, asked.crowd.n_items
        wrong = crowd.residuals(asked.profiles, asked.items)
        place = np.repeat(row * n_items, crowd.counts)
        place += crowd.items
        wrong *= self.projection.matrix.ravel()[place]
        return np.asarray(-2.0 * asked.profiles[np.arange(crowd.size), factor] * crowd.total(wrong))


FLOATING_POINT = (
    "Laplace noise is drawn in floating point, where it has holes: which numbers can be sent shows what they were "
    "added to, so the scheme's epsilon holds on paper only"
)
"""Why the scheme's own promise is not made, in words."""


@dataclass(frozen=True)
class Naive:
    """Each device sends, for every item, whether it was rated and a gradient, both noised.

    Half of an answer's epsilon hides the items (randomised response at epsilon / (2 items) each), half the gradients
    (Laplace noise of scale 2 items rank / (epsilon / 2), gradients clipped to [-1, 1] and 0 for items not rated).

    Notes
    -----
    **Privacy.** None is claimed. On paper an answer is epsilon-LDP (``descent.md``); here Laplace noise is drawn in
    floating point, and the statement of a run says that it is not private (:data:`FLOATING_POINT`). This is a
    simulation: what the devices would send is never written down one by one, and the sums have the same distribution.
    """

    name: str = "naive (randomised response and Laplace)"
    protects: Literal["user on paper"] = field(default="user on paper", init=False)

    def gradient(self, asked: Round) -> Floats:
        """The paper's estimate: answers weighted by ``(y* - p/2) / (1 - p)``."""
        crowd, (m, d) = asked.crowd, asked.items.shape
        each = asked.epsilon / 2.0 / m
        scale = 2.0 * m * d / (asked.epsilon / 2.0)
        said = respond(np.ones(len(crowd.items)), each, asked.coin) > 0
        stream = stream_of(asked.coin)
        falsely = int(thresholds(np.array([-1.0]), each)[0]) / 2.0**BITS
        rated = np.bincount(crowd.items, minlength=m)
        yes = np.bincount(crowd.items, weights=said, minlength=m).astype(np.int64)
        yes += stream.binomial(crowd.size - rated, falsely)
        # Weights of a yes and of a no, in the thresholds as rounded.
        weight_yes, weight_no = ((1.0 + side * amplification(each)) / 2.0 for side in (1.0, -1.0))
        sums = weight_yes * laplace_sums(yes, scale, d, stream)
        sums += weight_no * laplace_sums(crowd.size - yes, scale, d, stream)
        wrong = -2.0 * crowd.residuals(asked.profiles, asked.items)
        sums += crowd.by_item_clipped(wrong, np.where(said, weight_yes, weight_no), asked.profiles)
        return np.asarray(sums / max(crowd.size, 1))


def laplace_sums(
    counts: npt.NDArray[np.integer], scale: float, rank: int, stream: np.random.Generator
) -> Floats:
    """For each count and each of ``rank`` columns, a sum of that many independent Laplace numbers.

    A Laplace number is the difference of two exponential ones, so the sum is the difference of two gamma numbers.
    """
    shape = np.repeat(counts.astype(np.float64)[:, np.newaxis], rank, axis=1)
    return np.asarray(scale * (stream.standard_gamma(shape) - stream.standard_gamma(shape)))


def stream_of(coin: Coin) -> np.random.Generator:
    """A generator keyed by the coin, for noise beyond one bit."""
    return np.random.Generator(AESCounter(key=int.from_bytes(coin.words(2).tobytes(), "little")))


GUARANTEE = (
    "each message hides the value of one rating, by itself, at the stated epsilon in every round; which items a user "
    "rated is sent in the clear, so nothing is promised for all of a user's ratings, whatever the epsilon; even with "
    "the items known, a user with c ratings who answers k rounds has c k epsilon for the values"
)
"""What the method promises, in words."""


@dataclass(frozen=True)
class Hua:
    """Each device sends the gradient of every rating it has, with Laplace noise, named by the item.

    Notes
    -----
    **Privacy.** Not a user's: see :data:`GUARANTEE`. Gradients are clipped to [-1, 1] in each of the rank coordinates,
    so noise of scale 2 rank / epsilon hides one message; the epsilon is not divided by the rounds, as in the paper's
    comparison. The simulated sums have exactly the distribution of summed messages.
    """

    name: str = "Hua et al. (hides one rating, not a user)"
    protects: Literal["user", "rating", "nothing"] = field(default="rating", init=False)

    def gradient(self, asked: Round) -> Floats:
        """The mean over devices of what was sent."""
        crowd, (m, d) = asked.crowd, asked.items.shape
        counts = np.bincount(crowd.items, minlength=m)
        sums = laplace_sums(counts, 2.0 * d / asked.epsilon, d, stream_of(asked.coin))
        wrong = -2.0 * crowd.residuals(asked.profiles, asked.items)
        sums += crowd.by_item_clipped(wrong, np.ones(len(wrong)), asked.profiles)
        return np.asarray(sums / max(crowd.size, 1))
