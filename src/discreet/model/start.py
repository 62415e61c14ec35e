"""What an earlier model says about the items of a new catalogue: the start of another run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.catalogue import Catalogue, ItemFeatures
from discreet.errors import SettingsInvalid
from discreet.model.doubt import Doubt
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import ItemWeights, Sums
from discreet.model.model import Model
from discreet.types import Bools, Floats, Singles

__all__ = ["EarlierSums", "Start", "sums_of"]

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


@dataclass(frozen=True, eq=False)
class EarlierSums:
    """The released sums of an earlier table of weights, its items matched by id to a new catalogue.

    Parameters
    ----------
    counts, known
        For each item of the new catalogue; 0 for those that the earlier run did not have.
    places
        For each of them, where it is in the earlier head; -1 where it is not.
    sums
        As released.

    Notes
    -----
    **Privacy.** As for :class:`Start`: post-processing of the earlier release.
    """

    counts: Floats
    known: Bools
    places: npt.NDArray[np.int64]
    sums: Sums

    @classmethod
    def of(cls, model: Model, catalogue: Catalogue) -> EarlierSums:
        """What ``model`` has released about the items of ``catalogue``."""
        side, sums = model.item_side, sums_of(model)
        assert isinstance(side, ItemWeights)
        items = model.catalogue.index(catalogue.ids)
        known = items >= 0
        in_head = np.full(side.n_items, -1, np.int64)
        in_head[sums.head] = np.arange(len(sums.head))
        places = np.where(known, in_head[items], -1)
        return cls(np.where(known, side.counts[items], 0.0), known, places, sums)

    def pairs_of(self, head: npt.NDArray[np.int32]) -> tuple[Singles, Bools]:
        """Its pairs of this head, and which it has; the others are 0."""
        order, earlier = len(head), len(self.sums.head)
        pairs = np.zeros(order * (order - 1) // 2, np.float32)
        places = self.places[head]
        known, end = np.zeros(len(pairs), np.bool_), 0
        for row, place in enumerate(places[:-1]):
            begin, end = end, end + order - row - 1
            if place >= 0:
                others = places[row + 1 :]
                (there,) = np.nonzero(others >= 0)
                low, high = np.minimum(place, others[there]), np.maximum(place, others[there])
                pairs[begin + there] = self.sums.pairs[kernels.pair_place(low, high, earlier)]
                known[begin + there] = True
        return pairs, known


def sums_of(model: Model) -> Sums:
    """The released sums that a table of weights carries.

    Raises
    ------
    SettingsInvalid
        When it carries none.
    """
    side = model.item_side
    if not isinstance(side, ItemWeights) or side.sums is None:
        raise SettingsInvalid(
            "the model to start from does not carry its released sums (it was trained with keep_sums=False, "
            "--set keep_sums=false), so there is nothing to add to; start from one that does, or leave start out"
        )
    return side.sums


def _same_features(earlier: Catalogue, catalogue: Catalogue) -> ItemFeatures | None:
    """Features of the new catalogue, if they are encoded as those of the earlier one were."""
    encoder, features = earlier.feature_encoder, catalogue.features
    if encoder is None or features is None or encoder.to_json() != features.encoder.to_json():
        return None
    return features
