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
        self._titles = [f" {plain(titles[position])}" for position in self._order]

    def find(self, text: str) -> list[int]:
        """Positions of all items that fit: those that begin with the text, then with its words, then the others."""
        words = plain(text).split()
        if not words:
            return list(self._order)
        whole, starts = f" {' '.join(words)}", [f" {word}" for word in words]
        first: list[int] = []
        second: list[int] = []
        third: list[int] = []
        for position, title in zip(self._order, self._titles, strict=True):
            if all(word in title for word in words):
                if title.startswith(whole):
                    first.append(position)
                elif all(start in title for start in starts):
                    second.append(position)
                else:
                    third.append(position)
        return first + second + third
