"""``discreet train``: from a file of ratings to a released model; what is asked for is checked before they are read."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from discreet.catalogue import Catalogue
from discreet.cli.options import (
    Charged,
    Chosen,
    Items,
    Rows,
    method_for,
    read_goal,
    refuse_ledger,
)
from discreet.cli.output import (
    Answer,
    NewModel,
    Output,
    ReportProgress,
    counts,
    peak_rss_mb,
    printer,
    progress_bar,
    promised,
    say_dropped,
    show_holder,
    show_table,
)
from discreet.cli.request import argument, option, takes
from discreet.cli.where import (
    Engine,
    ResumableCommand,
    chosen_engine,
    clear_run,
    join_cluster,
    leaves_nothing,
    on_disk,
    open_checkpoint,
    resumed,
)
from discreet.data.ratings import FileReading, Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import BudgetInvalid, CatalogueMissing, ModelInvalid, RatingsInvalid, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.public.half import carried_by, check_features
from discreet.methods.registry import DEFAULTS, METHODS, Method, find_method
from discreet.model import Model
from discreet.model.folder import save_once
from discreet.model.item_weights import ItemWeights
from discreet.model.storage import check_target
from discreet.privacy.budget import Budget

if TYPE_CHECKING:
    from discreet.methods.als import ALS
    from discreet.methods.checkpoint import Checkpoint
    from discreet.privacy.account.ledger_file import LedgerRun

__all__ = ["Training", "command"]

# What a model may take: factors of a usual rank with what is known of each item, ids and titles of some length.
_PER_ITEM, _ALWAYS = 1_500, 1 << 20


class _Asked(NamedTuple):
    """A method with its settings, the budget if it needs one, and the model to start from."""

    method: PrivateMethod | ALS
    budget: Budget | None
    start: Model | None = None


class Training(Output, NewModel, Chosen, Items, Engine, Charged, Rows):
    """What `train` can be asked."""

    source: str = argument("RATINGS")
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

    def chosen(self) -> _Asked:
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
            return _Asked(method(**settings), None)
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
            return _Asked(from_preset(self.preset, **settings), budget)
        return _Asked(method(**settings), budget, start)

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
        """The method's settings from ``--set``, ``--goal``, ``--rank`` and ``--rounds``."""
        settings = self.settings()
        known, name = method.settings_type.model_fields, method.method_name()
        for key in ("rank", "rounds"):
            if key in settings and key not in known:
                raise SettingsInvalid(
                    f"--method {name} has no {key}; leave --{key} out. Its settings: {', '.join(sorted(known))}"
                )
        return settings | read_goal(
            self.goal,
            name,
            method.settings_type,
            rated=self.rating is not None,
            makes_lists=issubclass(method, PrivateMethod) and method.public_half.makes_lists,
        )

    def _refuse_private_options(self, name: str) -> None:
        given = {
            "--epsilon": self.epsilon,
            "--delta": self.delta,
            "--discover-items": self.discover,
            "--start": self.start,
            "--device": None if self.device == "cpu" else self.device,
        }
        for typed, value in given.items():
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


@takes(Training, "train", cls=ResumableCommand)
def command(request: Training) -> Answer:
    """\b
    Examples:
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --features genres,title --epsilon 1 --delta 1e-6 --out model/
      discreet train may.csv --user user --item item --catalogue items.csv --start april/ \\
          --ledger people.ledger --epsilon 0.5 --delta 1e-6 --out may/
      discreet train --resume model.run
      zcat plays.csv.gz | discreet train - --user who --item song \\
          --discover-items --epsilon 5 --delta 1e-7 --out model/
    """
    started = time.perf_counter()
    check_target(request.out, overwrite=request.force or resumed(click.get_current_context()) is not None)
    asked = request.chosen()
    private = asked.budget is not None
    engine = chosen_engine(request, private=private)
    cluster = join_cluster(request, engine)
    reading = request.reading()
    catalogue = reading["catalogue"]
    assert catalogue is None or isinstance(catalogue, Catalogue)
    _check_space(request, catalogue)
    kept = open_checkpoint(request, engine, private=private)
    with leaves_nothing(kept), progress_bar() as report:
        run = _reserve(asked, request, catalogue, kept)
        ratings: AnyRatings
        if engine == "memory" or kept is None:
            ratings = Ratings.from_file(request.source, **reading)
        else:
            folder = Path(request.blocks or kept.folder / "blocks")
            ratings = on_disk(request.source, folder, reading, progress=report)
        say_dropped(ratings)
        fitted = _fit(asked, ratings, request, report, ledger=run, checkpoint=kept, engine=cluster)
    save_once(fitted.model_, request.out, overwrite=request.force)
    counted = counts(ratings, fitted.model_.item_side.n_items)
    del ratings  # blocks on disk are mapped into memory, and Windows does not remove what is
    if kept is not None:
        clear_run(kept)
    result = _summarise(fitted.model_, fitted.rounds_)
    result["holder"] = {
        **({"engine": engine} if engine != "memory" else {}),
        **counted,
        "seconds": round(time.perf_counter() - started, 3),
        "peak_rss_mb": peak_rss_mb(),
    }
    return Answer(result, lambda: _show(result, fitted.model_, request.out))


