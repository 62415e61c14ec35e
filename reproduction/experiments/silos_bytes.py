"""How many messages a silo sends and gets, and how many bytes: prototypes beside federated ALS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.methods.budgeted.settings import BudgetedSettings
from discreet.methods.prototypes import FactorSettings, PrototypeSettings, build_model
from discreet.silos.shared.model_message import encode_model
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.prototype_messages import encode_prototypes
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Column, Finding, Result, Table
from reproduction.silos.methods import federate, private_messages
from reproduction.silos.worlds import SiloWorld, movielens_world, poisson_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

PROTOTYPES, FEDERATED = "prototypes", "federated ALS"


@dataclass(frozen=True)
class Traffic:
    """What one silo sends and gets in a run, the largest of all silos."""

    world: str
    method: str
    setting: str
    rank: int
    messages_up: int
    messages_down: int
    bytes_up: int
    bytes_down: int

    @property
    def total(self) -> int:
        """Bytes in both directions."""
        return self.bytes_up + self.bytes_down


def run(context: Context) -> Result:
    """Count the encoded messages of real runs."""
    films, said = movielens_world(context)
    users, items = context.pick(quick=(1_000, 60), full=(5_000, 500))
    counts = poisson_world(context, users, items)
    found = []
    jobs = [(world, job) for world in (films, counts) for job in ("prototypes", "als")]
    for number, (world, job) in enumerate(jobs):
        found += _prototypes(world, context) if job == "prototypes" else _federated(world, context)
        context.report("runs", number + 1, len(jobs))
    columns = (
        Column("data"), Column("method"), Column("setting"), Column("rank"),
        Column("messages up"), Column("messages down"), Column("bytes up"), Column("bytes down"),
        Column("bytes in all"), Column("bytes an item", digits=1),
    )  # fmt: skip
    sizes = {films.name: films.train.n_items, counts.name: items}
    rows = [
        {
            "data": one.world, "method": one.method, "setting": one.setting, "rank": one.rank,
            "messages up": one.messages_up, "messages down": one.messages_down, "bytes up": one.bytes_up,
            "bytes down": one.bytes_down, "bytes in all": one.total, "bytes an item": one.total / sizes[one.world],
        }
        for one in found
    ]  # fmt: skip
    notes = (
        "The encoded messages themselves, as a silo sends and gets them; what TLS and HTTP add is not counted, nor the "
        "agreement, which is exchanged once and beforehand.",
        "Bytes do not depend on how many users a silo has, only on items, k, rank and rounds.",
    )
    table = Table("Messages and bytes of one silo in a whole run", columns, rows)
    return Result([table], judge(found), _draw(found), [said, f"{counts.name}, ten silos."], notes)


def _prototypes(world: SiloWorld, context: Context) -> list[Traffic]:
    found = []
    for k, rank in context.pick(quick=((10, 5),), full=((10, 10), (50, 10), (50, 40))):
        settings = {"unrated": "zero", "prototypes": k, "users": world.order, "minimum_users": 1}
        factors = FactorSettings(rank=rank, rounds=2)
        messages, first = private_messages(world.parts, 10.0, settings), world.parts[0]
        assert first.catalogue is not None
        model = build_model(messages, first.catalogue, factors, context.seed)
        agreement = PrototypeAgreement.make(
            "an experiment",
            silos=[f"silo-{number:02}" for number in range(len(messages))],
            epsilon=10.0,
            catalogue=first.catalogue,
            rating_range=first.rating_range,
            settings=PrototypeSettings.checked(**settings),
            factors=factors,
        )
        up = max(len(encode_prototypes(agreement, agreement.roster[0], message)) for message in messages)
        down = len(encode_model(model, agreement))
        found.append(Traffic(world.name, PROTOTYPES, f"k {k}, l {rank}", rank, 1, 1, up, down))
    return found


def _federated(world: SiloWorld, context: Context) -> list[Traffic]:
    found = []
    for rank, rounds in context.pick(quick=((0, 1), (3, 2)), full=((0, 1), (4, 4), (12, 10))):
        settings = BudgetedSettings(rank=rank, rounds=rounds)
        run = federate(world.clipped(), 10.0, context.seed, settings)
        silos, rank = len(world.parts), run.model.item_side.rank
        up, down = (sum(entry[f"bytes_{way}"] for entry in run.traffic) // silos for way in ("up", "down"))
        asked = len(run.traffic)
        setting = f"rank {rank}, {asked} questions"
        found.append(
            Traffic(world.name, FEDERATED, setting, rank, asked, asked + 1, up, down + run.model_bytes)
        )
    return found


def judge(found: Sequence[Traffic]) -> list[Finding]:
    """Hold the counts against what the paper says of communication."""
    prototypes = [one for one in found if one.method == PROTOTYPES]
    federated = [one for one in found if one.method == FEDERATED]
    alike = all(one.messages_up + 1 == one.messages_down for one in federated)
    ratios = {
        world: max(one.total for one in federated if one.world == world)
        / max(one.total for one in prototypes if one.world == world)
        for world in dict.fromkeys(one.world for one in found)
    }
    cheap = {
        one.world: one.total / min(other.total for other in prototypes if other.world == one.world)
        for one in federated
        if one.rank == 0
    }
    return [
        Finding(
            "Prototypes take one message from each silo and one back.",
            f"{max(one.messages_up for one in prototypes)} up and {max(one.messages_down for one in prototypes)} down.",
            all(one.messages_up == one.messages_down == 1 for one in prototypes),
        ),
        Finding(
            "(ours) Federated ALS takes one message up and one down in each round; at the end the model comes down.",
            ", ".join(f"{one.messages_up} and {one.messages_down} ({one.setting})" for one in federated)
            + ".",
            alike,
        ),
        Finding(
            "Prototypes take fewer bytes than training in rounds.",
            "Federated ALS at its largest takes "
            + ", ".join(f"{value:.1f} times ({world})" for world, value in ratios.items())
            + " the bytes of the largest prototypes; with item offsets alone "
            + ", ".join(f"{value:.2f} times ({world})" for world, value in cheap.items())
            + " those of the smallest.",
            all(value > 1.0 for value in ratios.values()),
        ),
    ]


def _draw(found: Sequence[Traffic]) -> Figure:
    worlds = list(dict.fromkeys(one.world for one in found))
    figure, all_axes = plotting.panels(len(worlds), width=5.4, height=3.4)
    for axes, world in zip(all_axes, worlds, strict=True):
        mine = [one for one in found if one.world == world]
        places = range(len(mine))
        up, down = [one.bytes_up / 1e3 for one in mine], [one.bytes_down / 1e3 for one in mine]
        axes.barh(places, up, color=plotting.COLOURS[0], label="up")
        axes.barh(places, down, left=up, color=plotting.COLOURS[1], label="down")
        axes.set_yticks(places, [f"{one.method}\n{one.setting}" for one in mine])
        axes.invert_yaxis()
        axes.set(title=world, xlabel="kB of one silo in a whole run")
        axes.legend()
    return figure


EXPERIMENT = Experiment(
    name="silos-bytes",
    title="Silos: messages and bytes",
    source="Federating Recommendations Using Differentially Private Prototypes (2020), section 3 (communication)",
    shows="Messages and bytes of one silo in a whole run, counted on the encoded messages of real runs.",
    paper_found="Two messages for each silo, however long the server computes.",
    run=run,
)
