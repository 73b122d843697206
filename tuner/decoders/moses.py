"""The decoder Moses, a program."""

import glob
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Unpack

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Texts

from ..base import errors, programs
from ..base.context import available_processors, current
from ..base.files import read_bytes, writing
from ..base.threads import Team
from ..base.warn import notice
from ..components import registry
from ..families import provided
from ..weights.feature_weights import FeatureWeights, read_weights
from ..weights.moses_ini import read_moses_ini
from ..weights.weights_file import read_sparse, sparse_text, written_beside
from . import _moses_command, _program_work, _shards
from ._base import Decoder, Decoding

PATIENCE_SECONDS = 4 * 3600.0
"""A decoder that writes nothing for so long hangs: its models load in minutes, and a segment takes
seconds. It is hours because a job may wait in a queue. A run that is ended goes on when it is
started again."""

OURS = {
    "config": "config", "f": "config", "input-file": "the source", "i": "the source",
    "n-best-list": "tune.nbest", "weight-overwrite": "the weights", "weight-file": "the weights",
    "show-weights": "the weights", "lattice-samples": "`mert-moses --lattice-samples`",
}  # fmt: skip
"""Switches of Moses that are set from elsewhere."""


OLD_WEIGHTS = re.compile(r"weight-(?!file$|overwrite$|update)")
"""Sections of a moses.ini that has no [weight]."""


