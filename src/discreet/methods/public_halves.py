"""Public halves of all private methods by name, for parties that hold no ratings (the server of silos). Public."""

from __future__ import annotations

from discreet.errors import SettingsInvalid
from discreet.methods.budgeted.public.train import BUDGETED
from discreet.methods.ease.public.train import EASE_HALF
from discreet.methods.lookup import find_class
from discreet.methods.public_half import PublicHalf
from discreet.methods.published.public.baselines import GLOBAL_MEAN, ITEM_MEAN, POPULARITY, USER_MEAN
from discreet.methods.published.public.dpals import DPALS_HALF
from discreet.methods.published.public.frank_wolfe import FRANK_WOLFE
from discreet.methods.published.public.projected_gradient import PROJECTED_GRADIENT
from discreet.methods.published.public.svd import SVD

__all__ = ["PUBLIC_HALVES", "find_public_half"]

PUBLIC_HALVES = {
    half.name: half
    for half in (
        EASE_HALF,
        BUDGETED,
        DPALS_HALF,
        FRANK_WOLFE,
        SVD,
        PROJECTED_GRADIENT,
        GLOBAL_MEAN,
        USER_MEAN,
        ITEM_MEAN,
        POPULARITY,
    )
}


def find_public_half(name: str) -> PublicHalf:
    """The public half of a method by its name, or of ``package.module:Class``.

    A method of another package brings both halves with its class; ours are told apart.

    Raises
    ------
    SettingsInvalid
        When there is no such method.
    """
    if name in PUBLIC_HALVES:
        return PUBLIC_HALVES[name]
    half = getattr(find_class(name), "public_half", None)
    if not isinstance(half, PublicHalf):
        raise SettingsInvalid(f"there is no private method {name!r}; known are {', '.join(PUBLIC_HALVES)}")
    return half
