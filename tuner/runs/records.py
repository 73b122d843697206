"""The files of a run: what they hold, and whether they are as they were written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from portmert.metrics._base import FloatArray, Metric

from ..base import json_toml
from ..base.errors import StateError, counted, reason
from ..base.files import file_digest, text_digest, write_text
from ..base.warn import notice
from ..texts.statistics import finite_scores
from .folder import ANNOTATION_NAME

Content = TypeVar("Content")

EQUALS_START = "equal to the start weights: no gain shown"
"""Said of a tuning that found nothing better, wherever its result stands."""


def equal_to_start(names: Sequence[str], count: int) -> str:
    """Return a line that names the replicas that ended as the start weights; "" if none did."""
    if not names:
        return ""
    return f"{len(names)} of {counted(count, 'replica')} {EQUALS_START}: {', '.join(names)}"


@dataclass(frozen=True)
class Scored:
    """The score of one translation of a whole set.

    Parameters
    ----------
    score
        On the metric's own scale.
    parts
        The parts that papers tabulate: precisions, penalties, lengths.
    without
        The oriented score without each fold of `Evaluator.folds`, of the segments tuned on.
    """

    score: float
    parts: dict[str, float]
    without: tuple[float, ...] = ()

    @classmethod
    def of(cls, metric: Metric, total: FloatArray) -> Self:
        """Return the score of (K,) summed statistics; raise `ScoreError` if it is not finite."""
        return cls(float(finite_scores(metric, total)), metric.parts(total))


@dataclass(frozen=True, kw_only=True)
class IterationScores:
    """What scores.json says of the decoder's output in an iteration.

    `hypotheses` counts the distinct ones in all lists so far, `new` those that this list added;
    `new_outputs` is the share of segments whose output was in no earlier list. `fault` is what is
    wrong with the scores in the list.
    """

    metric: str
    dev_score: float
    unseen_score: float | None
    parts: Mapping[str, float | None]
    without: tuple[float, ...]
    held_out: Scored | None
    hypotheses: int
    new: int
    new_outputs: float = 1.0
    fault: str = ""
    warnings: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """What the lists say of the next iteration's weights.

    The excess is what to take off their dev score, also without each fold, see `chosen_by_others`.
    The gain is how much higher the best hypotheses in all lists score under them than under the
    weights before.
    """

    next_score: float
    excess: float | None = None
    excess_without: tuple[tuple[float, ...], ...] | None = None
    next_without: tuple[float, ...] | None = None
    gain: float | None = None
    gain_error: float | None = None


@dataclass(frozen=True, kw_only=True)
class IterationSearch(NextStep):
    """What optimized.json says of the search over all lists so far, the last of `searches`.

    The step goes the `share` of the way to the `weights` that were found.
    """

    start_score: float
    optimized_score: float
    oracle_score: float
    unseen_score: float | None
    unseen_error: float | None
    annotated: int | None = None
    change: float
    weights: Mapping[str, tuple[float, ...]]
    share: float
    warnings: tuple[str, ...] = ()
    searches: int = 1


@dataclass(frozen=True)
class AverageScores:
    """What scores.json says of the output under the average of the replicas' weights."""

    metric: str
    dev: Scored
    held_out: Scored | None


@dataclass(frozen=True, kw_only=True)
class ReplicaResult:
    """What result.json says of one search on given lists."""

    metric: str
    seed: int
    dev_score: float
    unseen_score: float | None
    unseen_error: float | None
    test_score: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplicaFolder:
    """The name of a replica's folder, and whether tuning changed no weights."""

    folder: str
    equals_start: bool = False


@dataclass(frozen=True)
class TunedFolders:
    """What result.json of any run says of its metric, and of its replicas if it has some."""

    metric: str
    replicas: tuple[ReplicaFolder, ...] = ()
    equals_start: bool = False


DIGESTS = "digests.json"
"""The digests of all files of a finished part, in the part's folder."""

_HINT = "is the disk damaged? --fresh starts the run over"


