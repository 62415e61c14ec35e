"""The page finds what the service finds."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.web.search import Search
from tests.web.support.node import run

TITLES = [
    "It", "It Happened One Night", "Bit by Bit", "The Seven Samurai (七人の侍)", "Amélie", "Amelie's Garden", "AMELIE",
    "WALL·E", "Wall Street", "8½", "Léon: The Professional", "2001: A Space Odyssey", "Straße", "ﬁnd me", "---",
    "Été 85", "Happened", "İstanbul", "Night, It Happened", "O’Brother",
    "Star Wars: Episode IV - A New Hope (1977)", "Star Trek II: The Wrath of Khan", "Starship Wardens",
]  # fmt: skip
QUESTIONS = [
    "it", "IT ", "happened it", "amelie", "amé", "七人", "wall e", "8½", "8 1/2", "leon professional", "2001",
    "strasse", "straße", "find", "", "  ", "-", "été", "ete 85", "istanbul", "o brother", "o'b", "x" * 300, "night one",
]  # fmt: skip
FORGIVEN = {
    "starwars": "Star Wars", "star wars 4": "Star Wars", "Star Wars IV": "Star Wars", "satr wars": "Star Wars",
    "samurei": "The Seven", "streett": "Wall Street", "happend": "It Happened", "star trek 2": "Star Trek",
    "walle": "WALL",
}  # fmt: skip


def test_the_page_finds_what_the_service_finds_and_forgives_more(tmp_path: Path) -> None:
    order = list(range(len(TITLES)))
    asked = {"titles": TITLES, "order": order, "questions": [*QUESTIONS, *FORGIVEN]}
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    found = run("search.mjs", tmp_path, tmp_path / "asked.json")
    search = Search(TITLES, order)
    for text, there in zip(QUESTIONS, found, strict=False):
        here = search.find(text)
        assert there == ([] if len(here) == len(TITLES) else here), text  # nothing asked, nothing shown
    assert [TITLES[place] for place in search.find("it")][:2] == ["It", "It Happened One Night"]
    assert [TITLES[place] for place in search.find("amelie")] == ["Amélie", "AMELIE", "Amelie's Garden"]
    for (words, title), there in zip(FORGIVEN.items(), found[len(QUESTIONS) :], strict=True):
        assert TITLES[there[0]].startswith(title), words
