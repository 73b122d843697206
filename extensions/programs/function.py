"""A function of the caller's that decodes."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Unpack

from portmert.metrics._base import Metric, Vocabulary
from portmert.tuner.api.tuning import Decode, TuneSettings
from portmert.tuner.base import errors
from portmert.tuner.base.context import current
from portmert.tuner.base.errors import ConfigError, InputError, counted, suggest
from portmert.tuner.base.files import make_folder, read_lines, write_text
from portmert.tuner.base.warn import collected_notices
from portmert.tuner.components import registry
from portmert.tuner.decoders._any_lists import Fitting, answers_of
from portmert.tuner.decoders._base import Decoder, Decoding
from portmert.tuner.decoders._shards import Shard, Step, Work, decode_lines
from portmert.tuner.nbest.model import NBest, best_rows, nbest_lines, taken
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.nbest.readers._json import records_file
from portmert.tuner.nbest.readers.jsonl import Jsonl
from portmert.tuner.runs import config as configs
from portmert.tuner.runs.config import Data, Experiment, Tune
from portmert.tuner.runs.inputs import CALLED
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.constraints import Constraints
from portmert.tuner.texts.annotator import Annotator
from portmert.tuner.weights.feature_weights import FeatureWeights


def experiment_of(
    decoder: Decode,
    sets: Mapping[str, tuple[Any, Any]],
    values: Mapping[str, Any],
    start: Mapping[str, float | Sequence[float]],
    metric: str | Metric,
    annotator: str | Annotator | None,
) -> Experiment:
    """Return the tuning of a function that decodes; its texts are written into the folder.

    Parameters
    ----------
    sets
        See `_written_texts`.
    values
        The settings of `portmert.tune`, and its folder as `output`.
    """
    tune = _tune(values)
    built = FunctionDecoder(decoder, FeatureWeights.of(start), {}, values.get("batch", 0))
    texts = _written_texts(values["output"], sets, built)
    return configs.complete(
        Experiment(
            path=CALLED,
            tune=tune,
            data=Data(**texts, text=tuple(values.get("text", ()))),
            metric=registry.metric(metric),
            optimizer=registry.optimizer(values.get("optimizer", DEFAULT_OPTIMIZER)),
            decoder=built,
            annotator=None if annotator is None else registry.annotator(annotator),
            constraints=Constraints.of(values.get("constraints")),
        )
    )


@dataclass(frozen=True)
class FunctionDecoder(Decoder):
    """Calls a function that returns records or lists.

    Parameters
    ----------
    function
        See `portmert.tune`.
    start
        The start weights.
    texts
        For each text that may be decoded, by its file: what the function gets, a source a segment.
    batch
        Number of sources that the function gets at once; 0: all.
    """

    function: Decode
    start: FeatureWeights
    texts: dict[Path, Sequence[Any]]
    batch: int = 0

    def read_weights(self) -> FeatureWeights:
        """Return the start weights."""
        return self.start

    def decode(self, weights: FeatureWeights, **request: Unpack[Decoding]) -> None:
        """Call the function, here or for a part of the sources at each worker of a cluster.

        Raises
        ------
        ProgramError
            The function raised an error, which is the cause.
        InputError
            Its result is not a list for each source.
        """
        source, size = request["source"], request["size"]
        lines = [line.encode() for line in read_lines(source)]
        batch = self.batch or len(lines)
        sources = tuple(self.texts[source])
        work = FunctionWork(self.function, sources, weights, size=size, source=str(source))
        if current().cluster is not None:
            _check_travels(work)
        decode_lines(
            work,
            lines,
            request,
            name="function",
            shards=lambda count, tasks: min(count, max(-(-count // batch), tasks)),
        )

    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:  # noqa: ARG002  JSON has no comments
        """Write our weights file."""
        write_text(path, weights.to_json() + "\n")


@dataclass(frozen=True)
class FunctionWork(Work):
    """Decoding by a function with some weights.

    Parameters
    ----------
    function, sources
        The function, and what it may get: a source for each segment.
    weights
        The weights.
    """

    function: Decode
    sources: tuple[Any, ...]
    weights: FeatureWeights

    @property
    def depends(self) -> list[bytes]:
        """All that the answers depend on besides the lines and the function."""
        return [repr((self.weights, self.size)).encode()]

    def decode(self, shard: Shard, scratch: Path, logs: Path, step: Step) -> Iterator[bytes]:  # noqa: ARG002  no files
        """Yield the n-best list of each source."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        sources = [self.sources[segment] for segment, _ in shard.lines]
        try:
            answer = self.function(self.weights.plain(), sources, self.size)
            if not hasattr(answer, "nbest") and not hasattr(answer, "columns"):
                lists = []
                for hypotheses in answer:  # the function may be a generator
                    lists.append(hypotheses)
                    step(len(lists), len(sources))
                answer = lists
        except errors.PortmertError:
            raise
        except Exception as error:
            first, last = shard.lines[0][0] + 1, shard.lines[-1][0] + 1
            raise errors.ProgramError(
                f"{name} raised {type(error).__name__}: {str(error) or 'no message'} (sources "
                f"{first} to {last}); decodings that ended well are kept: call tune again to go on"
            ) from error
        yield from answers_of(
            self._moses_list(answer, shard, f"what {name} returned"), shard.lines
        )

    def _moses_list(self, answer: Any, shard: Shard, where: str) -> bytes:
        """Return lists as a Moses list, the best hypothesis of each source first."""
        count = len(shard.lines)
        if hasattr(answer, "nbest"):
            nbest: NBest = answer.nbest
            if len(nbest) != count:
                raise errors.InputError(
                    f"{where}: lists of {len(nbest)} segments for {count} sources"
                )
        else:
            if isinstance(answer, list) and all(isinstance(row, list | tuple) for row in answer):
                if len(answer) != count:
                    lists, sources = map(errors.counted, (len(answer), count), ("list", "source"))
                    raise errors.InputError(
                        f"{where}: {lists} for {sources}; return one list of hypotheses for each "
                        f"source, in order"
                    )
                for number, hypotheses in enumerate(answer):
                    if not hypotheses:
                        raise errors.InputError(
                            f"{where}: no hypothesis for source "
                            f"{shard.lines[number][0] + 1}; give "
                            f"at least one, maybe without words"
                        )
                answer = [{"id": n, "hypotheses": row} for n, row in enumerate(answer)]
            file = records_file(answer, where)
            with collected_notices():
                nbest = read_nbest([file], Vocabulary(), segments=count, reader=Jsonl())
        fitting = Fitting(self.weights, unscored="leave out model_score")
        nbest = fitting.fitted(nbest, shard.lines, where=where)
        rows, offsets = best_rows(nbest.model_scores, nbest.offsets, size=len(nbest.features))
        return b"".join(nbest_lines(taken(nbest, rows, offsets), where=where))


