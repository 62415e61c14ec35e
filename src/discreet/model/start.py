"""What an earlier model says about the items of a new catalogue: the start and the prior of another run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.catalogue import Catalogue, ItemFeatures
from discreet.model.doubt import Doubt
from discreet.model.item_side import ItemSide
from discreet.model.model import Model
from discreet.types import Bools, Floats

__all__ = ["Start"]

# Noise of an item that the earlier model does not speak of, in units of the largest prior variance.
_UNSEEN = 1e6


@dataclass(frozen=True, eq=False)
class Start:
    """An earlier item side, its rows in the order of a new catalogue.

    Parameters
    ----------
    side
        Offsets, factors and popularity are 0 for items that the earlier model does not speak of. Without doubt.
    known
        Which items it speaks of: those it was trained on, and those that its feature map can guess.
    doubt
        Its doubt about all items, the prior variance for those it does not speak of; ``None`` where the earlier model
        does not say how sure it is.

    Notes
    -----
    **Privacy.** Follows from a released model and a public catalogue, so it is post-processing of the earlier release
    and costs nothing in the new run.
    """

    side: ItemSide
    known: Bools
    doubt: Doubt | None

    @classmethod
    def of(cls, model: Model, catalogue: Catalogue) -> Start:
        """What ``model`` says about the items of ``catalogue``, matched by id."""
        side, doubt = model.factors, model.factors.doubt
        places = model.catalogue.index(catalogue.ids)
        known = places >= 0
        rows = np.column_stack([side.offsets, side.factors])[places]
        rows[~known] = 0.0
        popularity = None if side.popularity is None else np.where(known, side.popularity[places], 0.0)
        if doubt is not None:
            noise = np.where(known, doubt.noise[places], _UNSEEN * float(doubt.prior.max()))
            guess, features = side.feature_map, _same_features(model.catalogue, catalogue)
            if guess is not None and features is not None:
                rows = np.where(known[:, None], rows, guess.guess(features.matrix))
                noise = np.where(known, noise, guess.variance)
                known = np.ones_like(known)
            doubt = Doubt(noise, doubt.directions, doubt.prior)
        aligned = replace(
            side, offsets=rows[:, 0], factors=rows[:, 1:], popularity=popularity, doubt=None, feature_map=None
        )
        return cls(aligned, known, doubt)

    def information(self, drift: float) -> Floats:
        """What it tells about each item, one over a variance, after a drift of so many times its usual doubt."""
        if self.doubt is None:
            return np.zeros(len(self.known))
        variances, prior = self.variances, float(self.doubt.prior.mean())
        usual = float(variances[self.known].mean()) if self.known.any() else 0.0
        told: Floats = np.maximum(1.0 / (variances + drift * usual) - 1.0 / prior, 0.0)
        return np.where(self.known, told, 0.0)

    @property
    def variances(self) -> Floats:
        """Of each item's numbers, the mean over the directions of the doubt."""
        assert self.doubt is not None
        variances: Floats = self.doubt.left @ self.doubt.prior / len(self.doubt.prior)
        return variances

    @property
    def offset_variances(self) -> Floats:
        """Of each item's offset; 0 where the earlier model does not say how sure it is."""
        if self.doubt is None:
            return np.zeros(len(self.known))
        variances: Floats = (self.doubt.left * self.doubt.prior) @ np.square(self.doubt.directions[:, 0])
        return variances

    @property
    def metric(self) -> Floats:
        """Inverse of the second moment of the earlier users' ``(1, u)``, by which directions are whitened."""
        assert self.doubt is not None
        metric: Floats = self.doubt.directions.T @ self.doubt.directions
        return metric


def _same_features(earlier: Catalogue, catalogue: Catalogue) -> ItemFeatures | None:
    """Features of the new catalogue, if they are encoded as those of the earlier one were."""
    encoder, features = earlier.feature_encoder, catalogue.features
    if encoder is None or features is None or encoder.to_json() != features.encoder.to_json():
        return None
    return features
