"""Reports on runs of `tune`."""

from collections.abc import Sequence
from pathlib import Path

from portmert.tuner.api.texts import PathLike, preparing
from portmert.tuner.base import arguments, errors
from portmert.tuner.base.context import Progress, using
from portmert.tuner.base.warn import notice
from portmert.tuner.evaluation.comparison.compare import CompareRequest, compare_systems
from portmert.tuner.evaluation.comparison.systems import SystemFiles
from portmert.tuner.evaluation.report import Report

from .blocks import as_json, document_of_run
from .run_history import read_history


@arguments.checked
def report(
    run: PathLike | Sequence[PathLike],
    *,
    metric: Sequence[str] = (),
    annotator: str | None = None,
    annotation_cache: Path | None = None,
    threads: int = 0,
    document: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Report on runs of `tune`, also while they are still running.

    Parameters
    ----------
    run
        The folder of a run, or the folders of several to see side by side.
    metric : NAME[:OPTION=VALUE,...]
        Metric that scores the test output of a finished run. Default: bleu, port, qmean, ter.
    document
        Whether to make `document` too, for JSON and HTML, which takes longer than the text.

    Other parameters are those of `score`.

    Raises
    ------
    PortmertError
        One of `run` is not the folder of a run.
    """
    folders = [Path(run)] if isinstance(run, str | Path) else list(map(Path, run))
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = list(map(str, folders))
    with (
        using(threads=threads, annotation_cache=annotation_cache, progress=progress),
        preparing(annotator) as prepare,
    ):
        histories = [
            read_history(folder, name=name) for folder, name in zip(folders, names, strict=True)
        ]
        test = None
        if document and [history["state"] for history in histories] == ["finished"]:
            request = CompareRequest(
                systems=(SystemFiles(None, tuple(folders)),),
                metrics=tuple(metric),
                prepare=prepare,
                timing=False,
            )
            try:
                test = compare_systems(request)
            except (errors.InputError, errors.StateError) as error:
                notice(f"no scores of a test set: {error}")
        content = as_json(histories, test)
        return Report(document_of_run(content), content)
