"""Find items by title or id, as forgiving as people need: case, accents, missing spaces, II for 2, one slip a word."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["Search", "plain"]

_NUMERALS = {
    "ii": "2",
    "iii": "3",
    "iv": "4",
    "v": "5",
    "vi": "6",
    "vii": "7",
    "viii": "8",
    "ix": "9",
    "xi": "11",
}
_SLIPS_FROM = 4
"""Letters of a word in which a slip is looked for: shorter ones are near too much."""


def plain(text: str) -> str:
    """Lower case, without accents, signs as spaces, numbers as digits: what two who mean the same title both write."""
    letters = (sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    words = "".join(sign if sign.isalnum() else " " for sign in letters).lower().split()
    return " ".join(_NUMERALS.get(word, word) for word in words)


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
        """Positions of all items that fit, those first that are, begin with or have the words as they stand.

        Where no title has them, those that have them run together, and then those that have them but for one slip.
        """
        words = plain(text).split()
        if not words:
            return list(self._order)
        found: list[list[int]] = [[] for _ in range(6)]
        for position, title in zip(self._order, self._titles, strict=True):
            if all(word in title for word in words):
                found[_fit(title, words)].append(position)
        return [position for some in found for position in some] or self._forgiving(words)

    def _forgiving(self, words: list[str]) -> list[int]:
        pairs, together = list(zip(self._order, self._titles, strict=True)), "".join(words)
        if len(together) >= _SLIPS_FROM:
            found = [position for position, title in pairs if together in title.replace(" ", "")]
            if found:
                return found
        found = []
        for beginnings in (False, True):
            found = found or [
                position
                for position, title in pairs
                if all(word in title or _nearly_in(word, title.split(), beginnings) for word in words)
            ]
        return found


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


def _nearly_in(word: str, others: list[str], beginnings: bool) -> bool:
    """Whether a word, or one's beginning, is there but for one letter: another, too many, missing, or two swapped."""
    if len(word) < _SLIPS_FROM:
        return False
    return any(_near(word, other[: len(word)] if beginnings else other) for other in others)


def _near(one: str, other: str) -> bool:
    at = 0
    while at < min(len(one), len(other)) and one[at] == other[at]:
        at += 1
    left, right = one[at:], other[at:]
    swapped = left[1:2] + left[:1] == right[:2] and left[2:] == right[2:]
    return left[1:] == right[1:] or left == right[1:] or left[1:] == right or swapped
