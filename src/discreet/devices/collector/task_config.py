"""What may be sent to a collector, read strictly: a report, a command, or a task to be created.

A task's configuration is fixed when it is created: all that it asks follows from this and from its releases.
"""

from __future__ import annotations

import secrets
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.catalogue import Catalogue
from discreet.devices.device.question import MAX_ITEMS, QuestionInvalid, Terms, TermsInvalid
from discreet.devices.learner import Learner
from discreet.devices.task import DeviceSettings, refuse_paid
from discreet.errors import CatalogueInvalid, SettingsInvalid
from discreet.web.server import explain

__all__ = ["Close", "Delete", "Report", "TaskConfig", "make_config"]

TaskName = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
RoundNumber = Annotated[int, Field(ge=1, le=(1 << 31) - 1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Report(_Strict):
    """One device's answer: one bit, under a pseudonym that is random for each task."""

    task: TaskName
    round: RoundNumber
    device: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    bit: Annotated[int, Field(ge=0, le=1)]

    def record(self) -> bytes:
        """Pseudonym and bit as they are stored."""
        return bytes.fromhex(self.device) + bytes((self.bit,))


class Close(_Strict):
    """Which round to end; named, so that a repeated request does not end the next one too."""

    round: RoundNumber


class Delete(_Strict):
    """What to delete of a task: the reports of its released rounds, or all of it."""

    what: Literal["reports", "task"]


class _Catalogue(_Strict):
    """The item list as ``Catalogue.to_json`` writes it: ids, and titles in the same order, null where unknown."""

    ids: Annotated[list[int] | list[str], Field(min_length=1, max_length=MAX_ITEMS)]
    titles: Annotated[list[str | None], Field(max_length=MAX_ITEMS)] | None = None


class TaskConfig(_Strict):
    """A task to be created: its public items in the order that numbers them, and what one device spends in all.

    Nothing is released from a round with fewer reports than the ``minimum``. A round ends by itself with ``enough``
    reports, or so many ``hours`` after it was opened; left out, somebody ends it.
    The ``seed``, 64 hexadecimal digits, is public.
    """

    task: TaskName
    catalogue: _Catalogue
    range: tuple[float, float]
    epsilon: Annotated[float, Field(gt=0.0)]
    settings: DeviceSettings = DeviceSettings()
    minimum: Annotated[int, Field(ge=1)] = 1000
    seed: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(
        default_factory=lambda: secrets.token_hex(32)
    )
    enough: Annotated[int, Field(ge=1)] | None = None
    hours: Annotated[float, Field(gt=0.0)] | None = None

    @cached_property
    def items(self) -> Catalogue:
        """The item list."""
        ids = self.catalogue.ids
        pairs = zip(ids, self.catalogue.titles or (), strict=False)
        return Catalogue(ids, {one: title for one, title in pairs if title is not None})

    @cached_property
    def terms(self) -> Terms:
        """What devices are asked to agree to."""
        rounds = len(self.learner().schedule.steps)
        return Terms(self.task, self.epsilon, rounds, len(self.items), self.range, self.items.digest)

    def learner(self) -> Learner:
        """The task before its first round."""
        low, high = self.range
        if low > high:
            raise SettingsInvalid(
                f"the rating range is reversed, {low:g} to {high:g}; give the lowest rating first"
            )
        return Learner(self.task, len(self.items), self.range, self.epsilon, self.seed, self.settings)

    def decided(self) -> TaskConfig:
        """The same with the number of passes that the rule chose: what an answer costs stays what it is."""
        passes = self.learner().schedule.passes
        return self.model_copy(update={"settings": self.settings.model_copy(update={"passes": passes})})

    @model_validator(mode="after")
    def _has_a_catalogue(self) -> Self:
        titles = self.catalogue.titles
        if titles is not None and len(titles) != len(self.catalogue.ids):
            raise ValueError(f"the catalogue has {len(self.catalogue.ids)} ids and {len(titles)} titles")
        try:
            _ = self.items
        except CatalogueInvalid as error:
            raise ValueError(str(error)) from None
        return self


def make_config(catalogue: Catalogue, settings: dict[str, Any], **given: Any) -> TaskConfig:
    """The configuration of a new task; every mistake is named, and is refused here before anything is sent.

    Raises
    ------
    SettingsInvalid, BudgetInvalid
        When devices could not be asked like that.
    """
    checked = DeviceSettings.checked(**settings)
    refuse_paid(catalogue)
    try:
        listed = _Catalogue.model_validate_json(catalogue.to_json())
        config = TaskConfig(catalogue=listed, settings=checked, **given)
        _ = config.terms
    except ValidationError as error:
        raise SettingsInvalid(explain(error.errors(include_url=False))) from None
    except (TermsInvalid, QuestionInvalid) as error:
        raise SettingsInvalid(str(error)) from None
    return config
