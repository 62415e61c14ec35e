"""``discreet federate agree``, ``authority`` and ``key``: what all silos sign up to, and the keys in it.

What an agreement is made of is stated once, in `Terms`, for ``simulate`` as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from discreet.catalogue import Catalogue
from discreet.cli.federate import command
from discreet.cli.options import Chosen, Features, method_for, read_features, read_goal
from discreet.cli.output import Answer, Output
from discreet.cli.request import argument, option, takes
from discreet.errors import SettingsInvalid
from discreet.methods.lookup import PUBLIC_HALVES, allow, find_public_half
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.methods.public.half import check_features
from discreet.privacy.budget import Budget
from discreet.silos.shared.agreement import Agreement, AnyAgreement, PrototypeAgreement
from discreet.silos.shared.keys import (
    NOTICE_TEXT,
    PUBLIC_KEYS,
    PublicKeys,
    make_authority,
    make_mask_key,
    make_signing_key,
)

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
        settings = self.settings()
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
        if sorted(keys.masks) != sorted(keys.signing):
            raise SettingsInvalid(
                f"{method} needs a mask key of every silo; 'discreet federate key' makes it"
            )
        return Agreement.make(
            name,
            silos=keys.masks,
            budget=Budget.parse(self.epsilon, self.delta),
            method=method,
            settings=half.settings_type.checked(**settings, **chosen),
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


class _Agree(Terms):
    name: str = option("What people call the run.")
    keys: str | None = option("JSON with everybody's public keys, as 'authority' writes it.", metavar="FILE")
    silos: tuple[str, ...] = option(
        "A silo and its public keys, as 'discreet federate key' and 'key --signing' printed them (for"
        " prototypes NAME=SIGNING); repeatable.",
        name="--silo",
        metavar="NAME=MASK:SIGNING",
    )
    server_key: str | None = option("The server's public signing key.", metavar="KEY")
    out: str = option("Where to put the agreement.", metavar="FILE")


class _Authority(Output):
    folder: str = argument("DIR")
    silos: str = option("Names of the silos, with commas between.", metavar="A,B,C")
    hosts: tuple[str, ...] = option(
        "Another host name or address of the server; localhost and 127.0.0.1 are always included. "
        "Repeatable.",
        name="--host",
    )


class _Key(Output):
    file: str = argument("FILE")
    signing: bool = option("A signing key instead (signing.key in the --tls folder of silo or server).")


@takes(_Agree, "agree", inside=command)
def _agree(request: _Agree) -> Answer:
    """Write the agreement of a run: budget, items, scale, settings, silos and who adds the noise.

    Every silo reads the file, compares the digest by another way than the one the file came, and keeps it; from
    then on it refuses whatever the file does not allow.

    \b
    Example:
      discreet federate agree --name trial --keys tls/keys.json --epsilon 1 --delta 1e-6 \\
          --catalogue items.csv --rating-range 1 5 --honest 2 --out agreement.json
    """
    if Path(request.out).exists():
        raise SettingsInvalid(
            f"{request.out} exists already; an agreement is never replaced, choose another name"
        )
    public = PublicKeys() if request.keys is None else PublicKeys.read(Path(request.keys))
    agreement = request.agreement(request.name, public.and_typed(request.silos, request.server_key))
    agreement.save(request.out)
    words = f"Agreement of {len(agreement.roster)} silos written to {request.out}.\n"
    words += f"Digest, for every silo to compare: {agreement.digest}"
    return Answer({"digest": agreement.digest, **agreement.model_dump(mode="json")}, words)


@takes(_Authority, "authority", inside=command)
def _authority(request: _Authority) -> Answer:
    """Make a TEST authority: the server's certificate and everybody's keys, all on this machine.

    The server gets DIR/server as its --tls folder, each silo DIR/silos/NAME. For tests only: whoever makes the
    folder has everybody's keys.

    \b
    Example:
      discreet federate authority tls/ --silos north,south,east
    """
    names = [name.strip() for name in request.silos.split(",")]
    public = make_authority(Path(request.folder), names, request.hosts)
    made = {
        "folder": request.folder,
        "for_tests_only": True,
        "public_mask_keys": public.masks,
        "public_signing_keys": public.signing,
        "public_server_key": public.server,
    }
    there = (
        f"Made {request.folder} for {len(names)} silos; everybody's public keys are in {PUBLIC_KEYS} there."
    )
    return Answer(made, f"{there}\n{NOTICE_TEXT}")


@takes(_Key, "key", inside=command)
def _key(request: _Key) -> Answer:
    """Make a silo's own mask key in FILE (mask.key in its --tls folder) and print the public half.

    The public half goes into the agreement. Whoever has the private one can take the masks off this silo's answers.
    With --signing: the key that its messages are signed with (Ed25519). Whoever
    has the private one can speak in the silo's name. The server needs one too.

    \b
    Example:
      discreet federate key tls/mask.key
      discreet federate key --signing tls/signing.key
    """
    public = (make_signing_key if request.signing else make_mask_key)(Path(request.file))
    kind = "public_signing_key" if request.signing else "public_mask_key"
    return Answer({"file": request.file, kind: public}, public)
