"""What an agreement is made of, as options, and the agreement that they make."""

from __future__ import annotations

from typing import Any, Literal

from discreet.catalogue import Catalogue
from discreet.cli.output import Output
from discreet.cli.request import option
from discreet.cli.rows import Features, read_features
from discreet.cli.settings import Chosen, method_for, read_goal, read_settings
from discreet.errors import SettingsInvalid
from discreet.methods.lookup import PUBLIC_HALVES, allow, find_public_half
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.methods.public_half import check_features
from discreet.privacy.budget import Budget
from discreet.silos.shared.agreement import Agreement, AnyAgreement, PrototypeAgreement
from discreet.silos.shared.keys import PublicKeys

__all__ = ["Terms"]

_FACTORS = "factors."


class Terms(Output, Features, Chosen):
    """What an agreement is made of, apart from its silos."""

    method: str | None = option(
        f"Summed round by round: {', '.join(PUBLIC_HALVES)}, or another package's class. prototypes: one message "
        f"from each silo and one back.  [default: {method_for(None, 'rank')}, or {method_for(None, 'rate')} for "
        "--goal rate]",
        metavar="NAME|PACKAGE:CLASS",
    )
    epsilon: str = option("Privacy parameter epsilon, for every silo's users.")
    delta: str | None = option(
        "Privacy parameter delta; well below 1 / users. Prototypes: 1e-6 where left out, none with --preset."
    )
    catalogue: str = option("Public list of items (CSV, Parquet, NDJSON or text).", metavar="FILE")
    rating_range: tuple[float, float] | None = option("Lowest and highest possible rating.", metavar="LO HI")
    implicit: bool = option("There are no ratings: a row means that the user chose the item.")
    honest: int | None = option(
        "How many silos at least add their noise as agreed; more than half if left out. Not for prototypes.",
        ge=1,
    )
    noise: Literal["shares", "server"] = option(
        "Who adds the noise: every silo a share, or a server trusted with exact totals. Not for prototypes.",
        "shares",
    )
    spare: float = option(
        "Share of the budget held back to repeat a sum that a silo was lost in. Not for prototypes.",
        0.0,
        ge=0.0,
        le=0.5,
    )
    prototypes: int | None = option("How many of them a silo sends at most.", ge=1)
    preset: Literal["published", "swap"] | None = option(
        "With --method prototypes: the paper's clustering, without delta, as published or with "
        "working constants."
    )
    seed: int | None = option("Of the random start of the factors; never of the noise.", ge=0)

    def agreement(self, name: str, keys: PublicKeys) -> AnyAgreement:
        """The agreement on these terms; only sums need the silos' mask keys."""
        if self.implicit == bool(self.rating_range):
            raise SettingsInvalid("say either --rating-range LO HI, for ratings, or --implicit, for none")
        settings = read_settings(self.sets)
        for key in ("rank", "rounds"):
            if getattr(self, key) != "auto":
                _set(settings, key, getattr(self, key))
        catalogue = Catalogue.from_file(self.catalogue, features=read_features(self.features, self.catalogue))
        common = {
            "signing_keys": keys.signing,
            "server_key": keys.server,
            "catalogue": catalogue,
            "rating_range": self.rating_range,
            "seed": self.seed,
        }
        method = method_for(self.method, self.goal)
        if method == "prototypes":
            return self._prototypes(name, settings, silos=keys.signing, **common)
        return self._sums(name, method, settings, keys, **common)

    def _sums(
        self, name: str, method: str, settings: dict[str, Any], keys: PublicKeys, **common: Any
    ) -> Agreement:
        if self.delta is None:
            raise SettingsInvalid(f"{method} needs --delta, well below 1 / users")
        for key in ("prototypes", "preset"):
            if getattr(self, key) is not None:
                raise SettingsInvalid(f"--{key} goes with --method prototypes")
        # Whoever types the name of a class asks for it to be loaded.
        allow(method)
        half = find_public_half(method)
        half.check_features(bool(self.features))
        chosen = read_goal(
            self.goal, half.name, half.settings_type, rated=not self.implicit, makes_lists=half.makes_lists
        )
        for key, value in chosen.items():
            _set(settings, key, value)
        if sorted(keys.masks) != sorted(keys.signing):
            raise SettingsInvalid(
                f"{method} needs a mask key of every silo; 'discreet federate key' makes it"
            )
        return Agreement.make(
            name,
            silos=keys.masks,
            budget=Budget.parse(self.epsilon, self.delta),
            method=method,
            settings=half.settings_type.checked(**settings),
            honest=self.honest,
            noise=self.noise,
            spare=self.spare,
            **common,
        )

    def _prototypes(self, name: str, settings: dict[str, Any], **common: Any) -> PrototypeAgreement:
        read_goal(self.goal, "prototypes", PrototypeSettings, rated=not self.implicit)
        check_features("prototypes", used=False, given=bool(self.features))
        for key in ("honest", "noise", "spare", "rounds"):
            if getattr(self, key) != Terms.model_fields[key].default:
                raise SettingsInvalid(f"--{key} is for methods that sum; prototypes have no use for it")
        factors = {
            key.removeprefix(_FACTORS): settings.pop(key)
            for key in list(settings)
            if key.startswith(_FACTORS)
        }
        if "rank" in settings:
            _set(factors, "rank", settings.pop("rank"))
        if self.prototypes is not None:
            _set(settings, "prototypes", self.prototypes)
        if self.delta is not None:
            if self.preset is not None or settings.get("clustering") == "swap":
                raise SettingsInvalid(
                    "the paper's prototypes (clustering=swap) have no delta; leave --delta out"
                )
            _set(settings, "delta", _number("delta", self.delta))
        made = (
            PrototypeSettings.checked(**settings)
            if self.preset is None
            else PrototypeSettings.from_preset(self.preset, **settings)
        )
        return PrototypeAgreement.make(
            name,
            epsilon=_number("epsilon", self.epsilon),
            settings=made,
            factors=FactorSettings.checked(**factors),
            **common,
        )


def _set(settings: dict[str, Any], key: str, value: object) -> None:
    if key in settings:
        raise SettingsInvalid(f"{key} has an option of its own: use --{key} instead of --set")
    settings[key] = value


def _number(name: str, text: object) -> float:
    try:
        return float(str(text))
    except ValueError:
        raise SettingsInvalid(f"{name} must be a number, not {text!r}") from None
