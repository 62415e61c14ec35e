"""The page in a real browser: what a person can do with it, what never leaves it, and nothing serious for axe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.catalogue import Catalogue
from discreet.model import Model
from tests.web.conftest import exported
from tests.web.support.browser import Host, hosted
from tests.web.support.models import make_model

Opened = Callable[..., Any]


def choose(page: Any, number: int, rating: int | None = None) -> None:
    """Find a film by its number, and rate it."""
    page.fill("#search", f"pelicula {number}")
    page.get_by_role("option", name=f"The Película number {number}", exact=True).click()
    if rating is not None:
        line = page.locator("#history li", has=page.get_by_text(f"The Película number {number}", exact=True))
        line.locator("label").get_by_text(str(rating), exact=True).click()


def titles(page: Any) -> list[str]:
    return page.locator("#list > li .title").all_inner_texts()


def test_three_ratings_give_the_models_list_and_not_one_request(
    host: Host, rated: Model, opened: Opened
) -> None:
    page = opened(host)
    loaded = len(host.asked)
    assert titles(page) == [one.title for one in rated.recommend({})]
    for number, rating in ((12, 5), (40, 1), (77, 4)):
        choose(page, number, rating)
    expected = rated.recommend({"film-12": 5, "film-40": 1, "film-77": 4})
    shown = titles(page)
    assert len(shown) == 10
    assert len(set(shown) & {one.title for one in expected}) >= 9  # factors are int8 here
    assert f"{expected[0].score:.1f} of 5" in page.locator("#list .score").first.inner_text()
    page.locator("#list button[aria-controls]").first.click()
    page.locator("#list .why li").first.wait_for()
    assert host.asked[loaded:] == []


def test_the_browser_refuses_what_the_sealed_page_tries_to_send(host: Host, opened: Opened) -> None:
    page = opened(host)
    loaded = len(host.asked)
    page.click("#try")
    page.get_by_text("your browser refused each").wait_for()
    outcomes = page.evaluate(
        """async () => {
          const tried = [];
          for (const attempt of [
            () => fetch("/leak?film-12=5"),
            () => fetch("https://example.org/leak", {mode: "no-cors"}),
            () => import("/leak.js"),
            () => new Promise((done, failed) => {
              const w = new WebSocket("ws://127.0.0.1:9/"); w.onerror = failed; w.onopen = done; }),
            () => new Promise((done, failed) => {
              const s = document.createElement("script"); s.src = "/leak.js"; s.onload = done; s.onerror = failed;
              document.head.append(s); }),
            () => new Promise((done, failed) => {
              const l = document.createElement("link"); l.rel = "stylesheet"; l.href = "/leak.css"; l.onload = done;
              l.onerror = failed; document.head.append(l); }),
          ]) { try { await attempt(); tried.push("sent"); } catch { tried.push("refused"); } }
          return tried; }"""
    )
    assert outcomes == ["refused"] * 6
    assert host.asked[loaded:] == []


def test_what_pulls_a_title_is_said_and_adds_up(host: Host, rated: Model, opened: Opened) -> None:
    page = opened(host)
    for number, rating in ((12, 5), (40, 1)):
        choose(page, number, rating)
    page.locator("#list button[aria-controls]").first.click()
    text = page.locator("#list .why").first.inner_text()
    assert "your 5 for The Película number 12" in text
    assert "your 1 for The Película number 40" in text
    numbers = page.locator("#list .why li").all_inner_texts()
    pulls = [float(line.split()[0].replace("−", "-")) for line in numbers]
    start = float(text.split("has ")[1].split(";")[0])
    assert start + sum(pulls) == pytest.approx(
        rated.recommend({"film-12": 5, "film-40": 1})[0].score, abs=0.05
    )


def test_what_is_hardly_known_is_marked(host: Host, rated: Model, opened: Opened) -> None:
    page = opened(host)
    sure = page.locator("#list > li .sure").all_inner_texts()
    marks = [one.mark for one in rated.recommend({}) if one.mark is not None]
    for line, mark in zip(sure, marks, strict=True):
        assert {"unknown": "hardly known", "guess": "known by its features alone"}[mark] in line


def test_with_the_keyboard_alone(host: Host, opened: Opened) -> None:
    page = opened(host)
    press = page.keyboard.press
    for _ in range(20):
        press("Tab")
        if page.evaluate("document.activeElement.id") == "search":
            break
    else:
        pytest.fail("the search field cannot be reached")
    page.keyboard.type("number 12")
    press("ArrowDown")
    press("ArrowDown")
    press("ArrowUp")
    active = page.get_attribute("#search", "aria-activedescendant")
    chosen = page.locator(f"#{active}").inner_text()
    press("Enter")
    assert page.locator("#history .title").all_inner_texts() == [chosen]
    assert page.evaluate("document.activeElement.type") == "radio"
    press("Space")
    assert page.locator("#history input:checked").input_value() == "1"
    press("ArrowRight")
    assert page.locator("#history input:checked").input_value() == "2"
    assert page.locator("#list-title").inner_text() == "For you"
    press("Tab")
    press("Enter")
    assert page.locator("#history li").count() == 0
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("number")
    press("Escape")
    assert page.locator("#found").is_hidden()


def test_a_title_is_never_markup(opened: Opened, tmp_path: Path) -> None:
    model = make_model("Clicks", 30, 3)
    ids = model.catalogue.ids.tolist()
    spiked = {one: f"<img src=x onerror=\"document.title='run'\"> {one}" for one in ids}
    with hosted(exported(replace(model, catalogue=Catalogue(ids, spiked)), tmp_path)) as host:
        page = opened(host)
        page.fill("#search", "film 3")
        page.keyboard.press("Enter")
        page.locator("#list button[aria-controls]").first.click()
        page.locator("#list .why li").first.wait_for()
        assert page.locator("#list .why li").count() == 1
        assert "<img src=x" in titles(page)[0]
        assert page.locator("img").count() == 0
        assert page.title() != "run"


def test_like_and_not_for_me_move_the_list_as_the_model_says(opened: Opened, tmp_path: Path) -> None:
    model = make_model("ClickTable", 90)
    with hosted(exported(model, tmp_path, "float64")) as host:
        page = opened(host)
        choose(page, 7)
        liked = [one.title for one in model.recommend(["film-7"])]
        assert titles(page) == liked
        page.get_by_role("button", name=f"Not for me: {liked[0]}", exact=True).click()
        first = model.recommend(["film-7"])[0].item
        assert titles(page) == [one.title for one in model.recommend(["film-7"], disliked=[first])]
        page.locator("#list button[aria-controls]").first.click()
        assert "speaks for it" in page.locator("#list .why:not([hidden]) p").first.inner_text()
        page.locator("#history li").first.locator("label").get_by_text("Not for me", exact=True).click()
        assert titles(page) == [one.title for one in model.recommend([], disliked=["film-7", first])]
        page.get_by_role("button", name=f"Remove {liked[0]}").click()
        page.locator("#history li").first.locator("label").get_by_text("Like", exact=True).click()
        assert titles(page) == liked


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Opinions", "Table"])
def test_ten_of_27000_titles_in_less_than_200_ms(opened: Opened, tmp_path: Path, kind: str) -> None:
    model = make_model(kind, 27_000, 64, head=6000, kept=300)
    with hosted(exported(model, tmp_path)) as host:
        page = opened(host)
        took = []
        for number in range(5):
            choose(page, 500 + number, 4)
            took.append(float(page.get_attribute("#list", "data-milliseconds")))
        history = {f"film-{500 + number}": 4 for number in range(5)}
        assert len(set(titles(page)) & {one.title for one in model.recommend(history)}) >= 9
        assert min(took) < 200, took


def test_where_nothing_was_learnt_there_is_no_list_and_it_is_said(opened: Opened, tmp_path: Path) -> None:
    made = make_model("Table", 50)
    side = made.weights
    nothing = np.zeros(0, np.float32)
    silent = replace(
        side, base=np.zeros(50), starts=np.zeros(51, np.int64), others=np.zeros(0, np.int32),
        weights=nothing, together=nothing,
    )  # fmt: skip
    with hosted(exported(replace(made, item_side=silent), tmp_path)) as there:
        page = opened(there)
        assert page.locator("#list > li").count() == 0
        assert "Nothing was learnt" in page.locator("#list-about").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1440, "dark")])
def test_axe_has_no_serious_finding(host: Host, opened: Opened, axe: str, width: int, scheme: str) -> None:
    page = opened(
        host, viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    page.evaluate(axe)
    assert _findings(page) == []
    for number, rating in ((12, 5), (40, None)):
        choose(page, number, rating)
    page.locator("#list button[aria-controls]").first.click()
    page.fill("#search", "number")
    page.locator("#found li").first.wait_for()
    assert _findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    before = page.evaluate(colour)
    page.click("#theme")
    assert page.evaluate(colour) != before
    assert page.get_attribute("#theme", "aria-pressed") == ("false" if scheme == "dark" else "true")


def test_axe_has_nothing_against_like_and_not_for_me(opened: Opened, axe: str, tmp_path: Path) -> None:
    with hosted(exported(make_model("ClickTable", 90), tmp_path)) as host:
        page = opened(host, viewport={"width": 360, "height": 800}, reduced_motion="reduce")
        page.evaluate(axe)
        choose(page, 7)
        page.get_by_role("button", name="Not for me").first.click()
        page.locator("#list button[aria-controls]").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert _findings(page) == []


def _findings(page: Any) -> list[str]:
    """What axe calls moderate or worse, with the place."""
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['impact']}: {one['id']} at {[node['target'] for node in one['nodes']][:3]}"
        for one in found["violations"]
        if one["impact"] in ("moderate", "serious", "critical")
    ]
