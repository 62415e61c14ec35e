"""Find items by words of their titles, in any order, case and accent; the page's search forgives more."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["Search"]


class Search:
    """Looks through all titles; tens of thousands take some milliseconds.

    ``order`` has positions, the best known first: so come items that fit equally well.
    """

    def __init__(self, titles: Sequence[str], order: Sequence[int]) -> None:
        self._titles = [(place, f" {_plain(titles[place])} ") for place in order]

    def find(self, text: str) -> list[int]:
        """Positions of all items with all words, those first that are, begin with or have the words as they stand."""
        words = _plain(text).split()
        whole = f" {' '.join(words)}"
        fits = [(_fit(title, whole, words), place) for place, title in self._titles if _has(title, words)]
        return [place for _, place in sorted(fits, key=lambda one: one[0])]


def _plain(text: str) -> str:
    """Lower case, without accents, signs as spaces: what two who mean the same title both write."""
    letters = (sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return " ".join("".join(sign if sign.isalnum() else " " for sign in letters).lower().split())


def _has(title: str, words: list[str]) -> bool:
    return all(word in title for word in words)


def _fit(title: str, whole: str, words: list[str]) -> int:
    """0 for the title itself to 5 for words somewhere inside of others."""
    kinds = (
        title == f"{whole} ",
        title.startswith(f"{whole} "),
        all(f" {word} " in title for word in words),
        title.startswith(whole),
        all(f" {word}" in title for word in words),
        True,
    )
    return kinds.index(True)
