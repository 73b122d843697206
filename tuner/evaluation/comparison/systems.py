"""Finds the systems to compare: folders of runs or plain outputs, all of one test set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from portmert.aligners._base import Aligner

from ...base import options
from ...base.errors import ConfigError, InputError, StateError, counted, faults_at
from ...base.files import TextFile, TextLike, called, read_lines, write_text
from ...base.json_toml import parse_json
from ...base.pipes import is_input
from ...base.warn import notice, warn
from ...components import registry
from ...runs.folder import FINGERPRINT_FILE, refuse_misplaced
from ...runs.inputs import CALLED, Inputs, read_inputs
from ...runs.records import TunedFolders, read_file, read_json, refuse_changed
from ...texts import joining
from ...texts.groups import Groups, groups_beside, read_groups

if TYPE_CHECKING:
    from .scores import Counted


@dataclass(frozen=True)
class Output:
    """One translation of the test set.

    Parameters
    ----------
    text
        Plain text, a segment a line.
    nbest
        The list whose first hypotheses are that text, for the decoder's own links. None if there
        is no list.
    """

    text: Path
    nbest: Path | None = None


@dataclass(frozen=True)
class NamedSystem:
    """A system as named on the command line, with its files.

    Parameters
    ----------
    outputs
        One for each replica.
    folder
        The folder of a run; None for plain files.
    tuned_on
        Signature of the metric the run was tuned on.
    inputs
        Files and components of the run, if its folder records them.
    untuned
        The folders of replicas that ended as the start weights.
    """

    name: str
    outputs: tuple[Output, ...]
    folder: Path | None = None
    tuned_on: str | None = None
    inputs: Inputs | None = None
    untuned: tuple[str, ...] = ()


@dataclass(frozen=True)
class TestSet:
    """The files of a test set.

    Parameters
    ----------
    references
        Reference translations: FILE, FILE.jsonl#KEY or FILE.tsv#COLUMN. Default: the references
        of the first run that is compared.
    source
        Source text of the test set; metrics of word order need it.
    links : NAME=FILE[,FILE...]
        A set of word alignments: one file for each reference, then optionally one for each output.
    aligner : NAME
        Align references with this aligner, and outputs whose decoder wrote no alignment.
    options : KEY=VALUE
        An option of the aligner, as train_source=FILE.
    statistics
        Statistics of all outputs that are in hand, under more metrics; see `rerank_tune`.
    missing
        Treatment of segments that lack a text: an `error`, leave out the `segment`, or count an
        `empty` output. A warning counts them. Default: error.
    ids
        Each line of all texts begins with the id of its segment, as in Kaldi's text files. Columns
        with ids, FILE.jsonl#KEY, need no option.
    groups : FILE[#KEY]
        The group of each segment, such as its document or speaker. The file has a column, a name
        in each line, lines of an id and a group (utt2spk), SGML or STM. Segments of a group are
        not independent, so tests draw and exchange whole groups. Default: the documents of SGML
        references, the speakers of STM, or utt2spk beside a reference file text.
    known_groups
        Groups that are read already, in place of `groups`.
    """

    __test__ = False  # pytest would take it for a test

    references: Sequence[Path | str] = ()
    source: Path | str | None = None
    links: Sequence[str] = ()
    aligner: str | Aligner | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    statistics: Sequence[Counted] = ()
    missing: Literal["error", "segment", "empty"] | None = None
    ids: bool = False
    groups: TextLike | None = None
    known_groups: Groups | None = field(default=None, repr=False)

    @property
    def named_aligner(self) -> tuple[str, Aligner] | None:
        """The aligner and its name, if there is one."""
        aligner = self.aligner
        if isinstance(aligner, str):
            return aligner, registry.aligner(aligner, self.options, where="--aligner")
        return None if aligner is None else (type(aligner).__name__.lower(), aligner)


@dataclass(frozen=True)
class TestFiles:
    """The references of a test set, and the source if it is known."""

    __test__ = False

    source: Path | None
    references: tuple[Path, ...]


@dataclass(frozen=True)
class SystemFiles:
    """A system as its user names it: the folder of a run, or a file for each replica.

    Parameters
    ----------
    name
        None: the name of the folder.
    values
        Scores in memory in place of files.
    """

    name: str | None
    paths: tuple[Path, ...]
    values: tuple[Any, ...] = ()

    @property
    def sources(self) -> tuple[Any, ...]:
        """What has the scores of each output: files, or what is in memory."""
        return self.values or self.paths

    @classmethod
    def parse(cls, text: str) -> SystemFiles:
        """Return the system written `FOLDER`, `name=FOLDER` or `name=FILE[,FILE...]`.

        Raises
        ------
        ConfigError
            The text is written in another way.
        """
        if options.exists(text):
            return cls(None, (Path(text),))
        where = f"system '{text}'"
        with faults_at(where, ConfigError, ConfigError):
            name, equals, value = options.name_value(text)
        if not equals:
            return cls(None, (options.path(text),))
        if not name or not value:
            missing = "the name before the =" if value else "the file or folder behind the ="
            raise ConfigError(f"{where}: {missing} is missing; expected name=FILE[,FILE...]")
        return cls(name, options.files(value, where=where))


def find_systems(files: Sequence[SystemFiles]) -> list[NamedSystem]:
    """Return the systems with all that their folders tell.

    Raises
    ------
    InputError
        A file or folder is missing, or two systems have one name.
    StateError
        A folder has no finished run with a test set.
    """
    systems = [_find(system) for system in files]
    for i, system in enumerate(systems):
        for earlier in systems[:i]:
            if earlier.name == system.name:
                raise InputError(
                    f"two systems are called '{system.name}'; name them, as in "
                    f"first={options.written_files(files[systems.index(earlier)].paths)}"
                )
    return systems


def find_test_files(systems: Sequence[NamedSystem], test_set: TestSet) -> TestFiles:
    """Return the test set given, or else that of the first run that names one.

    Raises
    ------
    InputError
        No references are given or recorded, or a run was made with another test set.
    """
    source = None if test_set.source is None else Path(test_set.source)
    if test_set.references:
        test = TestFiles(source, tuple(map(Path, test_set.references)))
    else:
        recorded = [s.inputs.data for s in systems if s.inputs is not None and s.inputs.data]
        if not recorded:
            raise InputError("no system says what its references are; give --ref")
        test = TestFiles(source or recorded[0].test_source, recorded[0].test_references)
    for path in (*test.references, *((test.source,) if test.source else ())):
        joining.content_digest(path)  # a missing file is another fault than another test set
    for system in systems:
        _check_same(system, test)
    return test


def in_one_order(
    systems: Sequence[NamedSystem], test: TestSet, folder: Path
) -> tuple[list[NamedSystem], TestSet, tuple[str, ...] | None]:
    """Return systems and test set in files of the same segments, joined by ids, and the ids.

    They are returned as they are, without ids, if no text has ids, or all are columns of which
    none may be left out: these are joined where they are read.

    Parameters
    ----------
    folder
        Where the files are written, under their names.

    Raises
    ------
    ConfigError
        `test.ids` or `test.missing` is with a run or with word alignments without ids.
    InputError
        Texts cannot be joined, see `portmert.tuner.texts.joining.joined`.
    """
    run = next((system for system in systems if system.folder is not None), None)
    option = "--missing" if test.missing else "--ids" if test.ids else ""
    if run is not None or test.links or not test.references:
        if not option:
            return list(systems), test, None
        fault = "give references" if run is None else f"{run.folder} is a run"
        fault = "word alignments have no ids" if test.links else fault
        raise ConfigError(f"{option} joins files, as name=FILE.jsonl#KEY: {fault}")
    outputs = [output.text for system in systems for output in system.outputs]
    names = [*test.references, *outputs, *([] if test.source is None else [test.source])]
    if any(map(joining.is_gold, names)):
        return list(systems), test, None
    is_filled = test.missing == "empty"
    texts: list[TextFile] = [
        joining.with_empty_lines(name, names[0])
        if is_filled and 0 <= number - len(test.references) < len(outputs)
        else joining.read_by_id(name)
        if is_filled or test.ids
        else name
        for number, name in enumerate(names)
    ]
    if not option and all(options.file_key(name)[1] is not None for name in names):
        return list(systems), test, None
    in_order, ids, left_out = joining.joined(texts, drop=test.missing == "segment")
    if ids is None:
        return list(systems), test, None
    if left_out:
        joining.warn_left_out(left_out, "a text")
    paths = []
    for number, (name, text) in enumerate(zip(names, in_order, strict=True)):
        paths.append(folder / str(number) / Path(name).name)
        paths[-1].parent.mkdir()
        write_text(paths[-1], "".join(f"{line}\n" for line in read_lines(text)))
    count = len(test.references)
    files = iter(paths[count:])
    in_ids_order = [
        replace(system, outputs=tuple(Output(next(files)) for _ in system.outputs))
        for system in systems
    ]
    test = replace(test, references=paths[:count], source=next(files, None))
    return in_ids_order, test, ids


FEWEST_GROUPS = 20
"""With fewer groups a comparison warns."""


def find_groups(
    test: TestSet,
    references: Sequence[Path | str],
    segments: int,
    ids: Sequence[str] | None,
    where: str = "the texts",
) -> Groups | None:
    """Return the groups that the user names, or those of the format of a text; None without."""
    if test.known_groups is not None:
        return test.known_groups
    if test.groups is None:
        groups = groups_beside(references, segments, ids)
        if groups is None:
            return None
        notice(f"segments are in {len(groups)} groups, of {groups.where}: tests draw whole groups")
    else:
        groups = read_groups(test.groups, segments, ids, where, drop=test.missing == "segment")
    if len(groups) < FEWEST_GROUPS:
        line = f"{counted(len(groups), 'group')} only, of {groups.where}: "
        lacking = "nothing can be tested" if len(groups) == 1 else "p-values are coarse"
        warn(
            f"{line}{lacking}, and intervals depend on each of them; take {FEWEST_GROUPS} or more"
        )
    return groups


def described_groups(groups: Groups | None) -> dict[str, Any] | None:
    """Return what a comparison says of its groups; None without."""
    if groups is None:
        return None
    sizes = groups.sizes
    return {
        "of": groups.where,
        "count": len(groups),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
    }


def _find(system: SystemFiles) -> NamedSystem:
    name, paths = system.name, system.paths
    if not paths:
        raise InputError(f"system '{name}' has no file; expected the folder of a run, or files")
    if len(paths) == 1 and paths[0].is_dir():
        return _run(name or paths[0].resolve().name, paths[0])
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path}: a folder among files; a run is a system of its own")
        if not is_input(Path(options.file_key(path)[0])):
            raise InputError(
                f"{path}: there is no such file or folder; a system is the folder of a run, or "
                f"name=FILE[,FILE...]"
            )
    if name is None:
        written = options.written_files(paths)
        raise InputError(f"{called(paths[0])}: a file needs a name; write it as name={written}")
    return NamedSystem(name, tuple(Output(path) for path in paths))


def _run(name: str, folder: Path) -> NamedSystem:
    if not (folder / FINGERPRINT_FILE).is_file():
        raise StateError(
            f"{folder}: not the folder of a run (no {FINGERPRINT_FILE}); expected one of tune"
        )
    refuse_misplaced(folder)
    inputs = read_inputs(folder)
    if not (folder / "result.json").is_file():
        config = inputs.config if inputs else None
        command = f"`portmert tune {config}`" if config else "`portmert tune`"
        if inputs and config is None:
            command = "the same `portmert optimize --replicas`"
        elif config and config.name == CALLED.name:
            command = "the same call in Python"
        raise StateError(
            f"{folder}: the run is not finished (no result.json); {command} goes on with it"
        )
    refuse_changed(folder)
    result = read_file(folder / "result.json", TunedFolders)
    tuned_on = result.metric
    parts = [folder / replica.folder for replica in result.replicas] or [folder]
    outputs = []
    for part in parts:
        text, nbest = part / "test" / "output.txt", part / "test" / "nbest.gz"
        for finished in (part, text.parent):
            refuse_changed(finished, whole=True)
        if not text.is_file():
            raise StateError(
                f"{folder}: the run has no output of a test set (no {text.relative_to(folder)}); "
                f"tune with [data] test_source and test_references, optimize with --test-nbest, "
                f"or give name=FILE"
            )
        outputs.append(Output(text, nbest if nbest.is_file() else None))
    untuned = [replica.folder for replica in result.replicas if replica.equals_start]
    if result.equals_start:
        untuned = [folder.name]
    return NamedSystem(name, tuple(outputs), folder, tuned_on, inputs, tuple(untuned))


def _check_same(system: NamedSystem, test: TestFiles) -> None:
    """Compare the contents of the test set's files with the hashes that the run recorded."""
    if system.folder is None:
        return
    try:
        fingerprint = read_json(system.folder / FINGERPRINT_FILE)["fingerprint"]
        keys = ("test_source", "test_references")
        recorded = {key: parse_json(fingerprint[f"data.{key}"]) for key in keys}
    except (ValueError, KeyError, TypeError):
        raise StateError(
            f"{system.folder / FINGERPRINT_FILE}: is not what portmert writes; is this the "
            f"folder of a run?"
        ) from None
    digests = {"test_references": [joining.content_digest(path) for path in test.references]}
    if test.source is not None:
        digests |= {"test_source": joining.content_digest(test.source)}  # type: ignore[dict-item]
    for key, value in digests.items():
        if recorded[key] is not None and recorded[key] != value:
            files = ", ".join(map(str, test.references if "ref" in key else [test.source]))
            raise InputError(
                f"{system.folder}: the run is of another test set: its {key} did not hold what "
                f"{files} holds; compare runs of one test set"
            )
