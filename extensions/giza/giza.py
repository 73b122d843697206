"""MGIZA++, by its programs: both directions are trained, then align with the finished tables."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import quote

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.aligners._base import Links, a3_pair
from portmert.aligners._symmetrize import Heuristic, symmetrize
from portmert.aligners._training import Rows, TrainedAligner, check_lengths, usable
from portmert.tuner.base import model_folders
from portmert.tuner.base.errors import ProgramError, StateError, counted
from portmert.tuner.base.programs import Command, run, scratch

SPECIAL = frozenset(
    {
        *("NULL", "UNK", "({", "})"),  # MGIZA++: the empty word, and fields of its A3 files
        *("$", "1$", "2$", "3$", "4$"),  # mkcls: ends of sentences
        "mkcls-mapped-dollar-symbol-$",
    }
)
ESCAPE = "@escaped:"

PROGRAMS = ("mkcls", "plain2snt", "snt2cooc", "mgiza")

MAX_TOKENS = 100
"""The most tokens of a line. MGIZA++ cuts longer lines off with a warning
(MAX_SENTENCE_LENGTH_ALLOWED, defs.h, counts the empty word too, and is compiled in)."""

MAX_RATIO = 9
"""A side may be at most so many times as long as the other, one less than MGIZA++'s greatest
fertility. It cuts both sides of other pairs down to the shorter one (getSentence.cpp)."""

SIDES = ("source", "target")
DIRECTIONS = {"source-target": ("source", "target"), "target-source": ("target", "source")}
"""Name of a direction -> the side that generates and the side generated. In the first, every
word of the target has at most one link; in the second, every word of the source."""

# mgiza's names of what `Schedule` and the adapter set; simplified as mgiza itself does it.
RESERVED = frozenset(
    {
        *("c", "corpusfile", "tc", "testcorpusfile", "s", "sourcevocabularyfile", "t"),
        *("targetvocabularyfile", "sourcevocabularyclasses", "targetvocabularyclasses"),
        *("o", "outputfileprefix", "outputpath", "coocurrencefile", "l", "logfile", "ncpus"),
        *("m1", "model1iterations", "noiterationsmodel1", "mh", "hmmiterations", "m3"),
        *("numberofiterationsforhmmalignmentmodel", "model3iterations", "noiterationsmodel3"),
        *("m4", "model4iterations", "noiterationsmodel4", "m2", "m5", "m6", "restart"),
        *("model2iterations", "noiterationsmodel2", "model5iterations", "noiterationsmodel5"),
        *("model6iterations", "noiterationsmodel6", "ml", "maxsentencelength", "maxfertility"),
        *("nodumps", "onlyaldumps", "hmmdumpfrequency", "th", "model1dumpfrequency", "t1"),
        *("previoust", "previousa", "previousd", "previousn", "previousd4", "previousd42"),
        *("previoushmm", "previousp0", "compactalignmentformat", "nbestalignments"),
    }
)


@plain_dataclass(frozen=True)
class Schedule:
    """How many EM iterations each model gets; the last model that gets any makes the links."""

    ibm1: int
    hmm: int
    ibm3: int
    ibm4: int

    def check(self) -> None:
        """Refuse what MGIZA++ cannot train.

        Raises
        ------
        ValueError
            A model lacks the one it starts from.
        """
        if self.ibm1 < 1:
            raise ValueError("ibm1 is 0: every other model starts from IBM model 1")
        if self.hmm < 1 and (self.ibm3 or self.ibm4):
            raise ValueError("hmm is 0: IBM models 3 and 4 start from the HMM")

    @property
    def last(self) -> str:
        """Name of the model that makes the links."""
        return [name for name, count in vars(self).items() if count][-1]

    def iterations(self) -> list[str]:
        """Return mgiza's options for training."""
        return [
            *("-m1", str(self.ibm1), "-m2", "0", "-mh", str(self.hmm)),
            *("-m3", str(self.ibm3), "-m4", str(self.ibm4)),
            # The tables of the last iteration; model 3's and 4's are written without being asked.
            *("-model1dumpfrequency", str(self.ibm1), "-hmmdumpfrequency", str(max(1, self.hmm))),
        ]

    def tables(self) -> dict[str, str]:
        """Return mgiza's option -> end of the name of the table to read when it aligns again."""
        hmm = {"-previousa": f"ahmm.{self.hmm}", "-previoushmm": f"hhmm.{self.hmm}"}
        three = {
            "-previoust": "t3.final",
            "-previousa": "a3.final",
            "-previousd": "d3.final",
            "-previousn": "n3.final",
            "-previousp0": "p0_3.final",
            "-previoushmm": hmm["-previoushmm"],  # each search begins at the HMM's best links
        }
        return {
            "ibm1": {"-previoust": f"t1.{self.ibm1}"},
            "hmm": {"-previoust": f"thmm.{self.hmm}", **hmm},
            "ibm3": three,
            "ibm4": {**three, "-previousd4": "d4.final", "-previousd42": "D4.final"},
        }[self.last]

    def files(self) -> set[str]:
        """Return the ends of the names of all files that aligning again reads."""
        names = set(self.tables().values())
        return names | {
            f"{name}.{part}"
            for name in names
            if name.startswith("hhmm")
            for part in ("alpha", "beta")
        }

    def align_options(self) -> list[str]:
        """Return mgiza's options for one more iteration, that links pairs with old tables."""
        # What mgiza's -restart calls the stages (main.cpp): go on with model 1, HMM, 3, 4.
        stage = {"ibm1": "1", "hmm": "6", "ibm3": "9", "ibm4": "11"}[self.last]
        counts = {"ibm1": "-m1", "hmm": "-mh", "ibm3": "-m3", "ibm4": "-m4"}
        once = [
            part
            for name, option in counts.items()
            for part in (option, str(int(name == self.last)))
        ]
        dump = {"ibm1": ["-model1dumpfrequency", "1"], "hmm": ["-hmmdumpfrequency", "1"]}
        return [
            *("-restart", stage, "-m2", "0", *once),
            # Models 3 and 4 can write their links and no tables; the others only both.
            *dump.get(self.last, ["-nodumps", "1", "-onlyaldumps", "1"]),
        ]

    def links(self) -> str:
        """Return the middle of the names of the files with the links of one more iteration."""
        return {"ibm1": "A1.1", "hmm": "Ahmm.1"}.get(self.last, "A3.final")


