"""The attacks at work: two neighbouring worlds, a baseline and a gate, and how often the truth comes out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import COUNT, MARGIN, MEAN, Pattern
from discreet.privacy.gaussian.clipped import ItemCounts
from discreet.privacy.gaussian.gate import Gate, paid
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.tallies import MeanOfMeans
from discreet.privacy.gaussian.totals import exact_totals
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.gate import Contributions, PureGate
from discreet.privacy.pure.ledger import PureLedger
from discreet.types import Bools, Floats
from tests.privacy.draws import attacks
from tests.privacy.draws.tally import ALARM_ERRORS

EPSILON = MU = 0.1
USER = float(int(COUNT * MARGIN))
"""What a user adds to the sum of an item, in grid steps."""
# So much noise that the lattice of normal numbers is as coarse as the integers.
WIDE = 2.0**-35
USERS = 1 << 19


@dataclass(frozen=True)
class Outcome:
    """Share of outputs for which an attack excludes the wrong value alone, and for which the right one alone."""

    outputs: int
    wrong: float
    truth: float


def gaussian_gate(present: bool, size: int, mu: float = MU) -> Floats:
    """Released counts of items that one user each has, or nobody."""
    mechanism = ItemCounts(size, 1)
    indptr = np.arange(size + 1) if present else np.zeros(size + 1, np.int64)
    items = np.arange(size if present else 0, dtype=np.int32)
    blocks = mechanism.blocks(Pattern(indptr, items, size))
    return Gate(Ledger(Budget(1.0, 1e-6))).release("counts", blocks, mu=mu)["counts"]


def pure_gate(present: bool, size: int) -> Floats:
    """The same without delta."""
    everybody = np.arange(size if present else 0)
    given = Contributions(everybody, everybody, np.ones_like(everybody), size, size)
    sums = PureGate(PureLedger(EPSILON)).sums("counts", given, bound=1, epsilon=EPSILON)
    return sums.astype(np.float64)


def gate_step(mu: float) -> float:
    """Steps on which counts leave the gate."""
    return 2.0 ** math.floor(math.log2(COUNT / mu / 2.0**14))


def before_the_last_step(present: bool, size: int, mu: float) -> Floats:
    """What the gate holds before it rounds down to its steps: a count and rounded noise."""
    return present * USER + Noise().integers(np.full(size, COUNT / paid(mu)))


def try_on(
    release: Callable[[bool], Floats], attack: Callable[[Floats, float], Bools], user: float
) -> Outcome:
    """The attack on outputs of both worlds."""
    only_wrong, only_truth, outputs = 0, 0, 0
    for present in (False, True):
        seen = release(present)
        wrong, truth = attack(seen, user * (not present)), attack(seen, user * present)
        outputs += len(seen)
        only_wrong += int((wrong & ~truth).sum())
        only_truth += int((truth & ~wrong).sum())
    return Outcome(outputs, only_wrong / outputs, only_truth / outputs)


def allowed(outputs: int) -> float:
    """By how much any attack at all may exclude the wrong value more often than the right one, and chance."""
    return math.tanh(EPSILON / 2.0) + ALARM_ERRORS / math.sqrt(outputs)


def exclusions(size: int) -> dict[str, dict[str, Outcome]]:
    """The attacks that name impossible values, against plain noise and against what leaves the gates."""
    scale = 1.0 / EPSILON

    def logarithm(seen: Floats, value: float) -> Bools:
        return attacks.inverse_logarithm(seen, value, scale)

    def laplace(present: bool) -> Floats:
        return attacks.laplace_baseline(float(present), scale, size)

    def gaussian(present: bool) -> Floats:
        return attacks.gaussian_baseline(float(present), 1.0 / MU, size)

    return {
        "inverse logarithm": {
            "plain Laplace noise": try_on(laplace, logarithm, 1.0),
            "pure gate": try_on(lambda present: pure_gate(present, size), logarithm, 1.0),
        },
        "precision": {
            "plain Laplace noise": try_on(laplace, attacks.precision, 1.0),
            "plain Gaussian noise": try_on(gaussian, attacks.precision, 1.0),
            "pure gate": try_on(lambda present: pure_gate(present, size), attacks.precision, 1.0),
            "Gaussian gate": try_on(lambda present: gaussian_gate(present, size), attacks.precision, USER),
        },
    }


def lattices(size: int) -> dict[str, tuple[float, float]]:
    """The lattice attack in both worlds, on rounded noise and on what the gate lets out, in standard errors."""
    sigma = COUNT / paid(WIDE)
    found = {}
    for name, release, step in (
        ("rounded noise without the gate's last step", before_the_last_step, 1.0),
        ("Gaussian gate", gaussian_gate, gate_step(WIDE)),
    ):
        found[name] = (
            attacks.lattice(release(False, size, WIDE), (0.0, USER), sigma, step),
            attacks.lattice(release(True, size, WIDE), (USER, 0.0), sigma, step),
        )
    return found


def gate_total(values: Floats) -> Floats:
    """The exact total that the gate adds noise to, of users with one value each."""
    pattern = Pattern(np.arange(len(values) + 1), np.zeros(len(values), np.int32), 1)
    return exact_totals(MeanOfMeans().blocks(pattern, values))[0].value


def moved_sums() -> dict[str, float]:
    """By how much one user moves a sum, in units of what a user may: of floats one after the other, and of the gate."""
    values = attacks.hostile_values(USERS)
    return {
        "floats of 32 bits": attacks.float_sum(values, np.float32)
        - attacks.float_sum(values[1:], np.float32),
        "floats of 64 bits": attacks.float_sum(values, np.float64)
        - attacks.float_sum(values[1:], np.float64),
        "gate": float(np.linalg.norm(gate_total(values) - gate_total(values[1:]))) / MEAN,
    }
