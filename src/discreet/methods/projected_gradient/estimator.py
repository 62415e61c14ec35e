"""Private projected gradient: singular-value shrinkage of rows that every user improves by a gradient step."""

from __future__ import annotations

from typing import Literal

from discreet.methods.method import PrivateMethod
from discreet.methods.projected_gradient.private.contributions import ProjectedGradientContributions
from discreet.methods.projected_gradient.public.train import PROJECTED_GRADIENT

__all__ = ["ProjectedGradient"]


class ProjectedGradient(PrivateMethod):
    """Singular-value shrinkage of rows that every user improves by a gradient step.

    Parameters
    ----------
    rounds, rank
        T, and most directions that are kept; in the end those that do not stand out of the noise are left out.
    max_ratings
        A user takes part with at most this many ratings, drawn evenly; ``None`` takes all of them.
    typical_ratings
        Public guess of how many ratings a user has (at most ``max_ratings`` count); the automatic bounds follow it.
    centre
        ``"middle"`` of the rating range, free, or the ``"mean"`` of the sampled ratings, charged.
    centre_share
        Share of mu^2 for that mean.
    step_size
        eta; ``"auto"`` is 1 over the share of the first released direction that a typical user's items carry (and
        ``gravity``).
    shrinkage
        tau, in units of the first released singular value.
    row_clip
        L, bound on a user's row of ratings less the centre; ``"auto"`` is half of the rating range's half-width times
        the root of ``typical_ratings``. A row over all items is longer by eta, at most by the root of items /
        ``typical_ratings``.
    gravity
        Weight of unseen items as zeros (clicks); ``"auto"`` is 20 times ``typical_ratings`` as a share of the items, at
        most 1.
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Attributes
    ----------
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        Directions that stood out of the noise, and rounds.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. A round is one release of the second
    moment of the users' rows, clipped to a public bound; all cost the same and together the budget exactly, with the
    charged mean where there is one.

    Examples
    --------
    >>> from discreet import Budget, ProjectedGradient
    >>> from discreet.data.synthetic import market
    >>> fitted = ProjectedGradient(rounds=3).fit(market(1_000, 50, 12_000, rng=0), Budget(20.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['step 1', 'step 2', 'step 3']
    """

    public_half = PROJECTED_GRADIENT
    private_half = ProjectedGradientContributions

    def __init__(
        self,
        *,
        rounds: int = 4,
        rank: int = 8,
        max_ratings: int | None = 80,
        typical_ratings: int = 80,
        centre: Literal["middle", "mean"] = "middle",
        centre_share: float = 0.02,
        step_size: float | Literal["auto"] = "auto",
        shrinkage: float = 0.05,
        row_clip: float | Literal["auto"] = "auto",
        gravity: float | Literal["auto"] = "auto",
        discover_share: float | None = None,
    ) -> None:
        super().__init__(
            rounds=rounds,
            rank=rank,
            max_ratings=max_ratings,
            typical_ratings=typical_ratings,
            centre=centre,
            centre_share=centre_share,
            step_size=step_size,
            shrinkage=shrinkage,
            row_clip=row_clip,
            gravity=gravity,
            discover_share=discover_share,
        )
