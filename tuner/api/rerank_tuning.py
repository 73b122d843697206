"""Tuning on one set of lists, reranking of another, and a test of the gain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from portmert.metrics._base import Metric, Vocabulary
from portmert.tuner.api.arguments import checked
from portmert.tuner.api.comparing import Compared, TestSet, compare
from portmert.tuner.api.lists import Lists, ListsLike, as_lists
from portmert.tuner.api.optimizing import SearchOptions, remind
from portmert.tuner.api.replicating import as_lines, replicate
from portmert.tuner.api.texts import Notice, PathLike, Phases, Progress, log_notice, phase
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.report import against
from portmert.tuner.evaluation.documents import shown
from portmert.tuner.ground.documents import to_json
from portmert.tuner.ground.errors import ConfigError, counted
from portmert.tuner.ground.files import write_text
from portmert.tuner.ground.numbers import shown_p
from portmert.tuner.ground.tables import Table
from portmert.tuner.runs.inputs import read_inputs
from portmert.tuner.runs.replicas import Chosen, Replicas
from portmert.tuner.texts.corpus import read_texts
from portmert.tuner.texts.statistics import needs_of
from portmert.tuner.texts.text_pipeline import TextPipeline

TUNED = "tuned"
PAGE, DOCUMENT = "comparison.html", "comparison.json"
_JOINING = ("debpe", "spm-decode")
"""Text steps that join subwords to words; others are for metrics alone."""


@dataclass(frozen=True, eq=False)
class RerankTuned:
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
    compared: Compared | None = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return what `portmert rerank-tune --json` prints."""
        compared = None if self.compared is None else self.compared.as_json()
        return {**self.replicas.as_json(), "comparison": compared}

    def __str__(self) -> str:
        if self.compared is None:
            return str(self.replicas)
        found, percent = self.replicas.document, self.replicas.metric.shown
        dev = {key: percent(found[key]["dev_score"]) for key in ("first", "start", "average")}
        answers = "".join(f"{line}\n" for line in self.compared.document["answers"])
        return (
            f"{answers}\n{found['metric']}, on the lists tuned on: first {dev['first']} -> "
            f"averaged {dev['average']} (start weights {dev['start']}; "
            f"{counted(len(found['replicas']), 'search')})\n\n{_table(self.compared).text()}"
        )


def _table(compared: Compared) -> Table:
    """Return the scores of all choices, and their distance from those of the tuned outputs."""
    found = compared.document
    metrics = {metric["label"]: metric for metric in found["metrics"]}
    rows = []
    for score in found["scores"]:
        metric = metrics[score["metric"]]
        spread = "" if score["s_opt"] is None else f" ± {shown(score['s_opt'], metric)}"
        value = f"{shown(score['score'], metric)}{spread}"
        row = [score["system"], score["metric"], value, "", "", ""]
        if score["difference"] is not None:
            low, high = (score[f"difference_{end}"] or 0.0 for end in ("low", "high"))
            row[3:] = [
                shown(score["difference"], metric, sign=True),
                f"{shown(low, metric, sign=True)}..{shown(high, metric, sign=True)}",
                "" if score["p_holm"] is None else shown_p(score["p_holm"]),
            ]
        rows.append(row)
    return Table(
        "Test set",
        ["", "metric", "score", f"from {TUNED}", f"{100 * found['confidence']:g} % interval", "p"],
        rows,
        left=2,
        note=f"{TUNED}: mean of the searches' outputs, ± standard deviation; averaged: of the "
        f"averaged weights; first: of each list; only: best by one feature; oracle: chosen with "
        f"the references. p: two-sided, of luck of the test set and of tuning, corrected (Holm).",
    )


