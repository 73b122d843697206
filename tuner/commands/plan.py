"""`portmert plan`: time, memory and disk of a run, from a timed sample."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert
from portmert.tuner.commands import _options, _outputs
from portmert.tuner.commands._options import Whole, defaulted, several
from portmert.tuner.commands._outputs import log
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.tables import Table, fold

if TYPE_CHECKING:
    from portmert import Plan, Planned, Range

UNITS = (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))
TIMES = (*UNITS, ("ms", 1e-3))
SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


@click.command()
@_options.config
@several(
    "--workers",
    kind=Whole(1, 10**6),
    help="Number of processes that decode and annotate; repeat to compare several. Default: 1, "
    "and as many as there are processors or workers of the executor.",
)
@defaulted(
    "--segments", Whole(1), 30, "Number of dev segments that are decoded, scored and searched."
)
@click.option(
    "--tune-on",
    "tuned_on",
    multiple=True,
    metavar="NAME[=FORMULA]",
    help="Plan `portmert reproduce` on this metric, not `portmert tune`; repeat for several.",
)
@_options.overrides("Replace a value of CONFIG, as tune.replicas=5; repeat for several.")
@_options.run_annotator
@_options.run_executor
@_outputs.json_option
def command(*, config: Path, json_out: Path | None, **given: Any) -> None:
    """Estimate the time, memory and disk that CONFIG will take.

    Some dev segments are decoded, scored and searched as `portmert tune` does it. The time, memory
    and disk measured are scaled to the whole run. Only the models that a decoder trains are kept.

    \b
    portmert plan my.toml --workers 1 --workers 16
    """  # noqa: D301  \b is click's sign for lines to leave alone
    _outputs.check_outputs(json_out)
    _outputs.announce_compiling()
    given.pop("annotation_cache")
    found = portmert.plan(config, log=log, **given)
    if not _outputs.print_json(json_out, found.as_json()):
        click.echo(_text(found))


def _text(found: Plan) -> str:
    rows = [
        [str(one.workers), _span(one.wall, UNITS), _span(one.cpu, UNITS)] for one in found.needs
    ]
    title = "All runs, one after the other" if len(found.runs) > 1 else "The run: time"
    return "\n\n".join(
        [
            *(_measured(name, one) for name, one in found.runs.items()),
            Table(title, ["workers", "wall time", "CPU time"], rows).text(),
            *(_space(name, one) for name, one in found.runs.items()),
            _assumed(found),
        ]
    )


def _measured(name: str, one: Planned) -> str:
    from portmert.tuner.runs.plan import STEPS  # noqa: PLC0415  start-up time

    sample = one.sample
    rows = []
    for key, cost in sample.costs.items():
        times = 1000 if "a hypothesis" in STEPS[key] else 1
        label = STEPS[key].replace("a hypothesis", "1,000 hypotheses")
        if cost[0]:
            rows.append([label, *(_scaled(times * seconds, TIMES, "s") for seconds in cost)])
    whose = one.metric if name == "run" else f"{name}: {one.metric}"
    title = (
        f"{whose}\n\nMeasured on {counted(sample.segments, 'segment')} with "
        f"{sample.hypotheses:.1f} hypotheses each, in {sample.took:.1f} s"
    )
    return Table(title, ["", "wall", "CPU"], rows).text()


def _space(name: str, one: Planned) -> str:
    rows = [["memory of the command", _span(one.command_bytes, SIZES)]]
    for what, held in (
        ("decoder", one.sample.decoder_bytes),
        ("aligner or annotator", one.sample.other_bytes),
    ):
        if held:
            rows.append([f"memory of a process of the {what}", _scaled(held, SIZES, "kB")])
    rows.append(["disk, with the cache of annotations", _span(one.folder_bytes, SIZES)])
    whose = "The run" if name == "run" else name
    return Table(f"{whose}: memory and disk", ["", "bytes"], rows).text()


def _assumed(found: Plan) -> str:
    from portmert.tuner.runs.plan import MARGIN  # noqa: PLC0415  start-up time

    one = next(iter(found.runs.values()))
    tune, (fewest, most) = one.experiment.tune, one.searches
    ending = "patience" if fewest < most else "the limit"
    said = [
        f"from {fewest} searches ({ending} ends the run) to {most}, with one decoding more",
        (
            f"later lists bring nothing new, or {tune.nbest} new hypotheses for each segment; the "
            f"time of a search grows with the hypotheses"
        ),
        f"all figures may be {MARGIN - 1:.0%} too high or too low",
        "the machine stays as busy as it was while the sample was taken",
        (
            "workers are processes like the one measured, each on a processor of its own; "
            "searches and scoring stay where the command runs"
        ),
        "sets take as long as their tokens say, 1-best lists as long as long ones",
    ]
    if tune.replicas > 1:
        said.append(f"{tune.replicas} replicas are alike; they share the first decoding")
    if tune.bootstrap:
        said.append(f"{counted(tune.bootstrap, 'bootstrap sample')}, searched like the last pool")
    if not one.experiment.executor.is_local:
        said.append("a cluster's overhead and waiting in its queue are not measured")
    if len(found.runs) > 1:
        said.append("the comparison at the end of `reproduce` is not measured")
    return "Assumed:\n" + "\n".join(fold(f"- {line}") for line in said)


def _span(span: Range, units: tuple[tuple[str, float], ...]) -> str:
    """Return a range in the unit of its end, two digits each."""
    name, unit = next((one for one in units if span.high >= one[1]), units[-1])
    low, high = (_digits(value / unit) for value in span)
    return f"{high} {name}" if low == high else f"{low} to {high} {name}"


def _scaled(value: float, units: tuple[tuple[str, float], ...], none: str) -> str:
    if not value:
        return f"0 {none}"
    name, unit = next((one for one in units if value >= one[1]), units[-1])
    return f"{_digits(value / unit)} {name}"


def _digits(value: float) -> str:
    """Return a number with two digits that say something, rounded to whole ones where large."""
    if value >= 10 or value == 0:
        return (
            f"{value:.0f}" if value < 100 else f"{round(value, -int(math.log10(value)) + 1):.0f}"
        )
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"
