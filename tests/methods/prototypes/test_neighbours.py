"""Record and replay: no mechanism of the pipeline ever moves by more than the bound it was charged for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.kernels import distances as kernels
from discreet.methods.prototypes.private import silo as silo_module
from discreet.methods.prototypes.private.rows import TooFewUsers
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.private.swap import prototypes_through
from discreet.methods.prototypes.settings import PrototypeSettings, ShareTable
from tests.methods.prototypes.recording import RecordingGate, Tape, change
from tests.methods.prototypes.worlds import ITEMS, hostile, ratings, silo
from tests.sizes import sized

EPSILON = 200.0
EXAMPLES = sized(60, 2_000)
ONE_SIDED = ("support", "centre swap", "choice among trials")

BUSY: dict[str, Any] = {
    "clustering": "swap",
    "prototypes": 3, "users": 60, "dimension": 2, "depth": 3, "support": 4, "max_ratings": 6, "trials": 2,
    "swaps": 4, "threshold": 3, "minimum_users": 1,
}  # fmt: skip


def run(rows: list[dict[int, float]], chosen: PrototypeSettings, replay: Tape | None = None) -> Tape:
    gate = RecordingGate(EPSILON, "neighbours", replay)
    gate.tape.outcome = prototypes_through(gate, ratings(rows), EPSILON, chosen)
    assert gate.ledger.spent <= EPSILON * (1 + 1e-9)
    return gate.tape


def check(
    rows: list[dict[int, float]], extra: dict[int, float], chosen: PrototypeSettings, place: int
) -> None:
    base = run(rows, chosen)
    more = run([*rows[:place], extra, *rows[place:]], chosen, replay=base)
    assert [(one.name, one.epsilon, one.bound) for one in base.records] == [
        (one.name, one.epsilon, one.bound) for one in more.records
    ]
    for before, after in zip(base.records, more.records, strict=True):
        total, largest, rose = change(after, before)
        if before.name in ONE_SIDED:
            assert rose, before.name
            assert largest <= before.bound, before.name
        else:
            assert total <= before.bound, before.name
    # Shown the same outcomes, both silos send the same: nothing else of the ratings is in the message.
    one, other = base.outcome, more.outcome
    assert one.cells == other.cells
    for name in ("values", "mask", "weights"):
        assert np.array_equal(getattr(one.prototypes, name), getattr(other.prototypes, name)), name


@pytest.mark.parametrize("who", list(hostile()))
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"support": "all", "trials": 1},
        {"support": 2, "max_ratings": 12},
        {"row_clip": 6.0, "row_sum": 9.0},
        {"loss_cap": 4.0, "entry_clip": 2.0, "prototypes": 1},
    ],
    ids=lambda changes: "-".join(changes) or "plain",
)
def test_hostile_user_moves_nothing_by_more_than_its_bound(who: str, changes: dict[str, Any]) -> None:
    chosen = PrototypeSettings.checked(**{**BUSY, **changes})
    check(silo(40, 1), hostile()[who], chosen, place=17)


def test_every_mechanism_is_exercised() -> None:
    names = {record.name for record in run(silo(40, 1), PrototypeSettings.checked(**BUSY)).records}
    assert names == {
        name for name, _, _ in ShareTable.of(PrototypeSettings.checked(**BUSY), ITEMS, 1.0).rows()
    }


def test_the_bounds_are_reached() -> None:
    """A bound that nobody could reach would not show that the test sees anything."""
    chosen = PrototypeSettings.checked(**{**BUSY, "support": "all", "max_ratings": 12, "threshold": 2})
    rows, extra = silo(40, 1), hostile()["everything at the top"]
    base = run(rows, chosen)
    more = run([*rows, extra], chosen, replay=base)
    reached = {
        before.name
        for before, after in zip(base.records, more.records, strict=True)
        if change(after, before)[0 if before.name not in ONE_SIDED else 1] >= 0.99 * before.bound
    }
    assert {"silo count", "partition level", "values", "sizes"} <= reached


@pytest.mark.parametrize("changes", [{}, {"trials": 1}, {"threshold": 10**6}])
def test_whole_messages_follow_from_the_releases_alone(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a byte of what leaves is another when a user comes and the releases stay, notes and statement included."""
    chosen, rows = PrototypeSettings.checked(**{**BUSY, **changes}), silo(40, 1)

    def sent(people: list[dict[int, float]], replay: Tape | None = None) -> tuple[bytes, Tape]:
        gate = RecordingGate(EPSILON, "neighbours", replay)
        monkeypatch.setattr(silo_module, "PureGate", lambda ledger, noise: gate)
        return PrivatePrototypes(chosen).message(ratings(people), EPSILON).to_bytes(), gate.tape

    before, tape = sent(rows)
    for who in hostile().values():
        assert sent([*rows[:7], who, *rows[7:]], tape)[0] == before


