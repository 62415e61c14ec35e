"""What ``discreet train`` is asked: method, settings, budget and data, all checked before ratings are read."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import click
from pydantic import Field

from discreet import ALS, DPALS, UserMean
from discreet.catalogue import Catalogue
from discreet.cli.columns import read_features
from discreet.cli.engine_options import Engine
from discreet.cli.goal import method_for, read_goal
from discreet.cli.ledger_option import Charged, refuse_ledger
from discreet.cli.output import Output, ReportProgress
from discreet.cli.request import Argument, Option
from discreet.cli.rows import Rows
from discreet.cli.setting_options import apply_config, integer_or_auto, merge_settings
from discreet.cli.train_summary import Fitted
from discreet.data.ratings import FileReading, Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import BudgetInvalid, CatalogueMissing, ModelInvalid, RatingsInvalid, SettingsInvalid
from discreet.methods.checkpoint import Checkpoint
from discreet.methods.method import PrivateMethod, carried_by
from discreet.methods.public_half import check_features
from discreet.methods.registry import DEFAULTS, METHODS, Method, find_method
from discreet.model import Model
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.privacy.budget import Budget

if TYPE_CHECKING:
    from discreet.engines.cluster import Cluster

__all__ = ["Chosen", "Training", "check_room"]

Auto: TypeAlias = int | Literal["auto"]
# Settings that have an option of their own: its name there, and as it is typed.
_OWN_OPTIONS = {
    "goal": "--goal",
    "rank": "--rank",
    "rounds": "--rounds",
    "discover_share": "--discover-items",
}
# What a model may take: factors in 64 bits of a rank that methods choose themselves up to here, with what is known of
# each item beside them, and ids and titles of some length.
_RANK, _PER_FACTOR, _PER_ITEM, _ALWAYS = 64, 16, 400, 1 << 20


class Training(Output, Engine, Charged, Rows):
    """What `train` can be asked."""

    source: Annotated[str, Argument("RATINGS")]
    out: Annotated[str, Option("Directory to put the model into.", metavar="DIR")]
    rating_range: Annotated[
        tuple[float, float] | None, Option("Lowest and highest possible rating.", metavar="LO HI")
    ] = None
    implicit: Annotated[
        bool, Option("Say that there are no ratings: a row means that the user chose the item.")
    ] = False
    catalogue: Annotated[
        str | None, Option("Public list of items (CSV, Parquet, NDJSON or text).", metavar="FILE")
    ] = None
    catalogue_column: Annotated[
        str | None, Option("Its column of item ids.  [default: item, item_id or id]", metavar="NAME")
    ] = None
    features: Annotated[
        tuple[str, ...],
        Option(
            "Columns of the catalogue that describe the items, such as genres,title; repeatable. A kind (number, "
            "category, tags, text, people, embedding) is guessed if left out.",
            metavar="COLUMN[:KIND],...",
        ),
    ] = ()
    discover: Annotated[
        str | None,
        Option(
            "Instead of --catalogue: spend this share of the budget (0.1 if none is given) on finding items.",
            name="--discover-items",
            metavar="[SHARE]",
            value="0.1",
        ),
    ] = None
    epsilon: Annotated[str | None, Option("Privacy parameter epsilon.")] = None
    delta: Annotated[str | None, Option("Privacy parameter delta; well below 1 / users.")] = None
    method: Annotated[
        str | None,
        Option(
            f"{', '.join(METHODS)}, or another package's class. als is not private; user-mean releases nothing.  "
            f"[default: {DEFAULTS['rank'].method_name()}, or {DEFAULTS['rate'].method_name()} for --goal rate]",
            metavar="NAME|PACKAGE:CLASS",
        ),
    ] = None
    goal: Annotated[
        Literal["rank", "rate"] | None,
        Option(
            "What the model is for: rank (lists of what suits somebody) or rate (predicted ratings).  [default: "
            "rank, or what --method does]"
        ),
    ] = None
    rank: Annotated[
        Auto,
        Option(
            "Number of factors; 0: offsets alone; auto: the method's own choice.", callback=integer_or_auto(0)
        ),
    ] = "auto"
    rounds: Annotated[
        Auto, Option("Rounds of training; auto: the method's own choice.", callback=integer_or_auto(1))
    ] = "auto"
    sets: Annotated[
        tuple[str, ...],
        Option("Another setting of the method; repeatable.", name="--set", metavar="KEY=VALUE"),
    ] = ()
    config: Annotated[
        str | None,
        Option(
            "TOML or JSON with any of these options, and a table 'settings' for --set.",
            metavar="FILE",
            callback=apply_config,
            eager=True,
        ),
    ] = None
    start: Annotated[
        str | None,
        Option(
            "An earlier model of the same method and goal, to start from; its catalogue may be another.",
            metavar="MODEL",
        ),
    ] = None
    start_is_public: Annotated[
        bool, Option("The ratings that --start was trained on are public: nobody pays for it.")
    ] = False
    device: Annotated[
        str,
        Option(
            "Where users' contributions are computed; cuda: a GPU (extra gpu, --method budgeted).",
            metavar="cpu|cuda",
        ),
    ] = "cpu"
    preset: Annotated[
        str | None,
        Option("With --method dpals: a column of its paper's table 4 (ml-10m-eps-1).", metavar="NAME"),
    ] = None
    accounting: Annotated[
        Literal["owed", "paper"],
        Option("paper: with --method dpals, print what its paper would have claimed beside what is owed."),
    ] = "owed"
    seed: Annotated[
        int | None, Field(ge=0), Option("Seed of the ordinary random stream; never of the privacy noise.")
    ] = None
    force: Annotated[bool, Option("Replace a model that is already there.")] = False

    def chosen(self) -> Chosen:
        """The method with its settings, the budget and the start; all that can be judged without the ratings."""
        method = find_method(method_for(self.method, self.goal))
        settings = self._settings(method)
        used = issubclass(method, PrivateMethod) and method.public_half.uses_features
        check_features(method.method_name(), used=used, given=bool(self.features))
        start = self._start(method)
        self._check_device(method)
        if self.accounting == "paper" and not issubclass(method, DPALS):
            raise SettingsInvalid(
                "--accounting paper belongs to --method dpals; other methods have no other count"
            )
        if not issubclass(method, PrivateMethod):
            self._refuse_private_options()
            return Chosen(ALS(**settings), None)
        given = self.epsilon is not None or self.delta is not None
        free = method is UserMean and self.discover is None
        budget = None if free and not given else self._budget()
        settings["discover_share"] = self._discover_share()
        if self.preset is None:
            return Chosen(method(**settings), budget, start, self.start_is_public)
        if not issubclass(method, DPALS):
            raise SettingsInvalid("--preset belongs to --method dpals: it is a column of its paper's table 4")
        return Chosen(method.from_preset(self.preset, **settings), budget)

    def read(self, reading: FileReading) -> Ratings:
        """The ratings, as the options describe them."""
        return Ratings.from_file(self.source, **reading)

    def file_reading(self) -> FileReading:
        """How the ratings are read; the catalogue, which is public, is read here."""
        if self.implicit and (self.rating or self.rating_range):
            raise RatingsInvalid(
                "--implicit means that there are no ratings; leave out --rating and --rating-range"
            )
        if self.implicit and self.graded is not None:
            raise RatingsInvalid("--graded makes ratings of weights, and --implicit says that there are none")
        if self.rating is None and self.rating_range:
            raise RatingsInvalid("--rating-range without --rating: name the column of the ratings as well")
        if self.rating is not None and not self.rating_range:
            raise RatingsInvalid(
                "--rating-range is missing: give the lowest and the highest possible rating, as in "
                "--rating-range 1 5; it is public and never read off the data"
            )
        return FileReading(**self.reading(), rating_range=self.rating_range, catalogue=self._read_catalogue())

    def _read_catalogue(self) -> Catalogue | None:
        features = read_features(self.features, self.catalogue)
        if self.catalogue is None:
            if self.catalogue_column is not None:
                raise SettingsInvalid(
                    "--catalogue-column names a column of --catalogue FILE, which is missing"
                )
            return None
        return Catalogue.from_file(
            self.catalogue, column=self.catalogue_column, features=features, encoding=self.encoding
        )

    def _settings(self, method: Method) -> dict[str, Any]:
        """The method's settings from ``--set``, the configuration file, ``--goal``, ``--rank`` and ``--rounds``."""
        settings = merge_settings(click.get_current_context(), self.sets)
        for key, option in _OWN_OPTIONS.items():
            if key in settings:
                raise SettingsInvalid(f"{key} has an option of its own: use {option} instead of --set")
        for key, value in (("rank", self.rank), ("rounds", self.rounds)):
            if value == "auto":
                continue
            known = method.settings_type.model_fields
            if key not in known:
                raise SettingsInvalid(
                    f"--method {method.method_name()} has no {key}; leave --{key} out. Its settings: "
                    f"{', '.join(sorted(known))}"
                )
            settings[key] = value
        return settings | read_goal(
            self.goal,
            method.method_name(),
            method.settings_type,
            rated=self.rating is not None or self.graded is not None,
            makes_lists=issubclass(method, PrivateMethod) and method.public_half.makes_lists,
        )

    def _start(self, method: Method) -> Model | None:
        if self.start is None:
            if self.start_is_public:
                raise SettingsInvalid("--start-is-public says something about --start, which is missing")
            return None
        if not issubclass(method, PrivateMethod):
            raise SettingsInvalid(
                f"--method {method.method_name()} does not start from an earlier model; leave out --start"
            )
        start = Model.load(self.start)
        method.public_half.check_start(start)
        return start

    def _check_device(self, method: Method) -> None:
        if self.device == "cpu":
            return
        if not issubclass(method, PrivateMethod):
            raise SettingsInvalid(
                f"--method {method.method_name()} runs on the CPU; leave out --device {self.device}"
            )
        from discreet.engines.gpu import check_device, check_kernels

        check = check_kernels if self.engine == "ray" else check_device
        check(self.device, method.method_name(), method.gpu_half)

    def _refuse_private_options(self) -> None:
        for value, option in (
            (self.epsilon, "--epsilon"),
            (self.delta, "--delta"),
            (self.discover, "--discover-items"),
        ):
            if value is not None:
                raise SettingsInvalid(
                    f"--method als is not private and has no use for {option}; leave it out"
                )

    def _budget(self) -> Budget:
        if self.epsilon is None or self.delta is None:
            missing = "epsilon" if self.epsilon is None else "delta"
            raise BudgetInvalid(
                f"--{missing} is missing; give a privacy budget such as --epsilon 1 --delta 1e-6, "
                "or train without privacy with --method als"
            )
        return Budget.parse(self.epsilon, self.delta)

    def _discover_share(self) -> float | None:
        text = self.discover
        if text is None and self.catalogue is None:
            raise CatalogueMissing(
                "the items a model speaks about must be public: give a list of them with --catalogue FILE, or "
                "spend part of the budget on finding them with --discover-items"
            )
        if text is None:
            return None
        if self.catalogue is not None:
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


