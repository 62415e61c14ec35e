"""Configuration files, agreements and histories."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from random import Random
from typing import Any

import click

from discreet import Catalogue
from discreet.cli.train import command as train
from discreet.cli.training import Training
from discreet.errors import DiscreetError
from discreet.methods.budgeted.settings import BudgetedSettings
from discreet.privacy.budget import Budget
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import largest_message, load_agreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from tests.hostile.byte_mutations import damage
from tests.hostile.json_mutations import mutate_json
from tests.hostile.kind import Kind, Outcome

__all__ = ["AgreementFile", "ConfigFile"]

OPTIONS: dict[str, Any] = {
    "user": "user",
    "item": "item",
    "rating": "stars",
    "rating-range": [1.0, 5.0],
    "epsilon": 1.0,
    "delta": 1e-6,
    "catalogue": "items.csv",
    "features": ["genres", "title"],
    "rank": 16,
    "rounds": 8,
    "goal": "rate",
    "seed": 3,
    "unknown-items": "drop",
    "settings": {},
}
SETTINGS: dict[str, Any] = json.loads(BudgetedSettings().model_dump_json(exclude_none=True))
TOML_SCRAPS = (
    *("[settings]\n", "[[settings]]\n", "a.b.c = 1\n", "epsilon = inf\n", "epsilon = nan\n", "seed = 1979-05-27\n"),
    *("epsilon = 1e400\n", f"seed = {'9' * 400}\n", "x = " + "[" * 5000 + "]" * 5000 + "\n", "é = 1\n", '"" = 1\n'),
    *("epsilon = true\n", "rank = 1_000\n", "rank = 0x7fffffffffffffff\n", "epsilon = '1'\n", '"\\u0000" = 1\n'),
    "epsilon = 2\n",
    *(f"{'a.' * 2000}b = 1\n", "rating-range = [1, 2, 3]\n", "rating-range = []\n"),
    *("method = '../x:y'\n", "method = 'os:system'\n"),
)  # fmt: skip


class ConfigFile(Kind):
    """``discreet train --config FILE`` as far as it goes without ratings."""

    refusals = (DiscreetError, click.ClickException)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        settings = {key: value for key, value in SETTINGS.items() if key not in ("rank", "rounds", "goal")}
        content = {**OPTIONS, "settings": settings}
        self._json = json.dumps(content).encode()
        self._toml = _as_toml(content)
        assert tomllib.loads(self._toml) == content
        self._genuine = self._read(".json", self._json)

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one file; what comes of it is a method with checked settings and a budget that is one."""
        if draw.random() < 0.5:
            read = self._read(".json", mutate_json(draw, self._json))
        else:
            lines = self._toml.splitlines(keepends=True)
            lines.insert(draw.randrange(len(lines) + 1), draw.choice(TOML_SCRAPS))
            spoilt = "".join(lines).encode() if draw.random() < 0.5 else damage(draw, self._toml.encode())
            read = self._read(".toml", spoilt)
        return "same" if read == self._genuine else "other"

    def _read(self, suffix: str, body: bytes) -> tuple[str, Any, Budget | None]:
        path = self.folder / f"config{suffix}"
        path.write_bytes(body)
        with train.make_context("train", ["ratings.csv", "--config", str(path), "--out", "model"]) as context:
            chosen = Training(**context.params).chosen()
        if chosen.budget is not None:
            assert chosen.budget.mu > 0.0
        method = chosen.method
        return type(method).__name__, method.settings, chosen.budget


class AgreementFile(Kind):
    """Agreements of both ways to train together: what is read is another run unless it says the same."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        catalogue = Catalogue([f"film {number}" for number in range(20)], features={"year": list(range(20))})
        plain = Catalogue(catalogue.ids)
        keys = {"north": "1" * 64, "south": "2" * 64, "west": "3" * 64}
        common: dict[str, Any] = {"rating_range": (1.0, 5.0)}
        agreements: list[Agreement | PrototypeAgreement] = [
            Agreement.make("run", silos=keys, budget=Budget(4.0, 1e-6), catalogue=catalogue, **common),
            Agreement.make(
                "run", silos=keys, budget=Budget(4.0, 1e-6), catalogue=plain, method="dpals", **common
            ),
            PrototypeAgreement.make("run", silos=list(keys), epsilon=3.0, catalogue=plain, **common),
        ]
        self._genuine = [(one.model_dump_json(indent=2).encode(), one) for one in agreements]

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one file."""
        text, genuine = draw.choice(self._genuine)
        path = self.folder / "agreement.json"
        path.write_bytes(mutate_json(draw, text))
        read = load_agreement(path)
        assert read == genuine or read.digest != genuine.digest, "two agreements with one digest"
        assert largest_message(read) > 0
        assert type(read).parse(read.model_dump_json().encode()) == read
        return "same" if read == genuine else "other"


def _as_toml(content: dict[str, Any]) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in content.items() if not isinstance(value, dict)]
    for name, table in content.items():
        if isinstance(table, dict):
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"
