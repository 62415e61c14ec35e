"""What `benchmarks.scale` measured: as a table, as a plot, and carried on to a size that nobody measured."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Budget

# The size on paper, the machines it is put on, and what they are assumed to cost (US dollars, rented by the hour).
USERS, ITEMS, EVENTS, RELEASES = 1e9, 1e7, 1e11, 10
MACHINES, CORES, LINK_GBIT = 100, 32, 25
CORE_HOUR, DISK_GB_MONTH, ZONE_GB = 0.05, 0.10, 0.01
RUN_BYTES = 12  # a user of 8 bytes and an item of 4
BUDGET = Budget(epsilon=1.0, delta=1e-10)

COLUMNS = (
    ("read or prepare, s", "read_seconds", 1),
    ("of the processor, s", "read_cpu_seconds", 1),
    ("peak, MiB", "read_peak_mb", 0),
    ("private round, s", "round_seconds", 2),
    ("of the processor, s", "round_cpu_seconds", 2),
    ("peak, MiB", "peak_mb", 0),
)


def table(record: dict[str, Any]) -> str:
    """All that was measured, and how far from a straight line it is."""
    names = " | ".join(name for name, _, _ in COLUMNS)
    lines = [
        "# Size: time and memory of a private round",
        "",
        f"Printed by `python -m benchmarks.scale`, rank {record['rank']}, {record['machine']['cores']} cores "
        f"({record['machine']['machine']}). The skewed market, 200 ratings a user, 20,000 items. Seconds and "
        "MiB of one process each.",
        "",
        f"| ratings | engine | {names} |",
        "|---:|---|" + "---:|" * len(COLUMNS),
    ]
    for row in record["results"]:
        cells = " | ".join(f"{row[key]:.{digits}f}" for _, key, digits in COLUMNS)
        lines.append(f"| {row['ratings']:,} | {row['engine']} | {cells} |")
    lines += ["", *_ratios(record), *_lines_through(record)]
    if "items" in record:
        told = record["items"]
        lines.append(
            f"- A round over {told['items']:,} items and 200,000 ratings, in memory: {told['round_seconds']:.2f} s "
            f"({told['round_cpu_seconds']:.2f} of the processor), {told['peak_mb'] - told['before_mb']:.0f} MiB more "
            "than before it."
        )
    return "\n".join(lines) + "\n"


def _disk(record: dict[str, Any], engine: str = "disk") -> list[dict[str, Any]]:
    return [row for row in record["results"] if row["engine"] == engine]


def _ratios(record: dict[str, Any]) -> list[str]:
    """From disk over in memory; beyond the largest size in memory, over that one in proportion."""
    memory = {row["millions"]: row for row in _disk(record, "memory")}
    if not memory:
        return []
    largest, told = memory[max(memory)], []
    for row in _disk(record):
        other = memory.get(row["millions"], largest)
        times = [row[key] / (other[key] * row["ratings"] / other["ratings"]) for key in _ROUND]
        scaled = "" if row["millions"] in memory else f" (memory in proportion from {largest['millions']})"
        told.append(f"{row['millions']} million: {times[0]:.2f}, processor {times[1]:.2f}{scaled}")
    return [f"- A round from disk over one in memory. {'; '.join(told)}."]


_ROUND = ("round_seconds", "round_cpu_seconds")
_BYTES = (("table", "table_bytes"), ("blocks", "blocks_bytes"))
_FITTED = (("preparation", "read_cpu_seconds"), ("private round", "round_cpu_seconds"))


def _lines_through(record: dict[str, Any]) -> list[str]:
    """Seconds of the processor as a + b n, by least relative squares: the largest distance says how linear it is."""
    rows = _disk(record)
    if len(rows) < 3:
        return []
    millions = np.array([row["ratings"] / 1e6 for row in rows])
    told = []
    for name, key in _FITTED:
        seconds = np.array([row[key] for row in rows])
        design = np.column_stack([np.ones(len(rows)), millions])
        start, slope = np.linalg.lstsq(design / seconds[:, None], np.ones(len(rows)), rcond=None)[0]
        off = np.abs(design @ [start, slope] / seconds - 1.0).max()
        power = np.polyfit(np.log(millions), np.log(seconds), 1)[0]
        told.append(
            f"- {name.capitalize()} from disk: {start:.2f} s + {slope:.3f} s a million ratings (processor), at most "
            f"{off:.0%} off; as a power of the size {power:.2f}."
        )
    return told


def draw(record: dict[str, Any], path: Path) -> None:
    """Time and memory by size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "discreet"
    figure, (times, memory) = plt.subplots(1, 2, figsize=(9.5, 3.7))
    for engine, colour in (("disk", "#1f6f8b"), ("memory", "#b58900")):
        rows = _disk(record, engine)
        if not rows:
            continue
        ratings = [row["ratings"] for row in rows]
        where = "from disk" if engine == "disk" else "in memory"
        read = "preparation" if engine == "disk" else "reading"
        drawn = ((times, "round_cpu_seconds", f"round {where}", "-"), (times, "read_cpu_seconds", read, ":"))
        drawn += ((memory, "peak_mb", f"round {where}", "-"), (memory, "read_peak_mb", read, ":"))
        for axes, key, label, style in drawn:
            values = [row[key] for row in rows]
            axes.plot(ratings, values, style, marker="o", color=colour, label=label, linewidth=1.8)
    times.set(title="processor, seconds", xlabel="ratings", xscale="log", yscale="log")
    memory.set(title="peak memory, MiB", xlabel="ratings", xscale="log", ylim=(0, None))
    for axes in (times, memory):
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8, framealpha=0.9, edgecolor="none")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def on_paper(record: dict[str, Any]) -> str:
    """Bytes, time, network and money of a size that was not measured, from the largest that was."""
    if "items" not in record or len(_disk(record)) < 2:
        return ""
    row, rank = _disk(record)[-1], record["rank"]
    items = record["items"]
    share = EVENTS / row["ratings"]
    table_tb, blocks_tb = (row[key] * share / 1e12 for key in ("table_bytes", "blocks_bytes"))
    runs_tb = RUN_BYTES * EVENTS / 1e12
    prepare_hours = row["read_cpu_seconds"] * share / 3600
    round_hours = _slope(record) * EVENTS / 3600
    item_seconds = items["round_cpu_seconds"] * ITEMS / items["items"]
    item_gb = (items["peak_mb"] - items["before_mb"]) * 2**20 * ITEMS / items["items"] / 1e9
    side_gb = ITEMS * (rank + 2) * 8 / 1e9
    spread = 3600 * round_hours / (MACHINES * CORES)
    one_link = 2 * MACHINES * side_gb * 8 / LINK_GBIT
    in_tree = 2 * math.ceil(math.log2(MACHINES)) * side_gb * 8 / LINK_GBIT
    hours = prepare_hours + RELEASES * round_hours
    moved = 2 * RELEASES * MACHINES * side_gb
    money = (hours * CORE_HOUR, (blocks_tb + runs_tb) * 1e3 * DISK_GB_MONTH, moved * ZONE_GB)
    a_million = {name: row[key] / row["ratings"] * 1e6 for name, key in (*_FITTED, *_BYTES)}
    item_bytes = item_gb * 1e9 / ITEMS
    told = [
        ("the table, Parquet", f"{a_million['table'] / 1e6:.1f} bytes a rating", f"{table_tb:.1f} TB"),
        (
            "blocks",
            f"{a_million['blocks'] / 1e6:.1f} bytes a rating",
            f"{blocks_tb:.1f} TB; {runs_tb:.1f} TB of runs while they are made ({RUN_BYTES} bytes a rating)",
        ),
        (
            "preparation",
            f"{a_million['preparation']:.2f} core-s a million ratings",
            f"{prepare_hours:,.0f} core-hours, {60 * prepare_hours / MACHINES / CORES:.1f} minutes on all machines",
        ),
        (
            "users' half of a round",
            f"{_slope(record) * 1e6:.3f} core-s a million ratings",
            f"{round_hours:,.1f} core-hours, {spread:,.1f} s on all machines",
        ),
        (
            "items' half: noise, release, step",
            f"{item_seconds / ITEMS * 1e6:.2f} core-s a million items",
            f"{item_seconds:,.0f} core-s, in one process today",
        ),
        (
            "memory of the items' half",
            f"{item_bytes:,.0f} bytes an item",
            f"{item_gb:,.0f} GB in that process, and {side_gb:.1f} GB each of item side and sums on every machine",
        ),
        (
            "network of a round",
            f"{rank + 2} numbers of 8 bytes an item, there and back",
            f"{one_link:,.0f} s through one machine's link, {in_tree:,.0f} s in a tree",
        ),
        (
            f"{RELEASES} rounds",
            "",
            f"{(RELEASES * (spread + item_seconds + in_tree)) / 60:,.0f} minutes after preparation; {hours:,.0f} "
            "core-hours in all",
        ),
        (
            "money, in dollars",
            "",
            f"{money[0]:,.0f} for processors, {money[1]:,.0f} for a month of disk, {money[2]:,.0f} for network if "
            "every machine is in another zone",
        ),
    ]
    lines = [
        "",
        "## On paper, from measured rates",
        "",
        f"A billion users, ten million items, a hundred billion events, {RELEASES} rounds of rank {rank}; on "
        f"{MACHINES} machines of {CORES} cores, each with a link of {LINK_GBIT} Gbit/s.",
        "",
        "- **Measured** are the rates in the second column (`benchmarks/results/scale.json`: "
        f"{row['ratings']:,} ratings from disk, the users' half as the difference to the smallest size; the items' "
        f"half at {items['items']:,} items).",
        "- **Calculated** is everything in the third.",
        f"- **Assumed** are the machines, that work divides among cores without loss, and prices: {CORE_HOUR:.2f} "
        f"dollars a core-hour, {DISK_GB_MONTH:.2f} a GB and month of disk, {ZONE_GB:.2f} a GB between zones.",
        "",
        "| what | measured rate | calculated |",
        "|---|---|---|",
        *(f"| {' | '.join(cells)} |" for cells in told),
        "",
        *_breaks(item_seconds, spread, in_tree, (item_gb, side_gb, 4e6 * _slope(record))),
        "",
        *_noise(),
        "",
    ]
    return "\n".join(lines)


