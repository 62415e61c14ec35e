"""Settings of private prototypes, and where each share of epsilon goes: public, agreed between silos beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from discreet.errors import SettingsInvalid
from discreet.methods.public.settings import Auto, Exponent, Positive, Settings, Share

__all__ = ["FAILURE", "PRESETS", "FactorSettings", "PrototypeSettings", "ShareTable", "Shares"]

Count = Annotated[int, Field(ge=1, le=1_000_000)]
Unrated = Literal["level", "zero"]

_PROTOTYPES, _MAX_RATINGS = 10, 100
_DIMENSIONS, _LEVEL_DIMENSIONS = 6, 32
_REFUSAL_RISK = 1e-3
FAILURE = 0.05
"""The paper's delta: a chance of a bad clustering, nothing about privacy."""
# So that rounding in the sum of the shares never passes epsilon.
_LEAVE = 1.0 - 1e-13


class Shares(Settings):
    """How epsilon is split. Parts that a run does not need go to the others in proportion.

    Parameters
    ----------
    count
        The silo's noisy number of users, which decides whether it takes part at all.
    partition, centres, support, values
        Of all trials together: cells (an even part each level), swaps (an even part each step and the choice among
        steps), the items of each prototype, and their sums.
    sizes
        How many users a cluster has.
    choice
        The choice among trials, where there are several.
    """

    count: Share = 0.05
    partition: Share = 0.15
    centres: Share = 0.15
    support: Share = 0.2
    values: Share = 0.3
    sizes: Share = 0.1
    choice: Share = 0.05


class FactorSettings(Settings):
    """The server's factorisation and the users' vectors.

    Prototypes of deviations from the user's own level have at most `rank` factors, and take the rest from their noise.

    Parameters
    ----------
    rank, rounds
        l, the latent dimension, and passes over both sides.
    penalty, user_penalty
        Ridge on the server's factors (lambda of the paper's equation 1) and on a user's vector.
    count_exponent
        Both ridges are multiplied by (number of entries of the row) ** count_exponent.
    unseen
        An item that no row has gets so many times the mean vector of those that some row has.
    """

    rank: Annotated[int, Field(ge=1, le=512)] = 10
    rounds: Annotated[int, Field(ge=1, le=1000)] = 30
    penalty: Positive = 0.1
    user_penalty: Positive = 0.1
    count_exponent: Exponent = 0.0
    unseen: Annotated[float, Field(ge=0.0, le=1.0)] = 0.9


