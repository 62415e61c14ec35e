"""From a task on a collector to a model: what was released so far, and what devices can have paid for it."""

from __future__ import annotations

from discreet.devices.collector.admin import Admin
from discreet.devices.settings import METHOD
from discreet.devices.statement import state_task
from discreet.errors import ModelInvalid, SettingsInvalid
from discreet.model import Model
from discreet.model.wire import item_side_from_bytes

__all__ = ["fetch_model"]


def fetch_model(admin: Admin, task: str) -> Model:
    """The model of a task's last released round, with the person's own item ids and titles.

    Where rounds are still to come, the model is of those that were released, and the statement counts the open one
    as well: devices may have answered it.

    Raises
    ------
    SettingsInvalid
        Before the first release.
    ModelInvalid
        When what the collector sends does not fit its own configuration.
    """
    config = admin.config(task)
    schedule = config.learner().schedule
    question = admin.question(task)
    asked = len(schedule.steps) if question is None else question.round
    released = asked if question is None else asked - 1
    if released == 0:
        raise SettingsInvalid(f"round 1 of task {task} is not released yet, so there is no model")
    side = item_side_from_bytes(admin.released(task, released))
    if side.scale.range != config.range:
        raise ModelInvalid(f"the collector's item side rates from {side.scale}, not as task {task} does")
    statement = state_task(schedule, asked)
    settings = config.settings.model_dump()
    return Model(side, config.items, statement, METHOD, settings)
