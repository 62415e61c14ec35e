"""Find items by title or id: whatever the case and the accents, all words of the question somewhere in the title."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["Search", "plain"]


def plain(text: str) -> str:
    """Lower case, without accents, signs as spaces: what two people who mean the same title both write."""
    letters = (sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return " ".join("".join(sign if sign.isalnum() else " " for sign in letters).lower().split())


class Search:
    """Looks through all titles; tens of thousands take some milliseconds.

    Parameters
    ----------
    titles
        Of each item, or its id where it has none.
    order
        Positions, the best known first: the order of items that fit equally well.
    """

    def __init__(self, titles: Sequence[str], order: Sequence[int]) -> None:
        self._order = list(order)
        self._titles = [f" {plain(titles[position])} " for position in self._order]

    def find(self, text: str) -> list[int]:
        """Positions of all items that fit, those first that are, begin with or have the words as they stand."""
        words = plain(text).split()
        if not words:
            return list(self._order)
        found: list[list[int]] = [[] for _ in range(6)]
        for position, title in zip(self._order, self._titles, strict=True):
            if all(word in title for word in words):
                found[_fit(title, words)].append(position)
        return [position for some in found for position in some]


def _fit(title: str, words: list[str]) -> int:
    """0 for the title itself to 5 for words somewhere inside of others."""
    whole = f" {' '.join(words)}"
    kinds = (
        title == f"{whole} ",
        title.startswith(f"{whole} "),
        all(f" {word} " in title for word in words),
        title.startswith(whole),
        all(f" {word}" in title for word in words),
    )
    return kinds.index(True) if True in kinds else 5
