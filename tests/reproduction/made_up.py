"""An experiment without data: two pictures, two tables, every kind of finding."""

from __future__ import annotations

from reproduction import Column, Context, Experiment, Finding, Result, Table
from reproduction.output import plotting

__all__ = ["CONTEXT", "experiment", "run"]

CONTEXT = Context("full", seed=4)


def run(context: Context) -> Result:
    data = context.market(quick_users=50) if context.quick else None
    context.number_of_draws(quick=1, full=3)
    figure, (axes,) = plotting.panels()
    plotting.curve(axes, [1.0, 10.0], [0.9, 0.8], [0.01, float("nan")], label="ours", number=0)
    plotting.published(axes, [1.0], [0.95])
    plotting.baseline(axes, 1.0, "trivial")
    plotting.epsilon_axis(axes, [1.0, 10.0])
    plotting.label_lines(axes)
    rows = [{"epsilon": 1.0, "RMSE": 0.9}, {"epsilon": 2.0, "RMSE": float("nan")}]
    columns = (Column("epsilon"), Column("RMSE", "stars", 2))
    tables = [Table("Errors", columns, rows), Table("More", columns, rows, key="more", shown=0)]
    findings = [
        Finding("It falls.", "0.9 to 0.8.", True),
        Finding("It is 0.7.", "0.8.", False),
        Finding("x", "y", None),
    ]
    said = [] if data is None else [f"{data.sentence} Split in two."]
    other, _ = plotting.panels()
    return Result(
        tables,
        findings,
        figure,
        data=said or ["A made-up world."],
        notes=["Tuned by hand."],
        more={"more": other},
    )


def experiment(name: str = "figure-2") -> Experiment:
    return Experiment(name, "Figure 2: a test", "A paper, figure 2", "Something.", "Something else.", run)
