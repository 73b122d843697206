"""Let a program decode shards of a text, each in a process of its own, and check what it wrote."""

import io
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import families
from ..base import errors, programs
from ..base.files import make_folder, writing
from ..components import registry
from . import _any_lists, _moses_command
from ._shards import Prints, Shard, Step, Work

MOST_PRINTED = 1 << 20
"""Bytes that a decoder may print, besides its answers to segments."""
MOST_OF_A_SEGMENT = 1 << 16
MOST_OF_A_GRAPH = 1 << 28


def with_places(word: str, values: Mapping[str, str]) -> str:
    """Return a word of a command line with `{name}` replaced, where the name has a value."""
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), word)


def asks_for(command: Sequence[str], place: str) -> bool:
    """Return whether a word of a command line has the place `{place}`."""
    return any(f"{{{place}}}" in word for word in command)


@dataclass(frozen=True)
class ProgramWork(Work):
    """Decoding with some weights by a program.

    Parameters
    ----------
    name
        Begins the names of its files.
    command
        Program and arguments, without those that change no list. `{source}`, `{nbest}`,
        `{samples}` (more hypotheses), `{graph}` (search graphs), `{weights}` and `{work}` become
        the files of a shard, and its folder. Without `{source}` the program reads the text from
        stdin; without `{nbest}` it prints the list.
    folder
        Where the program runs, if that folder is there.
    timeout_seconds
        See `Moses`.
    extra
        Arguments that change no list.
    launcher
        The command that starts the decoder.
    weights
        The content of the file of weights.
    models
        The files that the program reads, as far as they are known.
    fitting
        How the lists become Moses lists; None: they are.
    graph_format
        The format of the search graphs, see `registry.graph_reader`.
    """

    name: str
    command: tuple[str, ...]
    folder: Path
    timeout_seconds: float
    extra: tuple[str, ...] = ()
    launcher: str = ""
    weights: bytes = b""
    models: Prints = ()
    fitting: _any_lists.Fitting | None = None
    graph_format: str = "auto"

    @property
    def depends(self) -> list[bytes]:
        """All that the answers depend on besides the lines."""
        inputs = (self.command, self.weights, self.size, self.models, self.fitting)
        return [repr(inputs).encode()]

    def decode(self, shard: Shard, scratch: Path, logs: Path, step: Step) -> Iterator[bytes]:
        """Yield the answer to each line; `answer_part` takes it apart again."""
        for folder in (scratch, logs):
            make_folder(folder)
        name = self.name if shard.of == 1 else f"{self.name}-{shard.number}"
        log = logs / f"{name}.log"
        if logs != scratch:  # many commands may share a worker's folder
            log = logs / f"{name}-{scratch.name}.log"
        files = {
            kind: (scratch / f"{name}.{kind}").resolve()
            for kind in ("source", "nbest", "samples", "weights", "graph")
        }
        for kind, content in (
            ("source", b"".join(line + b"\n" for _, line in shard.lines)),
            ("weights", self.weights),
        ):
            with writing(files[kind]) as file:
                file.write(content)
        segments = len(shard.lines)
        most = MOST_PRINTED + segments * MOST_OF_A_SEGMENT
        reason = f"where {self.size} were asked for of each of {segments} segments"
        # A program may give a few more than it is asked for; with 1,000 lines more than twice
        # those the list is endless.
        list_bound = programs.Bound(most * self.size, 1000 + 2 * segments * self.size, reason)
        values = {kind: str(path) for kind, path in files.items()}
        values["work"] = str(scratch.resolve())
        words = _moses_command.wrapped(
            self.launcher, [*(with_places(word, values) for word in self.command), *self.extra]
        )
        out = scratch / f"{name}.out"
        bounds = {
            out: programs.Bound(most),
            files["nbest"]: list_bound,
            files["samples"]: list_bound,
            files["graph"]: programs.Bound(segments * MOST_OF_A_GRAPH),
        }
        if not asks_for(self.command, "nbest"):
            files["nbest"], bounds = out, {out: list_bound}
        program = Path(words[0])
        command = programs.Command(
            words,
            log,
            out,
            given=None if asks_for(self.command, "source") else files["source"],
            folder=self.folder if self.folder.is_dir() else scratch,
            bounds=bounds,
            timeout_seconds=self.timeout_seconds,
            name=f"{program.name}, {shard.describe(self.source)}," if shard.of > 1 else "",
        )
        try:
            programs.run(command, step=lambda lines: step(min(lines, segments), segments))
        except errors.ProgramError as error:
            raise errors.ProgramError(f"{error}{self._last_line(out, shard)}") from None
        lists = [files["nbest"], *([files["samples"]] * asks_for(self.command, "samples"))]
        graph = files["graph"] if asks_for(self.command, "graph") else None
        yield from self._answers(command, lists, shard.lines, graph)
        shutil.rmtree(files["graph"], ignore_errors=True)  # if it is a folder
        for path in (*files.values(), out):
            path.unlink(missing_ok=True)
        if logs != scratch:
            log.unlink(missing_ok=True)

    def _last_line(self, out: Path, shard: Shard) -> str:
        """Return which line Moses ended at, as the rest of a message.

        It prints each translation at once, but it reads lines ahead of those that it translates.
        """
        count = out.read_bytes().count(b"\n") if out.is_file() else 0
        if self.name != "moses" or not 0 < count < len(shard.lines):
            return ""
        number = shard.lines[count][0] + 1
        return (
            f"; it printed {errors.counted(count, 'translation')}, so it ended at "
            f"{self.source}:{number} or a line soon after"
        )

    def _answers(
        self,
        command: programs.Command,
        lists: Sequence[Path],
        lines: Sequence[tuple[int, bytes]],
        graph: Path | None,
    ) -> Iterator[bytes]:
        """Yield what a process wrote of each line, with the ids of the whole text.

        Raises
        ------
        ProgramError
            The list is not a whole one that tuning can use.
        """
        for path in lists:
            if not path.exists():
                raise command.failure(f"wrote no n-best list ({path})")
        try:
            if self.fitting is None:
                lists_of_lines = _any_lists.usable(lists, lines)
            else:
                lists_of_lines = [self.fitting.moses_list(lists[0], lines)]
            graphs = [] if graph is None else [_graphs_of(graph, lines, self.graph_format)]
        except errors.InputError as error:
            raise command.failure(f"wrote a list that cannot be used ({error})") from None
        assert command.out is not None  # noqa: S101  set above
        output = b"" if command.out in lists else command.out.read_bytes()
        best = output.splitlines(keepends=True)
        if len(best) != len(lines):  # what else it prints is not told from translations
            best = [output] + [b""] * (len(lines) - 1)
        parts = [best, *(_any_lists.answers_of(data, lines) for data in lists_of_lines), *graphs]
        yield from (joined(*answer_parts) for answer_parts in zip(*parts, strict=True))


def _graphs_of(path: Path, lines: _any_lists.Lines, graph_format: str) -> list[bytes]:
    """Return the graph of each line as a part of an archive, under the number of the line."""
    archived = families.provided("portmert.graph_archives", "graphs")
    reader = registry.graph_reader(graph_format)
    graphs: list[bytes] = archived(path, [number for number, _ in lines], reader)
    return graphs


BEST, LIST, SAMPLES, GRAPH = 0, 1, 2, -1
"""Places of the parts of an answer."""


def joined(*parts: bytes) -> bytes:
    """Return an answer: what the program printed of a line, its n-best list, samples, graph."""
    return b"%s\n%s" % (b" ".join(b"%d" % len(part) for part in parts), b"".join(parts))


def answer_part(place: int, answer: bytes) -> bytes:
    """Return the part of an answer that `joined` put in this place."""
    lengths, _, content = answer.partition(b"\n")
    file = io.BytesIO(content)
    return [file.read(int(length)) for length in lengths.split()][place]
