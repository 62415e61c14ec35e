"""Joint-DP Frank-Wolfe: completion under a nuclear-norm bound, one released direction a round."""

from __future__ import annotations

from typing import Literal

from discreet.methods.frank_wolfe.private.contributions import FrankWolfeContributions
from discreet.methods.frank_wolfe.public.train import FRANK_WOLFE
from discreet.methods.method import PrivateMethod

__all__ = ["FrankWolfe"]


class FrankWolfe(PrivateMethod):
    """Completion under a nuclear-norm bound: every round releases one direction over the items.

    Parameters
    ----------
    rounds
        T. Each round adds one direction, so it is the rank as well.
    max_ratings
        A user takes part with at most this many ratings, drawn evenly; ``None`` takes all of them.
    typical_ratings
        Public guess of how many ratings a user has (at most ``max_ratings`` count); the automatic bounds follow it.
    centre
        ``"middle"`` of the rating range, free, or the ``"mean"`` of the sampled ratings, charged.
    centre_share
        Share of mu^2 for that mean.
    eigenvector
        ``"exact"``: releases the items x items second moment and takes its first eigenvector. ``"oja"``: a noisy
        power method, in which nothing is larger than the ratings or the catalogue.
    oja_steps, oja_rate
        Products for one direction, and the length of the move that one of them makes (the direction has length 1).
    row_clip
        L, bound on a user's row of errors and of fitted values; ``"auto"`` is half of the rating range's half-width
        times the root of ``typical_ratings``.
    nuclear_bound
        c, bound on the nuclear norm of the completed matrix. ``"auto"``: ``nuclear_scale`` times the first singular
        value of the completed matrix, as the first released direction and eigenvalue tell it.
    nuclear_scale
        See there.
    skip_noise
        Whether a round whose eigenvalue does not stand out of its noise is passed over; the published method takes it.
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Attributes
    ----------
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        Both the number of rounds.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. A round is one release of the
    users' second moment (or ``oja_steps`` products with it), rows clipped to the public bound; all cost the same and
    together the budget exactly, with the charged mean where there is one.

    Examples
    --------
    >>> from discreet import Budget, FrankWolfe
    >>> from discreet.data.synthetic import market
    >>> fitted = FrankWolfe(rounds=3).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> fitted.model_.item_side.factors.shape
    (50, 3)
    """

    public_half = FRANK_WOLFE
    private_half = FrankWolfeContributions

    def __init__(
        self,
        *,
        rounds: int = 12,
        max_ratings: int | None = 80,
        typical_ratings: int = 80,
        centre: Literal["middle", "mean"] = "middle",
        centre_share: float = 0.02,
        eigenvector: Literal["exact", "oja"] = "exact",
        oja_steps: int = 4,
        oja_rate: float = 3.0,
        row_clip: float | Literal["auto"] = "auto",
        nuclear_bound: float | Literal["auto"] = "auto",
        nuclear_scale: float = 4.0,
        skip_noise: bool = True,
        discover_share: float | None = None,
    ) -> None:
        super().__init__(
            rounds=rounds,
            max_ratings=max_ratings,
            typical_ratings=typical_ratings,
            centre=centre,
            centre_share=centre_share,
            eigenvector=eigenvector,
            oja_steps=oja_steps,
            oja_rate=oja_rate,
            row_clip=row_clip,
            nuclear_bound=nuclear_bound,
            nuclear_scale=nuclear_scale,
            skip_noise=skip_noise,
            discover_share=discover_share,
        )