class PrototypeSettings(Settings):
    """What one silo does before its one message leaves.

    Parameters
    ----------
    prototypes
        k, how many of them a silo sends at most; ``"auto"``: 10, with ``unrated="level"`` as many as stand out of the
        noise by what the silo has released before, often one, and for clicks with ``clustering="lloyd"`` one.
    clustering
        ``"lloyd"``: noisy Lloyd steps with Gaussian noise. ``"swap"``: the paper's, without delta.
    users
        Public order of magnitude of a silo's number of users.
    max_ratings
        s, at most so many ratings of a user count, drawn by a hash of the user's own ratings. Where left out, 100; all
        of them with ``unrated="level"``, where a user's contribution is scaled as a whole.
    entry_clip, row_clip, row_sum
        Ratings are clipped to `entry_clip` (the rating range where left out), a user's row to L2 norm `row_clip` and
        to L1 norm `row_sum` (what the other bounds imply where left out).
    unrated
        ``"level"``: an unrated item counts as the user's own level, and a prototype says how far from it ratings are;
        with ratings and ``clustering="lloyd"`` only. ``"zero"``: an unrated item counts as zero, as in the paper, and
        a prototype is the mean over all users of its cluster. ``"auto"``: the level where there is one, zero for clicks
        and with ``clustering="swap"``.
    dimension
        p, of the random projection; ``"auto"`` is the paper's min(8 ln users, items). Where left out, 6; 32 with
        ``unrated="level"``.
    depth
        Levels of the partition; ``"auto"`` is ln(users).
    threshold
        Noisy number of users from which a cell is split further; ``"auto"`` lets one empty cell in ten splits
        pass, ``"printed"`` is 20 / eps' ln(users / 0.05).
    loss_cap
        A user's squared distance counts up to so many squared radii.
    swaps
        Steps of the local search; ``"auto"`` is k ln(users).
    support
        Items of a prototype; ``"all"`` chooses none and pays for no choice, and neither does ``"lloyd"``.
    shrink
        Draw the values of a prototype to their mean as far as noise alone would explain how they differ.
    trials
        Independent repetitions to choose from; ``"auto"`` is 2 ln(1 / 0.05).
    minimum_users
        Noisy number of users below which a silo is refused; ``"auto"`` refuses one user but once in a thousand.
    rounds, delta
        Of Lloyd's steps: their number, and the privacy delta.
    seed
        Public, for projection and starts.
    """

    prototypes: Annotated[int, Field(ge=1, le=10_000)] | Auto = "auto"
    clustering: Literal["swap", "lloyd"] = "lloyd"
    users: Annotated[int, Field(ge=2, le=10**12)] = 10_000
    max_ratings: Count | None = None
    entry_clip: Positive | None = None
    row_clip: Positive | None = None
    row_sum: Positive | None = None
    unrated: Unrated | Auto = "auto"
    dimension: Annotated[int, Field(ge=1, le=512)] | Auto | None = None
    depth: Annotated[int, Field(ge=1, le=15)] | Auto = 3
    threshold: Count | Auto | Literal["printed"] = "auto"
    # Two points of the cube are never further apart than its upper end.
    loss_cap: Annotated[float, Field(gt=0.0, le=1024.0)] = 1.0
    swaps: Count | Auto = 10
    support: Count | Literal["all"] = 100
    shrink: bool = True
    trials: Annotated[int, Field(ge=1, le=1_000)] | Auto = 1
    minimum_users: Count | Auto = "auto"
    rounds: Annotated[int, Field(ge=1, le=100)] = 5
    delta: Share = 1e-6
    shares: Shares = Shares()
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.unrated == "level" and self.clustering == "swap":
            raise ValueError('unrated="level" goes with clustering="lloyd"')
        return self

    @classmethod
    def from_preset(cls, name: str, **changes: object) -> Self:
        """The paper's variants, both epsilon-DP without a delta and worse than each user's own mean on most data.

        ``"published"`` has the paper's constants, with what makes them epsilon-DP: shares for everything, re-clipping,
        a depth limit. Expect degenerate runs: the threshold is above any silo of ordinary size, so that only the root
        cell is left. ``"swap"`` is the same clustering with constants that let it find something.
        """
        if name not in _PRESETS:
            raise SettingsInvalid(f"there is no preset {name!r}; known are {', '.join(_PRESETS)}")
        return cls.checked(**{**_PRESETS[name], **changes})

    def rows(self, explicit: bool) -> Unrated:
        """What an unrated item counts as, for ratings or for clicks."""
        if self.unrated == "level" and not explicit:
            raise SettingsInvalid("unrated: clicks have no level; use zero, or leave it out")
        if self.unrated == "auto":
            return "level" if explicit and self.clustering == "lloyd" else "zero"
        return self.unrated

    @property
    def most_prototypes(self) -> int:
        """No silo sends more."""
        return _PROTOTYPES if self.prototypes == "auto" else self.prototypes

    def n_groups(self, explicit: bool) -> int:
        """Prototypes of Lloyd's steps; of clicks one, which is how often each item is taken."""
        return 1 if self.prototypes == "auto" and not explicit else self.most_prototypes

    @property
    def most_ratings(self) -> int:
        """Of a user, where rows hold ratings."""
        return _MAX_RATINGS if self.max_ratings is None else self.max_ratings

    def n_dimensions(self, n_items: int, *, level: bool = False) -> int:
        """Of the projection, of rows of ratings or of deviations from the user's own level."""
        if self.dimension == "auto":
            return min(math.ceil(8.0 * math.log(self.users)), n_items, 512)
        usual = _LEVEL_DIMENSIONS if level else _DIMENSIONS
        return min(usual if self.dimension is None else self.dimension, n_items)

    @property
    def n_levels(self) -> int:
        """Of the partition."""
        return min(max(math.ceil(math.log(self.users)), 1), 15) if self.depth == "auto" else self.depth

    @property
    def n_swaps(self) -> int:
        """Steps of the local search."""
        usual = max(1, math.ceil(self.most_prototypes * math.log(self.users)))
        return usual if self.swaps == "auto" else self.swaps

    @property
    def n_trials(self) -> int:
        """Independent repetitions."""
        return max(1, math.ceil(2.0 * math.log(1.0 / FAILURE))) if self.trials == "auto" else self.trials

    def n_support(self, n_items: int) -> int:
        """Items of a prototype."""
        return n_items if self.support == "all" else min(self.support, n_items)

    def least_users(self, rate: float) -> int:
        """Noisy number of users from which a silo takes part, where the noise has this rate."""
        if self.minimum_users != "auto":
            return self.minimum_users
        return 2 + math.ceil(max(0.0, math.log(0.5 / _REFUSAL_RISK)) / rate)