def _check_space(request: Training, catalogue: Catalogue | None) -> None:
    """Refuse a folder that cannot be written to, and a disk that is too full, before a budget is spent."""
    folder = Path(request.out).absolute().parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelInvalid(
            f"{folder} cannot be written to: {error.strerror}; choose another --out. Nothing was spent"
        ) from error
    needed = _ALWAYS + (0 if catalogue is None else len(catalogue)) * _PER_ITEM
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelInvalid(
            f"{folder} has {free / 1e6:.0f} MB left, and the model may take {needed / 1e6:.0f} MB; make room, or "
            "choose another --out. Nothing was spent"
        )


def _reserve(
    asked: _Asked, request: Training, catalogue: Catalogue | None, kept: Checkpoint | None
) -> LedgerRun | None:
    """Reserve the budget in the ledger, where there is one: before any rating is read."""
    ctx, (method, budget, start) = click.get_current_context(), asked
    if not isinstance(method, PrivateMethod) or budget is None:
        refuse_ledger(ctx, f"--method {method.method_name()}, which spends no budget,")
        return None
    ledger, discovers = request.given_ledger(), request.catalogue is None
    if ledger is None or (method.method_name() == "user-mean" and not discovers):
        return None
    run = ledger.begin(
        budget,
        method.price(budget, discovers=discovers),
        method=method.public_half.name,
        adaptive=method.public_half.adaptive,
        model=Path(request.out).name or None,
        run=None if kept is None else kept.ledger_run,
        carried=carried_by(catalogue, start, start_is_public=request.start_is_public),
    )
    return ctx.with_resource(run)


def _fit(
    asked: _Asked, ratings: AnyRatings, request: Training, report: ReportProgress, **charged: Any
) -> Any:
    """Train; ``charged``: what goes with a budget."""
    method = asked.method
    if asked.start is not None and ratings.catalogue is not None:
        listed = asked.start.catalogue.index(ratings.catalogue.ids)
        shared, items = int((listed >= 0).sum()), len(listed)
        if 2 * shared < items:  # both catalogues are public
            click.echo(
                f"The model of --start knows {shared:,} of these {items:,} items: of the others it says nothing.",
                err=True,
            )
    always: dict[str, Any] = {"rng": request.seed, "progress": report}
    if not isinstance(method, PrivateMethod):
        assert isinstance(ratings, Ratings)
        return method.fit(ratings, **always)
    fit: Any = method.fit  # of one that releases nothing without a budget too
    return fit(
        ratings,
        asked.budget,
        start=asked.start,
        start_is_public=request.start_is_public,
        device=request.device,
        **always,
        **charged,
    )


def _summarise(model: Model, rounds: int) -> dict[str, Any]:
    statement, side = model.statement, model.item_side
    told = promised(model, rounds)
    if isinstance(side, ItemWeights):
        told["head"] = int(side.known.sum())
    if statement.earlier_runs:
        told["this_run"] = None if statement.this_run is None else statement.this_run.model_dump(mode="json")
        told["earlier_runs"] = [run.model_dump(mode="json") for run in statement.earlier_runs]
    if statement.earlier is not None:
        told["ledger"] = statement.earlier.model_dump(mode="json")
    return told


def _show(result: dict[str, Any], model: Model, out: str) -> None:
    """The summary as a table, the model's statement, where the model is, and apart what is the holder's own."""
    # A table of weights has no rank, and always takes two sums.
    told = ("method", "goal", "head") if "head" in result else ("method", "goal", "rank", "rounds")
    show_table([(key, result[key]) for key in told], title="Trained")
    for line in (*model.notes, model.statement, f"Saved to {out}"):
        printer().print(str(line))
    show_holder(result["holder"])
