"""Whether randomness is this package's own. Anything else makes a run not private, and its statement says so.

A promise rests on noise of a known distribution that nobody can draw again. So a gate takes the very classes of this
package, in fresh keys of the operating system, with the methods they were defined with. A subclass may do anything (a
share of the noise, none at all, a recording of it), whatever it says about itself, so it is never own. This finds
mistakes and what tests leave behind; whoever rewrites the program can rewrite the check as well.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

__all__ = ["FIXED_KEY", "own_noise", "why_not_private"]

FIXED_KEY = "the noise was drawn with a fixed key, so whoever knows the key can take it off again"
"""Why noise that can be drawn again is not private."""


class _Source(Protocol):
    """Something that noise or coins come from."""

    @property
    def fixed(self) -> bool:
        """Whether it repeats."""


Kind = TypeVar("Kind", bound=type[Any])

_DEFINED: dict[type[Any], dict[str, Any]] = {}


def own_noise(kind: Kind) -> Kind:
    """Mark a class of this package as a source of noise, as it is defined here."""
    _DEFINED[kind] = _parts(kind)
    return kind


def why_not_private(source: _Source, kind: type[Any]) -> str | None:
    """What voids a promise that rests on this source where a mechanism needs a `kind`; ``None`` if nothing does."""
    given = type(source)
    if not _serves(given, kind):
        name = f"{given.__module__}.{given.__qualname__}"
        return f"the noise came from {name} and not from this package's own {kind.__name__}: what it hides is unknown"
    shadowed = any(hasattr(given, name) for name in vars(source))
    if shadowed or any(_parts(part) != _DEFINED[part] for part in given.__mro__ if part in _DEFINED):
        return f"the methods of {given.__name__} were replaced while the program ran: what its noise hides is unknown"
    return FIXED_KEY if source.fixed else None


def _serves(given: type[Any], kind: type[Any]) -> bool:
    """Whether it is that kind, or one of ours that adds to it and changes nothing."""
    if given is kind:
        return kind in _DEFINED
    return (
        given in _DEFINED and issubclass(given, kind) and not _DEFINED[given].keys() & _DEFINED[kind].keys()
    )


def _parts(kind: type[Any]) -> dict[str, Any]:
    """Everything that says how a class behaves."""
    return {name: part for name, part in vars(kind).items() if not name.startswith("__") or callable(part)}
