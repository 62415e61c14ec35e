"""What ``discreet train`` is asked: method, settings, budget and data, all checked before ratings are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.cli.output import Output
from discreet.cli.request import argument, option
from discreet.cli.rows import Items, Rows
from discreet.cli.settings import Charged, Chosen, method_for, read_goal, read_settings
from discreet.cli.where import Engine
from discreet.data.ratings import FileReading
from discreet.errors import BudgetInvalid, CatalogueMissing, RatingsInvalid, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.public_half import check_features
from discreet.methods.registry import DEFAULTS, METHODS, Method, find_method
from discreet.model import Model
from discreet.privacy.budget import Budget

if TYPE_CHECKING:
    from discreet.methods.als import ALS

__all__ = ["Asked", "Training"]


class Asked(NamedTuple):
    """A method with its settings, the budget if it needs one, and the model to start from."""

    method: PrivateMethod | ALS
    budget: Budget | None
    start: Model | None = None


class Training(Output, Chosen, Items, Engine, Charged, Rows):
    """What `train` can be asked."""

    source: str = argument("RATINGS")
    out: str = option("Directory to put the model into.", metavar="DIR")
    rating_range: tuple[float, float] | None = option(
        "Lowest and highest possible rating.", metavar="LO HI", about="rating"
    )
    implicit: bool = option("Say that there are no ratings: a row means that the user chose the item.")
    discover: float | None = option(
        "Instead of --catalogue: spend this share of the budget (0.1 if none is given) on finding items.",
        name="--discover-items",
        gt=0.0,
        lt=1.0,
        metavar="[SHARE]",
        is_flag=False,
        flag_value=0.1,
    )
    epsilon: str | None = option("Privacy parameter epsilon.")
    delta: str | None = option("Privacy parameter delta; well below 1 / users.")
    method: str | None = option(
        f"{', '.join(METHODS)}, or another package's class. als is not private; user-mean releases nothing.  "
        f"[default: {DEFAULTS['rank']}, or {DEFAULTS['rate']} for --goal rate]",
        metavar="NAME|PACKAGE:CLASS",
    )
    start: str | None = option(
        "An earlier model of the same method and goal, to start from; its catalogue may be another.",
        metavar="MODEL",
    )
    start_is_public: bool = option(
        "The ratings that --start was trained on are public: nobody pays for it.", about="start"
    )
    device: str = option(
        "Where users' contributions are computed; cuda: a GPU (extra gpu, --method budgeted).",
        "cpu",
        metavar="cpu|cuda",
    )
    preset: str | None = option("With --method dpals: a column of its paper's table 4 (ml-10m-eps-1).")
    seed: int | None = option("Seed of the ordinary random stream; never of the privacy noise.", ge=0)
    force: bool = option("Replace a model that is already there.")

    def chosen(self) -> Asked:
        """The method with its settings, the budget and the start; all that can be judged without the ratings."""
        method = find_method(method_for(self.method, self.goal))
        name, settings = method.method_name(), self._settings(method)
        used = issubclass(method, PrivateMethod) and method.public_half.uses_features
        check_features(name, used=used, given=bool(self.features))
        from_preset = getattr(method, "from_preset", None)
        if self.preset is not None and from_preset is None:
            raise SettingsInvalid("--preset belongs to --method dpals: it is a column of its paper's table 4")
        if not issubclass(method, PrivateMethod):
            self._refuse_private_options(name)
            return Asked(method(**settings), None)
        start = None if self.start is None else Model.load(self.start)
        if start is not None:
            method.public_half.check_start(start)
        if self.device != "cpu":
            if self.engine == "ray":
                raise SettingsInvalid(
                    f"workers of a cluster compute on the CPU; leave out --device {self.device}"
                )
            from discreet.engines.gpu import check_device

            check_device(self.device, name, method.gpu_half)
        given = self.epsilon is not None or self.delta is not None
        free = name == "user-mean" and self.discover is None
        budget = None if free and not given else self._budget()
        if self.discover is None and self.catalogue is None:
            raise CatalogueMissing(
                "the items a model speaks about must be public: give a list of them with --catalogue FILE, or "
                "spend part of the budget on finding them with --discover-items"
            )
        if self.discover is not None and self.catalogue is not None:
            raise SettingsInvalid("--catalogue and --discover-items exclude each other; keep one")
        settings["discover_share"] = self.discover
        if self.preset is not None and from_preset is not None:
            return Asked(from_preset(self.preset, **settings), budget)
        return Asked(method(**settings), budget, start)

    def reading(self) -> FileReading:
        """How the ratings are read; the catalogue, which is public, is read here."""
        if self.implicit and (self.rating or self.rating_range):
            raise RatingsInvalid(
                "--implicit means that there are no ratings; leave out --rating and --rating-range"
            )
        if self.rating is not None and not self.rating_range:
            raise RatingsInvalid(
                "--rating-range is missing: give the lowest and the highest possible rating, as in "
                "--rating-range 1 5; it is public and never read off the data"
            )
        catalogue = self.read_catalogue(self.encoding)
        return {**super().reading(), "rating_range": self.rating_range, "catalogue": catalogue}

    def _settings(self, method: Method) -> dict[str, Any]:
        """The method's settings from ``--set``, the configuration file, ``--goal``, ``--rank`` and ``--rounds``."""
        settings = read_settings(self.sets)
        known, name = method.settings_type.model_fields, method.method_name()
        for key in ("goal", "rank", "rounds", "discover_share"):
            if key in settings:
                typed = "discover-items" if key == "discover_share" else key
                raise SettingsInvalid(f"{key} has an option of its own: use --{typed} instead of --set")
        for key, value in (("rank", self.rank), ("rounds", self.rounds)):
            if value == "auto":
                continue
            if key not in known:
                raise SettingsInvalid(
                    f"--method {name} has no {key}; leave --{key} out. Its settings: {', '.join(sorted(known))}"
                )
            settings[key] = value
        return settings | read_goal(
            self.goal,
            name,
            method.settings_type,
            rated=self.rating is not None,
            makes_lists=issubclass(method, PrivateMethod) and method.public_half.makes_lists,
        )

    def _refuse_private_options(self, name: str) -> None:
        if self.start is not None:
            raise SettingsInvalid(f"--method {name} does not start from an earlier model; leave out --start")
        if self.device != "cpu":
            raise SettingsInvalid(f"--method {name} runs on the CPU; leave out --device {self.device}")
        for value, typed in (
            (self.epsilon, "--epsilon"),
            (self.delta, "--delta"),
            (self.discover, "--discover-items"),
        ):
            if value is not None:
                raise SettingsInvalid(
                    f"--method {name} is not private and has no use for {typed}; leave it out"
                )

    def _budget(self) -> Budget:
        if self.epsilon is None or self.delta is None:
            missing = "epsilon" if self.epsilon is None else "delta"
            raise BudgetInvalid(
                f"--{missing} is missing; give a privacy budget such as --epsilon 1 --delta 1e-6, "
                "or train without privacy with --method als"
            )
        return Budget.parse(self.epsilon, self.delta)