def _slope(record: dict[str, Any]) -> float:
    """Seconds of the processor for one more rating, from the smallest to the largest size: without the items' half."""
    first, *_, last = _disk(record)
    return float(
        (last["round_cpu_seconds"] - first["round_cpu_seconds"]) / (last["ratings"] - first["ratings"])
    )


def _breaks(
    item_seconds: float, spread: float, in_tree: float, sizes: tuple[float, float, float]
) -> list[str]:
    item_gb, side_gb, block_seconds = sizes
    parts = {
        "the items' half, which one process does": item_seconds,
        "moving sums and item side": in_tree,
        "the users' half": spread,
    }
    first, second, third = sorted(parts, key=lambda name: -parts[name])
    return [
        f"What breaks first: {first} ({parts[first]:,.0f} s a round), then {second} ({parts[second]:,.0f} s), and last "
        f"{third} ({parts[third]:,.0f} s). Noise and steps of two items have nothing to do with each other, so both "
        f"item parts divide by blocks of items; until they do, the process with the gate needs {item_gb:,.0f} GB, and "
        f"every block of users adds to sums of {side_gb:.1f} GB for {block_seconds:.1f} s of work on its own four "
        "million ratings. Preparation assumes that each machine has the rows of its own users: it cuts every run into "
        "as many pieces as there are blocks, which on one machine grows with the square of the rows. The promise "
        "does not break: sums of 64 bits hold 2^32 users."
    ]


def _noise() -> list[str]:
    """Noise of one number that an item's users share, beside the chance of who the users are."""
    mu, clicks, users = BUDGET.mu_for(0.0), EVENTS / USERS, EVENTS / ITEMS
    noise = math.sqrt(clicks * RELEASES) / mu
    even = noise**2
    return [
        f"What noise does there (calculated; epsilon {BUDGET.epsilon:g} and delta {BUDGET.delta:g}, mu = {mu:.3f} for "
        f"all {RELEASES} releases): a user with {clicks:.0f} events has a share of 1 / {math.sqrt(clicks):.0f} for "
        f"each, so the count of an item is off by the noise of {noise:,.0f} users, however many users there are. That "
        f"is {noise / users:.1%} of the {users:,.0f} users of an average item, {noise / 1e6:.2%} of a million, and as "
        f"much as there is to know of {noise:,.0f}. Chance ({1 / math.sqrt(users):.1%} for {users:,.0f} users) falls "
        f"only with the root: above {even:,.0f} users of an item privacy costs less than who happens to be in the "
        "data."
    ]
