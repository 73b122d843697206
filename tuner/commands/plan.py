"""Offers `portmert plan`: what a run will take, from a timed sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert
from portmert.tuner.commands._compiling import announce_compiling
from portmert.tuner.commands._notice import log
from portmert.tuner.commands._options import (
    Whole,
    annotator_options,
    defaulted,
    overrides_option,
    run_executor_option,
    several,
)
from portmert.tuner.commands._outputs import check_outputs, json_option, print_json
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.tables import Table, fold

if TYPE_CHECKING:
    from portmert import Plan, Planned, Range
    from portmert.tuner.runs.meter import Cost
    from portmert.tuner.runs.plan import Elsewhere

UNITS = (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))
SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@several(
    "--workers",
    kind=Whole(1, 10**6),
    help="Processes that decode and annotate; repeat for more. Default: 1, and one a processor, "
    "or all of the executor's.",
)
@defaulted("--segments", Whole(1), 30, "Dev segments that are decoded, counted and searched.")
@click.option(
    "--tune-on",
    "tuned_on",
    multiple=True,
    metavar="NAME",
    help="Plan `reproduce` with these metrics in place of `tune`; repeat for more.",
)
@overrides_option("Replace a value of CONFIG, as in tune.replicas=5; may be repeated.")
@annotator_options
@run_executor_option
@json_option
def command(*, config: Path, json_out: Path | None, **given: Any) -> None:
    """Say how long CONFIG will take, and how much memory and disk, from a timed sample.

    Some dev segments are decoded, annotated, counted and searched as `tune` would; what they took
    is scaled to the whole. Nothing of it stays, but models that a decoder trains and keeps.

    \b
    portmert plan my.toml --workers 1 --workers 16
    """  # noqa: D301  \b is click's sign for lines to leave alone
    check_outputs(json_out)
    announce_compiling()
    given.pop("annotation_cache")
    found = portmert.plan(config, log=log, **given)
    if not print_json(json_out, found.as_json()):
        click.echo(_text(found))


def _text(found: Plan) -> str:
    parts = [_measured(name, one) for name, one in found.runs.items()]
    rows = [
        [str(one.workers), _span(one.wall, UNITS), _span(one.cpu, UNITS)] for one in found.needs
    ]
    title = "All runs, one after the other" if len(found.runs) > 1 else "The run: time"
    parts.append(Table(title, ["workers", "wall time", "CPU time"], rows).text())
    for name, one in found.runs.items():
        parts.append(_space(name, one))
    parts.append(_assumed(found))
    return "\n\n".join(parts)


def _measured(name: str, one: Planned) -> str:
    sample, whole = one.sample, one.experiment.tune
    rows = [
        ["loading libraries and kernels", *map(_time, sample.loading)],
        ["training the decoder's models, kept", _time(sample.training.wall), ""],
        ["references, with the aligner's model", _time(sample.linking.wall), ""],
        ["starting a decoder process", _time(sample.start.wall), _time(sample.start.cpu)],
        [
            f"decoding a segment, {whole.nbest}-best",
            _time(sample.segment.wall),
            _time(sample.segment.cpu),
        ],
        ["reading and linking 1,000 hypotheses", *map(_time, sample.reading.times(1000))],
        ["annotating a sentence", _time(sample.sentence.wall), ""],
        ["statistics of 1,000 hypotheses", _time(1000 * sample.counting.wall), ""],
        ["a task of the cluster, besides its work", *map(_time, _task(one) or (0, 0))],
        ["a search, besides hypotheses", *map(_time, sample.search)],
        ["a search, for 1,000 hypotheses", *map(_time, sample.search_hypothesis.times(1000))],
    ]
    whose = one.metric if name == "run" else f"{name}: {one.metric}"
    title = (
        f"{whose}\n\nMeasured on {counted(sample.segments, 'segment')} with "
        f"{sample.hypotheses:.1f} hypotheses each, in {sample.took:.1f} s"
    )
    shown = [row for row in rows if row[1] != _time(0)]
    return Table(title, ["", "wall", "CPU"], shown).text()


def _space(name: str, one: Planned) -> str:
    sample = one.sample
    rows = [["memory of the command", _span(one.command_bytes, SIZES)]]
    for what, held in (
        ("decoder", sample.decoder_bytes),
        ("aligner or annotator", sample.other_bytes),
    ):
        if held:
            rows.append([f"memory of a process of the {what}", _size(held)])
    rows += [
        ["disk, the run's folder", _span(one.folder_bytes, SIZES)],
        ["disk, besides while it decodes", _size(one.scratch_bytes)],
    ]
    if one.cache_bytes.high:
        rows.append(["disk, cache of annotations", _span(one.cache_bytes, SIZES)])
    whose = "The run" if name == "run" else name
    return Table(f"{whose}: memory and disk", ["", "bytes"], rows).text()


def _task(one: Planned) -> Cost | None:
    return None if one.elsewhere is None else one.elsewhere.task


def _pace(elsewhere: Elsewhere) -> str:
    if elsewhere.task is None:
        return ", which took the sample"
    return (
        f", or take {elsewhere.pace:.1f} times as long, as they did for a loop that all ran at "
        f"once"
    )


def _growth(before: Sequence[int]) -> str:
    if len(before) < 2:
        return "later lists bring nothing new, or as many new hypotheses as are asked for"
    return (
        f"later lists bring nothing new, or as many new hypotheses as the last one, "
        f"{before[-1] - before[-2]}"
    )


def _assumed(found: Plan) -> str:
    from portmert.tuner.runs.plan import MARGIN  # noqa: PLC0415  start-up time

    one = next(iter(found.runs.values()))
    tune, sample = one.experiment.tune, one.sample
    fewest, most = (round(value) for value in one.searches)
    ending = "patience" if fewest < most else "the limit"
    done, far = len(one.before), one.elsewhere is not None
    there = f", of which {done} are there and are not counted" if done else ""
    shared = "" if far else ", and workers here then share what one has"
    cluster = "what a cluster costs besides, and waiting in queues, is not measured"
    if _task(one) is not None:
        cluster = (
            "what tasks cost besides was measured with tasks that do nothing; what models and "
            "lists take to travel was not"
        )
    said = [
        (
            f"from {fewest} searches ({ending} ends the run) to {most}{there}, with one decoding "
            f"more; a run that finds nothing new ends earlier"
        ),
        _growth(one.before),
        (
            f"machines are idle, or as busy as while the sample was taken: {sample.busy:.1f} s on "
            f"the clock for each of a processor{shared}"
        ),
        "sets cost what their tokens say, 1-best lists of test sets as much as long ones",
        f"all that is {MARGIN - 1:.0%} wrong either way",
        f"{sample.shared:.0%} of a search is shared among threads, of this machine alone",
        f"each worker is a process of its own that loads the models once a decoding; {cluster}",
    ]
    if one.elsewhere is not None:
        said.append(f"the cluster's workers are as fast as this machine{_pace(one.elsewhere)}")
        if one.experiment.optimizer.restarts > one.experiment.threads:
            said.append("restarts that go to workers are planned as if they were searched here")
    if tune.replicas > 1:
        said.append(f"{tune.replicas} replicas are alike; they share the first decoding")
    if tune.bootstrap:
        said.append(f"{counted(tune.bootstrap, 'bootstrap sample')}, searched like the last pool")
    if len(found.runs) > 1:
        said.append("the comparison at the end of `reproduce` is not measured")
    return "Assumed:\n" + "\n".join(fold(f"- {line}") for line in said)


def _span(span: Range, units: tuple[tuple[str, float], ...]) -> str:
    """Return a range in the unit of its end, two digits each."""
    name, unit = next((one for one in units if span.high >= one[1]), units[-1])
    low, high = (_digits(value / unit) for value in span)
    return f"{high} {name}" if low == high else f"{low} to {high} {name}"


def _time(seconds: float) -> str:
    return _scaled(seconds, (*UNITS, ("ms", 1e-3)), "s")


def _size(held: float) -> str:
    return _scaled(held, SIZES, "kB")


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