def _check_travels(work: FunctionWork) -> None:
    import cloudpickle  # noqa: PLC0415  comes with distributed, an extra

    for label, value in (("decode", work.function), ("the sources", work.sources)):
        try:
            cloudpickle.dumps(value)
        except Exception as error:
            raise errors.ConfigError(
                f"{label} cannot travel to the workers of the executor ({error}); leave executor "
                f"out, or open files and models inside decode"
            ) from error


def _tune(values: Mapping[str, Any]) -> Tune:
    """Return the settings that are keys of [tune]."""
    keys = [item.name for item in fields(Tune)]
    names = {*keys, *TuneSettings.__annotations__}
    for key in values:
        if key not in names:
            raise ConfigError(f"tune: no setting {key}{suggest(key, names)}")
    return configs.table_of(CALLED, Tune, {key: values[key] for key in keys if key in values})


def _written_texts(
    folder: Path, sets: Mapping[str, tuple[Any, Any]], decoder: FunctionDecoder
) -> dict[str, Any]:
    """Write texts into the folder of a run; return the keys of [data] that name them.

    Parameters
    ----------
    sets
        The beginning of the keys, as `test_` -> sources and references.
    decoder
        Gets the sources of each text.
    """
    names: dict[str, Any] = {}
    for prefix, (inputs, refs) in sets.items():
        sources = read_lines(inputs) if isinstance(inputs, Path | str) else list(inputs)
        path = _written_text(folder, f"{prefix}source", [_as_text(item) for item in sources])
        decoder.texts[path] = sources
        names[f"{prefix}source"] = path
        names[f"{prefix}references"] = _references(folder, prefix, refs, len(sources))
    return names


def _references(folder: Path, prefix: str, refs: Any, count: int) -> tuple[Path, ...]:
    """Return the files of references: a file, lines, several files or several lists of lines."""
    texts: list[Any] = [refs] if isinstance(refs, Path | str) else list(refs)
    are_files = all(isinstance(text, Path | str) and Path(text).is_file() for text in texts)
    if texts and not are_files and all(isinstance(text, str) for text in texts):
        texts = [texts]
    files = []
    for number, text in enumerate(texts, 1):
        if isinstance(text, Path | str):
            files.append(Path(text).absolute())
            continue
        if len(text) != count:
            raise InputError(
                f"refs: {counted(len(text), 'line')} for {counted(count, 'source')}; give a line "
                f"for each source, in order"
            )
        files.append(_written_text(folder, f"{prefix}reference-{number}", text))
    return tuple(files)


def _written_text(folder: Path, name: str, lines: Sequence[str]) -> Path:
    """Write a text into the folder of a run; its name tells the content, so it never changes."""
    text = "".join(" ".join(line.splitlines()) + "\n" for line in lines)
    path = folder / "texts-given" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.txt"
    make_folder(path.parent)
    write_text(path, text)
    return path


def _as_text(source: Any) -> str:
    """Return the line that stands for a source: its text, or a description of another object."""
    if isinstance(source, str | Path):
        return str(source)
    if hasattr(source, "tobytes"):  # an array
        digest = hashlib.sha256(source.tobytes()).hexdigest()[:12]
        return f"{type(source).__name__} {getattr(source, 'shape', '')} {digest}"
    text = repr(source)
    return type(source).__name__ if " at 0x" in text else text
