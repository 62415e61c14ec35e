"""Bugs in randomised response, on one device and for many."""

from __future__ import annotations

from mutants.mutant import Mutant

_ANSWER = "devices/device/answer.py"
_T_ANSWER = ("devices/device/test_answer.py",)
_T_ROTATED = ("privacy/local/test_rotated.py",)

MUTANTS = (
    Mutant(
        "a device that flips at half the rate",
        _ANSWER,
        "return -((-1 << COIN_BITS - 1 + _DIGITS) // (total + (1 << _DIGITS)))",
        "return -((-1 << COIN_BITS - 2 + _DIGITS) // (total + (1 << _DIGITS)))",
        "a bit is epsilon-LDP",
        _T_ANSWER,
        "ratio or threshold",
        quick=True,
    ),
    Mutant(
        "a device that never flips",
        _ANSWER,
        "return bit ^ int(word >> 1 < flip_threshold(epsilon))",
        "return bit",
        "a bit is epsilon-LDP",
        _T_ANSWER,
        "ratio or threshold",
    ),
    Mutant(
        "no ratings answer no",
        _ANSWER,
        "bit = word & 1 if value == 0.0 else int(value > 0.0)",
        "bit = int(value > 0.0)",
        "a tie is decided by the coin",
        _T_ANSWER + _T_ROTATED,
        "nothing_about or fair_coin or agree",
    ),
    Mutant(
        "the coin of the tie is the coin of the flip",
        _ANSWER,
        "return bit ^ int(word >> 1 < flip_threshold(epsilon))",
        "return bit ^ int(word < flip_threshold(epsilon))",
        "63 bits decide whether to flip",
        _T_ANSWER,
        "ratio or threshold or turns",
    ),
    Mutant(
        "a rating outside the range is a refusal",
        _ANSWER,
        "    items = sorted(i for i, value in ratings.items() if 0 <= i < question.items and low <= value <= high)",
        "    if any(not low <= value <= high for value in ratings.values()):\n"
        "        raise SystemExit(2)\n"
        "    items = sorted(i for i, value in ratings.items() if 0 <= i < question.items and low <= value <= high)",
        "a refusal does not depend on ratings",
        _T_ANSWER,
        "impossible or refusals",
    ),
    Mutant(
        "a device that answers what it is not asked",
        _ANSWER,
        """    if not question.takes_part(device_id):
        raise QuestionInvalid("this question is for other devices")
""",
        "",
        "a device answers at most once a pass",
        _T_ANSWER,
        "not_asked",
    ),
    Mutant(
        "coins of an ordinary generator",
        _ANSWER,
        "    randbits: Callable[[int], int] = secrets.randbits,\n",
        '    randbits: Callable[[int], int] = __import__("random").getrandbits,\n',
        "a device's coin cannot be predicted",
        _T_ANSWER,
    ),
    Mutant(
        "a device answers about an item that it has rated",
        _ANSWER,
        "rotation, coordinate = question.place(device_id)",
        "rotation, coordinate = question.place(device_id)[0], items[0] if items else 0",
        "which coordinate is asked for is drawn without looking at the data",
        _T_ANSWER,
        "transcript or agree",
    ),
    Mutant(
        "places that are not uniform",
        "devices/device/question.py",
        'return rotation, int.from_bytes(digest[8:16], "big") % self.dimension',
        'return rotation, int.from_bytes(digest[:2], "big") % self.dimension',
        "everybody's place in a question is uniform",
        ("privacy/local/test_rotated.py", "devices/device/test_answer.py"),
        "places or agree",
    ),
    Mutant(
        "coins of many devices by PCG64",
        "privacy/local/rotated.py",
        "return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)",
        "return np.random.default_rng(len(str(size))).integers(0, 1 << 64, size, dtype=np.uint64)",
        "coins cannot be predicted",
        _T_ROTATED,
        "coins",
    ),
    Mutant(
        "a fixed coin says nothing",
        "privacy/local/rotated.py",
        "return self._stream is not None\n",
        "return False\n",
        "coins that repeat void the promise",
        ("privacy/local/test_rotated.py", "devices/test_simulation.py"),
        "coin",
    ),
)
