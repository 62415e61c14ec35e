"""Arguments of ``discreet train``: method, settings, budget and data, checked in that order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from discreet.catalogue import Catalogue
from discreet.cli.columns import read_features
from discreet.cli.goal import method_for, read_goal
from discreet.cli.ledger_option import given_ledger, refuse_ledger
from discreet.cli.output import ReportProgress
from discreet.cli.setting_options import merge_settings
from discreet.cli.train_summary import Fitted
from discreet.data.ratings import CatalogueSource, FileReading, Ratings
from discreet.engines.choice import AnyRatings
from discreet.engines.cluster import Cluster
from discreet.engines.devices import check_device, check_kernels
from discreet.errors import BudgetInvalid, CatalogueMissing, RatingsInvalid, SettingsInvalid
from discreet.methods.als import ALS
from discreet.methods.checkpoint import Checkpoint
from discreet.methods.method import PrivateMethod, carried_by
from discreet.methods.public_half import check_features
from discreet.methods.published.private.baselines import UserMean
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.registry import Method, find_method
from discreet.model import Model
from discreet.privacy.account.run import LedgerRun
from discreet.privacy.budget import Budget

__all__ = ["TrainingRequest", "read_budget", "read_ratings", "read_reading", "read_request", "read_settings"]

# Settings that have an option of their own in a command that has it: its name there, and as it is typed.
OWN_OPTIONS = {
    "goal": ("goal", "--goal"),
    "rank": ("rank", "--rank"),
    "rounds": ("rounds", "--rounds"),
    "discover_share": ("discover", "--discover-items"),
}


@dataclass(frozen=True)
class TrainingRequest:
    """A method with its settings, and the budget if it needs one; all checked before any data is read."""

    method: PrivateMethod | ALS
    budget: Budget | None
    start: Model | None = None
    start_is_public: bool = False

    def enter(
        self,
        ctx: click.Context,
        options: dict[str, Any],
        out: str,
        catalogue: Any,
        kept: Checkpoint | None = None,
    ) -> LedgerRun | None:
        """Reserve the budget in the ledger, where there is one: before any rating is read."""
        if isinstance(self.method, ALS) or self.budget is None:
            refuse_ledger(ctx, f"--method {self.method.method_name()}, which spends no budget,")
            return None
        ledger, discovers = given_ledger(options), options["catalogue"] is None
        if ledger is None or (isinstance(self.method, UserMean) and not discovers):
            return None
        return ctx.with_resource(
            ledger.begin(
                self.budget,
                self.method.price(self.budget, discovers=discovers),
                method=self.method.public_half.name,
                adaptive=self.method.public_half.adaptive,
                model=Path(out).name or None,
                run=None if kept is None else kept.ledger_run,
                carried=carried_by(catalogue, self.start, start_is_public=self.start_is_public),
            )
        )

    def say_start(self, catalogue: CatalogueSource) -> None:
        """Say on stderr where the model to start from is about other items: public facts alone."""
        if self.start is None or not isinstance(catalogue, Catalogue):
            return
        known = int((self.start.catalogue.index(catalogue.ids) >= 0).sum())
        if 2 * known < len(catalogue):
            click.echo(
                f"--start knows {known:,} of the {len(catalogue):,} items of the catalogue; others start from nothing.",
                err=True,
            )

    def fit(
        self,
        ratings: AnyRatings,
        seed: int | None,
        report: ReportProgress,
        run: LedgerRun | None = None,
        kept: Checkpoint | None = None,
        device: str = "cpu",
        engine: Cluster | None = None,
    ) -> Fitted:
        """Train."""
        if isinstance(self.method, ALS):
            assert isinstance(ratings, Ratings)
            return self.method.fit(ratings, rng=seed, progress=report)
        if isinstance(self.method, UserMean):
            return self.method.fit(
                ratings, self.budget, rng=seed, progress=report, ledger=run, checkpoint=kept
            )
        assert self.budget is not None
        return self.method.fit(
            ratings,
            self.budget,
            rng=seed,
            progress=report,
            start=self.start,
            start_is_public=self.start_is_public,
            ledger=run,
            device=device,
            checkpoint=kept,
            engine=engine,
        )


def read_request(ctx: click.Context, options: dict[str, Any]) -> TrainingRequest:
    """Everything about a request that can be judged without the ratings."""
    method = find_method(method_for(options["method"], options["goal"]))
    settings = read_settings(ctx, options, method)
    used = issubclass(method, PrivateMethod) and method.public_half.uses_features
    check_features(method.method_name(), used=used, given=bool(options["features"]))
    start = _read_start(options, method)
    _check_device(options.get("device", "cpu"), method, on_cluster=options.get("engine") == "ray")
    if method is ALS:
        _refuse_private_options(options)
        return TrainingRequest(ALS(**settings), None)
    free = method is UserMean and options["discover"] is None
    given = [key for key in ("epsilon", "delta") if options[key] is not None]
    budget = None if free and not given else read_budget(options)
    settings["discover_share"] = _discover_share(options)
    preset = options.get("preset")
    if preset is None:
        return TrainingRequest(method(**settings), budget, start, bool(options.get("start_is_public")))
    if not issubclass(method, DPALS):
        raise SettingsInvalid("--preset belongs to --method dpals: it is a column of its paper's table 4")
    return TrainingRequest(method.from_preset(preset, **settings), budget)


def _check_device(device: str, method: Method, *, on_cluster: bool) -> None:
    if issubclass(method, PrivateMethod):
        (check_kernels if on_cluster else check_device)(device, method.method_name(), method.gpu_half)
    elif device != "cpu":
        raise SettingsInvalid(f"--method {method.method_name()} runs on the CPU; leave out --device {device}")


def _read_start(options: dict[str, Any], method: Method) -> Model | None:
    path = options.get("start")
    if path is None:
        if options.get("start_is_public"):
            raise SettingsInvalid("--start-is-public says something about --start, which is missing")
        return None
    if not issubclass(method, PrivateMethod):
        raise SettingsInvalid(
            f"--method {method.method_name()} does not start from an earlier model; leave out --start"
        )
    start = Model.load(path)
    method.public_half.check_start(start)
    return start


def read_settings(ctx: click.Context, options: dict[str, Any], method: Method) -> dict[str, Any]:
    """The method's settings from ``--set``, the configuration file, ``--goal``, ``--rank`` and ``--rounds``."""
    settings = merge_settings(ctx, options["sets"])
    for key, (name, option) in OWN_OPTIONS.items():
        if key in settings and name in options:
            raise SettingsInvalid(f"{key} has an option of its own: use {option} instead of --set")
    for key in ("rank", "rounds"):
        if options[key] == "auto":
            continue
        known = method.settings_type.model_fields
        if key not in known:
            raise SettingsInvalid(
                f"--method {method.method_name()} has no {key}; leave --{key} out. Its settings: "
                f"{', '.join(sorted(known))}"
            )
        settings[key] = options[key]
    return settings | read_goal(
        options["goal"],
        method.method_name(),
        method.settings_type,
        rated=options["rating"] is not None or options.get("graded") is not None,
        makes_lists=issubclass(method, PrivateMethod) and method.public_half.makes_lists,
    )


