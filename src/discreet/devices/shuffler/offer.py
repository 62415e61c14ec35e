"""What a collector says of a shuffled task, checked; and what the shuffler says of it to devices."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.devices.collector.messages import explain
from discreet.devices.device.question import Question
from discreet.devices.device.terms import Terms, TermsInvalid
from discreet.devices.shuffle import ShuffleTerms, amplify
from discreet.errors import BudgetInvalid, SettingsInvalid

__all__ = ["Offer"]


class _Said(BaseModel):
    """The parts that are kept; the collector's own sums are worked out again."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)

    terms: dict[str, Any]
    collector_key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    batch: Annotated[int, Field(ge=2, le=1 << 31)]
    delta: Annotated[float, Field(gt=0.0, lt=1.0)]
    answers: Annotated[int, Field(ge=1, le=1000)]
    answer_epsilon: Annotated[float, Field(gt=0.0, le=20.0)]


@dataclass(frozen=True)
class Offer:
    """A shuffled task: its terms, the collector's key, and how its answers are mixed."""

    terms: Terms
    said: _Said

    @classmethod
    def from_fields(cls, task: str, fields: dict[str, Any]) -> Offer:
        """Read what a collector said; anything that devices could not rely on is refused."""
        try:
            said = _Said.model_validate(fields)
            terms = Terms.from_json(json.dumps(said.terms))
        except ValidationError as error:
            raise SettingsInvalid(f"task {task}: {explain(error.errors())}") from None
        except TermsInvalid as error:
            raise SettingsInvalid(f"task {task}: {error}") from None
        if terms.task != task:
            raise SettingsInvalid(f"task {task}: these are the terms of another task")
        if (said.answers + 1) * said.answer_epsilon <= terms.epsilon:
            raise SettingsInvalid(f"task {task}: devices would give more answers than the collector counts")
        return cls(terms, said)

    def to_json(self) -> str:
        """What is kept, in one canonical form."""
        return json.dumps(self.said.model_dump(), sort_keys=True)

    def check(self, question: Question) -> None:
        """Refuse a question whose answers cost other than was said: the central promise would be another."""
        if question.epsilon != self.said.answer_epsilon:
            raise SettingsInvalid(f"task {self.terms.task}: an answer now costs other than was said at first")

    def for_devices(self, shuffler_key: str, batch: int) -> dict[str, Any]:
        """What devices are told: terms, both keys, and the central promise for batches of this size."""
        said = self.said
        try:
            promise = amplify(
                said.answer_epsilon, said.answers, ShuffleTerms(batch=batch, delta=said.delta)
            ).fields()
        except BudgetInvalid as error:
            raise SettingsInvalid(f"task {self.terms.task}: {error}") from error
        keys = {"collector_key": said.collector_key, "shuffler_key": shuffler_key}
        return {"terms": json.loads(self.terms.to_json()), **keys, **promise}
