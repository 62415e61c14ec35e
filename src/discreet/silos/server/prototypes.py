"""The coordinator of a run of prototypes: one message from each silo, then the model to all of them.

Everything it has received and released is in its store before anybody is told, so it can be killed at any point and
goes on from there. Each message is private on its own, so a silo that stays away costs the others nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue
from discreet.errors import Refused
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import build_item_side, model_of
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.model.storage import item_side_from_bytes, item_side_to_bytes
from discreet.silos.shared.agreement import PrototypeAgreement
from discreet.silos.shared.messages import decode_prototypes, digest
from discreet.silos.shared.store import COORDINATOR, Store, StoreOwner

__all__ = ["PrototypeCoordinator"]


class PrototypeCoordinator(StoreOwner):
    """Takes messages until none is awaited, and releases the item side once. Safe to use from several threads."""

    def __init__(self, store: Path, agreement: PrototypeAgreement) -> None:
        self.agreement = agreement
        self._store = Store(Path(store), agreement.digest, COORDINATOR)

    def question(self) -> bytes | None:
        """Nothing is asked, as the agreement says it all: no bytes while messages are awaited, then ``None``."""
        return b"" if self._waiting_for() else None

    def receive(self, silo_name: str, body: bytes) -> dict[str, Any]:
        """Take a silo's message; it is on the disk when this returns."""
        with self._store.lock:
            silo, _ = decode_prototypes(body, self.agreement)
            if silo != silo_name:
                raise Refused(f"{silo_name} sent a message in the name of {silo}")
            known = {entry.silo: entry.facts["digest"] for entry in self._store.entries("answer")}.get(silo)
            if known is None:
                if silo not in self.agreement.roster:
                    raise Refused(f"{silo} is not in the agreement")
                if silo not in self._roster():
                    raise Refused(f"{silo} is out of this run: the others have gone on without it")
                with self._store.transaction():
                    self._store.add("answer", silo=silo, body=body, digest=digest(body))
            elif known != digest(body):
                raise Refused(
                    f"{silo} has sent its one message already, with other bytes: it has a second store. The first "
                    "message stands; end the other store, whose users have paid as well"
                )
            return {"repeated": known is not None}

    def drop(self, *silo_names: str) -> None:
        """Give up waiting for some silos; they are out of the run, and the others pay nothing for it."""
        with self._store.lock:
            waiting = self._waiting_for()
            if not silo_names:
                raise Refused("name the silos to go on without")
            for name in silo_names:
                if name not in waiting:
                    raise Refused(f"{name} is not awaited, so there is nothing to give up")
            if set(self._roster()) <= set(silo_names):
                raise Refused("nobody would be left: at least one silo must take part")
            with self._store.transaction():
                for name in dict.fromkeys(silo_names):
                    self._store.add("drop", silo=name)

    def finish_early(self) -> None:
        """End the run with the messages that have come."""
        with self._store.lock:
            waiting = self._waiting_for()
            if not waiting:
                raise Refused("the run is over; 'discreet federate model' saves its model")
            if set(self._roster()) <= set(waiting):
                raise Refused("no silo has sent its message yet, so there is nothing to make a model of")
            self.drop(*waiting)

    @property
    def finished(self) -> bool:
        """Whether there is a model."""
        return not self._waiting_for()

    def model(self, catalogue: Catalogue) -> Model:
        """The model, once the run is over: the same whenever it is asked for."""
        with self._store.lock:
            if not self.finished:
                raise Refused("the run is not over yet; there is no model")
            if catalogue.digest != self.agreement.catalogue:
                raise Refused("this is not the catalogue that was agreed on")
            bodies = [
                self._store.body("answer", silo=name) or b""
                for name in sorted(self._come() & set(self._roster()))
            ]
            messages = [decode_prototypes(body, self.agreement)[1] for body in bodies]
            settings = self.agreement.settings.model_dump(mode="json")
            settings["factors"] = self.agreement.factors.model_dump(mode="json")
            return model_of(self._item_side(messages), messages, catalogue, settings)

    def traffic(self) -> list[dict[str, int]]:
        """Bytes down and up before the model: there is one round, in which nothing is asked."""
        up = sum(entry.size for entry in self._store.entries("answer"))
        return [{"round": 0, "attempt": 0, "bytes_down": 0, "bytes_up": up}]

    def status(self) -> dict[str, Any]:
        """Where the run stands, for people and for JSON."""
        with self._store.lock:
            waiting, come = self._waiting_for(), self._come()
            return {
                "run": self.agreement.run_id,
                "state": "running" if waiting else "finished",
                "reason": None,
                "round": 0 if waiting else 1,
                "question": "prototypes" if waiting else None,
                "rounds": 1,
                "attempt": 0,
                "roster": self._roster(),
                "waiting_for": waiting,
                "messages_up": len(come),
                "bytes_up": self.traffic()[0]["bytes_up"],
                "bytes_down": 0,
                "epsilon_spent": self.agreement.epsilon if come else 0.0,
                "epsilon": self.agreement.epsilon,
                "delta": self.agreement.delta,
            }

    def _roster(self) -> list[str]:
        dropped = {entry.silo for entry in self._store.entries("drop")}
        return [name for name in self.agreement.roster if name not in dropped]

    def _come(self) -> set[str]:
        return {entry.silo for entry in self._store.entries("answer")}

    def _waiting_for(self) -> list[str]:
        with self._store.lock:
            come = self._come()
            return [name for name in self._roster() if name not in come]

    def _item_side(self, messages: list[PrototypeMessage]) -> ItemSide:
        """What was released, or is released now: kept, as another machine may differ in the last bits."""
        kept = self._store.body("release")
        if kept is not None:
            return item_side_from_bytes(kept)
        made = build_item_side(messages, self.agreement.factors, self.agreement.seed)
        with self._store.transaction():
            self._store.add("release", body=item_side_to_bytes(made))
        return made
