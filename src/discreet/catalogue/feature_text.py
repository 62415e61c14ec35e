"""What the texts of a catalogue say, as tokens: words, word pairs, years, series, tags and people.

All texts are compared in one form (Unicode NFKC, lower case, single spaces). Accents stay: they make another word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import combinations, pairwise

__all__ = ["normal", "pairs", "parts", "series", "take_year", "word_pairs", "words"]

# Between the two tokens of a pair; a token itself has single spaces only.
_BETWEEN = "\t"
# More tags than that make thousands of pairs, of which hardly any tells items apart.
_MOST_PAIRED = 40
_YEAR = re.compile(r"(?<![0-9])(?:1[0-9]{3}|20[0-9]{2}|2100)(?![0-9])")
_YEAR_IN_BRACKETS = re.compile(r"[(\[]\s*(1[0-9]{3}|20[0-9]{2}|2100)\s*[)\]]")
_BRACKET = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_VOLUME = re.compile(r"#\s*[0-9][0-9.,–-]*|[0-9][0-9.,–-]*\s*$")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_PLAIN_WORD = re.compile(r"[a-z0-9]+")


def normal(text: str) -> str:
    """One form for all ways to write the same text."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def words(text: str) -> list[str]:
    """The words of a normal text in their order: letters, digits and the marks that belong to them."""
    text = _APOSTROPHE.sub("", text)
    if text.isascii():
        return _PLAIN_WORD.findall(text)
    # Vowel signs of Hindi, Thai and others are marks, which the expression \w would split words at.
    return "".join(letter if _in_word(letter) else " " for letter in text).split()


def word_pairs(listed: list[str]) -> list[str]:
    """Each word with the one after it."""
    return [_BETWEEN.join(pair) for pair in pairwise(listed)]


def pairs(tokens: Iterable[str]) -> list[str]:
    """Each unordered pair of distinct tokens; of very many tokens those of the first in the alphabet."""
    first = sorted(set(tokens))[:_MOST_PAIRED]
    return [_BETWEEN.join(pair) for pair in combinations(first, 2)]


def parts(text: str, separators: str) -> list[str]:
    """What stands between separators, in its order, without repeats."""
    found = (normal(part) for part in re.split(f"[{re.escape(separators)}]", text))
    return list(dict.fromkeys(part for part in found if part))


def take_year(text: str) -> tuple[int | None, str]:
    """The year that a normal text names, from 1000 to 2100, and the text without it.

    The last year that stands alone in brackets, as in ``2001: a space odyssey (1968)``; else the last one at all.
    """
    found = list(_YEAR_IN_BRACKETS.finditer(text)) or list(_YEAR.finditer(text))
    if not found:
        return None, text
    match = found[-1]
    year = int(match[match.lastindex or 0])
    return year, f"{text[: match.start()]} {text[match.end() :]}"


def series(text: str) -> list[str]:
    """What a normal text has in brackets, each without its number: ``(Legend, #3)`` is of the series ``legend``."""
    inside = (match[1] if match[1] is not None else match[2] for match in _BRACKET.finditer(text))
    named = (" ".join(words(_VOLUME.sub(" ", content))) for content in inside)
    return [name for name in named if name]


def _in_word(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter).startswith("M")
