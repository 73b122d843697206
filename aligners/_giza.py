"""Runs MGIZA++: trains both directions, aligns with old tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from portmert.aligners._base import Links
from portmert.aligners._escape import escape
from portmert.aligners._symmetrize import Heuristic, symmetrize
from portmert.aligners._training import Rows
from portmert.tuner.ground.errors import AlignerError, counted
from portmert.tuner.ground.programs import (
    Command,
    failure,
    find_program,
    run_program,
    run_programs,
)
from portmert.tuner.ground.programs import write_lines as write

PACKAGE = "MGIZA++"
PROGRAMS = ("mkcls", "plain2snt", "snt2cooc", "mgiza")

MAX_TOKENS = 100
"""Of a line. MGIZA++ cuts longer ones off with a warning (MAX_SENTENCE_LENGTH_ALLOWED, defs.h,
counts the empty word too, and is compiled in)."""

MAX_RATIO = 9
"""How many times as long as the other a side may be: one less than MGIZA++'s greatest fertility.
It cuts both sides of other pairs down to the shorter one (getSentence.cpp)."""

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


@dataclass(frozen=True)
class Schedule:
    """Says how many EM iterations each model gets; the last one that gets any makes the links."""

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

    def again(self) -> list[str]:
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


def find(bin_dir: Path | None, names: Iterable[str] = PROGRAMS) -> dict[str, Path]:
    """Return the paths of MGIZA++'s programs.

    Raises
    ------
    AlignerError
        One of them is not there.
    """
    return {name: find_program(name, bin_dir, package=PACKAGE) for name in names}


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


def generates(generating: int, generated: int) -> bool:
    """Say whether MGIZA++ takes a pair of these lengths whole, in this direction."""
    return generated <= MAX_RATIO * generating


def train(
    folder: Path,
    source: Rows,
    target: Rows,
    *,
    programs: Mapping[str, Path],
    schedule: Schedule,
    options: Sequence[str],
    classes: int,
    class_runs: int,
    training_threads: int,
    at_once: int,
    timeout_seconds: float,
) -> dict[str, int]:
    """Train both directions and leave vocabularies, classes, tables and logs in `folder`.

    Pairs that MGIZA++ would shorten, and those with an empty side, teach nothing: they are left
    out, and counted in what is returned.

    Raises
    ------
    AlignerError
        No pair is left, or a program failed.
    """
    used = _usable(source, target)
    for number, side in enumerate(SIDES):
        write(folder / side, [[escape(token) for token in pair[number]] for pair in used])
    names = {side: f"{side}.vcb" for side in SIDES}
    run_program(
        Command(
            [
                *(programs["plain2snt"], *SIDES),
                *("-vcb1", names["source"], "-vcb2", names["target"]),
                *("-snt1", "source-target.snt", "-snt2", "target-source.snt"),
            ],
            log="plain2snt.log",
        ),
        folder,
        timeout_seconds=timeout_seconds,
    )
    jobs = [_cooc(programs, way) for way in DIRECTIONS]
    if schedule.last in {"hmm", "ibm3", "ibm4"}:
        jobs += [_mkcls(programs, side, classes, class_runs) for side in SIDES]
    run_programs(jobs, folder, at_once=at_once, timeout_seconds=timeout_seconds)
    trained = [*schedule.iterations(), *options, "-ncpus", str(training_threads)]
    run_programs(
        [Command([*_mgiza(programs, way), *trained], log=f"{way}.log") for way in DIRECTIONS],
        folder,
        at_once=at_once,
        timeout_seconds=timeout_seconds,
    )
    _keep_what_aligns(folder, schedule)
    return {"pairs": len(used), "pairs_left_out": len(source) - len(used)}


def _usable(source: Rows, target: Rows) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Return the pairs that MGIZA++ learns from as they are.

    Raises
    ------
    AlignerError
        There is none.
    """
    used = [
        (s, t)
        for s, t in zip(source, target, strict=True)
        if s
        and t
        and max(len(s), len(t)) <= MAX_TOKENS
        and generates(len(s), len(t))
        and generates(len(t), len(s))
    ]
    if not used:
        raise AlignerError(
            f"giza: no pair to train on: {counted(len(source), 'pair')}, none with 1 to "
            f"{MAX_TOKENS} tokens on both sides and at most {MAX_RATIO} times as many on one as "
            f"on the other"
        )
    return used


def _mkcls(programs: Mapping[str, Path], side: str, classes: int, runs: int) -> Command:
    """Return the command that finds word classes of one side."""
    options = (f"-n{runs}", f"-c{classes}", f"-p{side}", f"-V{side}.vcb.classes")
    return Command([programs["mkcls"], *options, "opt"], log=f"mkcls-{side}.log")


def _keep_what_aligns(folder: Path, schedule: Schedule) -> None:
    """Remove the text, counts and other tables: they are large, and only training needed them."""
    kept = {f"{side}.vcb{end}" for side in SIDES for end in ("", ".classes")}
    for way in DIRECTIONS:
        for name in schedule.files():
            if not (folder / f"{way}.{name}").is_file():
                raise failure("mgiza", f"wrote no {way}.{name}", folder / f"{way}.log")
            kept.add(f"{way}.{name}")
    for path in folder.iterdir():
        if path.name.startswith(SIDES) and path.name not in kept and path.suffix != ".log":
            path.unlink()


