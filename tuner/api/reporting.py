"""Reports on runs of `tune`."""

from collections.abc import Sequence
from pathlib import Path

from ..base import arguments, errors
from ..base.context import Progress, using
from ..base.warn import notice
from ..evaluation.comparison.compare import CompareRequest, compare_systems
from ..evaluation.comparison.report import document_of_run
from ..evaluation.comparison.systems import SystemFiles
from ..evaluation.history.report import as_json
from ..evaluation.history.run_history import read_history
from ..evaluation.report import Report
from .texts import PathLike, preparing


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