@dataclass(frozen=True)
class Moses(Decoder):
    """Runs `moses`, `moses2` or `moses_chart`.

    Parameters
    ----------
    config : Path
        The moses.ini. Relative paths in it are relative to the folder where portmert is run.
    program : Path
        The decoder: a file, or the name of a program on PATH.
    flags : str
        More options of the decoder, split as a shell does: `-search-algorithm 1
        -cube-pruning-pop-limit 500`.
    threads : int
        Threads of each process; 0 divides all processors among the jobs. The number changes no
        list, except that Moses breaks exact ties at random, with one thread too.
    jobs : int
        Number of processes; each decodes a part of the source. As with `threads`, the number
        changes no list.
    command : str
        A launcher in front of the decoder's command line: `nice -n 10`, `srun -c 8`, `ssh host`.
        A launcher that passes one string to a shell gets it at `{command}`:
        `qrsh -cwd {command}`. Files must have the same paths on the other machine.
    graphs : bool
        Keep the search graph of each decoding, and take more hypotheses from all graphs under the
        weights that each search finds, until they add little. So fewer decodings are needed. Word
        alignment is then between phrases. Not for moses_chart.
    timeout_seconds : float
        If the decoder writes nothing (no translation, list or message) for this long, it is ended,
        and so is the run. The same command then continues. The default is 4 hours, because a
        launcher may wait in a queue; 0: no limit.
    """

    inputs: ClassVar[tuple[str, ...]] = ("config",)

    config: Path
    program: Path = Path("moses")
    flags: str = ""
    threads: Annotated[int, Ge(0)] = 0
    jobs: Annotated[int, Ge(1)] = 1
    command: str = ""
    graphs: bool = False
    timeout_seconds: Annotated[float, Ge(0)] = PATIENCE_SECONDS

    def __post_init__(self) -> None:
        for name in ("flags", "command"):
            try:
                shlex.split(getattr(self, name))
            except ValueError as error:
                raise ValueError(f"{name}: {error}: {getattr(self, name)}") from None
        if self.graphs:
            with errors.faults_at("graphs", errors.ConfigError, ValueError):
                provided("portmert.list_mergers", "graphs")
        flags = _moses_command.parse_flags(self.flags)
        for flag in flags:
            if flag in OURS:
                raise ValueError(f"flags has -{flag}, which is set by {OURS[flag]}; leave it out")
        if flags.get("inputtype") == ["1"]:
            raise ValueError(
                "flags has -inputtype 1: a confusion network takes several lines, but a segment "
                "must be one; write the input as lattices (-inputtype 2)"
            )

    # The weights.

    def read_weights(self) -> FeatureWeights:
        """Return the start weights of all features that Moses calls tuneable.

        Names and order come from `-show-weights`. Values come from moses.ini where they are the
        same with more digits. Sparse features to which moses.ini gives a weight follow.

        Raises
        ------
        InputError, ProgramError
            moses.ini cannot be read, Moses does not start or names no feature.
        """
        features, ini = self.shown_features(), read_moses_ini(self.config)
        in_file = read_weights(self.config).values if "weight" in ini.sections else {}
        dense = {
            name: _more_digits(values, in_file.get(name, ()), features.tuned.get(name))
            for name, values in features.weights.values.items()
        }
        sparse = {name: values for name, values in in_file.items() if features.is_sparse(name)}
        files = ini.values("weight-file")
        beside = read_sparse(Path(files[0]), dict(features.names)) if files else {}
        lost = [name for name in dense if name in beside and name not in in_file]
        if lost:
            notice(
                f"{self.config}: Moses takes no dense weights from a [weight-file] (it decodes "
                f"with 1); here {', '.join(lost)} begin with the weights of {files[0]}"
            )
        passed = {*features.untuneable, *(dense.keys() & in_file.keys())}
        in_sparse_file = {name: row for name, row in beside.items() if name not in passed}
        return FeatureWeights({**dense, **in_sparse_file, **sparse})

    @property
    def dense_features(self) -> frozenset[str]:
        """The features that `-show-weights` names: what Moses calls dense."""
        return self.shown_features().dense

    @property
    def hides_features(self) -> bool:
        """Whether Moses calls some features or components untuneable."""
        return self.shown_features().hides_some

    def shown_features(self) -> _moses_command.ShownFeatures:
        """Return what `-show-weights` prints; Moses runs once for each state of moses.ini."""
        with errors.faults_at(self.config, OSError, errors.InputError):
            stat = self.config.stat()
        return _show_weights(self, (stat.st_mtime_ns, stat.st_size))

    def check_texts(self, source: Path, references: Texts, *, linked: bool) -> None:
        """Raise `InputError` for lines that Moses cannot read, and for marks in its hypotheses."""
        ini = read_moses_ini(self.config)
        settings = {name: ini.values(name) for name in ini.sections}
        settings |= _moses_command.flag_sections(self.flags)
        _moses_command.check_source(source, _shards.lines_of(source), settings, linked=linked)
        for name, mark, advice in _moses_command.MARKS:
            if _moses_command.is_on(settings.get(name, [])) and not any(
                mark.search(word) for word in references.vocabulary.words
            ):
                raise errors.InputError(
                    f"-{name}, in the flags or in {self.config}, puts marks between or into the "
                    f"words of the hypotheses, which the references do not have; {advice}"
                )

    # The decoder's command line.

    def _words(self) -> list[str]:
        """Return the beginning of the decoder's own command line."""
        return [self._program(), *shlex.split(self.flags), "-config", str(self.config.resolve())]

    def _program(self) -> str:
        if self.program.is_file():
            return str(self.program.resolve())
        if self.command or shutil.which(self.program.name):
            return self.program.name
        raise errors.ProgramError(
            f"{self.program}: there is no such decoder, and no {self.program.name} on PATH; name "
            f"its file: [decoder] program"
        )

    def show_weights(self) -> _moses_command.ShownFeatures:
        """Let Moses print feature names and weights."""
        old = [name for name in read_moses_ini(self.config).sections if OLD_WEIGHTS.match(name)]
        if old:
            raise errors.InputError(
                f"{self.config}: [{old[0]}] is of Moses before 2013; convert the file with "
                f"scripts/training/convert-moses-ini-to-v2.perl OLD NEW, and give NEW"
            )
        with programs.scratch(name="moses") as folder:
            command = programs.Command(
                _moses_command.wrapped(self.command, [*self._words(), "-show-weights"]),
                folder / "show-weights.log",
                out := folder / "show-weights.out",
                bounds={out: programs.Bound(_program_work.MOST_PRINTED)},
                timeout_seconds=self.timeout_seconds,
                is_scratch=True,
            )
            programs.run(command)
            try:
                return _moses_command.parse_shown(out.read_text("utf-8", "replace"))
            except errors.InputError as error:
                raise command.failure(f"printed no weights ({error})") from None

    # Decoding.

    def decode(self, weights: FeatureWeights, **request: Unpack[Decoding]) -> None:
        """Let Moses write the `size`-best list of every line of `source` to `out`.

        In `jobs` processes here, or one for each task of a cluster; see `write_lists`.
        """
        self.write_lists(weights, request)

    def write_lists(
        self,
        weights: FeatureWeights | None,
        request: Decoding,
        *,
        best: Path | None = None,
        sampled: tuple[Path, int] | None = None,
        links: bool = True,
    ) -> None:
        """Let Moses write its lists, its translations and samples of lattices.

        Parameters
        ----------
        weights
            None: the weights of moses.ini.
        best
            Gets what Moses prints: its translations.
        sampled
            A file that gets so many samples of each segment's lattice, as an n-best list.
        links
            Ask for word alignment and segmentation.

        Raises
        ------
        InputError
            A feature has no weight.
        ProgramError
            Moses fails, or writes a list that is empty, too short or of nothing but zeros.
        """
        source, size = request["source"], request["size"]
        lines = _shards.lines_of(source)
        jobs = min(self.jobs, len(lines))
        models = _shards.prints_of([self.config, *_named_files(self.config)])
        overwrite, sparse = ([], "") if weights is None else self._weight_arguments(weights)
        switches: list[str] = []
        graphs = request.get("graphs")
        if links:
            switches += ["-include-segmentation-in-n-best", "true"]
        if links and not self.graphs:  # graphs have no alignment of words
            switches += ["-print-alignment-info-in-n-best", "true"]
        if graphs is not None:
            switches += ["-output-search-graph-extended", "{graph}"]
        if sampled is not None:
            switches += ["-lattice-samples", "{samples}", str(sampled[1])]
        by_file = ("-weight-file", "{weights}") if sparse else ()
        threads = 1
        if "threads" not in _moses_command.flag_sections(self.flags):
            processors = 1 if current().cluster else available_processors() // jobs
            threads = self.threads or max(1, processors)
        work = _program_work.ProgramWork(
            name="moses",
            command=(
                *(*self._words(), *overwrite, *switches, *by_file),
                *("-n-best-list", "{nbest}", str(size), "distinct", "-input-file", "{source}"),
            ),
            size=size,
            source=str(source),
            folder=Path.cwd(),
            timeout_seconds=self.timeout_seconds,
            extra=("-threads", str(threads)) if threads > 1 else (),
            launcher=self.command,
            weights=sparse.encode(),
            models=models,
            graph_format="osgx",
        )
        # The list comes last: where it stands, the other files do.
        files = {
            _program_work.GRAPH: graphs,
            _program_work.BEST: best,
            _program_work.SAMPLES: sampled and sampled[0],
            _program_work.LIST: request["out"],
        }
        _shards.decode_lines(
            work,
            lines,
            request,
            name="moses",
            shards=lambda count, tasks: min(count, max(jobs, tasks)),
            models=[*(path for path, _ in models), self.program],
            here=Team(jobs, waits=True),
            outputs={
                path: partial(_program_work.answer_part, place)
                for place, path in files.items()
                if path
            },
        )

    def _weight_arguments(self, weights: FeatureWeights) -> tuple[list[str], str]:
        """Return the switches that set weights, and what a file says of the other features."""
        features = self.shown_features()
        overwrite = [features.overwrite(weights)]
        # What [weight] says of a sparse feature goes before what a -weight-file says.
        weighted = read_moses_ini(self.config).weighted
        sparse = {}
        for name, values in weights.values.items():
            if features.is_sparse(name):
                if name in weighted:
                    overwrite += [f"{name}=", *map(repr, values)]
                else:
                    sparse[name] = values
        return ["-weight-overwrite", " ".join(overwrite)], sparse_text(sparse) if sparse else ""

    # Search graphs.

    @property
    def makes_graphs(self) -> bool:
        """Whether `graphs` is set."""
        return self.graphs

    def graph_reader(self) -> Any:
        """Return the reader of Moses' graphs; features are as in its own lists."""
        return registry.build("graph-reader", "osgx", {"config": self.config})

    def untuned_weights(self) -> FeatureWeights:
        """Return all weights of moses.ini."""
        return read_weights(self.config)

    # The result.

    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:
        """Write moses.ini with its weights replaced and with `flags`: they fit each other.

        Sparse features that its [weight] section does not name go to a file beside it, `.sparse`.
        """
        with writing(path) as out:
            out.write(self.tuned_ini(self.config, weights, path, header=header))

    def tuned_ini(
        self, config: Path, weights: FeatureWeights, path: Path, *, header: str
    ) -> bytes:
        """Return the content of `config` with these weights and `flags`, to be written to `path`.

        Nothing else is changed.
        """
        features, ini = self.shown_features(), read_moses_ini(config)
        weighted = ini.weighted
        values: dict[str, tuple[float, ...]] = {}
        sparse: dict[str, tuple[float, ...]] = {}
        for name, numbers in weights.values.items():
            (sparse if features.is_sparse(name) and name not in weighted else values)[name] = (
                numbers
            )
        extra = _moses_command.flag_sections(self.flags) | written_beside(path, sparse)
        return ini.with_weights(values, header=header, tuned=features.tuned, extra=extra)


