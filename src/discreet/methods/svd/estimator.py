"""Private SVD after cleansing, at the level of users."""

from __future__ import annotations

from typing import Literal

from discreet.methods.method import PrivateMethod
from discreet.methods.svd.private.contributions import SVDContributions
from discreet.methods.svd.public.train import SVD

__all__ = ["PrivateSVD"]


class PrivateSVD(PrivateMethod):
    """Item means, then the eigenvectors of the users' second moment as factors.

    Parameters
    ----------
    rank
        Most factors; directions that do not stand out of the noise are left out.
    max_ratings
        A user takes part with at most this many ratings, drawn evenly; ``None`` takes all of them.
    typical_ratings
        Public guess of how many ratings a user has (at most ``max_ratings`` count); the automatic bounds follow it.
    mean_share
        Share of mu^2 for item means (or counts, for clicks); ``"auto"`` is 0.2 for ratings and 0.1 for clicks.
    stabiliser
        An item's mean counts as many ratings at the global mean; ``"auto"``: 10 and ten deviations of the noise.
    user_stabiliser
        A user's own mean counts as many ratings without a residual.
    entry_clip
        Bound on one residual, in the units of the ratings; ``"auto"`` is half of the rating range.
    row_clip
        L, bound on a user's row of residuals, in the units of the ratings; ``"auto"`` is 0.3 of the range's half-width
        times the root of ``typical_ratings``. Rows of clicks have length 1 and need none.
    offset_penalty, penalty
        Ridge on a user's offset and coefficients (whose variance is about 1); ``"auto"`` is 1 for ratings and 0.01 of
        the strongest factor's gravity for clicks.
    gravity
        Weight of unseen items as zeros (clicks); ``"auto"`` is 20 times the (released) mean share of items that a user
        takes part with, at most 1.
    denoise
        Whether the diagonal is left out, directions that do not stand out of the noise are dropped and others scaled
        by their signal (ratings). Off: the first eigenvectors as they are, which is the published method.
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Attributes
    ----------
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        Factors that stood out of the noise, and 1.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Two releases spend the budget
    exactly: sums and counts of the items (counts alone for clicks), and the second moment of clipped rows.

    Examples
    --------
    >>> from discreet import Budget, PrivateSVD
    >>> from discreet.data.synthetic import market
    >>> fitted = PrivateSVD(rank=4).fit(market(1_000, 50, 12_000, rng=0), Budget(20.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['item means', 'second moment']
    """

    public_half = SVD
    private_half = SVDContributions

    def __init__(
        self,
        *,
        rank: int = 16,
        max_ratings: int | None = 80,
        typical_ratings: int = 80,
        mean_share: float | Literal["auto"] = "auto",
        stabiliser: float | Literal["auto"] = "auto",
        user_stabiliser: float = 5.0,
        entry_clip: float | Literal["auto"] = "auto",
        row_clip: float | Literal["auto"] = "auto",
        offset_penalty: float = 3.0,
        penalty: float | Literal["auto"] = "auto",
        gravity: float | Literal["auto"] = "auto",
        denoise: bool = True,
        discover_share: float | None = None,
    ) -> None:
        super().__init__(
            rank=rank,
            max_ratings=max_ratings,
            typical_ratings=typical_ratings,
            mean_share=mean_share,
            stabiliser=stabiliser,
            user_stabiliser=user_stabiliser,
            entry_clip=entry_clip,
            row_clip=row_clip,
            offset_penalty=offset_penalty,
            penalty=penalty,
            gravity=gravity,
            denoise=denoise,
            discover_share=discover_share,
        )
