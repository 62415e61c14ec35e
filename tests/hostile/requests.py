"""Agreements and histories."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from discreet import Catalogue
from discreet.cli.histories import Person, read_histories
from discreet.cli.where import Place, Reader
from discreet.data.ratings import Ratings
from discreet.model.recommendations import Recommendations
from discreet.privacy.budget import Budget
from discreet.silos.shared.agreement import Agreement, PrototypeAgreement, load_agreement
from tests.hostile.byte_mutations import damage
from tests.hostile.json_mutations import mutate_json
from tests.hostile.kind import Kind, Outcome
from tests.hostile.tables import spoil_csv
from tests.model.models import make_doubtful, make_model

__all__ = ["AgreementFile", "HistoryFile"]


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
        assert read.most_bytes > 0
        assert type(read).parse(read.model_dump_json().encode()) == read
        return "same" if read == genuine else "other"


class HistoryFile(Kind):
    """``discreet recommend --history FILE``."""

    may_abort = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._models = (make_doubtful("explicit"), make_model("implicit"))
        one = ({"item-1": 4.0, "item-7": 1, "item-3": 2.5}, [10, 30, 70])
        many = ({"ann": one[0], "bob": {"item-2": 5}}, {"ann": one[1], "bob": [20, "40"]})
        self._json = [
            [json.dumps(content).encode() for content in pair] for pair in zip(one, many, strict=True)
        ]
        tables = ("item,rating\nitem-1,4\nitem-7,1\n", "user,item,rating\na,item-1,4\nb,item-7,1\n")
        self._csv = (tables, ("item\n10\n30\n", "user,item\na,10\nb,30\n"))
        pairs = zip(self._models, self._json, strict=True)
        self._genuine = [self._recommend(model, ".json", body[0]) for model, body in pairs]

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one file; what comes of it are scores."""
        which, shape = draw.randrange(2), draw.randrange(2)
        if draw.random() < 0.6:
            suffix, body = ".json", mutate_json(draw, self._json[which][shape])
        else:
            text = self._csv[which][shape]
            suffix, body = ".csv", draw.choice((spoil_csv(draw, text), damage(draw, text.encode())))
        scores = self._recommend(self._models[which], suffix, body, draw.choice(("error", "drop")))
        return "same" if scores == self._genuine[which] else "other"

    def _recommend(self, model: Any, suffix: str, body: bytes, unknown_items: Any = "error") -> list[float]:
        path = self.folder / f"history{suffix}"
        path.write_bytes(body)
        asked = Person(model="", history=str(path), unknown_items=unknown_items)
        with ExitStack() as held:
            history = read_histories(asked, model, Place(Reader(engine="memory"), [asked.history], held))
        if isinstance(history, Ratings):
            scores = (
                model.recommend_batch(history, 3, unknown_items=unknown_items)["score"].drop_nulls().to_list()
            )
        else:
            found: Recommendations = model.recommend(history, 3, unknown_items=unknown_items)
            scores = [one.score for one in found]
        assert np.isfinite(scores).all()
        return scores
