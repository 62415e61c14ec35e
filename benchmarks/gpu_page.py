"""The page of `benchmarks.gpu`, from its JSON."""

from __future__ import annotations

from typing import Any


def page(found: dict[str, Any]) -> str:
    """Tables for every rank."""
    size, top = found["size"], found["ceilings"]
    lines = [
        "# A private round on a GPU",
        "",
        "Written by `python -m benchmarks.gpu`. Times are medians after warm-up.",
        "",
        f"{size['users']:,} users, {size['items']:,} items, {size['ratings']:,} ratings; {found['card']}, torch "
        f"{found['torch']}; the CPU beside it has {found['threads']} threads.",
        "",
        f"Measured on this card: a copy moves {top['copy_gb_s']:,.0f} GB/s (read and written); matrix products do "
        f"{top['float32_gflop_s'] / 1e3:,.0f} TFLOP/s in float32, {top['tf32_gflop_s'] / 1e3:,.0f} in tf32 and "
        f"{top['float64_gflop_s'] / 1e3:,.0f} in float64.",
    ]
    for rank, entry in found["ranks"].items():
        lines += [
            "",
            f"## Rank {rank}",
            "",
            *_round(entry),
            "",
            *_kernels(entry, top),
            "",
            *_agreement(entry),
        ]
    return "\n".join(lines) + "\n"


def without_comparison(found: dict[str, Any]) -> str:
    """What was measured on the device alone."""
    lines = []
    for rank, entry in found["ranks"].items():
        parts = [f"{name}: {1e3 * seconds:,.1f} ms" for name, seconds in entry["round"].items()]
        lines += [f"## Rank {rank}", "", *parts, "", *_kernels(entry, found["ceilings"]), ""]
    return "\n".join(lines)


def _round(entry: dict[str, Any]) -> list[str]:
    there, here = entry["round"], entry["round_on_cpu"]
    lines = ["| part | GPU, ms | CPU, ms |", "|---|---|---|"]
    lines += [f"| {name} | {1e3 * there[name]:,.1f} | {1e3 * here[name]:,.1f} |" for name in there]
    streamed = entry["streamed"]
    return [
        *lines,
        "",
        "The users' half written plainly in torch (float32, neither bounded nor exact): "
        f"{entry['plain_torch_ms']:,.1f} ms. "
        f"In {streamed['blocks']} blocks that are uploaded every time: {1e3 * streamed['seconds']:,.0f} ms, "
        f"{'the same bits' if streamed['same bits'] else 'OTHER BITS'}. Peak memory of the device: "
        f"{entry['peak_device_bytes'] / 2**30:.1f} GiB. " + _peers(entry),
    ]


def _peers(entry: dict[str, Any]) -> str:
    implicit, ranked = entry["implicit_ms"], entry["ranking"]
    beside = (
        f"implicit's GPU solver does not load here ({implicit}). "
        if isinstance(implicit, str)
        else f"An iteration of implicit's GPU solver, which is not private: {implicit:,.1f} ms. "
    )
    return (
        beside
        + f"The ten best items of every user: {ranked['gpu_s']:.2f} s on the card and {ranked['cpu_s']:.2f} s "
        f"on the CPU; of {ranked['places']:,} places {ranked['other_places']:,} hold another item, scores differ by at "
        f"most {ranked['largest_difference']:.0e}."
    )


def _kernels(entry: dict[str, Any], top: dict[str, float]) -> list[str]:
    lines = [
        "| kernel | ms | memory, GB/s | of a copy | through the cache, GB/s | GFLOP/s | of the peak |",
        "|---|---|---|---|---|---|---|",
    ]
    for kernel in entry["kernels"]:
        rate = 1e-6 / kernel["ms"]
        memory, work = kernel["memory_bytes"] * rate, kernel["operations"] * rate
        peak = f"{work / top[kernel['peak']]:.0%} of {kernel['peak'].split('_')[0]}" if kernel["peak"] else ""
        lines.append(
            f"| {kernel['name']} | {kernel['ms']:.2f} | {memory:,.0f} | {memory / top['copy_gb_s']:.0%} | "
            f"{kernel['cache_bytes'] * rate:,.0f} | {work:,.0f} | {peak} |"
        )
    return lines


def _agreement(entry: dict[str, Any]) -> list[str]:
    found = entry["agreement"]
    lines = [
        f"Beside the CPU, {found['users']:,} users, {found['items']:,} items, {found['ratings']:,} ratings, "
        "a late round:",
        "",
        "| integers | differ | of | by at most |",
        "|---|---|---|---|",
    ]
    for name in ("gradient features", "gradient targets", "weights", "moment rows"):
        told = found[name]
        lines.append(f"| {name} | {told['differ']:,} | {told['of']:,} | {told['largest']} |")
    deviations = found["largest difference of a total, in standard deviations of its noise"]
    same = found["sums of the same integers are equal"]
    return [
        *lines,
        "",
        f"Sums of the same integers: {'equal' if same else 'NOT EQUAL'}. Largest difference of a total: "
        f"{deviations:.1e} standard deviations of its noise. "
        "Other users' integers without one user and in another order, at full size: "
        f"{'the same bits' if entry['alone'] else 'NOT THE SAME'}.",
        "",
        "Library routines for batches beside this: of so many users, how many are rounded differently when 20,000 "
        "others are in the batch. "
        + "; ".join(
            f"{name}: " + ", ".join(f"{count:,} of {int(few):,}" for few, count in told.items())
            for name, told in entry["moved_by_libraries"].items()
        )
        + ".",
    ]
