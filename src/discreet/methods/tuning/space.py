"""Which settings a search may draw, and from which distribution. Public, and fixed before the search begins."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.errors import SettingsInvalid

__all__ = ["Space"]

_KEYS = {"low", "high", "log", "step", "kind"}
_NO_SETTINGS = {
    "trials": "the number of trials is drawn at random, because a fixed one is not private: give the mean instead "
    "(mean_trials=10, on the command line --mean-trials 10)",
    "goal": "a model that ranks and one that rates cannot be told apart by one score; fix the goal instead "
    '(settings={"goal": "rank"}, on the command line --goal rank)',
    "sampler": "settings are drawn at random and independently of what earlier trials found; a sampler that learns "
    "from them (TPE and the like) is not covered by the privacy proof",
}
_NO_SETTINGS |= {"n_trials": _NO_SETTINGS["trials"], "pruner": _NO_SETTINGS["sampler"]}


class Space:
    """Independent distributions of some settings.

    Parameters
    ----------
    entries
        For each setting a list of choices, a mapping with ``low``, ``high`` and perhaps ``log``, ``step`` and ``kind``
        (``"int"`` or ``"float"``; whole ends mean whole numbers), or a distribution of Optuna.

    Notes
    -----
    **Privacy.** Every draw has a fresh seed of 32 bits from the system's entropy: draws are independent and of the same
    distribution, and the space and the drawn settings do not tell how many draws there were before.
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        if not isinstance(entries, Mapping) or not entries:
            raise SettingsInvalid("the space of settings is empty; name at least one setting to search")
        for key in entries:
            if key in _NO_SETTINGS:
                raise SettingsInvalid(f"{key}: {_NO_SETTINGS[key]}")
        self._distributions = {key: _distribution(key, entry) for key, entry in entries.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._distributions)

    def draw(self) -> dict[str, Any]:
        """Settings for one trial, unpredictable."""
        optuna = _optuna()
        shown = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            sampler = optuna.samplers.RandomSampler(seed=secrets.randbits(32))
            params: dict[str, Any] = optuna.create_study(sampler=sampler).ask(self._distributions).params
        finally:
            optuna.logging.set_verbosity(shown)
        return params

    def ends(self) -> Iterator[tuple[str, Any]]:
        """Each setting with its smallest and largest value, or with each of its choices."""
        for key, distribution in self._distributions.items():
            choices = getattr(distribution, "choices", None)
            for value in (distribution.low, distribution.high) if choices is None else choices:
                yield key, value


def _distribution(key: str, entry: Any) -> Any:
    distributions = _optuna().distributions
    if isinstance(entry, distributions.BaseDistribution):
        return entry
    try:
        if isinstance(entry, Mapping):
            return _range(distributions, entry)
        if isinstance(entry, Sequence) and not isinstance(entry, str):
            return _choices(distributions, entry)
    except ValueError as error:
        raise SettingsInvalid(f"{key}: {error}") from None
    raise SettingsInvalid(
        f"{key}: give a list of choices, or a range such as {{low = 1, high = 8}}, not {entry!r}; a setting that is "
        "not searched is given as a setting (--set on the command line)"
    )


def _range(distributions: Any, entry: Mapping[str, Any]) -> Any:
    unknown = sorted(set(entry) - _KEYS)
    if unknown or not {"low", "high"} <= set(entry):
        raise ValueError(
            f"a range has low and high, and may have log, step and kind; here it has {', '.join(entry)}"
        )
    given = dict(entry)
    kind = given.pop("kind", None)
    numbers = [value for name, value in given.items() if name != "log"]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in numbers):
        raise ValueError(f"low, high and step are numbers, not {', '.join(map(repr, numbers))}")
    if not isinstance(given.get("log", False), bool):
        raise ValueError("log is true or false")
    whole = all(isinstance(value, int) for value in numbers)
    if kind not in (None, "int", "float") or (kind == "int" and not whole):
        raise ValueError(
            f'kind is "int", with whole low, high and step, or "float"; not {kind!r} with {numbers}'
        )
    make = distributions.FloatDistribution if kind == "float" or not whole else distributions.IntDistribution
    return make(**given)


def _choices(distributions: Any, entry: Sequence[Any]) -> Any:
    if not entry or any(not isinstance(value, str | bool | int | float) for value in entry):
        raise ValueError("choices are numbers, texts, true or false, and at least one of them")
    return distributions.CategoricalDistribution(list(entry))


def _optuna() -> Any:
    """The package behind the draws; not imported before it is needed."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise SettingsInvalid("tuning needs Optuna; install it with: pip install 'discreet[tune]'") from None
    return optuna