@checked
def rerank_tune(
    lists: ListsLike,
    metric: str | Metric,
    *,
    test: ListsLike,
    out_dir: PathLike,
    also: Sequence[str | Metric] = (),
    replicas: int = 5,
    fresh: bool = False,
    notice: Notice = log_notice,
    progress: Phases | None = None,
    **search: Unpack[SearchOptions],
) -> RerankTuned:
    """Tune with several seeds, rerank a test set by the averaged weights, and compare.

    With references of the test set, the tuned output is compared with the first hypothesis of each
    segment, the best by each feature alone, and the oracle. After an interruption the same call
    continues.

    Parameters
    ----------
    lists
        The n-best lists to tune on, with references, as in `replicate`.
    metric
        The metric to tune on and to compare by. `scores:FILE` can only be tuned on.
    test
        The lists to rerank, with or without references, as in `replicate`.
    out_dir
        The folder, as in `replicate`; it also gets output.txt, comparison.html, comparison.json.
    also
        Other metrics to compare by; they need references of the test set.
    replicas
        The number of searches.
    fresh, notice, progress, **search
        As in `replicate`.

    Raises
    ------
    PortmertError
        As in `replicate`; or no metric can compare the outputs.
    """
    folder, chosen = Path(out_dir), registry.metric(metric)
    given = as_lists(lists, notice)
    tests = as_lists(test, notice)
    judges = [*([] if chosen.of_lists else [metric]), *also]
    if {"=", ","} & set(str(folder)):
        raise ConfigError(f"{folder}: the name of the folder can have no = and no comma")
    if tests.refs:
        _check_judges(registry.labelled(judges), chosen, tests, given)
    elif also:
        raise ConfigError(
            f"--also {next(iter(registry.labelled(also)))}: outputs are compared with references "
            f"of the test set; give --test-ref"
        )
    remind(chosen, also, notice)
    found = replicate(
        given,
        chosen,
        replicas=replicas,
        out_dir=folder,
        test=tests,
        fresh=fresh,
        baselines=True,
        notice=notice,
        progress=progress,
        **search,
    )
    lines = _joined(found.baselines["averaged"].text, given.pipeline)
    write_text(folder / "output.txt", as_lines(lines))
    if not tests.refs:
        for name in (PAGE, DOCUMENT):  # of an earlier call that --fresh has put an end to
            (folder / name).unlink(missing_ok=True)
        notice("no reference of the test set (--test-ref): its outputs are not compared")
        return RerankTuned(found, lines, None)
    shown, threads = phase(progress, "annotating"), search.get("threads", 0)
    compared = _compared(folder, found.baselines, judges, given, threads, notice, shown)
    write_text(folder / PAGE, compared.as_html())
    write_text(folder / DOCUMENT, to_json(compared.as_json(), indent=1) + "\n")
    return RerankTuned(found, lines, compared)


def _joined(path: Path, pipeline: TextPipeline) -> tuple[str, ...]:
    """Return the lines of a file with its subwords joined, where the text steps join them."""
    steps = tuple(step for step in pipeline.steps if step.name in _JOINING and "hyp" in step.sides)
    joined = TextPipeline(steps, pipeline.model).applied(read_texts(path, Vocabulary()), "hyp")
    return tuple(" ".join(joined.words(row)) for row in range(len(joined)))


def _check_judges(judges: Mapping[str, Metric], chosen: Metric, test: Lists, lists: Lists) -> None:
    """Raise `ConfigError` before the search if the outputs cannot be compared after it."""
    if not judges:
        raise ConfigError(
            f"metric {chosen.signature} has no scores of other lists: name a metric that "
            f"compares the outputs, as --also chrf"
        )
    for judge, metric in judges.items():
        if metric.of_lists:
            raise ConfigError(f"--also {judge}: its scores are of given lists, not of outputs")
        if "links" in metric.needs and not test.ref_links:
            raise ConfigError(
                f"metric {metric.name()} compares word orders; give --test-source and "
                f"--test-ref-links for the test set"
            )
        if needs_of([metric]) and lists.annotator is None:
            raise ConfigError(
                f"metric {metric.name()} compares syntax and needs an annotator; give --annotator"
            )


def _compared(
    folder: Path,
    baselines: dict[str, Chosen],
    judges: Sequence[str | Metric],
    lists: Lists,
    threads: int,
    notice: Notice,
    annotating: Progress | None,
) -> Compared:
    """Compare the run in the folder with the other choices."""
    others = {name: files for name, files in baselines.items() if not name.startswith("replica-")}
    inputs = read_inputs(folder)
    links = () if inputs is None else inputs.data.test_reference_links
    outputs = [files.links for files in baselines.values()]
    sets = []
    if links and None not in outputs:
        sets.append(f"lists={','.join(map(str, [*links, *outputs]))}")
    compared = compare(
        {TUNED: folder, **{name: files.text for name, files in others.items()}},
        TestSet(links=sets),
        metric=judges,
        untuned=[name for name in others if name != "averaged"],
        annotator=lists.annotator,
        annotation_cache=lists.annotation_cache,
        threads=threads,
        timing=False,
        notice=notice,
        progress=annotating,
    )
    return replace(
        compared,
        document={**compared.document, "answers": against(compared.document, "first")},
    )
