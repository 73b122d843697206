"""Judges metrics by human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from portmert.metrics._base import Batch, Metric, Vocabulary
from portmert.tuner.api.components import as_metric
from portmert.tuner.api.texts import Notice, Progress, log_notice, pipeline_of, preparing
from portmert.tuner.evaluation.human_scores import (
    HumanScores,
    Several,
    find_outputs,
    read_human_scores,
)
from portmert.tuner.evaluation.metaeval import data, report, summary
from portmert.tuner.evaluation.metaeval.combined import combine
from portmert.tuner.evaluation.metaeval.data import Judged, MetricScores
from portmert.tuner.evaluation.metaeval.evaluation import Measured, Settings, measure
from portmert.tuner.evaluation.metaeval.intervals import Resampled
from portmert.tuner.evaluation.metaeval.page_data import page_data
from portmert.tuner.evaluation.metaeval.test_sets import TestSet, read_test_sets
from portmert.tuner.evaluation.page.html import render
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.ground.tables import Table, as_latex, as_text
from portmert.tuner.texts import corpus
from portmert.tuner.texts.prepare import Preparation, coverage, read_output
from portmert.tuner.texts.statistics import notices

__all__ = ["Evaluated", "Report", "metaeval"]


@dataclass(frozen=True, eq=False)
class Report:
    """Holds what was found, as text, as tables and as plain data."""

    text: str
    tables: Sequence[Table] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def as_latex(self) -> str:
        """Return the tables for LaTeX (booktabs)."""
        return as_latex(self.tables)


@dataclass(frozen=True, eq=False)
class Evaluated(Report):
    """Holds what a meta-evaluation found; its text is the summary.

    Parameters
    ----------
    signatures
        Of the metrics: all that scores depend on.
    page
        What the page shows.
    """

    signatures: Sequence[str] = field(repr=False, default=())
    page: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @property
    def whole(self) -> str:
        """The summary and all tables."""
        return "\n\n".join([self.text, as_text(self.tables), "\n".join(self.signatures)])

    def as_html(self) -> str:
        """Return a page that needs no network."""
        return render(self.page)


def metaeval(
    human: Path | None = None,
    outputs: Path | None = None,
    refs: Sequence[Path] = (),
    *,
    metric: Sequence[str],
    sets: Path | None = None,
    penalties: bool = False,
    judgments: Several = "refuse",
    systems: Sequence[str] = (),
    source: Path | None = None,
    links: Path | None = None,
    ref_links: Sequence[Path] = (),
    text: str = "",
    text_model: Path | None = None,
    annotator: str | None = None,
    annotation_cache: Path | None = None,
    likeness: bool = False,
    samples: int = 1000,
    level: float = 0.95,
    resample: Resampled = "both",
    seed: int = 1,
    notice: Notice = log_notice,
    progress: Progress | None = None,
) -> Evaluated:
    """Correlate metrics with human scores of several systems' outputs.

    Parameters
    ----------
    human
        Human scores: columns system, segment (from 0), score and maybe document and judge, tabs
        between.
    outputs
        Folder of outputs named after their systems.
    metric
        As `"port:alpha=0.5"`.
    sets
        A TOML file that lists several test sets, in place of the one that `human`, `outputs`,
        `refs` and their kind describe.
    penalties
        Whether lower human scores are better (HTER).
    judgments
        What becomes of several judgments of one output: a fault, their mean, or a data point each.
    systems
        Only these; none: all.
    links
        Folder of links of source and outputs, named after the systems.
    likeness
        Whether to compute KING and ORANGE, which hold out each reference in turn.
    samples, level, resample, seed
        Of the intervals.

    Other parameters are those of `score`.

    Raises
    ------
    PortmertError
        Texts that do not fit, or that lack what a metric needs.
    ValueError
        Neither a test set nor a file of several, or both.
    """
    if (sets is None) == (human is None or outputs is None or not refs):
        raise ValueError("either human scores, outputs and references, or a file of test sets")
    if sets is not None:
        listed = read_test_sets(sets)
    else:
        assert human is not None  # noqa: S101  seen to above
        assert outputs is not None  # noqa: S101
        listed = (
            TestSet(
                human, outputs, tuple(refs), source=source, links=links, penalties=penalties,
                ref_links=tuple(ref_links), judgments=judgments, systems=tuple(systems),
            ),
        )  # fmt: skip
    metrics = {one: as_metric(one) for one in metric}
    settings = Settings(samples=samples, level=level, resampled=resample, seed=seed)
    measured: list[Measured] = []
    signatures: list[str] = []
    with preparing(annotator, annotation_cache, notice=notice, progress=progress) as prepare:
        ready = prepare(list(metrics.values()), pipeline_of(text, text_model), None)
        for number, one in enumerate(listed, 1):
            judged, counted = _counted(one, metrics, ready, notice, likeness=likeness)
            measured.append(measure(judged, counted, settings, name=one.name, number=number))
            signatures += [each.signature for each in counted]
        if ready.annotator is not None:
            notice(coverage(ready.annotator))
    signatures = list(dict.fromkeys(signatures))
    if sets is None:
        found = measured[0].found
        document = report.as_json(found)
        lines = f"{found.judged.sizes}\n\n{summary.summary(found)}"
        listed_tables = report.tables(found)
        page = page_data([found], None, signatures)
    else:
        groups, scenarios = (
            [getattr(one, key) for one in listed] for key in ("group", "scenario")
        )
        together = combine(measured, groups=groups, scenarios=scenarios, settings=settings)
        document = report.combined_as_json(together)
        sizes = "\n".join(f"{one.found.name}: {one.found.judged.sizes}" for one in measured)
        lines = f"{sizes}\n\n{summary.combined_summary(together)}"
        listed_tables = report.combined_tables(together)
        page = page_data(together.parts, together, signatures)
    return Evaluated(lines, listed_tables, document, signatures, page)


def _counted(
    one: TestSet,
    metrics: Mapping[str, Metric],
    ready: Preparation,
    notice: Notice,
    *,
    likeness: bool,
) -> tuple[Judged, list[MetricScores]]:
    """Read a test set and count with all metrics."""
    scores = human_scores(one.human, one.systems, penalties=one.penalties, judgments=one.judgments)
    scores, batch = read_judged(
        scores, one.outputs, one.refs, one.source, one.links, one.ref_links, ready,
        others=bool(one.systems),
    )  # fmt: skip
    judged, kept = data.judged(scores, batch)
    counted = [
        data.metric_scores(
            label,
            metric,
            batch,
            kept=kept,
            systems=len(scores.systems),
            signature=ready.signature(metric, batch.reference_offsets),
            threads=available_processors(),
            with_likeness=likeness,
        )
        for label, metric in _labelled(metrics).items()
    ]
    before = f"{one.name}: " if one.name else ""
    for line in (
        *data.notices(judged, counted, left_out=len(scores) - len(kept)),
        *dict.fromkeys(n for metric in metrics.values() for n in notices(metric, batch)),
    ):
        notice(before + line)
    return judged, counted


def _labelled(metrics: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Return metrics by what tables call them: files without their folders, if that is clear."""
    found = {}
    for text, metric in metrics.items():
        label = text
        for option in fields(metric):
            value = getattr(metric, option.name)
            if isinstance(value, Path):
                label = label.replace(str(value), value.name)
        found[label] = metric
    return found if len(found) == len(metrics) else metrics


def human_scores(
    path: Path, systems: Sequence[str], *, penalties: bool, judgments: Several = "refuse"
) -> HumanScores:
    found = read_human_scores(path, judgments)
    if systems:
        found = found.of_systems(systems)
    return found.negated() if penalties else found


def read_judged(
    human: HumanScores,
    folder: Path,
    refs: Sequence[Path],
    source: Path | None,
    links: Path | None,
    ref_links: Sequence[Path],
    ready: Preparation,
    *,
    others: bool,
) -> tuple[HumanScores, Batch]:
    """Return the scores, as long as the test set, and all outputs of each segment."""
    read = corpus.read_references(refs, vocabulary=Vocabulary(), source=source, links=ref_links)
    human = human.of_length(len(read), origin=refs[0])
    found = find_outputs(folder, human.systems, others=others)
    found_links = {} if links is None else find_outputs(links, human.systems, others=True)
    outputs = [
        read_output(path, read, beside=refs[0], links=found_links.get(system))
        for system, path in found.items()
    ]
    texts = corpus.interleaved(corpus.concatenate(outputs), len(outputs))
    return human, ready.batch(texts, ready.references(read))