def align(
    scratch: Path,
    folder: Path,
    source: Rows,
    target: Rows,
    *,
    programs: Mapping[str, Path],
    schedule: Schedule,
    options: Sequence[str],
    heuristic: Heuristic,
    threads: int,
    timeout_seconds: float,
) -> list[Links]:
    """Align pairs, each with 1 to `MAX_TOKENS` tokens a side, with the tables of `folder`.

    A side more than `MAX_RATIO` times as long as the other cannot be generated: such a pair has
    the links of the other direction alone.

    Raises
    ------
    AlignerError
        A table or vocabulary cannot be read, or a program failed.
    """
    sides = {
        side: _numbers(folder / f"{side}.vcb", scratch / f"{side}.vcb", rows)
        for side, rows in zip(SIDES, (source, target), strict=True)
    }
    jobs, chosen = [], {}
    for way, (generating, generated) in DIRECTIONS.items():
        pairs = list(zip(sides[generating], sides[generated], strict=True))
        chosen[way] = [n for n, (e, f) in enumerate(pairs) if generates(len(e), len(f))]
        if chosen[way]:
            rows = [row for n in chosen[way] for row in (["1"], *pairs[n])]
            write(scratch / f"{way}.snt", rows)
            jobs.append(way)
    run_programs(
        [_cooc(programs, way) for way in jobs],
        scratch,
        at_once=min(2, threads),
        timeout_seconds=timeout_seconds,
    )
    each = max(1, threads // 2)  # links of a pair depend on its tables alone: any number will do
    run_programs(
        [
            Command(
                [
                    *_mgiza(programs, way),
                    *(*schedule.again(), *options, "-ncpus", str(each)),
                    *_classes(folder, way),
                    *(
                        part
                        for option, name in schedule.tables().items()
                        for part in (option, folder.absolute() / f"{way}.{name}")
                    ),
                ],
                log=f"{way}.log",
            )
            for way in jobs
        ],
        scratch,
        at_once=min(2, threads),
        timeout_seconds=timeout_seconds,
    )
    found: dict[str, list[Links]] = {way: [[] for _ in source] for way in DIRECTIONS}
    for way in jobs:
        generating, generated = DIRECTIONS[way]
        lengths = [(len(sides[generating][n]), len(sides[generated][n])) for n in chosen[way]]
        for n, row in zip(
            chosen[way], read_links(scratch, way, schedule.links(), lengths), strict=True
        ):
            found[way][n] = row
    return [
        symmetrize(heuristic, by_source=[(s, t) for t, s in by_source], by_target=by_target)
        for by_target, by_source in zip(
            found["source-target"], found["target-source"], strict=True
        )
    ]


def read_links(
    folder: Path, prefix: str, middle: str, lengths: Sequence[tuple[int, int]]
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
    AlignerError
        A pair is missing, there twice, or of other lengths.
    """
    log = folder / f"{prefix}.log"
    found: dict[int, Links] = {}
    for path in sorted(folder.glob(f"{prefix}.{middle}.part*")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for start in range(0, len(lines) - 1, 3):
            header = re.match(r"# Sentence pair \((\d+)\) ", lines[start])
            groups = (
                re.findall(r"\(\{((?: \d+)*) \}\)", lines[start + 2])
                if start + 2 < len(lines)
                else []
            )
            if header is None or not groups:
                raise failure("mgiza", f"wrote a damaged {path.name}:{start + 1}", log)
            number = int(header[1])
            row = [
                (place - 1, int(position) - 1)
                for place, group in enumerate(groups)
                if place  # the first is the empty word
                for position in group.split()
            ]
            generated = len(lines[start + 1].split())
            if not 1 <= number <= len(lengths) or (
                (len(groups) - 1, generated) != lengths[number - 1]
            ):
                raise failure("mgiza", f"aligned another pair {number} than it was given", log)
            if number in found:
                raise failure("mgiza", f"aligned pair {number} twice", log)
            found[number] = row
    if len(found) != len(lengths):
        raise failure("mgiza", f"aligned {len(found)} of {counted(len(lengths), 'pair')}", log)
    return [found[number] for number in range(1, len(lengths) + 1)]


def _cooc(programs: Mapping[str, Path], way: str) -> Command:
    generating, generated = DIRECTIONS[way]
    return Command(
        [
            *(programs["snt2cooc"], f"{way}.cooc"),
            *(f"{generating}.vcb", f"{generated}.vcb", f"{way}.snt"),
        ],
        log=f"snt2cooc-{way}.log",
    )


def _mgiza(programs: Mapping[str, Path], way: str) -> list[str | Path]:
    generating, generated = DIRECTIONS[way]
    return [
        *(programs["mgiza"], "-CoocurrenceFile", f"{way}.cooc", "-c", f"{way}.snt", "-o", way),
        *("-s", f"{generating}.vcb", "-t", f"{generated}.vcb"),
    ]


def _classes(folder: Path, way: str) -> list[str | Path]:
    generating, generated = DIRECTIONS[way]
    return [
        *("-sourcevocabularyclasses", folder.absolute() / f"{generating}.vcb.classes"),
        *("-targetvocabularyclasses", folder.absolute() / f"{generated}.vcb.classes"),
    ]


def _numbers(known: Path, extended: Path, rows: Rows) -> list[list[str]]:
    """Return rows in the numbers of a vocabulary; write it with the words new to it."""
    content = known.read_text(encoding="utf-8")
    numbers: dict[str, str] = {}
    largest = 1  # 0 is the empty word, 1 no word
    for number, line in enumerate(content.split("\n")[:-1], 1):
        fields = line.split(" ")
        if len(fields) != 3 or not fields[0].isdecimal():
            raise AlignerError(f"{known}:{number}: not a vocabulary of GIZA; train it again")
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
