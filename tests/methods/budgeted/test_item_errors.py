"""How far items' numbers are taken to be off, against made-up items whose numbers without noise are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.methods.budgeted.public.item_errors import Items, click_variances, left, offset_variances
from discreet.methods.budgeted.public.offsets import OffsetFilter
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.types import Floats

ITEMS = 4_000


def takes() -> Floats:
    """By how many people each item is taken: thousands to a handful."""
    number: Floats = 20_000.0 / np.arange(1, ITEMS + 1) ** 1.1 + 1.0
    return number


def sure(number: Floats) -> Items:
    return Items(number / number.sum(), np.zeros(ITEMS), number)


def test_what_is_left_lies_below_the_prior_and_below_the_noise() -> None:
    prior, noise = np.array([0.5, 2.0]), np.array([1e-6, 1.0, 1e9])
    np.testing.assert_allclose(left(prior, noise), [2e-6, 1 / 3 + 2 / 3, 2.5], rtol=1e-3)
    each = np.array([[0.5, 2.0], [1.0, 1.0], [0.5, 2.0]])
    np.testing.assert_allclose(left(each, noise), [2e-6, 1.0, 2.5], rtol=1e-3)
    # Directions count as far as is said.
    np.testing.assert_allclose(left(prior, noise, np.array([2.0, 0.0])), [2e-6, 2 / 3, 1.0], rtol=1e-3)


def test_a_popularity_that_the_noise_drowns_is_uncertain() -> None:
    rng, number = np.random.default_rng(0), takes()
    released = ItemWeights.first(number + 40.0 * rng.standard_normal(ITEMS), np.full(ITEMS, 40.0))
    items = Items.of(released, number.sum())
    assert items.share.sum() == pytest.approx(1.0)
    assert items.taken.sum() == pytest.approx(number.sum())
    assert items.uncertain[:50].max() < 0.05
    assert items.uncertain[-1_000:].mean() > 0.3
    assert items.share @ items.place == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "tilt"), [(1.0, 0.0), (1.0, -0.2), (5.0, 0.0), (5.0, -0.4)])
def test_nine_tenths_of_offsets_lie_in_their_intervals_rare_or_popular(epsilon: float, tilt: float) -> None:
    """Offsets of a run without noise: a line, what an item is worth, and the scatter of its own few ratings."""
    rng, number = np.random.default_rng(1), takes()
    line = 0.1 * np.log(number)
    spread = 0.1 * (number / 1_000.0) ** tilt
    own = line + np.sqrt(spread) * rng.standard_normal(ITEMS)
    scatter = 0.8 / number
    quiet = own + np.sqrt(scatter) * rng.standard_normal(ITEMS)
    noise = np.square(30.0 / epsilon / number)
    heard = OffsetFilter(quiet + np.sqrt(noise) * rng.standard_normal(ITEMS), 1.0 / noise, scatter)
    items = sure(number)
    found, variances = heard.best(items.share, None), offset_variances(heard, items)
    held = np.abs(found - quiet) < 1.645 * np.sqrt(variances)
    for some in (slice(0, 400), slice(400, 2_000), slice(2_000, ITEMS)):
        assert 0.85 < held[some].mean() < 0.96


def test_an_offset_whose_weight_is_uncertain_is_too() -> None:
    number = takes()
    heard = OffsetFilter(0.3 * np.sin(np.arange(ITEMS)), np.square(number / 10.0), 0.8 / number)
    items = sure(number)
    unsure = Items(items.share, np.full(ITEMS, 0.5), items.taken)
    more = offset_variances(heard, unsure) / offset_variances(heard, items)
    # Nothing of an offset that was drawn to the line rests on the weight.
    assert (more >= 1.0).all()
    assert more[:100].min() > 1.3
    assert more[-100:].max() < 1.001


def test_an_item_whose_place_is_uncertain_lies_off_the_line_of_offsets() -> None:
    """Offsets rise with popularity; weights that are lognormal multiply what was released of them."""
    rng, number, slope, unsure = np.random.default_rng(3), takes()[400:], 0.3, 1.0
    true = number * np.exp(rng.standard_normal(len(number)) * np.sqrt(unsure) - 0.5 * unsure)
    quiet = slope * np.log(true / true.max())
    # Of a noise so large nothing is believed but the line.
    heard = OffsetFilter(true / number * quiet, np.full(len(number), 1e-2), np.full(len(number), 1e-6))
    share = number / number.sum()
    items = Items(share, np.full(len(number), np.expm1(unsure)), number)
    found = heard.best(share, None)
    # All were drawn to the line, and lie below it by its slope times the logarithm of 1 + U.
    assert (found - quiet).mean() == pytest.approx(slope * unsure, rel=0.4)
    more = offset_variances(heard, items) - offset_variances(heard, replace(items, uncertain=0.0 * share))
    assert np.median(more) == pytest.approx(np.square(slope * unsure), rel=0.3)


@pytest.mark.parametrize("tilt", [0.0, -0.3])
def test_clicks_of_rare_items_are_off_by_what_few_people_say(tilt: float) -> None:
    """Numbers of three directions, each learnt as far as its noise allows."""
    rng, number = np.random.default_rng(2), takes()
    items, prior = sure(number), np.array([1.0, 0.3, 0.1])
    scatter = (8.0 * 0.7 / number)[:, np.newaxis]
    spread = prior * np.exp(tilt * items.place)[:, np.newaxis] + scatter
    noise = np.square(60.0 / number)
    true = np.sqrt(spread) * rng.standard_normal((ITEMS, 3))
    heard = true + np.sqrt(noise)[:, np.newaxis] * rng.standard_normal((ITEMS, 3))
    found = heard * spread / (spread + noise[:, np.newaxis])
    along = np.array([1.0, 2.0, 0.2])
    claimed = click_variances(np.square(found), prior, noise, items, 0.7, along)
    error = np.square(found - true) @ along
    for some in (slice(0, 100), slice(100, 1_000), slice(1_000, ITEMS)):
        assert claimed[some].mean() == pytest.approx(error[some].mean(), rel=0.35)


def test_a_large_catalogue_is_judged_by_some_of_its_items() -> None:
    number = 20_000.0 / np.arange(1, 30_001) ** 0.9 + 1.0
    items = Items(number / number.sum(), np.zeros(len(number)), number)
    noise = np.square(60.0 / number)
    found = click_variances(1.0 / (1.0 + noise)[:, np.newaxis], np.ones(1), noise, items, 0.7, np.ones(1))
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0.0).mean() > 0.99
