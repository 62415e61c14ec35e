"""All methods by the names they have on the command line and in saved models, those of other packages included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from discreet.catalogue import Goal
from discreet.errors import SettingsInvalid
from discreet.methods.als import ALS
from discreet.methods.budgeted.estimator import BudgetedALS
from discreet.methods.ease.estimator import EASE
from discreet.methods.lookup import find_class, other_names
from discreet.methods.method import PrivateMethod
from discreet.methods.published.private.baselines import GlobalMean, ItemMean, Popularity, UserMean
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.private.frank_wolfe import FrankWolfe
from discreet.methods.published.private.projected_gradient import ProjectedGradient
from discreet.methods.published.private.svd import PrivateSVD

__all__ = ["DEFAULTS", "METHODS", "Method", "find_method"]

Method = type[PrivateMethod] | type[ALS]

_OURS: tuple[Method, ...] = (
    EASE,
    BudgetedALS,
    ALS,
    DPALS,
    FrankWolfe,
    PrivateSVD,
    ProjectedGradient,
    GlobalMean,
    UserMean,
    ItemMean,
    Popularity,
)
DEFAULTS: dict[Goal, type[PrivateMethod]] = {"rank": EASE, "rate": BudgetedALS}
"""What is trained for a goal where nobody names a method."""
GROUP = "discreet.methods"
"""Entry points of other packages: ``name = "package.module:Class"``."""


class _Methods(Mapping[str, Method]):
    """Our own methods first; those of other packages are loaded when they are asked for."""

    def __init__(self) -> None:
        self._ours = {method.method_name(): method for method in _OURS}

    def __getitem__(self, name: str) -> Method:
        if name in self._ours:
            return self._ours[name]
        found = find_class(name)
        if found is None:
            raise KeyError(name)
        return _checked(found, name)

    def __iter__(self) -> Iterator[str]:
        yield from self._ours
        yield from (name for name in other_names() if name not in self._ours)

    def __len__(self) -> int:
        return sum(1 for _ in self)


METHODS: Mapping[str, Method] = _Methods()


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


def _checked(method: object, name: str) -> Method:
    if not (isinstance(method, type) and issubclass(method, PrivateMethod | ALS)):
        raise SettingsInvalid(f"{name} is not a method: it must be a subclass of discreet.PrivateMethod")
    return method
