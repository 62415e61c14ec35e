"""What lost silos cost: MovieLens 1M dealt out to five equal silos, one of them lost in every round.

    python benchmarks/dropouts.py [--data FOLDER] [--draws 2]

All train at epsilon 5 with the default method. Central training adds the noise once; silos add shares of which the
default number of honest ones suffices; with a loss, another silo of the five is lost in each round, and the round is
released without it; the lost one makes up for it in those that are left. The same coordinator, silos, masks, shares
and stores as over the network, without the network. RMSE on a tenth of each user's ratings. Writes
``benchmarks/results/dropouts.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from discreet import Budget, BudgetedALS, Catalogue, Model, Ratings
from discreet.data import splits
from discreet.evaluation.protocols import evaluate_ratings
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import generate_key, public_key
from discreet.silos.silo.silo import Silo

RESULTS = Path(__file__).parent / "results"
SILOS, EPSILON, DELTA = 5, 5.0, 1e-6
STAGES = ("answer", "countersign", "reveal")


def movielens(data: Path) -> Ratings:
    return Ratings.from_parquet(
        data / "ml-1m" / "ratings.parquet",
        user="user",
        item="item",
        rating="rating",
        rating_range=(1.0, 5.0),
        catalogue=Catalogue.from_file(data / "ml-1m" / "items.parquet"),
    )


def together(
    parts: dict[str, Ratings], seed: int, dropouts: int, *, lose: bool
) -> tuple[Model, dict[str, Any]]:
    """A run over silos, and what went over its wires."""
    first = next(iter(parts.values()))
    assert first.catalogue is not None
    keys = {name: generate_key() for name in parts}
    agreement = Agreement.make(
        "benchmark",
        silos={name: public_key(key) for name, key in keys.items()},
        budget=Budget(EPSILON, DELTA),
        catalogue=first.catalogue,
        rating_range=first.rating_range,
        settings=BudgetedALS(goal="rate").settings,
        dropouts=dropouts,
        seed=seed,
    )
    messages: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = stack.enter_context(Coordinator(Path(folder) / "server.db", agreement))
        silos = {
            name: stack.enter_context(Silo(Path(folder) / f"{name}.db", agreement, name, keys[name], ratings))
            for name, ratings in parts.items()
        }
        while (question := server.question()) is not None:
            status = server.status()
            gone = sorted(silos)[status["round"] % SILOS] if lose and status["stage"] == "answer" else None
            messages.setdefault(f"{status['stage']}, down", []).append(len(question))
            for name in status["waiting_for"]:
                if name != gone:
                    reply = silos[name].answer(question)
                    messages.setdefault(f"{status['stage']}, up", []).append(len(reply))
                    server.receive(name, reply)
            if gone is not None:
                server.lose(gone)
        model, status = server.model(first.catalogue), server.status()
        spent = {name: silo.status()["charged_mu"] for name, silo in silos.items()}
    told = {key: status[key] for key in ("round", "bytes_up", "bytes_down", "charged_mu", "lost_in")}
    sizes = {kind: [float(np.mean(found)), max(found)] for kind, found in messages.items()}
    return model, told | {"charged": spent, "message_bytes": sizes}


def draw(ratings: Ratings, seed: int) -> dict[str, Any]:
    train, test = splits.by_rating(ratings, (0.9, 0.1), rng=seed)
    owner = np.random.default_rng(seed).permutation(ratings.n_users) % SILOS
    parts = {f"silo-{k}": train.take_users(owner == k) for k in range(SILOS)}
    central = BudgetedALS(goal="rate").fit(train, Budget(EPSILON, DELTA), rng=seed).model_
    found: dict[str, Any] = {"draw": seed, "central": evaluate_ratings(central, train, test).rmse}
    for way, dropouts, lose in (("federated", 0, False), ("may lose one", 1, False), ("one lost", 1, True)):
        model, told = together(parts, seed, dropouts, lose=lose)
        found[way] = evaluate_ratings(model, train, test).rmse
        found[f"{way}: run"] = told
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=2)
    options = parser.parse_args()
    ratings, runs = movielens(options.data), []
    for seed in range(options.draws):
        runs.append(draw(ratings, seed))
        Console().print(runs[-1])
        (RESULTS / "dropouts.json").write_text(json.dumps(runs, indent=2) + "\n")
        (RESULTS / "dropouts.md").write_text(written(runs))


def written(runs: list[dict[str, Any]]) -> str:
    ways = {
        "central": "central",
        "federated": "five silos, nobody may be lost",
        "may lose one": "five silos, one may be lost, nobody is",
        "one lost": "five silos, another one lost in every round",
    }
    base = np.array([run["central"] for run in runs])
    calm = np.array([run["may lose one"] for run in runs])
    rows = []
    for way, words in ways.items():
        scores = np.array([run[way] for run in runs])
        rows.append(f"| {words} | {scores.mean():.4f} | {_more(scores, base)} | {_more(scores, calm)} |")
    traffic = []
    for way in ("federated", "may lose one", "one lost"):
        told = runs[-1][f"{way}: run"]
        up = sum(f"{stage}, up" in told["message_bytes"] for stage in STAGES)
        totals = f"{told['bytes_up'] / 1e6:.1f} | {told['bytes_down'] / 1e6:.1f}"
        traffic.append(f"| {ways[way]} | {up} | {totals} |")
    sizes = runs[-1]["may lose one: run"]["message_bytes"]
    stages = [f"| {kind} | {mean:,.0f} | {most:,} |" for kind, (mean, most) in sizes.items()]
    draws = "1 draw" if len(runs) == 1 else f"{len(runs)} draws"
    return "\n".join(
        [
            "# Lost silos",
            "",
            "Written by `benchmarks/dropouts.py`: MovieLens 1M, five silos of equal size, 3 of 5 honest, "
            f"epsilon {EPSILON:g}, delta {DELTA:g};",
            f"{draws} of users, test ratings and noise; mean ± standard error of the difference, draw by draw.",
            "",
            "| training | RMSE | against central, % | against calm, % |",
            "|---|---|---|---|",
            *rows,
            "",
            "What goes over the wires, all silos together (last draw). What somebody has missed is sent once more:",
            "",
            "| run | messages of a silo a round, up | MB up | MB down |",
            "|---|---|---|---|",
            *traffic,
            "",
            "Bytes of one message, where one of five may be lost:",
            "",
            "| message | mean | largest |",
            "|---|---|---|",
            *stages,
            "",
        ]
    )


def _more(scores: np.ndarray, than: np.ndarray) -> str:
    """By how many percent errors are larger."""
    more = 100.0 * (scores / than - 1.0)
    spread = f" ± {more.std(ddof=1) / np.sqrt(len(more)):.2f}" if len(more) > 1 and more.any() else ""
    return f"{more.mean():+.2f}{spread}"


if __name__ == "__main__":
    main()
