"""Puts a whole comparison together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import portmert
from portmert.metrics._base import Metric
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison import scores as tables
from portmert.tuner.evaluation.comparison.alignment import alignments
from portmert.tuner.evaluation.comparison.differences import (
    differences,
    reference_reordering,
    segments_of,
)
from portmert.tuner.evaluation.comparison.formats import spoken
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.model import (
    Alignments,
    Comparison,
    OrderingScores,
    System,
)
from portmert.tuner.evaluation.comparison.scores import Counted
from portmert.tuner.evaluation.comparison.similarity import identical_segments, similarities
from portmert.tuner.evaluation.comparison.systems import NamedSystem, TestSet
from portmert.tuner.evaluation.comparison.timing import time_metrics
from portmert.tuner.evaluation.history.model import RunHistory
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.executors.team import Team
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.statistics import notices

METRICS = ("bleu", "port", "qmean", "ter")
"""Metrics of a comparison that names none; those that need links only where there are some."""


@dataclass(frozen=True)
class Setup:
    """Says how to compare.

    Parameters
    ----------
    metrics
        Label -> metric.
    ready
        What made the texts ready; goes into signatures.
    threads
        Never changes a number.
    notice
        Called with one line for what the user should know at once.
    timing
        Whether to measure times, the only numbers that differ from call to call.
    team
        Shares the resampled test sets; None: they are drawn here.
    """

    metrics: Mapping[str, Metric]
    ready: Preparation
    resampling: Resampling
    threads: int
    notice: Callable[[str], None]
    timing: bool = True
    team: Team | None = None


def compare(
    systems: Sequence[NamedSystem],
    test: TestSet,
    materials: Sequence[Material],
    setup: Setup,
    runs: Sequence[RunHistory] = (),
) -> Comparison:
    """Compare systems with the first of them.

    Parameters
    ----------
    materials
        One for each set of links, see `material.read_material`.

    Raises
    ------
    InputError
        A metric needs what is not known of the texts.
    """
    names, material = [system.name for system in systems], materials[0]
    counted = tables.count(material, setup.metrics, threads=setup.threads)
    batch = material.batch_of_all()
    for line in dict.fromkeys(n for one in counted for n in notices(one.metric, batch)):
        setup.notice(line)
    described = [
        tables.describe_metric(
            one.label,
            one.metric,
            setup.ready.signature(one.metric, batch.reference_offsets),
        )
        for one in counted
    ]
    scores = tables.score_systems(names, material, counted, setup.resampling, setup.team)
    ordering: tuple[OrderingScores, ...] = ()
    fixed = _counted(material, ("bleu", "qmean"), counted, setup)
    if material.links is not None:
        ordering = tables.ordering_scores(
            names, material, list(_counted(material, tables.ORDERING, counted, setup).values())
        )
    reordering = reference_reordering(material)
    ngrams = tables.ngram_counts(names, material, qmean=fixed["qmean"], bleu=fixed["bleu"])
    return Comparison(
        portmert=portmert.__version__,
        headlines=tables.headlines(
            scores,
            described,
            {system.name: spoken(system.name, system.tuned_on) for system in systems},
            confidence=setup.resampling.confidence,
        ),
        tuning_luck_untested=tuple(s.name for s in systems if len(s.outputs) == 1),
        notes=tuple(_notes(systems, materials)),
        source=None if test.source is None else test.source.name,
        references=tuple(path.name for path in test.references),
        reference_links=material.links,
        samples=setup.resampling.samples,
        seed=setup.resampling.seed,
        confidence=setup.resampling.confidence,
        systems=tuple(
            System(
                name=table.system,
                kind=system.kind,
                replicas=len(system.outputs),
                tuned_on=system.tuned_on,
                hypothesis_tokens=table.orders[0].total,
                reference_tokens=table.orders[0].reference_total,
            )
            for system, table in zip(systems, ngrams, strict=True)
        ),
        metrics=tuple(described),
        scores=scores,
        similarity=similarities(names, material, threads=setup.threads),
        ordering=ordering,
        ngrams=ngrams,
        alignments=_alignments(names, materials, counted, setup),
        timing=time_metrics(material, setup.metrics) if setup.timing else (),
        differences=differences(names, material, counted, reordering),
        segments=segments_of(material, counted, reordering),
        runs=tuple(runs),
    )


def _counted(
    material: Material, names: Sequence[str], counted: Sequence[Counted], setup: Setup
) -> dict[str, Counted]:
    """Return statistics under the metrics of these names with default options."""
    have = {one.metric: one for one in counted}
    wanted = {name: registry.metric(name) for name in names}
    missing = {name: metric for name, metric in wanted.items() if metric not in have}
    new = {one.label: one for one in tables.count(material, missing, threads=setup.threads)}
    found = {}
    for name, metric in wanted.items():
        one = new[name] if name in new else have[metric]
        found[name] = tables.Counted(name, one.metric, one.stats)
    return found


def _alignments(
    names: Sequence[str],
    materials: Sequence[Material],
    counted: Sequence[Counted],
    setup: Setup,
) -> Alignments | None:
    # The scores of all other metrics are the same under any links.
    linked = {label: one for label, one in setup.metrics.items() if "links" in one.needs}
    rows = []
    for material in materials:
        again = [one for one in counted if one.label in linked]
        if material is not materials[0]:
            again = tables.count(material, linked, threads=setup.threads)
        if material.links is not None:
            rows += tables.links_scores(names, material, again)
    return alignments(materials, rows)


def _notes(systems: Sequence[NamedSystem], materials: Sequence[Material]) -> list[str]:
    """Return what cannot be estimated and what was left out."""
    material, lines = materials[0], []
    if material.links is None:
        lines.append(
            "word alignments are not known: PORT and all scores of word order are left out (give "
            "--links or --aligner)"
        )
    single = [system.name for system in systems if len(system.outputs) == 1]
    if single:
        lines.append(
            f"one replica only of {', '.join(single)}: how much tuning varies (s_opt) cannot "
            f"be estimated"
            + (", so a difference may be luck of tuning" if len(systems) > 1 else "")
        )
    if len({len(system.outputs) for system in systems}) > 1:
        lines.append(
            "the systems have different numbers of replicas: randomization shares out the "
            "outputs of a segment at random"
        )
    if len(material) == 1:
        lines.append("one segment only: the test set's choice (s_sel) cannot be estimated")
    first = material.outputs[0]
    for number, system in enumerate(systems[1:], 1):
        own = [material.outputs[i] for i in material.members(number)]
        if all(identical_segments(first, text).all() for text in own):
            lines.append(f"{system.name} and {systems[0].name} have the same output")
    return lines
