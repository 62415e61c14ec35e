"""The page of a report: whole in itself, its numbers are the JSON's, its pictures are read without colours."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from discreet.cli import main
from discreet.pictures import Axis, Chart
from tests.model.models import make_model
from tests.reports.conftest import Case


class Figures(HTMLParser):
    """All numbers that name a field, with what is shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self._open: tuple[str, str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "data":
            told = dict(attrs)
            self._open = (told["data-field"] or "", told["value"] or "")

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.found.append((*self._open, data))
            self._open = None


def field(told: Any, path: str) -> Any:
    for key in path.split("."):
        told = told[int(key)] if isinstance(told, list) else told[key]
    return told


def made(case: Case, tmp_path: Path, *, quality: bool) -> tuple[str, dict[str, Any]]:
    out = tmp_path / "report.html"
    arguments = ["report", str(case.folder), "--out", str(out), "--json"]
    if quality:
        arguments += ["--ratings", str(case.files[0]), "--test", str(case.files[1])]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["out"] == str(out)
    return out.read_text(), told


@pytest.mark.parametrize("goal", ["rate", "rank", "table"])
def test_every_number_of_the_page_is_the_jsons(cases: dict[str, Case], tmp_path: Path, goal: str) -> None:
    text, told = made(cases[goal], tmp_path, quality=True)
    figures = Figures(text).found
    paths = {path for path, _, _ in figures}
    assert paths >= {"releases.0.mu", "holder.quality.scores.model.low"}
    if goal == "rate":
        assert paths >= {"knowledge.known", "neighbours.0.neighbours.0.similarity"}
        assert len(paths) > 40
    if goal == "table":
        assert paths >= {"table.items", "table.others", "table.noise", "neighbours.0.neighbours.0.deviation"}
    for path, value, shown in figures:
        wanted = field(told, path)
        assert float(value) == wanted, path
        plain = shown.rstrip("%").strip()
        number = float(plain.replace(",", ""))
        digits = len(plain.partition(".")[2])
        scale = 100.0 if shown.endswith("%") else 1.0
        assert number == pytest.approx(scale * wanted, abs=0.51 * 10.0**-digits, rel=6e-3), path


def test_what_depends_on_ratings_stands_apart_and_only_with_ratings(
    cases: dict[str, Case], tmp_path: Path
) -> None:
    bare, told = made(cases["rank"], tmp_path, quality=False)
    assert told["holder"] is None
    assert "class='holder'" not in bare
    assert "follows from the released model" in bare
    whole, told = made(cases["rank"], tmp_path, quality=True)
    framed = whole[whole.index("<section class='holder'>") :]
    framed = framed[: framed.index("</section>")]
    assert "not to be published" in framed
    outside = whole.replace(framed, "")
    assert "holder.quality" in framed
    assert "holder.quality" not in outside
    assert {key: value for key, value in told.items() if key not in ("holder", "out")} == {
        key: value
        for key, value in made(cases["rank"], tmp_path, quality=False)[1].items()
        if key not in ("holder", "out")
    }


def test_the_page_names_no_host_and_runs_nothing(cases: dict[str, Case], tmp_path: Path) -> None:
    text, _ = made(cases["rate"], tmp_path, quality=True)
    assert set(re.findall(r"\b(?:https?:)?//[^\s'\"<]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert re.search(r"<(script|link|img|iframe|object|embed)\b|url\(|@import|\son\w+=", text) is None
    assert "default-src 'none'" in text
    assert "<b>Film</b>" not in text, "titles are text, whatever they hold"
    assert "&lt;b&gt;Film" in text


def test_a_folder_of_a_plain_model_has_a_page(tmp_path: Path) -> None:
    folder = make_model("explicit", rank=0).save(tmp_path / "plain")
    done = CliRunner().invoke(main, ["report", str(folder)])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "plain.report.html").read_text()
    assert "Not private" in text
    assert "no factors" in text
    assert "does not say how sure it is" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ratings", "x.csv"], "--test is missing"),
        (["--test", "x.csv"], "--ratings is missing"),
        (["--out", "nowhere/at/all.html"], "there is no directory"),
        (["--out", "MODEL/report.html"], "the model's own folder"),
        (["--ratings", "none.csv", "--test", "none.csv"], "none.csv"),
    ],
)
def test_refusals_are_in_words(cases: dict[str, Case], arguments: list[str], words: str) -> None:
    folder = str(cases["rate"].folder)
    done = CliRunner().invoke(main, ["report", folder, *(one.replace("MODEL", folder) for one in arguments)])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_pictures_are_read_without_colours_and_without_eyes() -> None:
    picture = Chart(
        Axis.decades("x", [1.0, 30.0]), Axis.over("y", [0.0, 1.0]), "what there is to see, in words"
    )
    for look in range(4):
        picture.line([(1.0, 0.2 * look), (20.0, 0.3)], f"line {look}", look)
    text = picture.svg()
    assert "aria-label='what there is to see, in words'" in text
    assert len(set(re.findall(r"<polyline class='line k\d'( stroke-dasharray='[^']*'|)", text))) == 4
    assert len(set(re.findall(r"<path class='mark k\d' [^>]* d='([^']*)'", text))) == 4


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1440, "light")])
def test_it_opens_offline_in_a_browser(
    cases: dict[str, Case], tmp_path: Path, browser: Any, axe: str, width: int, scheme: str
) -> None:
    made(cases["rate"], tmp_path, quality=True)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    place = (tmp_path / "report.html").as_uri()
    page.goto(place)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = "[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth)"
    assert page.evaluate(f"{cut}.map(one => one.ariaLabel)") == []
    assert page.locator("svg.chart").count() == 2
    assert asked == [place]
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        one["id"] for one in found["violations"] if one["impact"] in ("moderate", "serious", "critical")
    ]
    assert serious == []
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", page.pdf())) <= 8
    context.close()
