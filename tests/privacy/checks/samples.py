"""One block of every kind, and users in them who are as loud as wanted."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import numpy.typing as npt

from discreet.privacy.gaussian import gate as gate_module
from discreet.privacy.gaussian.blocks import Block, Pattern, UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.item_blocks import ItemMatrix, ItemVector, ItemWeight, UserMatrix
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from tests.privacy.worlds import BUDGET, MU, Floats


def one_of_each(n_users: int = 30, seed: int = 4) -> list[Block]:
    """A block of every kind with energies of at most one fifth for every user, over items of different weights."""
    rng = np.random.default_rng(seed)
    m, order = 6, 3
    held = rng.random((n_users, m)) < 0.6
    pattern = Pattern(np.concatenate([[0], np.cumsum(held.sum(1))]), np.nonzero(held)[1].astype(np.int32), m)
    weights = np.array([0.25, 0.5, 1.0, 1.0, 2.0, 4.0])

    def shorts(*shape: int) -> npt.NDArray[np.int16]:
        return rng.integers(-100, 101, shape).astype(np.int16)

    features, targets = shorts(n_users, order), shorts(len(pattern.items))
    blocks: list[Block] = [
        ItemVector("vector", 1.0, pattern, weights, features, targets),
        ItemMatrix("matrix", 1.0, pattern, weights, features),
        ItemWeight("weight", 1.0, pattern, weights, rng.integers(-100, 101, n_users).astype(np.int32)),
        UserMatrix("moment", 1.0, shorts(n_users, order)),
        UserVector("short", 1.0, rng.integers(-100, 101, (n_users, 4)).astype(np.int32)),
    ]
    return [replace(block, unit=2.0**20 * float(np.sqrt(5.0 * block.energies().max()))) for block in blocks]


def louder(block: Block, user: int, energy: float) -> Block:
    """The same block with one user as loud as the grid allows, in a unit that gives them the energy wanted."""
    changed = _with_user(block, user, 32_000)
    return replace(changed, unit=changed.unit * float(np.sqrt(changed.energies()[user] / energy)))


def mute(block: Block, user: int) -> Block:
    return _with_user(block, user, 0)


def _with_user(block: Block, user: int, value: int) -> Block:
    parts = {
        name: getattr(block, name).copy()
        for name in ("features", "weights", "values", "targets")
        if hasattr(block, name)
    }
    for name, part in parts.items():
        pairs = slice(*block.pattern.indptr[user : user + 2]) if name == "targets" else user
        part[pairs] = value
    return replace(block, **parts)


def fixed_release(blocks: list[Block], *, exact: bool = False) -> Floats:
    """A release with noise that is the same every time; exact: not rounded to steps of the noise."""
    gate = Gate(Ledger(BUDGET), Noise.fixed_key_not_private("the same for all"))
    with mock.patch.object(gate_module, "_RESOLUTION", 2.0**200) if exact else nullcontext():
        released = gate.release("fixed", blocks, mu=MU)
    return np.concatenate([part.ravel() for part in released.values()])


@dataclass(frozen=True)
class Loud:
    """A block whose energies say what they like; every user that is not silenced adds 1."""

    claimed: Floats
    name: str = "loud"
    unit: float = 2.0**20
    users: int | float = 3

    def energies(self) -> Floats:
        return self.claimed

    def without(self, users: npt.NDArray[np.bool_]) -> Loud:
        return replace(self, users=self.users - int(users.sum()))

    def total(self) -> Floats:
        return np.array([float(self.users)])

    def parts(self) -> list[Loud]:
        return [self]

    def sigmas(self, mu: float) -> Floats:
        return np.array(self.unit / mu)

    def noise(self, source: Noise, mu: float) -> Floats:
        return source.integers(np.array([self.unit / mu]))
