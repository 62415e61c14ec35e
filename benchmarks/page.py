"""What smaller numbers cost the page: size of its file, lists that stay the same, time to weigh all titles in Chromium.

Run: python benchmarks/page.py            (writes benchmarks/results/page.md)
     python benchmarks/page.py --pictures MODEL     (also pictures of MODEL's page, in docs/images)
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from discreet.model import Model
from tests.web.conftest import exported
from tests.web.support.browser import ARGUMENTS, CHROMIUM, MISSING, hosted
from tests.web.support.models import make_model
from tests.web.support.node import in_the_page
from tests.web.test_fold_in import folded, histories_of, overlap

HERE = Path(__file__).parent
RESULTS, IMAGES = HERE / "results" / "page.md", HERE.parent / "docs" / "images"
ITEMS, RANK, HISTORIES = 27_000, 64, 1000
HEAD_ITEMS, KEPT = 6_000, 300
KINDS = ("Ridge", "Table")
RATED = ((1, 5), (4, 1), (6, 5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=HISTORIES)
    parser.add_argument("--pictures", metavar="MODEL", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        if asked.pictures is not None:
            _draw(Model.load(asked.pictures), browser)
        asked.out.write_text("\n".join(_table(asked.histories, browser)) + "\n")
        browser.close()


def _table(count: int, browser: Browser) -> list[str]:
    lines = [
        "# The page",
        "",
        f"{ITEMS:,} items, rank {RANK} or a table of {HEAD_ITEMS:,} with {KEPT} weights each, {count:,} random "
        "histories of up to 40 ratings, random factors (which are closer to each other than learnt ones) and weights. "
        "Top 10 against the Python model.",
        "",
        "| model | numbers | file, MB | overlap of the top 10 | same first title | one list in Chromium, ms |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        model = make_model(kind, ITEMS, RANK, head=HEAD_ITEMS, kept=KEPT)
        histories = histories_of(model, count)
        expected = [folded(model, history)[1] for history in histories]
        for precision in ("float64", "int8"):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                answers = in_the_page(model, histories, precision, folder)
                size = (folder / "model.bin").stat().st_size / 1e6
            same = np.mean([overlap(one["top"], index) for one, index in zip(answers, expected, strict=True)])
            first = np.mean([one["top"][0] == index[0] for one, index in zip(answers, expected, strict=True)])
            took = _milliseconds(model, precision, browser)
            lines.append(f"| {kind} | {precision} | {size:.2f} | {same:.4f} | {first:.3f} | {took:.0f} |")
            print(lines[-1], flush=True)
    return lines


def _milliseconds(model: Model, precision: Any, browser: Browser) -> float:
    """Median of some lists."""
    with tempfile.TemporaryDirectory() as folder, hosted(exported(model, Path(folder), precision)) as host:
        page = browser.new_page()
        page.goto(host.url)
        page.wait_for_selector("html[data-ready]")
        took = []
        for number in range(8):
            page.fill("#search", f"number {100 + number}")
            page.keyboard.press("Enter")
            page.locator("#history li").last.locator("label").last.click()
            took.append(float(page.get_attribute("#list", "data-milliseconds") or "nan"))
        page.close()
    return float(np.median(took))


def _draw(model: Model, browser: Browser) -> None:
    with tempfile.TemporaryDirectory() as folder, hosted(exported(model, Path(folder))) as host:
        for width, height, scheme in ((1440, 1000, "light"), (360, 740, "dark")):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(host.url)
            page.wait_for_selector("html[data-ready]")
            known = page.locator("#known .chip").all_inner_texts()
            for place, rating in RATED:
                page.fill("#search", known[place])
                page.keyboard.press("Enter")
                page.locator("#history li").last.locator("label").get_by_text(str(rating), exact=True).click()
            page.locator("#list button[aria-controls]").first.click()
            page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(800)
            page.screenshot(path=IMAGES / f"page-{width}-{scheme}.png")
            page.close()


if __name__ == "__main__":
    main()
