"""What a task on devices says it has cost, at any time: all that one device can have spent by then."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from discreet.devices.device.question import Question
from discreet.devices.schedule import DeviceSettings, Schedule
from discreet.devices.statement import state_task


@pytest.mark.parametrize(("groups", "passes", "epsilon"), [(2, 1, 0.5), (4, 3, 4.0), (3, 5, 7.3)])
def test_at_any_time_the_statement_covers_what_one_device_has_answered(
    groups: int, passes: int, epsilon: float
) -> None:
    """A question that is open may have been answered: it counts, whether or not it is in the model."""
    schedule = Schedule(DeviceSettings(goal="rate", groups=groups, passes=passes), epsilon)
    answered: Counter[int] = Counter()
    for asked, step in enumerate(schedule.steps, 1):
        answered[step.group] += 1
        statement = state_task(schedule, asked)
        most = max(answered.values())
        assert statement.private
        assert statement.epsilon is not None
        assert Fraction(statement.epsilon) >= most * Fraction(schedule.cost)
        assert len(statement.releases) == most
        assert statement.relation == "replace all of one user's ratings"
        assert any("still to come" in entry for entry in statement.not_protected) == (
            most < passes and asked < len(schedule.steps)
        )
    assert state_task(schedule, len(schedule.steps)).epsilon == epsilon


def test_groups_are_who_takes_part() -> None:
    """One device is in one group: what a group is asked is what one device can answer."""
    schedule = Schedule(DeviceSettings(goal="rate", groups=3, passes=2), 2.0)
    for device in (bytes([number]) * 16 for number in range(20)):
        asked = [
            Question(
                "t", number, "popularity", 1.0, "ab" * 32, 1, 8, 0, (1.0, 5.0), (step.group, step.groups)
            ).takes_part(device)
            for number, step in enumerate(schedule.steps, 1)
        ]
        assert sum(asked) == 2