def write_json(path: Path, content: object) -> None:
    """Write a JSON object, whole or not at all."""
    write_text(path, json_toml.to_json(content) + "\n")


def finish(last: Path, content: object, *, alone: bool = False) -> None:
    """Write the digests of all files of a part of a run, then its last file, a JSON object.

    The counts of the annotator's cache have no digest: they depend on earlier runs. With `alone`
    only the last file has one.
    """
    folder, text = last.parent, json_toml.to_json(content) + "\n"
    files = [] if alone else [path for path in folder.rglob("*") if path.is_file()]
    digests = {
        str(path.relative_to(folder)): file_digest(path)
        for path in files
        if path not in (last, folder / DIGESTS, folder / ANNOTATION_NAME)
    }
    write_json(folder / DIGESTS, dict(sorted({**digests, last.name: text_digest(text)}.items())))
    write_text(last, text)


def is_finished(last: Path, *, later: str = "") -> bool:
    """Return whether `finish` wrote this file and no file of its folder has changed since.

    Changed files are removed, so that the caller makes the part again. The file `later`, which a
    second `finish` writes, may be missing.
    """
    if not last.exists():
        return False
    digests = _digests(last.parent) or {last.name: "", DIGESTS: ""}
    for name, digest in digests.items():
        path = last.parent / name
        if not path.exists() and name == later:
            continue
        if not path.is_file() or file_digest(path) != digest:
            notice(f"{path}: changed or gone since it was written; it is made again")
            path.unlink(missing_ok=True)
            last.unlink(missing_ok=True)
    return last.exists()


def has_digest(folder: Path, name: str) -> bool:
    """Return whether `finish` saw this file in a finished part."""
    return name in _digests(folder)


def keep(path: Path, text: str) -> None:
    """Write one file of a series and its digest; the digests of the others stay."""
    write_text(path, text)
    digests = {**_digests(path.parent), path.name: text_digest(text)}
    write_json(path.parent / DIGESTS, dict(sorted(digests.items())))


def is_kept(path: Path) -> bool:
    """Return whether `keep` wrote this file and it has not changed since."""
    if not path.is_file():
        return False
    is_same = _digests(path.parent).get(path.name) == file_digest(path)
    if not is_same:
        notice(f"{path}: changed since it was written; it is made again")
    return is_same


def _digests(folder: Path) -> dict[str, Any]:
    """Return the digests of a finished part, by names of files below its folder."""
    path = folder / DIGESTS
    digests = read_json(path) if path.exists() else {}
    for name in digests:
        is_inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        if not is_inside or not name.isprintable() or (folder / name).is_dir():
            raise StateError(f"{path}: '{name}' is not a file in this folder; {_HINT}")
    return digests


def refuse_changed(folder: Path, *, whole: bool = False) -> None:
    """Raise StateError if a file of a finished part of a run has changed since.

    With `whole`, also if one is gone: in a run that goes on it may be still to come.
    """
    for name, digest in _digests(folder).items():
        path = folder / name
        if (whole or path.is_file()) and (not path.is_file() or file_digest(path) != digest):
            fault = "changed" if path.is_file() else "gone"
            raise StateError(
                f"{path}: {fault} since it was written; the command that made the run makes it "
                f"again"
            )


def read_file(path: Path, kind: type[Content], *, hint: str = _HINT) -> Content:
    """Read a JSON object of a run, with all keys of its kind.

    Raises
    ------
    StateError
        It is not what portmert writes.
    """
    try:
        text = path.read_bytes()
        json_toml.parse_json(text)
    except (OSError, ValueError) as error:
        raise StateError(f"{path}: {reason(error)}; {hint}") from None
    try:
        return TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        key = error.errors()[0]["loc"][:1]
        place = (
            f"{key[0]} is not what portmert writes there" if key else "not what portmert writes"
        )
        raise StateError(f"{path}: {place}; {hint}") from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a run whatever its keys are; see `read_file`."""
    return read_file(path, dict[str, Any])