@dataclass(frozen=True)
class Chosen:
    """A method with its settings, and the budget if it needs one; all checked before any data is read."""

    method: PrivateMethod | ALS
    budget: Budget | None
    start: Model | None = None
    start_is_public: bool = False

    def reserve(
        self, request: Training, catalogue: Catalogue | None, kept: Checkpoint | None
    ) -> LedgerRun | None:
        """Reserve the budget in the ledger, where there is one: before any rating is read."""
        ctx = click.get_current_context()
        if isinstance(self.method, ALS) or self.budget is None:
            refuse_ledger(ctx, f"--method {self.method.method_name()}, which spends no budget,")
            return None
        ledger, discovers = request.given_ledger(), request.catalogue is None
        if ledger is None or (isinstance(self.method, UserMean) and not discovers):
            return None
        return ctx.with_resource(
            ledger.begin(
                self.budget,
                self.method.price(self.budget, discovers=discovers),
                method=self.method.public_half.name,
                adaptive=self.method.public_half.adaptive,
                model=Path(request.out).name or None,
                run=None if kept is None else kept.ledger_run,
                carried=carried_by(catalogue, self.start, start_is_public=self.start_is_public),
            )
        )

    def say_start(self, catalogue: Catalogue | None) -> None:
        """Say on stderr where the model to start from is about other items: public facts alone."""
        if self.start is None or catalogue is None:
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
        request: Training,
        report: ReportProgress,
        run: LedgerRun | None = None,
        kept: Checkpoint | None = None,
        cluster: Cluster | None = None,
    ) -> Fitted:
        """Train."""
        always: dict[str, Any] = {"rng": request.seed, "progress": report}
        if isinstance(self.method, ALS):
            assert isinstance(ratings, Ratings)
            return self.method.fit(ratings, **always)
        always |= {"ledger": run, "checkpoint": kept}
        if isinstance(self.method, UserMean):
            return self.method.fit(ratings, self.budget, **always)
        assert self.budget is not None
        return self.method.fit(
            ratings,
            self.budget,
            start=self.start,
            start_is_public=self.start_is_public,
            device=request.device,
            engine=cluster,
            **always,
        )


def check_room(request: Training, catalogue: Catalogue | None) -> None:
    """Refuse a folder that cannot be written to, and a disk that is too full, before a budget is spent."""
    folder = Path(request.out).absolute().parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelInvalid(
            f"{folder} cannot be written to: {error.strerror}; choose another --out. Nothing was spent"
        ) from error
    items = 0 if catalogue is None else len(catalogue)
    rank = request.rank if isinstance(request.rank, int) else _RANK
    needed = _ALWAYS + items * (rank * _PER_FACTOR + _PER_ITEM)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelInvalid(
            f"{folder} has {free / 1e6:.0f} MB left, and the model may take {needed / 1e6:.0f} MB; make room, or "
            "choose another --out. Nothing was spent"
        )
