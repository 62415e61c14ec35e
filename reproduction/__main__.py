"""``python -m reproduction``: the papers' figures and tables, run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from discreet.cli.group import INTERRUPTED, errors_as_messages
from discreet.cli.output import printer, progress_bar
from discreet.errors import SettingsInvalid
from reproduction import Context, Experiment, Finished, perform, registry
from reproduction.output.record import is_done, write
from reproduction.output.report import build_report
from reproduction.result import VERDICTS

PROGRAM = "python -m reproduction"


class _Command(click.Command):
    """Ends as the commands of ``discreet`` do: exit code 2 and a message for a person's mistake."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        with errors_as_messages(ctx):
            return super().invoke(ctx)


@click.command(
    PROGRAM, cls=_Command, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "show_list", is_flag=True, help="Show what there is, and how long it took.")
@click.option("--quick", is_flag=True, help="Seconds instead of minutes: shows that it works.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder with a folder for each data set: ml-1m, jester, ml-10m, ...",
)
@click.option("--draws", type=click.IntRange(min=2), help="Repetitions of each private run.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run: leave out what is finished.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of splits and starts."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="results",
    show_default=True,
    help="Where the files go.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Run nothing; make the results page from the records in FOLDER.",
)
@click.option(
    "--docs",
    type=click.Path(path_type=Path, file_okay=False),
    default="docs",
    show_default=True,
    help="Where the results page goes.",
)
@click.option("--allow-quick", is_flag=True, help="Take quick runs into the results page, marked as such.")
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    show_list: bool,
    quick: bool,
    data: Path | None,
    draws: int | None,
    resume: bool,
    seed: int,
    out: Path,
    report: Path | None,
    docs: Path,
    allow_quick: bool,
) -> None:
    """Run figures and tables of the papers again and hold them against what the papers say.

    NAME is figure-2, table-4 and so on, or all. Each writes its record, NAME.json, and mostly pictures,
    NAME.svg; --report makes a page from records. Data sets that are not at hand are replaced by
    the nearest that is, which the record says. Pictures need the extra plots.

    \b
    Example:
      python -m reproduction --list
      python -m reproduction figure-2 figure-6 --quick
      python -m reproduction all --data data --out results
      python -m reproduction --report results --docs docs
    """
    if show_list + bool(names) + (report is not None) != 1:
        raise SettingsInvalid("give names of experiments (or all), or --list, or --report FOLDER")
    if show_list:
        _list()
    elif report is not None:
        printer().print(f"Written: {build_report(report, docs, allow_quick=allow_quick)}")
    else:
        context = Context("quick" if quick else "full", data, seed=seed, draws=draws)
        try:
            _run(registry.find(names), context, out, resume=resume)
        except KeyboardInterrupt:
            click.echo(
                f"Interrupted; experiments that were finished are in {out}. Go on with --resume.", err=True
            )
            ctx.exit(INTERRUPTED)


def _run(experiments: list[Experiment], context: Context, out: Path, *, resume: bool) -> None:
    for number, experiment in enumerate(experiments, 1):
        click.echo(f"{experiment.name} ({number} of {len(experiments)}): {experiment.title}", err=True)
        if resume and is_done(experiment.name, context, out):
            click.echo("  finished before", err=True)
            continue
        with progress_bar() as report:
            finished = perform(experiment, context.reporting(report))
        files = write(finished, out)
        _show(finished, files)


def _show(finished: Finished, files: list[Path]) -> None:
    table = Table(title=finished.experiment.title, title_justify="left", show_lines=True)
    for heading in ("the paper", "here", "agrees"):
        table.add_column(heading)
    for finding in finished.result.findings:
        table.add_row(finding.claim, finding.observed, VERDICTS[finding.agrees])
    console = printer()
    console.print(table)
    console.print(" ".join(finished.result.data))
    suffixes = ", ".join(file.name for file in files)
    console.print(f"{finished.seconds:.1f} s. Written to {files[0].parent}: {suffixes}\n")


def _list() -> None:
    experiments = registry.find(["all"])
    table = Table(caption="Minutes as the stored records have them; a quick run takes less than one.")
    for heading in ("name", "what it shows", "minutes"):
        table.add_column(heading, no_wrap=heading != "what it shows")
    for experiment in experiments:
        table.add_row(experiment.name, experiment.shows, str(_minutes(experiment.name) or "–"))
    printer().print(table)


def _minutes(name: str) -> float | None:
    """How long the stored run took."""
    record = Path(__file__).parent / "results" / f"{name}.json"
    return (
        round(json.loads(record.read_text(encoding="utf-8"))["seconds"] / 60.0, 1)
        if record.is_file()
        else None
    )


if __name__ == "__main__":
    command(prog_name=PROGRAM)
