"""Silos under Flower: the rounds of ``discreet federate``, in Flower's simulation.

    pip install 'discreet[silos]' 'flwr[simulation]'
    python examples/flower_app.py market
    discreet statement market/model

The first line of work makes a market, splits it over three silos and writes what they agree on. Each virtual client is
one silo, with its own ratings, mask key and store; the server holds the coordinator's store. A run that was stopped
goes on where it was: start it again with the same folder.

In Flower's deployment the code of an app comes with the run, so a silo's refusals are worth as much as the word of
whoever starts runs. Organisations that do not trust the server use ``discreet federate``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from discreet import Budget, Catalogue, Ratings, Refused
from discreet.data.synthetic import market
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import generate_key, public_key
from discreet.silos.silo.silo import Silo

NAMES = ("east", "north", "south")


def prepare(folder: Path) -> None:
    """Write ``agreement.json``, ``items.csv``, and ratings and key of each silo in a folder of its own."""
    ratings = market(3_000, 100, 60_000, rng=0)
    assert ratings.catalogue is not None
    users = np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))
    ids = ratings.catalogue.ids
    frame = pl.DataFrame({"user": users, "item": ids[ratings.items], "rating": ratings.values})
    keys = {name: generate_key() for name in NAMES}
    for number, name in enumerate(NAMES):
        own = folder / name
        own.mkdir(mode=0o700, parents=True)
        (own / "mask.key").touch(mode=0o600)
        (own / "mask.key").write_bytes(keys[name])
        frame.filter(pl.col("user") % len(NAMES) == number).write_csv(own / "ratings.csv")
    pl.DataFrame({"item": ids}).write_csv(folder / "items.csv")
    agreement = Agreement.make(
        "a market in three silos",
        silos={name: public_key(key) for name, key in keys.items()},
        budget=Budget(2.0, 1e-6),
        catalogue=ratings.catalogue,
        rating_range=ratings.rating_range,
    )
    agreement.save(folder / "agreement.json")


def read(folder: Path) -> tuple[Agreement, Catalogue]:
    """What was agreed, and the items it is about."""
    return Agreement.load(folder / "agreement.json"), Catalogue.from_file(folder / "items.csv")


def open_silo(folder: Path, name: str) -> Silo:
    """One silo; whatever it answers is stored first, with its charge, and is sent again if it is asked again."""
    agreement, catalogue = read(folder)
    ratings = Ratings.from_csv(
        folder / name / "ratings.csv",
        user="user",
        item="item",
        rating="rating",
        rating_range=agreement.rating_range,
        catalogue=catalogue,
    )
    key = (folder / name / "mask.key").read_bytes()
    return Silo(folder / name / "silo.sqlite", agreement, name, key, ratings)


def client_app(folder: Path) -> ClientApp:
    """What Flower runs for every silo; clients are numbered in the order of the silos' names."""
    app = ClientApp()

    @app.train()
    def answer(message: Message, context: Context) -> Message:
        name = NAMES[int(context.node_config["partition-id"])]
        with open_silo(folder, name) as silo:
            try:
                reply = {"silo": name, "answer": silo.answer(message.content["round"]["question"])}
            except Refused as refusal:  # its words follow from the agreement and from releases
                reply = {"silo": name, "refused": str(refusal)}
        return Message(RecordDict({"round": ConfigRecord(reply)}), reply_to=message)

    return app


def server_app(folder: Path) -> ServerApp:
    """What Flower runs at the server: the coordinator asks every silo until the model is there."""
    app = ServerApp()

    @app.main()
    def train(grid: Grid, context: Context) -> None:
        agreement, catalogue = read(folder)
        with Coordinator(folder / "server.sqlite", agreement) as coordinator:
            while (question := coordinator.question()) is not None:
                content = RecordDict({"round": ConfigRecord({"question": question})})
                asked = [Message(content, node, "train") for node in grid.get_node_ids()]
                for reply in grid.send_and_receive(asked):
                    if reply.has_error():
                        raise RuntimeError(f"a silo has failed; its log says why: {reply.error.reason}")
                    said = reply.content["round"]
                    if "refused" in said:
                        raise RuntimeError(f"{said['silo']} refuses to answer: {said['refused']}")
                    coordinator.receive(said["silo"], said["answer"])
            coordinator.model(catalogue).save(folder / "model")

    return app


if __name__ == "__main__":
    from flwr.simulation import run_simulation

    here = Path(sys.argv[1]).resolve()
    if not here.exists():
        prepare(here)
    run_simulation(server_app(here), client_app(here), num_supernodes=len(NAMES))