@pytest.mark.parametrize("who", ["everything at the top", "a mixture"])
def test_candidates_and_centres_follow_from_the_releases_alone(
    who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is in which cluster follows from one's own ratings and from these: a trace of others would move everybody."""
    chosen, rows = PrototypeSettings.checked(**BUSY), silo(40, 1)
    seen: list[bytes] = []
    distances, nearest = kernels.capped_distances, kernels.nearest_centres

    def measured(points: Any, candidates: Any, *others: Any) -> Any:
        seen.append(candidates.tobytes())
        return distances(points, candidates, *others)

    def found(points: Any, centres: Any) -> Any:
        seen.append(centres.tobytes())
        return nearest(points, centres)

    monkeypatch.setattr(kernels, "capped_distances", measured)
    monkeypatch.setattr(kernels, "nearest_centres", found)
    tape = run(rows, chosen)
    before, seen[:] = list(seen), []
    assert len(before) == 4
    run([*rows[:7], hostile()[who], *rows[7:]], chosen, replay=tape)
    assert seen == before


@pytest.mark.parametrize(("users", "released"), [(0, 10**6), (1, 10**6), (40, 0), (40, -5)])
def test_who_is_refused_follows_from_the_released_count(users: int, released: int) -> None:
    """An exact count in the place of the noisy one would tell one user from none."""
    chosen = PrototypeSettings.checked(**{**BUSY, "minimum_users": 20, "threshold": 10**6, "prototypes": 1})
    tape = run(silo(40, 1), chosen.model_copy(update={"minimum_users": 1}))
    tape.records[0].released = np.array([released])
    gate = RecordingGate(EPSILON, "neighbours", tape)
    if released < 20:
        with pytest.raises(TooFewUsers, match=f"a noisy count of {released}, where 20 are needed"):
            prototypes_through(gate, ratings(silo(users, 1)), EPSILON, chosen)
        assert len(gate.tape.records) == 1
    else:
        prototypes_through(gate, ratings(silo(users, 1)), EPSILON, chosen)


@pytest.mark.parametrize("printed", [False, True])
def test_same_ratings_again(printed: bool) -> None:
    rows = silo(30, 4)
    check(
        rows,
        dict(rows[0]),
        PrototypeSettings.from_preset("published", users=30)
        if printed
        else PrototypeSettings.checked(**BUSY),
        place=30,
    )


ANY: dict[str, Any] = {
    "prototypes": st.integers(1, 6),
    "users": st.sampled_from([2, 10, 1000]),
    "max_ratings": st.integers(1, 20),
    "entry_clip": st.none() | st.floats(0.1, 9.0),
    "row_clip": st.none() | st.floats(0.1, 30.0),
    "row_sum": st.none() | st.floats(0.1, 90.0),
    "dimension": st.integers(1, 9) | st.just("auto"),
    "depth": st.integers(1, 6) | st.just("auto"),
    "threshold": st.integers(1, 20) | st.sampled_from(["auto", "printed"]),
    "loss_cap": st.floats(0.1, 8.0),
    "swaps": st.integers(1, 5),
    "support": st.integers(1, 20) | st.just("all"),
    "trials": st.integers(1, 3),
    "minimum_users": st.just(1),
    "seed": st.integers(0, 5),
}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    chosen=st.fixed_dictionaries(ANY),
    who=st.sampled_from(list(hostile())),
    users=st.integers(0, 25),
    place=st.integers(0, 25),
)
def test_any_settings_and_any_size(chosen: dict[str, Any], who: str, users: int, place: int) -> None:
    try:
        checked = PrototypeSettings.checked(**chosen)
        base = silo(users, 7)
        check(base, hostile()[who], checked, min(place, users))
    except DiscreetError as refusal:
        # A refusal follows from public numbers, or from the noisy count.
        assert any(word in str(refusal) for word in ("empty cells", "too few users", "too small")), refusal  # noqa: PT017


@settings(max_examples=200, deadline=None)
@given(chosen=st.fixed_dictionaries(ANY), epsilon=st.floats(1e-3, 100.0), items=st.integers(1, 5000))
def test_shares_add_up_to_epsilon(chosen: dict[str, Any], epsilon: float, items: int) -> None:
    table = ShareTable.of(PrototypeSettings.checked(**chosen), items, epsilon)
    assert table.total() == pytest.approx(epsilon, rel=1e-12)
    assert all(share > 0.0 for _, share, _ in table.rows())
    assert np.isclose(sum(share * times for _, share, times in table.rows()), epsilon)
