"""The budget a person sets for one run: epsilon and delta, checked once and never changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real

from discreet.errors import BudgetInvalid
from discreet.privacy.accounting import mu_from

__all__ = ["LEAST_DELTA", "Budget"]

LEAST_DELTA = 1e-20
"""No promise can be finer than what it rests on: keys of 128 bits, and normal numbers made of words of 64.

Whoever tries 2^28 keys has found the right one with a chance of 1e-30. A normal number lies where the generator has
gaps with a chance of 3e-29, and a run draws up to millions of them (``gaussian/proofs/gate.md``).
"""

# A run asks for the same few conversions at every charge.
_mu_from = lru_cache(maxsize=256)(mu_from)


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one user's ratings may show in everything a run releases.

    Parameters
    ----------
    epsilon : float
        Above zero and finite. Smaller is more private; 1 is strong, 10 weak.
    delta : float
        From 1e-20 to below one; well below one divided by the number of users.

    Raises
    ------
    BudgetInvalid
        When either is not such a number.

    Notes
    -----
    **Privacy.** Unit: one user with all of that user's ratings. Relation: add or remove one user.

    Examples
    --------
    >>> round(Budget(epsilon=1.0, delta=1e-6).mu, 4)
    0.2367
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checked_epsilon(self.epsilon))
        object.__setattr__(self, "delta", _checked_delta(self.delta))

    @classmethod
    def parse(cls, epsilon: str, delta: str) -> Budget:
        """Read a budget from text as typed on a command line, such as ``"0.5"`` and ``"1e-6"``."""
        return cls(_parsed("epsilon", epsilon), _parsed("delta", delta))

    @property
    def mu(self) -> float:
        """Largest composed Gaussian cost the budget allows, rounded down."""
        return self.mu_for()

    def mu_for(self, extra_delta: float = 0.0) -> float:
        """Largest composed Gaussian cost when ``extra_delta`` of delta is used by other events.

        Zero when nothing of delta is left.
        """
        return _mu_from(self.epsilon, self.delta, float(extra_delta))

    def check_users(self, order: int) -> None:
        """Refuse a delta so large that it would allow publishing one user outright.

        Parameters
        ----------
        order : int
            The number of users, as far as it is public: its order of magnitude, such as 100_000. The exact
            number is private, and a refusal that depends on it would tell something about it.
        """
        if not order > 0:
            raise BudgetInvalid(
                f"the order of magnitude of the number of users must be positive, got {order}"
            )
        if self.delta * order >= 1.0:
            raise BudgetInvalid(
                f"delta {self.delta:g} is too large for some {order:,} users: publishing one random user's "
                f"ratings would satisfy it. Choose delta well below {1.0 / order:.1g}"
            )

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}"


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        kind = "text" if isinstance(value, str) else type(value).__name__
        raise BudgetInvalid(
            f"{name} must be a number, got {value!r} ({kind}); write it as in {name}={_EXAMPLE[name]}"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise BudgetInvalid(f"{name} is not a number (NaN); write it as in {name}={_EXAMPLE[name]}")
    return number


def _checked_epsilon(value: object) -> float:
    epsilon = _number("epsilon", value)
    if epsilon > _MAX_EPSILON:
        how = "infinite" if epsilon == math.inf else f"{epsilon:g}"
        raise BudgetInvalid(
            f"epsilon is {how}, which is no privacy at all. To train without privacy use discreet.ALS "
            "(command line: --method als), which states that it is not private"
        )
    if not epsilon > 0.0:
        raise BudgetInvalid(
            f"epsilon must be above zero, got {epsilon:g}; usual values lie between 0.1 and 20"
        )
    return epsilon


def _checked_delta(value: object) -> float:
    delta = _number("delta", value)
    if delta >= 1.0:
        raise BudgetInvalid(
            f"delta must be below 1, got {delta:g}: it is the chance that the promise fails. "
            "Choose it well below 1 / number of users, for instance 1e-6"
        )
    if not delta > 0.0:
        raise BudgetInvalid(
            f"delta must be above zero, got {delta:g}: Gaussian noise needs a small chance of failure. "
            "Choose it well below 1 / number of users, for instance 1e-6"
        )
    if delta < LEAST_DELTA:
        raise BudgetInvalid(
            f"delta {delta:g} is below what the random generator and its keys of 128 bits can carry; choose at least "
            f"{LEAST_DELTA:g}"
        )
    return delta


def _parsed(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BudgetInvalid(
            f"{name} must be a number, got {text!r}; write it as in {name}={_EXAMPLE[name]}"
        ) from None


_MAX_EPSILON = 1e9  # odds of e to that: no privacy, and the accounting's functions overflow not far above
_EXAMPLE = {"epsilon": "1.0", "delta": "1e-6"}
