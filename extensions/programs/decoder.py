"""Any program that decodes: started for each text, or kept and asked line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass as plain_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar, Literal, Unpack

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.extensions.processes import pools
from portmert.extensions.processes.line_processes import Died, LineProcess
from portmert.tuner.base.errors import (
    ConfigError,
    InputError,
    ProgramError,
    faults_at,
    shown,
    suggest,
)
from portmert.tuner.base.files import read_bytes, writing
from portmert.tuner.base.json_toml import parse_json
from portmert.tuner.base.programs import PATIENCE_SECONDS
from portmert.tuner.base.threads import Team
from portmert.tuner.components import registry
from portmert.tuner.decoders import _program_work
from portmert.tuner.decoders._any_lists import Fitting, answers_of
from portmert.tuner.decoders._base import Decoder, Decoding
from portmert.tuner.decoders._shards import Shard, Step, Work, decode_lines, lines_of
from portmert.tuner.families import provided
from portmert.tuner.nbest.records import ListFile
from portmert.tuner.weights.feature_weights import FeatureWeights
from portmert.tuner.weights.weights_file import WeightsFile, read_weights_file

from .formulas import WeightFormula

FORMS = {
    "moses": "dense", "cdec": "sparse", "joshua": "sparse", "travatar": "travatar",
    "plain": "sparse", "json": "json",
}  # fmt: skip
"""The form of a file of weights for each decoder that reads it."""
PLACES = ("source", "weights", "size", "nbest", "work", "graph")
_WEIGHT = re.compile(r"\{weight:([^{}]+)\}")
_OTHER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class CommandDecoder(Decoder):
    """Runs any program that turns weights into n-best lists.

    Parameters
    ----------
    program : tuple of str
        The program and its arguments; no shell reads them. `{source}` becomes the file of the
        text (without it the text is the program's input), `{weights}` the file of weights,
        `{weight:NAME}` one of them, `{size}` the number of hypotheses, `{nbest}` the file for the
        lists (without it the program prints them), `{work}` a folder for scratch files, `{graph}`
        a file or a folder for the search graphs, from which more hypotheses are taken.
    weights : table
        Start weights, `lm = 0.5`, where `start` names no file. A text is a formula of them:
        `alpha = "lm / am"`. The program then gets the formulas' values in place of the weights.
    start : Path or None
        The file of the start weights, as `weights_format` or a moses.ini. The program gets its
        weights in the same form.
    weights_format : str
        Form of the file of weights: `plain`, `cdec` or `joshua` (`lm 0.5`), `moses` (`lm= 0.5`),
        `travatar` (`lm=0.5`), `json`; `auto`: that of `start`, or plain.
    template : Path or None
        A text with `{weight:NAME}` for each weight; filled in, it is the file of weights.
    format : str
        Format of the lists, as in `--nbest-format`.
    graph_format : str
        Format of the search graphs, as in `--graph-format`.
    scored : bool
        Whether the lists' own scores must be weights . features; otherwise they are not read.
    protocol : {"files", "lines"}
        `lines`: the program keeps running. It gets a line of JSON for each decoding, with weights,
        size and sources, and answers a line for each source: `{"id": 0, "hypotheses": [{"text":
        "a b", "features": {"lm": -2.5}}]}`.
    jobs : int
        Number of processes; each decodes a part of the source.
    timeout_seconds : float
        A program that writes nothing for so long is ended, and so is the run, which the same
        command continues; 0: no limit.
    """

    inputs: ClassVar[tuple[str, ...]] = ("start", "template")

    program: tuple[str, ...]
    weights: Mapping[str, float | tuple[float, ...] | str] | None = None
    start: Path | None = None
    weights_format: Literal["auto", "plain", "moses", "cdec", "joshua", "travatar", "json"] = (
        "auto"
    )
    template: Path | None = None
    format: str = "auto"
    graph_format: str = "auto"
    scored: bool = True
    protocol: Literal["files", "lines"] = "files"
    jobs: Annotated[int, Ge(1)] = 1
    timeout_seconds: Annotated[float, Ge(0)] = PATIENCE_SECONDS

    def __post_init__(self) -> None:
        if not self.program:
            raise ValueError("program is empty; name it and its arguments")
        for place in {place for word in self.program for place in _OTHER.findall(word)}:
            if place not in PLACES:
                raise ValueError(f"program has {{{place}}}{suggest(place, PLACES)}")
        with faults_at("format", ConfigError, ValueError):
            registry.reader(self.format)
        with faults_at("graph_format", ConfigError, ValueError):
            registry.graph_reader(self.graph_format)
            if self.makes_graphs:
                provided("portmert.list_mergers", "graphs")
        with faults_at("weights", ConfigError, ValueError):
            formulas = self.formulas
        if bool(self.start) != (len(formulas) == len(self.weights or ())):
            raise ValueError("start weights: give numbers in [weights], or start names their file")
        if self.protocol == "lines":
            for word in self.program:
                if _OTHER.search(word) or _WEIGHT.search(word) or self.template:
                    raise ValueError("protocol lines has no template and no {places} in program")

    @cached_property
    def formulas(self) -> dict[str, WeightFormula]:
        """The formulas among the weights."""
        entries = (self.weights or {}).items()
        return {name: WeightFormula(text) for name, text in entries if isinstance(text, str)}

    # The weights.

    def read_weights(self) -> FeatureWeights:
        """Return the start weights.

        Raises
        ------
        InputError
            The file holds none, or the command and its template name no place for a weight.
        """
        weights = self._start().weights
        self._check_places(self.sent_weights(weights))
        return weights

    def _start(self) -> WeightsFile:
        """Return start weights and the form of files of weights."""
        if self.start is not None:
            weights_file = read_weights_file(self.start)
        else:
            numbers_or_formulas = (self.weights or {}).items()
            numbers = {
                name: value for name, value in numbers_or_formulas if not isinstance(value, str)
            }
            weights_file = WeightsFile(FeatureWeights.of(numbers), "sparse")
        if self.weights_format != "auto":
            return WeightsFile(weights_file.weights, FORMS[self.weights_format])
        return weights_file

    def sent_weights(self, weights: FeatureWeights) -> FeatureWeights:
        """Return what the program is told: the weights, or the values of the formulas."""
        if not self.formulas:
            return weights
        values = {name: row[0] for name, row in weights.values.items() if len(row) == 1}
        return FeatureWeights(
            {name: (formula.value(values),) for name, formula in self.formulas.items()}
        )

    def _check_places(self, sent_weights: FeatureWeights) -> None:
        """Raise `InputError` unless each weight has a place."""
        if self.protocol == "lines":
            return
        where, words = "[decoder] program", list(self.program)
        by_file = _program_work.asks_for(words, "weights")
        if by_file and self.template is not None:
            where = str(self.template)
            words.append(read_bytes(self.template).decode("utf-8", "surrogateescape"))
        elif self.template is not None:
            raise InputError(f"{where}: no {{weights}}, the place of the filled template")
        placed = {name for word in words for name in _WEIGHT.findall(word)}
        for name in sent_weights.values:
            if name not in placed and (self.template is not None or not by_file):
                raise InputError(f"{where}: no place for weight {name}; write {{weight:{name}}}")
        self._filled(where, " ".join(words), sent_weights)

    def _filled(self, where: str, text: str, sent_weights: FeatureWeights) -> str:
        """Return a text with weights in their places."""

        def number(match: re.Match[str]) -> str:
            values = sent_weights.values.get(match[1])
            if values is None:
                raise InputError(
                    f"{where}: no weight for feature {match[1]}"
                    f"{suggest(match[1], sent_weights.values)}"
                )
            return " ".join(map(repr, values))

        return _WEIGHT.sub(number, text)

    def _weights_text(self, sent_weights: FeatureWeights, path: Path) -> bytes:
        """Return the content of the file of weights."""
        if self.template is not None:
            text = read_bytes(self.template).decode("utf-8", "surrogateescape")
            filled = self._filled(str(self.template), text, sent_weights)
            return filled.encode("utf-8", "surrogateescape")
        form = self._start()
        if self.formulas and form.ini is not None:
            form = WeightsFile(sent_weights)
        return form.content(sent_weights, path)

    # Decoding.

    def decode(self, weights: FeatureWeights, **request: Unpack[Decoding]) -> None:
        """Let the program make the `size`-best list of every line of `source`.

        In `jobs` processes here, or one for each task of a cluster.

        Raises
        ------
        InputError
            A feature has no weight, or a formula no value.
        ProgramError
            The program fails, is silent or endless, or its lists cannot be used.
        """
        weights.vector(self._start().weights.names)
        lines = lines_of(request["source"])
        jobs = min(self.jobs, len(lines))
        outputs = {}
        if "graphs" in request:
            outputs[request["graphs"]] = partial(_program_work.answer_part, _program_work.GRAPH)
        outputs[request["out"]] = partial(_program_work.answer_part, _program_work.LIST)
        decode_lines(
            self._work(weights, request),
            lines,
            request,
            name="command",
            shards=lambda count, tasks: min(count, max(jobs, tasks)),
            here=Team(jobs, waits=self.protocol == "files"),  # lines are not waited for: `end`
            outputs=outputs,
        )

    def _work(
        self, weights: FeatureWeights, request: Decoding
    ) -> _program_work.ProgramWork | LineWork:
        sent_weights, source, size = self.sent_weights(weights), request["source"], request["size"]
        words = [self._filled("[decoder] program", word, sent_weights) for word in self.program]
        words = [_program_work.with_places(word, {"size": str(size)}) for word in words]
        if self.protocol == "lines":
            return LineWork(
                command=self.program,
                sent_weights=sent_weights,
                size=size,
                source=str(source),
                timeout_seconds=self.timeout_seconds,
                fitting=Fitting(weights, "jsonl", self.scored),
            )
        with_file = _program_work.asks_for(words, "weights")
        return _program_work.ProgramWork(
            name="command",
            command=tuple(words),
            size=size,
            source=str(source),
            folder=Path.cwd(),
            timeout_seconds=self.timeout_seconds,
            weights=self._weights_text(sent_weights, request["workdir"] / "weights")
            if with_file
            else b"",
            fitting=Fitting(weights, self.format, self.scored),
            graph_format=self.graph_format,
        )

    @property
    def makes_graphs(self) -> bool:
        """Whether the program has a place for search graphs."""
        return _program_work.asks_for(self.program, "graph")

    def graph_reader(self) -> Any:
        """Return the reader of `graph_format`."""
        return registry.graph_reader(self.graph_format)

    def close(self) -> None:
        """End the programs that were kept."""
        pools.end(self.program)

    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:  # noqa: ARG002  its form may have no comments
        """Write the file of weights that the program gets."""
        with writing(path) as out:
            out.write(self._weights_text(self.sent_weights(weights), path))


@plain_dataclass(frozen=True)
class LineWork(Work):
    """Decoding with some weights by a program that keeps running.

    Parameters
    ----------
    command
        Program and arguments.
    sent_weights
        The weights that it is told.
    timeout_seconds, fitting
        As of `ProgramWork`; the seconds are the limit of one answer.
    """

    command: tuple[str, ...]
    sent_weights: FeatureWeights
    timeout_seconds: float
    fitting: Fitting

    @property
    def depends(self) -> list[bytes]:
        """All that the answers depend on besides the lines."""
        return [repr((self.command, self.sent_weights, self.size, self.fitting)).encode()]

    def decode(self, shard: Shard, scratch: Path, logs: Path, step: Step) -> Iterator[bytes]:  # noqa: ARG002  answers come by pipes
        """Yield the n-best list of each line, as `ProgramWork` does."""
        request = {
            "weights": self.sent_weights.plain(),
            "size": self.size,
            "sources": [line.decode("utf-8") for _, line in shard.lines],
        }
        count = len(shard.lines)
        call = pools.pool_of(self.command, logs / "command", self._started).call()
        answers: list[str] = []
        try:
            for answer in call.answers(json.dumps(request), count):
                answers.append(self._checked(answer.rstrip("\n"), len(answers)))
                step(len(answers), count)
        except Died as death:
            segment = shard.lines[len(answers)][0]
            raise pools.fault(f"{self.source}:{segment + 1}", death) from None
        finally:
            call.cancel()
        file = ListFile(self._name, "\n".join(answers).encode())
        with faults_at("the answer cannot be used", InputError, ProgramError):
            data = self.fitting.moses_list(file, shard.lines)
        for rows in answers_of(data, shard.lines):
            yield _program_work.joined(b"", rows)

    @property
    def _name(self) -> str:
        return Path(self.command[0]).name

    def _checked(self, answer: str, number: int) -> str:
        """Return an answer if it is that to source `number` of the request."""
        try:
            answer.encode("utf-8")
            content = parse_json(answer)
        except UnicodeEncodeError:
            raise ProgramError(f"{self._name}: answer {number + 1} is not UTF-8") from None
        except ValueError as error:
            raise ProgramError(
                f"{self._name}: answer {number + 1} is not JSON ({error}): '{shown(answer)}'"
            ) from None
        answer_id = content.get("id") if isinstance(content, dict) else None
        if answer_id != number or isinstance(answer_id, bool):
            raise ProgramError(
                f"{self._name}: answer {number + 1} has id {json.dumps(answer_id)}, expected "
                f'{{"id": {number}, "hypotheses": [...]}}: a line for each source, in order'
            )
        if "hypotheses" not in content:
            raise ProgramError(f"{self._name}: answer {number + 1} has no key hypotheses")
        return answer

    def end(self) -> None:
        """End the processes that are still at work; the others wait for the next decoding."""
        pools.cancel(self.command)

    def _started(self, log: IO[bytes]) -> LineProcess:
        try:
            return LineProcess(
                self.command,
                log,
                timeout_seconds=self.timeout_seconds,
                most=_program_work.MOST_PRINTED + self.size * _program_work.MOST_OF_A_SEGMENT,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ProgramError(f"{self.command[0]}: cannot be started: {reason}") from None