def check_options(options: Sequence[str]) -> None:
    """Refuse options of mgiza that the adapter sets itself.

    Raises
    ------
    ValueError
        An option is one of those, or not a pair of a name with a dash and a value.
    """
    if len(options) % 2:
        raise ValueError(f"options: '{options[-1]}' has no value; write name and value in turn")
    for name in options[::2]:
        if not name.startswith("-"):
            raise ValueError(f"options: '{name}' is no name of an option, those begin with -")
        if re.sub("[^a-z0-9]", "", name.lower()) in RESERVED:
            raise ValueError(f"options: {name} is not yours to set, the aligner does it")


@dataclass(frozen=True)
class Giza(TrainedAligner):
    """Aligns by IBM models 1, 3, 4 and the HMM, trained by MGIZA++, the aligner of Moses.

    The programs mkcls, plain2snt, snt2cooc and mgiza are needed. Every call, including the first,
    aligns with the trained tables, as MGIZA++'s force-align does. So the links of a pair do not
    depend on the pairs aligned before it or with it. (Moses uses the links that mgiza writes while
    it trains. They come from the tables of one iteration earlier.)

    A line of more than 100 tokens is an error, because mgiza would cut it off.

    Parameters
    ----------
    symmetrization : str
        How the two directions are combined, as by Moses' symal: "srctotgt", "tgttosrc",
        "union", "intersection", "grow", "grow-diag", "grow-final", "grow-diag-final",
        "grow-final-and".
    bin_dir : Path or None
        Folder of the programs. None: they are on PATH.
    ibm1, hmm, ibm3, ibm4 : int
        Number of iterations of each model. The last model with any iterations makes the links. The
        defaults are those of Moses' train-model.perl.
    options : str
        More options of mgiza, each a name and a value. Default: those of train-model.perl.
    classes : int
        Number of word classes of each side, which mkcls makes for the HMM and model 4.
    class_runs : int
        Number of runs of mkcls; the best one counts.
    training_threads : int
        mgiza's -ncpus in training. With more than 1 it adds in no fixed order, so its tables, and
        sometimes a link, differ from run to run.
    threads : int
        Number of programs or threads at once in all other steps; the two directions can run at the
        same time. The number changes no result.

    References
    ----------
    Gao and Vogel, "Parallel Implementations of Word Alignment Tool", SETQA-NLP 2008; Och and Ney,
    "A Systematic Comparison of Various Statistical Alignment Models", CL 2003.
    """

    symmetrization: Heuristic = "grow-diag-final-and"
    bin_dir: Path | None = None
    ibm1: Annotated[int, Ge(0)] = 5
    hmm: Annotated[int, Ge(0)] = 5
    ibm3: Annotated[int, Ge(0)] = 3
    ibm4: Annotated[int, Ge(0)] = 3
    options: str = "-p0 0.999 -nsmooth 4 -model4smoothfactor 0.4"
    classes: Annotated[int, Ge(1)] = 50
    class_runs: Annotated[int, Ge(1)] = 2
    training_threads: Annotated[int, Ge(1)] = 1
    threads: Annotated[int, Ge(1)] = 2

    settings: ClassVar[tuple[str, ...]] = (
        *("ibm1", "hmm", "ibm3", "ibm4"),
        *("options", "classes", "class_runs", "training_threads"),
    )
    models: ClassVar[str] = "giza"

    def __post_init__(self) -> None:
        self._schedule().check()
        check_options(shlex.split(self.options))
        super().__post_init__()

    def _schedule(self) -> Schedule:
        return Schedule(self.ibm1, self.hmm, self.ibm3, self.ibm4)

    def _program(self, name: str) -> Path:
        """Return the absolute path of a program; raise `ProgramError` if it is not there."""
        if self.bin_dir is None:
            on_path = shutil.which(name)
            if on_path is None:
                raise ProgramError(
                    f"the program {name} is not on PATH; install MGIZA++ "
                    f"(the guide's page 'Align words'), or set bin_dir to the folder that holds it"
                )
            return Path(on_path).absolute()
        path = self.bin_dir.absolute() / name
        if not path.is_file() or not os.access(path, os.X_OK):
            raise ProgramError(
                f"{self.bin_dir}: holds no program {name}; set bin_dir to where MGIZA++ is "
                f"installed"
            )
        return path

    def _command(self, folder: Path, arguments: Sequence[str | Path], *, log: str) -> Command:
        """Return a command that runs in a folder of scratch, where its log lies."""
        return Command(
            arguments,
            folder / f"{log}.log",
            folder=folder,
            timeout_seconds=self.timeout_seconds,
            is_scratch=True,
        )

    # Training.

    def _train(self, folder: Path, source: Rows, target: Rows) -> dict[str, Any]:
        """Leave vocabularies, classes, tables and logs of both directions in `folder`.

        Pairs that MGIZA++ would shorten, and those with an empty side, teach nothing: they are
        left out, and counted in what is returned.
        """
        for name in PROGRAMS:
            self._program(name)  # all are there before the first one runs
        used, notes = usable("giza", source, target, most=MAX_TOKENS, ratio=MAX_RATIO)
        for side, rows in zip(SIDES, (source, target), strict=True):
            write_rows(folder / side, [[escape(token) for token in rows[row]] for row in used])
        numbered: list[str | Path] = [
            *(self._program("plain2snt"), *SIDES, "-vcb1", "source.vcb", "-vcb2", "target.vcb"),
            *("-snt1", "source-target.snt", "-snt2", "target-source.snt"),
        ]
        run(self._command(folder, numbered, log="plain2snt"))
        schedule = self._schedule()
        jobs = [self._cooc(folder, direction) for direction in DIRECTIONS]
        if schedule.last in {"hmm", "ibm3", "ibm4"}:
            for side in SIDES:  # whose words get classes
                words = f"-n{self.class_runs} -c{self.classes} -p{side} -V{side}.vcb.classes opt"
                mkcls = self._program("mkcls")
                jobs.append(self._command(folder, [mkcls, *words.split()], log=f"mkcls-{side}"))
        at_once = min(2, self.threads)
        run(*jobs, at_once=at_once)
        options = [*schedule.iterations(), *shlex.split(self.options)]
        options += ["-ncpus", str(self.training_threads)]
        commands = {direction: self._mgiza(folder, direction, options) for direction in DIRECTIONS}
        run(*commands.values(), at_once=at_once)
        _keep_what_aligns(folder, schedule, commands)
        return notes

    def _cooc(self, folder: Path, direction: str) -> Command:
        generating, generated = DIRECTIONS[direction]
        files = (f"{direction}.cooc", f"{generating}.vcb", f"{generated}.vcb", f"{direction}.snt")
        log = f"snt2cooc-{direction}"
        return self._command(folder, [self._program("snt2cooc"), *files], log=log)

    def _mgiza(self, folder: Path, direction: str, options: Sequence[str | Path]) -> Command:
        generating, generated = DIRECTIONS[direction]
        arguments: list[str | Path] = [
            self._program("mgiza"),
            *("-CoocurrenceFile", f"{direction}.cooc", "-c", f"{direction}.snt"),
            *("-o", direction, "-s", f"{generating}.vcb", "-t", f"{generated}.vcb", *options),
        ]
        return self._command(folder, arguments, log=direction)

    # Aligning.

    def _align(self, folder: Path, source: Rows, target: Rows, workdir: Path) -> list[Links]:
        check_lengths(source, target, most=MAX_TOKENS, program="MGIZA++")
        full = [index for index, (s, t) in enumerate(zip(source, target, strict=True)) if s and t]
        aligned: list[Links] = [[] for _ in source]
        if full:
            sides = [[side[index] for index in full] for side in (source, target)]
            with scratch(workdir, self.name()) as room:
                directions = self._link(room, folder, *sides)
            for index, s, t in zip(full, *directions, strict=True):
                aligned[index] = symmetrize(self.symmetrization, by_source=s, by_target=t)
        return aligned

    def _link(
        self, room: Path, folder: Path, source: Rows, target: Rows
    ) -> tuple[list[Links], list[Links]]:
        """Align pairs that have tokens on both sides with the tables of `folder`, as made.

        A side more than `MAX_RATIO` times as long as the other cannot be generated: such a pair
        has the links of the other direction alone.

        Returns
        -------
        by_source, by_target
            Links in which a source word has at most one, and in which a target word has.
        """
        settings = (model_folders.read_record(folder) or {})["fingerprint"]
        schedule = Schedule(*(settings[name] for name in ("ibm1", "hmm", "ibm3", "ibm4")))
        sides = {
            side: _numbers(folder / f"{side}.vcb", room / f"{side}.vcb", rows)
            for side, rows in zip(SIDES, (source, target), strict=True)
        }
        pairs_of: dict[str, list[int]] = {}
        for direction, (generating, generated) in DIRECTIONS.items():
            pairs = list(zip(sides[generating], sides[generated], strict=True))
            rows = [n for n, (e, f) in enumerate(pairs) if len(f) <= MAX_RATIO * len(e)]
            if rows:
                pairs_of[direction] = rows
                write_rows(
                    room / f"{direction}.snt", [line for n in rows for line in (["1"], *pairs[n])]
                )
        at_once = min(2, self.threads)
        run(*(self._cooc(room, direction) for direction in pairs_of), at_once=at_once)
        # Links of a pair depend on its tables alone: any number of threads will do.
        options = [*schedule.align_options(), *shlex.split(settings["options"])]
        options += ["-ncpus", str(max(1, self.threads // 2))]
        commands = {
            name: self._mgiza(room, name, [*options, *_old_tables(folder, name, schedule)])
            for name in pairs_of
        }
        run(*commands.values(), at_once=at_once)
        aligned: dict[str, list[Links]] = {name: [[] for _ in source] for name in DIRECTIONS}
        for direction, command in commands.items():
            generating, generated = DIRECTIONS[direction]
            rows = pairs_of[direction]
            lengths = [(len(sides[generating][n]), len(sides[generated][n])) for n in rows]
            links = read_links(command, direction, schedule.links(), lengths)
            for n, row in zip(rows, links, strict=True):
                aligned[direction][n] = row
        by_source = [[(s, t) for t, s in row] for row in aligned["target-source"]]
        return by_source, aligned["source-target"]


def _keep_what_aligns(folder: Path, schedule: Schedule, commands: Mapping[str, Command]) -> None:
    """Remove the text, counts and other tables: they are large, and only training needed them."""
    keep = {f"{side}.vcb{end}" for side in SIDES for end in ("", ".classes")}
    for direction, command in commands.items():
        for name in schedule.files():
            if not (folder / f"{direction}.{name}").is_file():
                raise command.failure(f"wrote no {direction}.{name}")
            keep.add(f"{direction}.{name}")
    for path in folder.iterdir():
        if path.name.startswith(SIDES) and path.name not in keep and path.suffix != ".log":
            path.unlink()


def _old_tables(folder: Path, direction: str, schedule: Schedule) -> list[str | Path]:
    """Return mgiza's options that name what training has left in `folder`."""
    folder = folder.absolute()
    generating, generated = DIRECTIONS[direction]
    options: list[str | Path] = [
        *("-sourcevocabularyclasses", folder / f"{generating}.vcb.classes"),
        *("-targetvocabularyclasses", folder / f"{generated}.vcb.classes"),
    ]
    for option, name in schedule.tables().items():
        options += [option, folder / f"{direction}.{name}"]
    return options


def read_links(
    command: Command, prefix: str, middle: str, lengths: Sequence[tuple[int, int]]
) -> list[Links]:
    """Read the A3 files of a run, one for each of its threads, in the order of the pairs.

    Parameters
    ----------
    lengths
        Tokens of the generating and of the generated side of each pair.

    Returns
    -------
    list of Links
        (generating, generated) positions; each generated one at most once.

    Raises
    ------
    ProgramError
        A pair is missing, there twice, or of other lengths.
    """
    by_number: dict[int, Links] = {}
    for path in sorted(command.log.parent.glob(f"{prefix}.{middle}.part*")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for start in range(0, len(lines) - 1, 3):
            pair = a3_pair(lines[start : start + 3])
            if pair is None:
                raise command.failure(f"wrote a damaged {path.name}:{start + 1}")
            number, words, row = pair
            length = (words, len(lines[start + 1].split()))
            if not 1 <= number <= len(lengths) or length != lengths[number - 1]:
                raise command.failure(f"aligned another pair {number} than it was given")
            if number in by_number:
                raise command.failure(f"aligned pair {number} twice")
            by_number[number] = row
    if len(by_number) != len(lengths):
        raise command.failure(f"aligned {len(by_number)} of {counted(len(lengths), 'pair')}")
    return [by_number[number] for number in range(1, len(lengths) + 1)]


def _numbers(vocabulary: Path, extended: Path, rows: Rows) -> list[list[str]]:
    """Return rows in the numbers of a vocabulary; write it with the words new to it."""
    content = vocabulary.read_text(encoding="utf-8")
    numbers: dict[str, str] = {}
    largest = 1  # 0 is the empty word, 1 no word
    for number, line in enumerate(content.split("\n")[:-1], 1):
        fields = line.split(" ")
        if len(fields) != 3 or not fields[0].isdecimal():
            raise StateError(f"{vocabulary}:{number}: not a vocabulary of GIZA; train it again")
        numbers[fields[1]] = fields[0]
        largest = max(largest, int(fields[0]))
    fresh = []
    result: list[list[str]] = []
    for row in rows:
        result.append([])
        for token in row:
            word = escape(token)
            if word not in numbers:
                largest += 1
                numbers[word] = str(largest)
                fresh.append(f"{largest} {word} 1\n")
            result[-1].append(numbers[word])
    with extended.open("w", encoding="utf-8", newline="\n") as file:
        file.write(content)
        file.writelines(fresh)
    return result


def escape(token: str) -> str:
    """Return a token that means nothing special to any program; different tokens stay different.

    White space of other scripts and control characters are escaped too: each program has its own
    idea of where a token ends.
    """
    if token in SPECIAL or token.startswith(ESCAPE) or not token.isprintable():
        return ESCAPE + quote(token, safe="")
    return token


def write_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write rows of tokens, separated by spaces."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{' '.join(row)}\n" for row in rows)