def _refuse_private_options(options: dict[str, Any]) -> None:
    for key, option in (("epsilon", "--epsilon"), ("delta", "--delta"), ("discover", "--discover-items")):
        if options[key] is not None:
            raise SettingsInvalid(f"--method als is not private and has no use for {option}; leave it out")


def read_budget(options: dict[str, Any]) -> Budget:
    """Epsilon and delta, both given."""
    for key in ("epsilon", "delta"):
        if options[key] is None:
            raise BudgetInvalid(
                f"--{key} is missing; give a privacy budget such as --epsilon 1 --delta 1e-6, "
                "or train without privacy with --method als"
            )
    return Budget.parse(options["epsilon"], options["delta"])


def _discover_share(options: dict[str, Any]) -> float | None:
    text, catalogue = options["discover"], options["catalogue"]
    if text is None and catalogue is None:
        raise CatalogueMissing(
            "the items a model speaks about must be public: give a list of them with --catalogue FILE, or "
            "spend part of the budget on finding them with --discover-items"
        )
    if text is None:
        return None
    if catalogue is not None:
        raise SettingsInvalid("--catalogue and --discover-items exclude each other; keep one")
    try:
        share = float(text)
    except ValueError:
        raise SettingsInvalid(
            f"--discover-items takes a share of the budget such as 0.1, not {text!r}; "
            "put it after RATINGS, or write --discover-items=0.1"
        ) from None
    if not 0.0 < share < 1.0:
        raise SettingsInvalid(f"the share for --discover-items must lie between 0 and 1, not {text}")
    return share


def read_ratings(options: dict[str, Any], reading: FileReading | None = None) -> Ratings:
    """The ratings, as the options describe them."""
    return Ratings.from_file(options["source"], **(read_reading(options) if reading is None else reading))


def read_reading(options: dict[str, Any]) -> FileReading:
    """How the options say that the ratings are read; the catalogue, which is public, is read here."""
    rating, rating_range = options["rating"], options["rating_range"]
    if options["implicit"] and (rating or rating_range):
        raise RatingsInvalid(
            "--implicit means that there are no ratings; leave out --rating and --rating-range"
        )
    if options["implicit"] and options.get("graded") is not None:
        raise RatingsInvalid("--graded makes ratings of weights, and --implicit says that there are none")
    if rating is None and rating_range:
        raise RatingsInvalid("--rating-range without --rating: name the column of the ratings as well")
    if rating is not None and not rating_range:
        raise RatingsInvalid(
            "--rating-range is missing: give the lowest and the highest possible rating, as in "
            "--rating-range 1 5; it is public and never read off the data"
        )
    return FileReading(
        user=options["user"],
        item=options["item"],
        rating=rating,
        rating_range=rating_range or None,
        catalogue=_read_catalogue(options),
        missing=options["missing"],
        out_of_range=options["out_of_range"],
        unknown_items=options["unknown_items"],
        duplicates=options["duplicates"],
        allow_dropped=options["allow_dropped"],
        weight=options.get("weight"),
        graded=options.get("graded"),
        time=options.get("time"),
        separator=options.get("separator"),
        encoding=options.get("encoding"),
        decimal=options.get("decimal"),
    )


def _read_catalogue(options: dict[str, Any]) -> Catalogue | None:
    features = read_features(options["features"], options["catalogue"])
    column, encoding = options.get("catalogue_column"), options.get("encoding")
    if options["catalogue"] is None:
        if column is not None:
            raise SettingsInvalid("--catalogue-column names a column of --catalogue FILE, which is missing")
        return None
    return Catalogue.from_file(options["catalogue"], column=column, features=features, encoding=encoding)
