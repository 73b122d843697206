"""The embedded phrase-based decoder, sil-thot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar, Unpack

from annotated_types import Ge, Gt
from pydantic.dataclasses import dataclass

from portmert.aligners._base import tokens
from portmert.aligners._training import digest, read_bitext
from portmert.extensions.processes import pools
from portmert.extensions.processes.line_processes import Died, LineProcess
from portmert.tuner.base import files, model_folders, programs
from portmert.tuner.base.context import available_processors, current
from portmert.tuner.base.errors import InputError, ProgramError, counted
from portmert.tuner.base.threads import Team
from portmert.tuner.decoders import _shards
from portmert.tuner.decoders._base import Decoder, Decoding
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights, read_weights

from . import _thot_model, _thot_worker
from ._thot_worker import NAMES

FORMAT = 1
"""The format of a trained model. A model of another format is refused, not misread."""

TRAINED = ("aligner", "iterations", "lm_order", "max_phrase_length", "translations")
"""Options that the trained models depend on."""
MAX_TOKENS = 200
"""The longest line thot translates; of a longer one it returns nothing."""

MOST_OF_A_SHARD, SHARDS_OF_A_WORKER = 32, 8
"""Lines that a worker of a cluster gets at once; few, so that all workers end together."""

FEATURES: FeatureNames = tuple((name, 1) for name in NAMES)
START = (-1.0, 1.0, 0.2, 0.1, 0.1, 1.0, 1.0, 0.1)
"""Start weights, in the order of NAMES. On ja-en they score 4 BLEU points above equal weights, and
far below tuned ones."""


@dataclass(frozen=True)
class Thot(Decoder):
    """Decodes with phrases learnt from a bitext; needs no other program.

    Every hypothesis has eight features, all log probabilities or penalties, larger is better:
    WordPenalty0 (log 0.3 for each word), LM0, PhrasePenalty0 (the same for each phrase),
    Distortion0 (jumps between phrases), SegLenDiff0 (source and target lengths of the phrases),
    PhraseTS0 and PhraseST0 (phrase tables p(t|s) and p(s|t), interpolated with the word models),
    SentenceLength0 (target length given source length, less the value of the empty start, which
    is a constant of the segment).

    The model score in a list is weights . features exactly. thot's own score adds the weighted
    score of the empty start: a word penalty of log 0.7 and the start value of the sentence length.
    This is the same for all hypotheses of a segment, so both scores give the same order.

    Parameters
    ----------
    train_source, train_target : Path
        The training bitext, tokenised, plain or compressed.
    model : Path
        Folder of the trained models. They are trained once and used again. Models of other data
        or options in this folder are an error.
    aligner : {"hmm", "ibm1", "ibm2", "fast_align"}
        Word alignment model, for phrase extraction and for links inside phrases.
    iterations : int
        EM iterations of each word alignment model, at least 1.
    lm_order : int
        Order of the language model on the target side, at least 1.
    max_phrase_length : int
        Largest number of words in a target phrase, at least 1.
    translations : int
        Number of translations kept for each source phrase, at least 1.
    non_monotonicity : int
        Number of uncovered source words over which a phrase may jump; 0 is monotone. A larger
        number gives better and slower translations: on ja-en, 3 instead of 0 doubles BLEU and
        takes four times as long.
    max_source_phrase : int
        Largest number of words in a source phrase in decoding (thot's A), at least 1.
    options_per_phrase : float
        Translations tried for a source phrase (thot's W). From 1 on it is their number; below 1 it
        is the least probability, as a share of the best one's.
    stack_size : int
        Number of hypotheses kept for each number of covered words (thot's S), at least 1.
    processes : int
        Number of decoding processes; 0 is one for each processor. It never changes the result.
    start : Path or None
        Start weights: our JSON, or what `write_config` wrote.
    timeout_seconds : float
        A process that takes longer for one segment (the first one includes loading the models) is
        ended, and so is the run. The same command then continues. Training is ended if an
        iteration takes longer than a day. 0: no limit on either.

    References
    ----------
    Ortiz-Martinez and Casacuberta, "The New Thot Toolkit for Fully-Automatic and Interactive
    Statistical Machine Translation", EACL 2014.
    """

    inputs: ClassVar[tuple[str, ...]] = ("train_source", "train_target", "start")

    train_source: Path
    train_target: Path
    model: Path
    aligner: _thot_model.Kind = "hmm"
    iterations: Annotated[int, Ge(1)] = 5
    lm_order: Annotated[int, Ge(1)] = 3
    max_phrase_length: Annotated[int, Ge(1)] = 10
    translations: Annotated[int, Ge(1)] = 20
    non_monotonicity: Annotated[int, Ge(0)] = 3
    max_source_phrase: Annotated[int, Ge(1)] = 10
    options_per_phrase: Annotated[float, Gt(0)] = 10.0
    stack_size: Annotated[int, Ge(1)] = 10
    processes: Annotated[int, Ge(0)] = 0
    start: Path | None = None
    timeout_seconds: Annotated[float, Ge(0)] = 3600.0

    def read_weights(self) -> FeatureWeights:
        """Return the weights of `start`, or the built-in ones, in thot's order."""
        if self.start is None:
            return FeatureWeights.from_vector(FEATURES, START)
        vector = read_weights(self.start).vector(FEATURES, origin=str(self.start))
        return FeatureWeights.from_vector(FEATURES, vector)

    def train(self) -> None:
        """Train the models unless they are there; `decode` does it when it must.

        Raises
        ------
        InputError, ProgramError, StateError
            The bitext is faulty, thot failed, or the folder holds other models.
        """
        source, target = read_bitext(self.train_source, self.train_target)
        options: dict[str, Any] = {name: getattr(self, name) for name in TRAINED}

        def make(aside: Path) -> dict[str, int]:
            try:
                return _thot_model.train(
                    aside,
                    source=[tokens(line) for line in source],
                    target=[tokens(line) for line in target],
                    **options,
                    timeout_seconds=programs.PATIENCE_SECONDS if self.timeout_seconds else 0,
                )
            except (InputError, ProgramError) as error:
                raise type(error)(f"{self.train_source}: {error}") from None

        fingerprint: dict[str, Any] = {
            "format": FORMAT,
            "decoder": "thot",
            **options,
            "train_source": digest(source),
            "train_target": digest(target),
        }
        model_folders.make_folder(self.model, fingerprint, make)

    def decode(self, weights: FeatureWeights, **request: Unpack[Decoding]) -> None:
        """Write the `size`-best list of every line of `source` to `out`.

        In processes here, or one for each task of a cluster.

        A list may be shorter than `size`: the search keeps few hypotheses of a short line, and
        one that differs in nothing from a better one is left out. An empty line has the empty
        hypothesis. Tokens that training never saw are copied. What a kill interrupted goes on
        behind the segments done, which lie in `workdir`.

        Raises
        ------
        InputError
            A line is longer than thot takes, or a feature has no weight.
        ProgramError
            A decoding process died; the message names the line.
        """
        source, size = request["source"], request["size"]
        lines = files.read_lines(source)
        for number, line in enumerate(lines, 1):
            if (length := len(tokens(line))) > MAX_TOKENS:
                raise InputError(
                    f"{source}:{number}: {counted(length, 'token')}, thot translates at most "
                    f"{MAX_TOKENS}; split the line"
                )
        self.train()

        def shards(count: int, tasks: int) -> int:
            if current().cluster is None:
                return count
            return max(-(-count // MOST_OF_A_SHARD), min(count, SHARDS_OF_A_WORKER * tasks))

        _shards.decode_lines(
            self._work(weights, size, source),
            [line.encode() for line in lines],
            request,
            name="thot",
            shards=shards,
            models=[self.model],
            here=Team(self.processes or available_processors()),
        )

    def _work(self, weights: FeatureWeights, size: int, source: Path) -> ThotWork:
        task = {
            "folder": str(self.model.absolute()),
            "aligner": self.aligner,
            "model": {
                "non_monotonicity": self.non_monotonicity,
                "a": self.max_source_phrase,
                "w": self.options_per_phrase,
                "heuristic": 6,  # estimates translation and distortion of uncovered words
            },
            "decoder": {"s": self.stack_size, "is_breadth_first": True},
        }
        return ThotWork(
            task=json.dumps(task),
            trained=(self.model / model_folders.RECORD).read_text(encoding="utf-8"),
            weights=tuple(weights.vector(FEATURES).tolist()),
            size=size,
            source=str(source),
            timeout_seconds=self.timeout_seconds,
        )

    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:
        """Write JSON with `weights` and the settings of this decoder; `start` reads it back."""
        content = {
            "comment": header.splitlines(),
            "decoder": "thot",
            "settings": {
                name: getattr(self, name)
                for name in (
                    *TRAINED,
                    *("non_monotonicity", "max_source_phrase", "options_per_phrase", "stack_size"),
                )
            },
            "weights": {name: list(values) for name, values in weights.values.items()},
        }
        files.write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


@plain_dataclass(frozen=True)
class ThotWork(_shards.Work):
    """Decoding by thot with some weights.

    Parameters
    ----------
    task
        The task of a process, which loads models, see `_thot_worker`.
    trained
        The record of the models: what they were trained on, and how.
    weights
        The weights, in the order of `NAMES`.
    timeout_seconds
        See `Thot`.
    """

    task: str
    trained: str
    weights: tuple[float, ...]
    timeout_seconds: float

    @property
    def depends(self) -> list[bytes]:
        """All that the answers depend on besides the lines."""
        list_inputs = repr((self.weights, self.size))
        return [self.trained.encode(), self.task.encode(), list_inputs.encode()]

    def decode(
        self,
        shard: _shards.Shard,
        scratch: Path,  # noqa: ARG002  translations come by pipes
        logs: Path,
        step: _shards.Step,
    ) -> Iterator[bytes]:
        """Yield the n-best list of each line."""
        call = pools.pool_of(self.task, logs / "thot_worker", self._started).call()
        try:
            for position, (segment, line) in enumerate(shard.lines):
                step(position, len(shard.lines))
                request = [segment, tokens(line.decode()), self.size, self.weights]
                try:
                    answer = call.ask(json.dumps(request))
                except Died as death:
                    raise pools.fault(f"{self.source}:{segment + 1}", death) from None
                yield json.loads(answer).encode()
        finally:
            call.cancel()

    def end(self) -> None:
        """End the processes here, also those at work."""
        pools.end(self.task)

    def _started(self, log: IO[bytes]) -> LineProcess:
        seconds = self.timeout_seconds
        process = LineProcess(_thot_worker.__name__, log, timeout_seconds=seconds)
        process.tell(self.task)
        return process
