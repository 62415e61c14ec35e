"""How a bug is put in, and the broken functions themselves."""

from __future__ import annotations
import __future__

import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from discreet import kernels
from discreet.privacy import ledger
from discreet.privacy.gaussian import blocks, gate, noise
from tests.privacy.worlds import Floats


@dataclass(frozen=True)
class Bug:
    """A name for the mistake, the check that must see it, and what to put in place of what.

    ``changes`` are (owner, attribute, replacement); a replacement that is a tuple (old, new) rewrites the source.
    """

    name: str
    check: Callable[[], object]
    changes: tuple[tuple[Any, str, Any], ...]


def _rewritten(function: Any, old: str, new: str) -> Any:
    """The same function, method or property with a piece of its source replaced; the piece must be there."""
    function = function.fget if isinstance(function, property) else function
    source = textwrap.dedent(inspect.getsource(function))
    assert old in source, f"{old!r} is not in {function.__qualname__}: the bug must be put in anew"
    names = dict(vars(sys.modules[inspect.unwrap(function).__module__]))
    code = compile(source.replace(old, new), "<bug>", "exec", flags=__future__.annotations.compiler_flag)
    exec(code, names)
    return names[function.__name__]


def apply(bug: Bug, patch: pytest.MonkeyPatch) -> None:
    for owner, attribute, replacement in bug.changes:
        if isinstance(replacement, tuple):
            replacement = _rewritten(getattr(owner, attribute), *replacement)
        patch.setattr(owner, attribute, replacement)


def item_maximum(self: blocks.Pattern, weights: Floats | None = None, values: Floats | None = None) -> Floats:
    """Sensitivity of one item's sum taken for that of all: too small by up to the root of the number of items."""
    sums, filled = np.zeros(self.n_users), self.counts > 0
    entries = (1.0 if weights is None else weights[self.items]) * (1.0 if values is None else values)
    sums[filled] = np.maximum.reduceat(entries**2, self.indptr[:-1][filled])
    return sums


def plain_generator(out: Floats, key: int) -> None:
    np.random.default_rng(key).standard_normal(out=out)


def halved_diagonal(self: noise.Noise, sigma: Floats, order: int) -> Floats:
    matrices, index = _symmetric_integers(self, sigma, order), np.arange(order)
    matrices[:, index, index] = np.rint(matrices[:, index, index] * np.sqrt(0.5))
    return matrices


def quiet_corners(self: noise.Noise, sigma: Floats, order: int) -> Floats:
    """Each entry beside the diagonal drawn with sigma / 2: averaged once too often."""
    matrices, above = _symmetric_integers(self, sigma, order), np.triu_indices(order, 1)
    matrices[:, above[0], above[1]] = np.rint(matrices[:, above[0], above[1]] * np.sqrt(0.5))
    matrices[:, above[1], above[0]] = matrices[:, above[0], above[1]]
    return matrices


def same_block(self: Any, users: Any) -> Any:
    return self


def silence_others(values: Any, users: Any) -> Any:
    return np.where(users.reshape(-1, *[1] * (values.ndim - 1)), values, 0).astype(values.dtype)


def charged_late(
    self: gate.Gate, name: str, forms: list[Any], totals: list[Any], *, mu: float, delta: float = 0.0
) -> dict[str, Floats]:
    released = {
        form.name: total.value + form.noise(self._noise, mu)
        for form, total in zip(forms, totals, strict=True)
    }
    self.ledger.redeem(self.ledger.charge(name, mu=mu, delta=delta))
    return released


def charged_once(self: ledger.Ledger, name: str, **cost: Any) -> Any:
    return self._charges[-1] if len(self._charges) % 2 else _charge(self, name, **cost)


def nothing(*args: Any, **options: Any) -> None:
    return None


def single_sums(*args: Any) -> Floats:
    return _item_sums(*args).astype(np.float32).astype(np.float64)


_symmetric_integers = noise.Noise.symmetric_integers
_item_sums = kernels.item_sums
_charge = ledger.Ledger.charge
