"""A function of the caller's that decodes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from portmert.metrics._base import Vocabulary

from ..base import errors
from ..base.context import current
from ..base.files import read_lines, write_text
from ..base.warn import collected_notices
from ..nbest.model import NBest, best_rows, nbest_lines, taken
from ..nbest.read import read_nbest
from ..nbest.readers._json import records_file
from ..nbest.readers.jsonl import Jsonl
from ..weights.feature_weights import FeatureWeights
from ._any_lists import Fitting, answers_of
from ._base import Decoder, Decoding
from ._shards import Shard, Step, Work, decode_lines

Decode = Callable[[dict[str, Any], list[Any], int], Any]
"""Called as decode(weights, sources, size); see `portmert.tune`."""


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