@lru_cache(maxsize=8)
def _show_weights(decoder: Moses, stamp: tuple[int, int]) -> _moses_command.ShownFeatures:  # noqa: ARG001
    """Ask the decoder; `stamp` tells whether moses.ini changed since."""
    return decoder.show_weights()


def _named_files(config: Path) -> Iterator[Path]:
    """Yield the files that moses.ini names; of a table it may give what their names begin with."""
    for line in read_bytes(config).decode("utf-8", "replace").splitlines():
        for word in line.partition("#")[0].split():
            name = word.rpartition("=")[2]
            if os.path.exists(name):  # noqa: PTH110  any text may stand there
                yield Path(name)
            elif "/" in name:
                yield from map(Path, glob.glob(f"{glob.escape(name)}.*"))  # noqa: PTH207


def _more_digits(
    printed: tuple[float, ...], in_file: tuple[float, ...], tuned: tuple[bool, ...] | None
) -> tuple[float, ...]:
    """Return `in_file` where it is `printed` before it was rounded (switches may say otherwise).

    `-show-weights` prints six digits behind the point.
    """
    if tuned is not None and len(in_file) == len(tuned):
        in_file = tuple(value for value, is_tuned in zip(in_file, tuned, strict=True) if is_tuned)
    if len(in_file) != len(printed):
        return printed
    close = all(
        abs(a - b) <= 1e-6 * max(1.0, abs(a)) for a, b in zip(printed, in_file, strict=True)
    )
    return in_file if close else printed
