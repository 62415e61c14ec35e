"""All methods by the names they have on the command line and in saved models, those of other packages included.

A method's files are loaded when it is asked for: whoever trains lists loads nothing of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from discreet.catalogue import Goal
from discreet.errors import SettingsInvalid
from discreet.methods.lookup import OURS, find_class, other_names
from discreet.methods.method import PrivateMethod

if TYPE_CHECKING:
    from discreet.methods.als import ALS

__all__ = ["DEFAULTS", "METHODS", "Method", "default_method", "find_method"]

Method: TypeAlias = "type[PrivateMethod] | type[ALS]"

DEFAULTS: dict[Goal, str] = {"rank": "ease", "rate": "budgeted"}
"""What is trained for a goal where nobody names a method."""


class _Methods(Mapping[str, Method]):
    """Our own methods first, then those of other packages."""

    def __getitem__(self, name: str) -> Method:
        found = find_class(name)
        if found is None:
            raise KeyError(name)
        if not (isinstance(found, type) and (issubclass(found, PrivateMethod) or name == "als")):
            raise SettingsInvalid(f"{name} is not a method: it must be a subclass of discreet.PrivateMethod")
        return found

    def __iter__(self) -> Iterator[str]:
        yield from OURS
        yield from (name for name in other_names() if name not in OURS)

    def __len__(self) -> int:
        return sum(1 for _ in self)


METHODS: Mapping[str, Method] = _Methods()


def default_method(goal: Goal) -> type[PrivateMethod]:
    """What is trained for a goal where nobody names a method."""
    found = METHODS[DEFAULTS[goal]]
    assert issubclass(found, PrivateMethod)
    return found


def find_method(name: str) -> Method:
    """A method by its name, or by ``package.module:Class``.

    Raises
    ------
    SettingsInvalid
        When there is none, with the names that there are.
    """
    try:
        return METHODS[name]
    except KeyError:
        known = ", ".join(METHODS)
        raise SettingsInvalid(
            f"there is no method {name!r}; known are {known}. Another package's is given as package.module:Class"
        ) from None
