"""What an earlier model says about the items of a new catalogue: the start of another run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.catalogue import Catalogue, ItemFeatures
from discreet.errors import SettingsInvalid
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import ItemWeights, Sums
from discreet.model.model import Model
from discreet.types import Bools, Floats, Singles

__all__ = ["EarlierSums", "Start", "sums_of"]


@dataclass(frozen=True, eq=False)
class Start:
    """An earlier item side, its rows in the order of a new catalogue.

    Parameters
    ----------
    side
        Offsets, factors and popularity are 0 for items that the earlier model does not speak of. Without noise ratios.
    known
        Which items it speaks of: those it was trained on, and those that its feature map can guess.
    noise_ratio
        Of all items, 1 for those it does not speak of; ``None`` where the earlier model does not say how sure it is.

    Notes
    -----
    **Privacy.** Follows from a released model and a public catalogue, so it is post-processing of the earlier release
    and costs nothing in the new run.
    """

    side: ItemSide
    known: Bools
    noise_ratio: Floats | None

    @classmethod
    def of(cls, model: Model, catalogue: Catalogue) -> Start:
        """What ``model`` says about the items of ``catalogue``, matched by id."""
        side = model.factors
        places = model.catalogue.index(catalogue.ids)
        known = places >= 0
        rows = np.column_stack([side.offsets, side.factors])[places]
        rows[~known] = 0.0
        popularity = None if side.popularity is None else np.where(known, side.popularity[places], 0.0)
        ratio = None
        if side.noise_ratio is not None:
            ratio = np.where(known, side.noise_ratio[places], 1.0)
            guess, features = side.feature_map, _same_features(model.catalogue, catalogue)
            if guess is not None and features is not None:
                rows = np.where(known[:, None], rows, guess.guess(features.matrix))
                ratio = np.where(known, ratio, guess.noise_ratio)
                known = np.ones_like(known)
        aligned = replace(
            side,
            offsets=rows[:, 0],
            factors=rows[:, 1:],
            popularity=popularity,
            noise_ratio=None,
            guessed=None,
            feature_map=None,
        )
        return cls(aligned, known, ratio)

    def after_drift(self, drift: float) -> Floats:
        """The noise ratio after items have moved by so many times what is usually left open."""
        assert self.noise_ratio is not None
        usual = float(self.noise_ratio[self.known].mean()) if self.known.any() else 0.0
        return np.minimum(self.noise_ratio + drift * usual, 1.0)

    @property
    def offset_variances(self) -> Floats:
        """Of each item's offset; 0 where the earlier model does not say how sure it is."""
        if self.noise_ratio is None or not self.known.any():
            return np.zeros(len(self.known))
        share = self.known / self.known.sum()
        if self.side.popularity is not None and self.side.popularity.any():
            share = self.side.popularity / self.side.popularity.sum()
        # Estimates have the share 1 - r of what the truth varies by.
        found = share @ np.square(self.side.offsets - share @ self.side.offsets)
        variances: Floats = self.noise_ratio * float(found / max(1.0 - share @ self.noise_ratio, 1e-6))
        return variances


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
    """The released sums that a table of weights carries; `SettingsInvalid` where it carries none."""
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
