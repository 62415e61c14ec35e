"""What a run that started from an earlier model costs a user who was in both, and in all before that one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from discreet.privacy.accounting import compose, epsilon_from

__all__ = ["Earlier", "in_all"]


class Earlier(BaseModel):
    """One earlier run, by the model that came out of it.

    ``mu`` is 0 where the run is not one of Gaussian releases alone: then its epsilon and delta add up as they are.
    ``direct`` is the part of delta that its releases took directly.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)
    mu: float = Field(ge=0)
    direct: float = Field(default=0.0, ge=0, lt=1)


def in_all(mu: float, delta: float, direct: float, earlier: Sequence[Earlier]) -> tuple[float, float, float]:
    """Epsilon, delta and mu of this run and all earlier ones, for a user who was in all of them.

    Parameters
    ----------
    mu, delta, direct
        Of this run: what it was allowed, and what its releases took from delta directly.
    earlier
        The runs before it.

    Notes
    -----
    **Privacy.** A run that starts from a released model is one more adaptively chosen Gaussian release, whose budget
    was fixed beforehand: costs compose to the root of the sum of squares (``proofs/accounting.md``). What was taken
    from a delta directly is added. Runs with another accounting are added as they stand (basic composition).
    """
    gaussian = [run for run in earlier if run.mu > 0.0]
    others = [run for run in earlier if run.mu == 0.0]
    both = compose([mu, *(run.mu for run in gaussian)])
    taken = math.fsum([direct, *(run.direct for run in gaussian)])
    rest = max([delta - direct, *(run.delta - run.direct for run in gaussian)])
    epsilon = epsilon_from(both, rest + taken, taken) + math.fsum(run.epsilon for run in others)
    return epsilon, rest + taken + math.fsum(run.delta for run in others), both
