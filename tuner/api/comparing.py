"""Compares systems: scores, significance, and where they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from portmert.metrics._base import Metric

from ..base import arguments
from ..base.context import Progress, using
from ..evaluation.comparison.compare import CompareRequest, compare_systems
from ..evaluation.comparison.questions import Questions
from ..evaluation.comparison.report import document_of
from ..evaluation.comparison.systems import SystemFiles, TestSet
from ..evaluation.report import Report
from ..evaluation.significance import Resampling
from ..executors.opening import opened
from ..texts.annotator import Annotator
from ..texts.text_pipeline import TextPipeline
from .texts import PathLike, pipeline_of, preparing

RESAMPLING = Resampling()
QUESTIONS = Questions()


@arguments.checked
def compare(
    systems: Sequence[str] | Mapping[str, Any],
    test: TestSet | PathLike | Sequence[PathLike] = (),
    *,
    metric: str | Metric | Sequence[str | Metric] = (),
    text: str | Sequence[str] | TextPipeline | None = None,
    text_model: PathLike | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    resampling: Resampling = RESAMPLING,
    questions: Questions = QUESTIONS,
    threads: int = 0,
    timing: bool = True,
    executor: str = "local",
    progress: Progress | None = None,
) -> Report:
    r"""Compare systems with the first one.

    Parameters
    ----------
    systems
        Name -> a file of tokenised text, a file for each replica, or the folder of a run of
        `tune`; or a list of `FOLDER` and `name=FILE,FILE`, as on the command line. Without
        references: name -> `FILE#KEY` with a score for each segment, computed elsewhere; or an
        array or series of scores, or a pair of a data frame and the key of the scores in it. Ids
        join the segments of all; scores of one id are repeats.
    test
        Files of references, or a `TestSet` with source and links too. Default: that of the runs.
    metric : NAME[:OPTION=VALUE,...]
        Metric to compare by; in Python an object too. Default: bleu, port, qmean, ter, and the
        metrics that runs were tuned on. Of scores: mean, or pass@K, best@K, maj@K of repeats.
    text, text_model, annotator, annotation_cache, threads, executor, progress
        As in `score` and `optimize`. By default the first four are those of the runs.
    resampling
        The number of samples for tests and intervals, the confidence level, and the seed.
    questions
        What else is answered: another baseline, all pairs, subsets, margins, plans.
    timing
        Whether to report measured times, the only values that differ between equal calls.

    Raises
    ------
    PortmertError
        A file or an option is missing or wrong.

    Examples
    --------
    >>> import portmert, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, line in {"a": "a b c", "b": "a b d", "ref": "a b d"}.items():
    ...     _ = (folder / name).write_text(f"{line} e f g\n" * 9)
    >>> systems, few = {"base": folder / "a", "new": folder / "b"}, portmert.Resampling(100)
    >>> portmert.compare(systems, folder / "ref", metric="bleu", resampling=few).headlines
    ('bleu: new is better than base (+100.00, p = 0.0099)',)
    """
    pipeline = None if text is None and text_model is None else pipeline_of(text or "", text_model)
    test = [test] if isinstance(test, Path | str) else test
    request = CompareRequest(
        systems=_system_files(systems),
        test=test if isinstance(test, TestSet) else TestSet(list(test)),
        metrics=(metric,) if isinstance(metric, str | Metric) else tuple(metric),
        pipeline=pipeline,
        resampling=resampling,
        questions=questions,
        timing=timing,
    )
    with (
        using(threads=threads, annotation_cache=annotation_cache, progress=progress),
        opened(executor),
        preparing(annotator) as prepare,
    ):
        document = compare_systems(replace(request, prepare=prepare))
    return Report(document_of(document), document)


def _system_files(systems: Any) -> tuple[SystemFiles, ...]:
    if not isinstance(systems, Mapping):
        return tuple(map(SystemFiles.parse, [systems] if isinstance(systems, str) else systems))
    files = []
    for name, source in systems.items():
        outputs = [source] if isinstance(source, Path | str) else source
        if isinstance(outputs, list | tuple) and all(isinstance(x, Path | str) for x in outputs):
            files.append(SystemFiles(name, tuple(Path(str(path)) for path in outputs)))
        else:
            files.append(SystemFiles(name, (), (source,)))
    return tuple(files)