_PRESETS: dict[str, dict[str, object]] = {
    "swap": {"clustering": "swap", "unrated": "zero"},
    "published": {
        "clustering": "swap",
        "unrated": "zero",
        "dimension": "auto",
        "depth": "auto",
        "threshold": "printed",
        "loss_cap": 4.0,
        "swaps": "auto",
        "trials": "auto",
        "shrink": False,
        "shares": Shares(
            count=0.01, partition=1 / 6, centres=1 / 6, support=0.25, values=0.25, sizes=0.05, choice=0.1
        ),
    },
}

PRESETS = tuple(_PRESETS)
"""Names of :meth:`PrototypeSettings.from_preset`."""


@dataclass(frozen=True)
class ShareTable:
    """Epsilon of every release of the paper's pipeline, and how often a run makes it; 0 for what it does not need."""

    count: float
    level: float
    swap: float
    support: float
    values: float
    sizes: float
    choice: float
    levels: int
    steps: int
    trials: int

    @classmethod
    def of(cls, settings: PrototypeSettings, n_items: int, epsilon: float) -> ShareTable:
        """Split `epsilon`; fixed before any rating is read."""
        # One more than the steps: the choice among what they found.
        trials, levels, steps = settings.n_trials, settings.n_levels, settings.n_swaps + 1
        used = settings.shares.model_dump()
        if trials == 1:
            del used["choice"]
        if settings.n_support(n_items) == n_items:
            del used["support"]
        whole = sum(used.values())
        part = {name: epsilon * _LEAVE * share / whole for name, share in used.items()}
        return cls(
            count=part["count"],
            level=part["partition"] / (trials * levels),
            swap=part["centres"] / (trials * steps),
            support=part.get("support", 0.0) / trials,
            values=part["values"] / trials,
            sizes=part["sizes"] / trials,
            choice=part.get("choice", 0.0),
            levels=levels,
            steps=steps,
            trials=trials,
        )

    def rows(self) -> list[tuple[str, float, int]]:
        """Name of each release, its epsilon, and how often it is made."""
        rows = [
            ("silo count", self.count, 1),
            ("partition level", self.level, self.trials * self.levels),
            ("centre swap", self.swap, self.trials * self.steps),
            ("support", self.support, self.trials),
            ("values", self.values, self.trials),
            ("sizes", self.sizes, self.trials),
            ("choice among trials", self.choice, 1),
        ]
        return [row for row in rows if row[1] > 0.0]

    def total(self) -> float:
        """What all of it costs together."""
        return sum(epsilon * times for _, epsilon, times in self.rows())
