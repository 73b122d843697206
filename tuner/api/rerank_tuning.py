"""Tuning on one set of lists, reranking of another, and a test of the gain."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, Vocabulary

from ..base import arguments
from ..base.context import Progress, using
from ..base.errors import ConfigError, InputError, counted
from ..base.files import write_text
from ..base.frames import Frame, Framed
from ..base.json_toml import to_json
from ..base.numbers import Positive
from ..base.options import files as files_of
from ..base.options import written_files
from ..base.tables import Table, preformatted
from ..base.warn import notice, warn, warn_of
from ..components import registry
from ..components.external import Outcome, Scores
from ..components.registry import MetricLike
from ..evaluation.comparison.choices import (
    EQUAL,
    FIRST,
    SINGLE,
    START,
    answered,
    choices_table,
)
from ..evaluation.comparison.report import document_of
from ..evaluation.comparison.scores import Counted
from ..evaluation.comparison.systems import TestSet, find_groups
from ..evaluation.comparison.without_texts import compared_by_scores
from ..evaluation.report import Report
from ..nbest import check, votes
from ..nbest.feature_files import answers_of
from ..nbest.frame_lists import FrameColumns, ranked_rows
from ..nbest.model import NBest, model_scores
from ..runs.inputs import read_inputs
from ..runs.replicas import Chosen, Replicas
from ..search.doubtful_gains import loss_finding
from ..search.length_penalty import penalised
from ..search.oracle import oracle
from ..search.problem import within_segment_spread
from ..texts import corpus, statistics, text_pipeline
from ..texts.groups import Groups
from ..weights.feature_weights import FeatureWeights
from . import optimizing, replicating
from .comparing import compare
from .lists import Lists, ListsLike, as_lists
from .texts import PathLike, TextLike

TUNED = "tuned"
SPREAD = 2.0
"""Spread of the model scores within segments of whose softmax votes are weighted."""

Files = PathLike | Sequence[PathLike]
PAGE, DOCUMENT = "comparison.html", "comparison.json"
_JOINING = ("debpe", "spm-decode")
"""Text steps that join subwords to words; others are for metrics alone."""


@dataclass(frozen=True, eq=False)
class RerankTuned(Framed):
    """Tuned weights and the output that they choose; `rerank-tune` prints its `str()`.

    Parameters
    ----------
    replicas
        The weights of each search, and their average.
    lines
        The hypotheses that the averaged weights choose from the test lists. Subwords are joined if
        the text steps do that.
    compared
        The comparison of the tuned output with other choices; None without test references.
    """

    replicas: Replicas
    lines: tuple[str, ...] = field(repr=False)
    compared: Report | None = field(repr=False)
    columns: FrameColumns | None = field(default=None, repr=False)

    @property
    def frame_rows(self) -> Sequence[Mapping[str, Any]]:
        """A row for each choice and metric of the comparison; without one, the weights."""
        return (self.replicas if self.compared is None else self.compared).frame_rows

    def to_frame(self, like: Any = None) -> Any:
        """Return a data frame, of the kind tuned on; see `Report.to_frame`."""
        return super().to_frame(like or (self.columns and self.columns.library))

    def _repr_html_(self) -> str:
        """Return verdict and tables as a notebook shows them."""
        return preformatted(str(self))

    def score(self, frame: Any) -> Any:
        """Return a frame of candidates with their model scores, and ranks in their segments.

        Parameters
        ----------
        frame
            A frame with the columns that `Lists.from_frame` took; outcomes are not needed.

        Returns
        -------
        frame
            The same with the columns `pm_score`, and `pm_rank` from 1; of the same kind. Where a
            value is missing that is not imputed, the score is NaN and the rank the last.

        Raises
        ------
        InputError
            A column is missing, or a value is none.
        """
        source, _, scores, ranks = self._ranked(frame)
        return source.with_columns({"pm_score": scores, "pm_rank": ranks})

    def choose(self, frame: Any) -> Any:
        """Return the row of the best candidate of each segment, in the order of their first rows.

        See `score`.
        """
        source, segments, _, ranks = self._ranked(frame)
        rows = np.flatnonzero(ranks == 1)
        return source.rows(rows[np.argsort(segments[rows], kind="stable")].tolist())

    def _ranked(self, frame: Any) -> tuple[Frame, IntArray, FloatArray, IntArray]:
        if self.columns is None:
            raise InputError("the lists tuned on are from no frame, so no columns are known")
        return ranked_rows(Frame.of(frame), self.columns, self.replicas.weights)

    def as_json(self) -> dict[str, Any]:
        """Return what `portmert rerank-tune --json` prints."""
        compared = None if self.compared is None else self.compared.as_json()
        return {**self.replicas.as_json(), "comparison": compared}

    def __str__(self) -> str:
        if self.compared is None:
            return str(self.replicas)
        document, percent = self.replicas.document, self.replicas.metric.shown
        dev = {key: percent(document[key]["dev_score"]) for key in ("first", "start", "average")}
        answers = "".join(f"{line}\n" for line in self.compared.document["answers"])
        answers += "\n" if answers else ""
        metric = self.replicas.metric
        gain = f"{metric.display.labelled(metric.name())} {dev['first']} -> {dev['average']}"
        return (
            f"{answers}{gain} on the lists tuned on (start weights {dev['start']}; "
            f"{counted(len(document['replicas']), 'search')})\n\n"
            f"{_table(self.compared.document).text()}\n\n"
            f"{self.replicas.weights_table.text()}\n\n"
            f"{document['metric']}"
        )


@arguments.checked
def rerank_tune(
    lists: ListsLike,
    metric: MetricLike,
    *,
    test: ListsLike,
    out_dir: PathLike | None = None,
    also: Sequence[MetricLike] = (),
    test_scores: Mapping[str, Files] | None = None,
    test_answers: Files = (),
    groups: TextLike | None = None,
    replicas: Positive = 5,
    fresh: bool = False,
    progress: Progress | None = None,
    **search: Unpack[optimizing.SearchOptions],
) -> RerankTuned:
    r"""Tune with several seeds, rerank a test set by the averaged weights, and compare.

    With references of the test set, or with scores of its hypotheses that are in hand, the tuned
    output is compared with what needs no tuning: the first hypothesis of each segment, the start
    weights if some are given, equal weights, and the best feature by itself. These comparisons are
    planned, and corrected for their number. The other features, votes and the oracle stand below.
    After an interruption the same call continues.

    Parameters
    ----------
    lists
        The n-best lists to tune on, with references, as in `replicate`.
    metric : NAME[:OPTION=VALUE,...]
        Metric to tune on and to compare by: one of `portmert metrics`, or a formula; or
        scores:FILE, which can only be tuned on.
    test
        The lists to rerank, with or without references, as in `replicate`.
    out_dir : DIR
        Folder for all results. An interrupted command continues. In Python none keeps nothing.
    also : NAME[:OPTION=VALUE,...]
        Another metric to compare by; it needs references of the test set.
    test_scores : NAME=FILE[#KEY]
        Scores of the test hypotheses to compare by, such as right or wrong, COMET or a human's.
        More is better. The file is text, .gz or .npy, in their order; FILE#KEY reads JSON lines.
        Several lists have one file each, separated by commas.
    test_answers : FILE[#KEY]
        The final answer of each hypothesis of the test lists. With `test_scores`, votes on answers
        are compared too.
    groups : FILE[#KEY]
        The group of each segment of the test lists, as its document or speaker: see `TestSet`.
    replicas
        Number of searches with different seeds; their weights are averaged.
    fresh, progress, **search
        As in `replicate`.

    Raises
    ------
    PortmertError
        As in `replicate`; or no metric can compare the outputs.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import portmert
    >>> two = "{0} ||| a b c x ||| LM= -1 ||| -1\n{0} ||| a b c d ||| LM= -2 ||| -2\n"
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     for part in ("dev", "test"):
    ...         _ = (folder / part).write_text("".join(map(two.format, range(8))))
    ...         _ = (folder / f"{part}.ref").write_text("a b c d\n" * 8)
    ...     dev, test = (
    ...         portmert.Lists.read(folder / part, refs=folder / f"{part}.ref")
    ...         for part in ("dev", "test")
    ...     )
    ...     tested = portmert.rerank_tune(
    ...         dev, "bleu", test=test, replicas=2, out_dir=folder / "out", optimizer="mert"
    ...     )
    >>> tested.lines[0]
    'a b c d'
    """
    kept = tempfile.TemporaryDirectory(prefix="portmert-") if out_dir is None else None
    folder = Path(kept.name if out_dir is None and kept else str(out_dir))
    dev_lists = as_lists(lists)
    tuned_metric = registry.metric(dev_lists.metric_of(metric))
    dev_lists = dev_lists.scored_by([tuned_metric])
    tests = as_lists(test).like(dev_lists)
    of_files = {name: Scores(_paths(files)) for name, files in (test_scores or {}).items()}
    outcomes: Judges = {**_of_frame(tuned_metric, tests), **of_files}
    judges = [*([] if tuned_metric.of_lists else [metric]), *also]
    if also and not tests.refs:
        raise ConfigError(
            f"--also {next(iter(registry.labelled(also)))}: outputs are compared with references "
            f"of the test set; give --test-ref"
        )
    if tests.refs:
        _check_judges(registry.labelled(judges), tuned_metric, tests, dev_lists, outcomes)
    tests = tests.scored_by(outcomes.values())
    answers = _answers(tests.nbest, test_answers, outcomes)
    grouped = None
    if groups is not None:
        test_set, where = TestSet(groups=groups), "the test lists"
        grouped = find_groups(test_set, (), len(tests.nbest), tests.nbest.ids, where)
    optimizing.remind(tuned_metric, [*also, *outcomes])
    tuned = replicating.replicate(
        dev_lists, tuned_metric, replicas=replicas, out_dir=folder, test=tests, fresh=fresh,
        baselines=_more_choices(outcomes, answers), progress=progress, **search,
    )  # fmt: skip
    if tests.strings is None and (line := check.order_of_firsts(tests.nbest, tuned.weights)):
        warn(line)
    lines = _joined(tuned.baselines["averaged"].text, dev_lists.pipeline)
    write_text(folder / "output.txt", replicating.as_lines(lines))
    counted = _counted(outcomes, tests.nbest, tuned.baselines.values(), replicas)
    warn_of(filter(None, _losses(outcomes, tests.nbest, tuned.baselines["averaged"].rows)))
    compared: Report | None = None
    if tests.refs and judges:
        with using(progress=progress):
            threads = search.get("threads", 0)
            compared = _compared(
                folder, tuned.baselines, judges, counted, dev_lists, threads, grouped
            )
    elif counted:
        outputs = {TUNED: replicas} | dict.fromkeys(_choice_names(tuned.baselines), 1)
        signature = tuned.metric.signature
        document = compared_by_scores(counted, outputs, signature, groups=grouped)
        compared = Report(document_of(document), document)
    if compared is not None:
        label = next(iter(outcomes), "") if tuned_metric.of_lists else ""
        kinds = (FIRST, START, EQUAL, f"{SINGLE}:")
        rivals = [name for name in tuned.baselines if name.startswith(kinds)]
        document = answered(compared.document, rivals, label)
        document["tuning_luck_untested"] = [*document["tuning_luck_untested"], "averaged"]
        compared = Report(document_of(document, [tuned.weights_table]), document)
    _write(folder, compared)
    if kept is not None:  # as long as the result, which names its files
        weakref.finalize(tuned, kept.cleanup)
    return RerankTuned(tuned, lines, compared, dev_lists.columns)


def _table(document: Mapping[str, Any]) -> Table:
    note = (
        f"{TUNED}: mean of the searches' outputs, ± standard deviation; averaged: of the averaged "
        f"weights; "
    )
    return choices_table(document, "Test set", "score", note)


def _of_frame(metric: Metric, tests: Lists) -> dict[str, Outcome]:
    """Return the outcome tuned on, if the test lists have it too."""
    if isinstance(metric, Outcome) and metric.key in tests.nbest.outcomes:
        return {metric.signature: metric}
    return {}


def _write(folder: Path, compared: Report | None) -> None:
    """Write the comparison; without one, remove that of a call that `fresh` has put an end to."""
    if compared is None:
        for name in (PAGE, DOCUMENT):
            (folder / name).unlink(missing_ok=True)
        notice(
            "no reference of the test set (--test-ref), and no scores of its hypotheses "
            "(--test-scores): its outputs are not compared"
        )
        return
    write_text(folder / PAGE, compared.as_html())
    write_text(folder / DOCUMENT, to_json(compared.as_json(), indent=1) + "\n")


def _joined(path: Path, pipeline: text_pipeline.TextPipeline) -> tuple[str, ...]:
    """Return the lines of a file with its subwords joined, where the text steps join them."""
    steps = tuple(step for step in pipeline.steps if step.name in _JOINING and "hyp" in step.sides)
    joined = text_pipeline.TextPipeline(steps, pipeline.model).applied(
        corpus.read_texts(path, Vocabulary()), "hyp"
    )
    return tuple(" ".join(joined.words(row)) for row in range(len(joined)))


def _check_judges(
    judges: Mapping[str, Metric], tuned: Metric, test: Lists, lists: Lists, outcomes: Judges
) -> None:
    """Raise `ConfigError` before the search if the outputs cannot be compared after it."""
    if not judges and not outcomes:
        raise ConfigError(
            f"metric {tuned.signature} has no scores of the test lists: give them (--test-scores "
            f"NAME=FILE), or name a metric that compares the outputs, as --also chrf"
        )
    for judge, metric in judges.items():
        if metric.of_lists:
            raise ConfigError(
                f"--also {judge}: its scores are of the hypotheses of a list; for those of the "
                f"test lists there is --test-scores NAME=FILE"
            )
        if "links" in metric.needs and not test.ref_links:
            raise ConfigError(
                f"metric {metric.name()} compares word orders; give --test-source and "
                f"--test-ref-links for the test set"
            )
        if statistics.needs_of([metric]) and lists.annotator is None:
            raise ConfigError(statistics.annotator_needed(metric, "give --annotator, as "))


def _choice_names(baselines: Mapping[str, Chosen]) -> list[str]:
    """Return the names of the choices that are not those of one search."""
    return [name for name in baselines if not name.startswith("replica-")]


def _compared(
    folder: Path,
    baselines: Mapping[str, Chosen],
    judges: Sequence[MetricLike],
    counted: Sequence[Counted],
    lists: Lists,
    processors: int,
    groups: Groups | None,
) -> Report:
    """Compare the run in the folder with the other choices."""
    names, inputs = _choice_names(baselines), read_inputs(folder)
    links = () if inputs is None else inputs.data.test_reference_links
    outputs = [files.links for files in baselines.values() if files.links is not None]
    sets = []
    if links and len(outputs) == len(baselines):
        sets.append(f"lists={written_files([*links, *outputs])}")
    return compare(
        {TUNED: folder, **{name: baselines[name].text for name in names}},
        TestSet(links=sets, statistics=tuple(counted), known_groups=groups),
        metric=[each if isinstance(each, str) else registry.metric(each) for each in judges],
        annotator=lists.annotator,
        annotation_cache=lists.annotation_cache,
        threads=processors,
        timing=False,
    )


# Scores in hand: choices of answers that need no search, and the comparison of all choices.


Judges = Mapping[str, Outcome | Scores]
"""What judges each hypothesis of the test lists, by name: an outcome, or scores in files."""


def _statistics(test: NBest, metric: Outcome | Scores) -> FloatArray:
    """Return the (H, 2) statistics of the test lists."""
    name = metric.key if isinstance(metric, Outcome) else metric.signature
    values = test.outcomes[name]
    return np.column_stack([values, np.ones(len(values))])


def _answers(test: NBest, files: Files, judges: Judges) -> IntArray | None:
    """Return (L,) the answers in files; None for no files."""
    if files and not judges:
        raise ConfigError("--test-answers: nothing judges the votes; give --test-scores")
    return answers_of(test, _paths(files), where="--test-answers") if files else None


def _more_choices(judges: Judges, answers: IntArray | None) -> replicating.MoreChoices:
    """Return a function that returns name -> (S,) rows of the test lists.

    `votes`: the most frequent answer. `weighted votes`: the same, a vote counting by the
    softmax of the model score under the averaged weights. `oracle`: the best by the first judge.
    """

    def choices(
        dev: optimizing.PreparedLists, test: optimizing.PreparedLists, average: FeatureWeights
    ) -> dict[str, IntArray]:
        nbest, by_name = test.nbest, dict[str, IntArray]()
        if answers is not None:
            scores = model_scores(penalised(nbest, dev.search.alpha), average)
            by = SPREAD / float(within_segment_spread(scores[np.newaxis], nbest.offsets)[0])
            weights = votes.by_model(nbest.offsets, scores, temperature=by)
            by_name["votes"] = elected(nbest, answers, np.ones(len(weights)))
            by_name["weighted votes"] = elected(nbest, answers, weights)
        for judge in list(judges.values())[:1]:
            table, start = _statistics(nbest, judge), nbest.offsets[:-1]
            by_name["oracle"] = oracle(table, nbest.offsets, judge, start)[1]
        return by_name

    return choices


def _counted(
    judges: Judges, test: NBest, choices: Iterable[Chosen], replicas: int
) -> list[Counted]:
    """Return the statistics of all choices by each judge; replicas are first."""
    rows = np.stack([choice.rows for choice in choices])
    counted = []
    for name, judge in judges.items():
        stats = _statistics(test, judge)[rows]
        counted.append(Counted(name, judge, [stats[:replicas], *stats[replicas:, np.newaxis]]))
    return counted


def _losses(judges: Judges, test: NBest, rows: IntArray) -> Iterator[str]:
    """Yield a line for each judge by which chosen rows are worse than chance; else ""."""
    for name, judge in judges.items():
        values = np.asarray(judge.oriented(_statistics(test, judge)[:, 0]))
        yield loss_finding(name, judge, values, test.offsets, rows)


def elected(nbest: NBest, answers: IntArray, weights: FloatArray) -> IntArray:
    """Return (S,) the row of highest weight among those whose answer has most votes.

    Equal hypotheses that were dropped vote as those that were kept. Of equal answers, and of equal
    rows, the first in the list is taken. A hypothesis without an answer is taken only where none
    has one.

    Parameters
    ----------
    answers : (L,) int64
        The answer of each hypothesis of the files, -1 for none.
    weights : (H,) float64
        What the vote of each row counts; not below 0.
    """
    pairs = np.column_stack([nbest.in_files[0], answers])
    groups = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    group_of_row = groups[nbest.lines]
    of_rows = np.bincount(group_of_row, minlength=groups.max() + 1)
    times = np.bincount(groups) / np.maximum(of_rows, 1)
    votes: FloatArray = np.bincount(group_of_row, weights, minlength=len(times)) * times
    totals = np.where(answers[nbest.lines] < 0, -1.0, votes[group_of_row])
    rows = []
    for begin, end in pairwise(nbest.offsets.tolist()):
        best = group_of_row[begin + int(np.argmax(totals[begin:end]))]
        weight_of_row = np.where(group_of_row[begin:end] == best, weights[begin:end], -1.0)
        rows.append(begin + int(np.argmax(weight_of_row)))
    return np.array(rows)


def _paths(files: Files) -> tuple[Path, ...]:
    """Return files; several may be one text, with commas between them."""
    if isinstance(files, str):
        return files_of(files, where="files")
    return (files,) if isinstance(files, Path) else tuple(map(Path, files))
