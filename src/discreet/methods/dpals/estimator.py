"""DPALS as published: private alternating least squares with clipping, sampling and per-item normal equations."""

from __future__ import annotations

from typing import Any, Literal, Self

from discreet.methods.dpals.presets import Accounting, find_preset
from discreet.methods.dpals.private.contributions import DPALSContributions
from discreet.methods.dpals.public.plan import account, make_plan
from discreet.methods.dpals.public.train import DPALS_HALF
from discreet.methods.dpals.settings import DPALSSettings
from discreet.methods.method import PrivateMethod
from discreet.methods.public_half import Facts
from discreet.methods.settings import PrivateSettings

__all__ = ["DPALS"]


class DPALS(PrivateMethod):
    """The published private ALS, correctly accounted.

    Parameters
    ----------
    rank, rounds
        r and T.
    max_ratings
        k, the number of ratings with which a user takes part in the item step.
    row_clip, entry_clip
        Gamma_u, bound on a user's vector, and Gamma_M, bound on a centred rating; ``"auto"`` is what the rating range
        and the centre allow, so that nothing is clipped.
    penalty, gravity
        lambda and lambda_0.
    item_exponent, user_exponent
        mu and nu: penalties grow with counts to this power.
    typical_ratings
        Public guess of how many ratings the user of a typical rating has (sum of squared counts / sum of counts, a few
        times the mean over users), in place of Z: the authors' mean over all users' exact counts.
    sampling
        Which k ratings: ``"tail"`` (of the rarest items), ``"uniform"``, or ``"weights"``: all of them, weighted by
        count ** -weight_exponent so that a user's squared weights sum to k.
    weight_exponent
        See there.
    frequent_share
        beta, share of the items that are trained; the others are predicted by the user's own mean.
    centre
        ``"mean"``: a charged estimate of the global mean; ``"middle"``: the middle of the rating range, free.
    start, start_share
        ``"random"``, or ``"spectral"``: top eigenvectors of the users' second moment, for this share of mu^2.
    start_scale
        Length of an item's vector at the start, about.
    preprocessing_share
        Share of mu^2 for counts and mean where ``sigma_counts`` is not given.
    noise_ratio
        sigma_matrix / sigma_vector where they are not given.
    sigma_matrix, sigma_vector, sigma_moment, sigma_counts
        The paper's sigma_G, sigma_g, the gravity term's, and sigma_p. ``"auto"`` spends the budget.
    project
        Whether matrices are projected to the positive semidefinite cone; off only to show what that does.
    orthonormal
        Whether V's columns are made orthogonal, each of length sqrt(items), after every round.
    split_users
        Whether the user step takes a different 1/T of a user's ratings in every round.
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Attributes
    ----------
    model_, statement_, rank_, rounds_
        As for every private method.
    accounting_ : Accounting
        What the paper would have claimed for this run's noise, beside what is owed.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Releases: item counts (twice at
    most), the mean, the start if it is spectral, and one set of normal equations a round. All of them are bounded by
    clipping (``privacy/gaussian/proofs/clipped.md``). Number and cost follow from the settings and the budget alone.

    Examples
    --------
    >>> from discreet import DPALS, Budget
    >>> from discreet.data.synthetic import market
    >>> fitted = DPALS(rank=4, max_ratings=10).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['item counts', 'item counts of the sample', 'mean', 'round 1', 'round 2']
    """

    public_half = DPALS_HALF
    private_half = DPALSContributions

    accounting_: Accounting

    def __init__(
        self,
        *,
        rank: int = 32,
        rounds: int = 2,
        max_ratings: int = 50,
        row_clip: float = 1.0,
        entry_clip: float | Literal["auto"] = "auto",
        penalty: float = 80.0,
        gravity: float = 0.0,
        item_exponent: float = 0.5,
        user_exponent: float = 1.0,
        typical_ratings: float = 100.0,
        sampling: Literal["tail", "uniform", "weights"] = "tail",
        weight_exponent: float = 0.5,
        frequent_share: float = 1.0,
        centre: Literal["mean", "middle"] = "mean",
        start: Literal["random", "spectral"] = "random",
        start_share: float = 0.2,
        start_scale: float = 1.0,
        preprocessing_share: float = 0.1,
        noise_ratio: float = 2.0,
        sigma_matrix: float | Literal["auto"] = "auto",
        sigma_vector: float | Literal["auto"] = "auto",
        sigma_moment: float | Literal["auto"] = "auto",
        sigma_counts: float | Literal["auto"] = "auto",
        project: bool = True,
        orthonormal: bool = False,
        split_users: bool = False,
        discover_share: float | None = None,
    ) -> None:
        super().__init__(
            rank=rank,
            rounds=rounds,
            max_ratings=max_ratings,
            row_clip=row_clip,
            entry_clip=entry_clip,
            penalty=penalty,
            gravity=gravity,
            item_exponent=item_exponent,
            user_exponent=user_exponent,
            typical_ratings=typical_ratings,
            sampling=sampling,
            weight_exponent=weight_exponent,
            frequent_share=frequent_share,
            centre=centre,
            start=start,
            start_share=start_share,
            start_scale=start_scale,
            preprocessing_share=preprocessing_share,
            noise_ratio=noise_ratio,
            sigma_matrix=sigma_matrix,
            sigma_vector=sigma_vector,
            sigma_moment=sigma_moment,
            sigma_counts=sigma_counts,
            project=project,
            orthonormal=orthonormal,
            split_users=split_users,
            discover_share=discover_share,
        )

    @classmethod
    def from_preset(cls, name: str, **parameters: Any) -> Self:
        """A column of the paper's table 4, such as ``"ml-10m-eps-1"``; parameters given beside it win."""
        return cls(**(find_preset(name).settings | parameters))

    def _begin(self, settings: PrivateSettings, facts: Facts) -> None:
        assert isinstance(settings, DPALSSettings)
        self.accounting_ = account(make_plan(settings, facts), facts)
