"""Reads a tuning experiment from a TOML file and checks all of it before anything runs.

Every table is a frozen dataclass. An unknown key is an error that names the nearest known one.
Relative paths are relative to the folder of the TOML file.
"""

import dataclasses
import json
import os
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

import portmert
from portmert.aligners._base import Aligner
from portmert.metrics._base import Metric
from portmert.metrics._lexicon_files import content_hash

from .. import families
from ..base import arguments, errors, files, json_toml, pipes
from ..base.context import available_processors
from ..base.errors import AnnotatorError, ConfigError, counted, faults_at, suggest
from ..base.numbers import Natural, NonNegative, Positive
from ..base.options import cut, file_key, unquoted
from ..components import features, registry
from ..decoders._base import Decoder
from ..executors.opening import Workplace
from ..nbest.records import TABLES
from ..search import DEFAULT_OPTIMIZER
from ..search.constraints import Constraints
from ..search.optimizers._base import Optimizer
from ..texts import statistics, text_pipeline
from ..texts.annotator import Annotator
from .joined import JoinedTexts, SetOfTexts, joined_set

Table = TypeVar("Table")

RESULT_FREE = frozenset(
    {"threads", "processes", "jobs", "annotation_cache", "timeout_seconds", "drop_missing"}
)
"""Keys, in any table, that change the time of a run but not its result.

`drop_missing` changes the texts, whose content counts.
"""

WHERE_IT_RUNS = frozenset(
    {("tune", "output"), *(("decoder", key) for key in ("command", "function", "texts", "batch"))}
)
"""Table and key: the folder of a run, where its programs run, and a function, which has no name
that lasts. A resumed run may change them."""


@dataclass(frozen=True)
class Tune:
    """The [tune] table: the folder of the run, its seed, and when it stops.

    Parameters
    ----------
    output
        Folder of the run. It is made if it does not exist.
    seed
        Seed of all random choices of the run.
    iterations
        Largest number of passes of the outer loop (decode, merge, optimize). If the last one shows
        nothing new after a step that was cut short, one more goes the rest of the way.
    nbest
        Number of hypotheses that the decoder makes for each segment.
    threads
        Number of threads and decoder processes; 0: one for each processor. It changes no result.
    patience
        Stop if the score has not improved for this many iterations. It is the score that chooses
        the best iteration: the held-out score, or else the estimate for unseen text, or else the
        dev score.
    min_weight_change
        Stop if the weights change by less than this in one iteration. The change, 0 to 2, is the
        sum of absolute differences after the absolute values of both vectors are scaled to sum 1.
    decodings
        Largest number of decodings of the dev set; 0 for one more than `iterations`. The weights
        found after the last one are not decoded; they are the result if their score is the best.
    min_gain
        Stop, after three decodings or later, if the next weights score higher on all lists by at
        most this many standard errors. 0 is never. It needs an optimizer that holds segments out.
    weights
        File of start weights: our JSON or a moses.ini. Default: the decoder's own.
    held_out
        Share of the dev segments to hold out of tuning, chosen by the seed. The score of the
        decoder's best output on them chooses the best iteration and decides when to stop.
    prior
        How strongly weights are drawn towards the start weights, see `search.problem.Prior`; 0 is
        not at all.
    bootstrap
        Number of resampled sets of segments. At the end weights are searched for each set, over
        the lists of all iterations, and percentiles of each weight are reported.
    replicas
        Number of whole tunings with different seeds. The result is the average of their weights.
        A larger number adds to the tunings of an earlier run.
    annotation_cache
        Folder of the cache of tags and parses. Default: $PORTMERT_CACHE or the user's cache
        folder. It never changes a result.
    """

    output: Path
    seed: Natural = 1
    iterations: Positive = 10
    nbest: Positive = 100
    threads: Natural = 0
    patience: Positive = 3
    min_weight_change: Annotated[float, Field(ge=0, le=2)] = 0.01
    decodings: Natural = 0
    min_gain: NonNegative = 0.0
    weights: Path | None = None
    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.0
    prior: NonNegative = 0.0
    bootstrap: Natural = 0
    replicas: Positive = 1
    annotation_cache: Path | None = None


@dataclass(frozen=True)
class Data:
    """The [data] table: tokenised text, one segment a line.

    A text may be a column, `FILE.jsonl#KEY` or `FILE.tsv#COLUMN`. Texts with ids are joined by
    them, in the order of the source; the run writes them into its folder `texts`.

    Parameters
    ----------
    source, references
        The dev set, on which weights are tuned.
    reference_links
        Word alignments of source and reference: one file of lines as `0-0 1-2` for each reference.
        Default: the aligner makes them if the metric needs them.
    test_source, test_references, test_reference_links
        A test set. It is decoded and scored once, with the final weights.
    held_out_source, held_out_references, held_out_reference_links
        A set that is never tuned on but decoded and scored in each iteration. Its score, not that
        of the dev set, chooses the best iteration.
    lowercase
        Whether to lowercase both sides for the metric (not for decoder and aligner).
    text
        Steps that change hypotheses and references for the metric, in this order: `lowercase`,
        `debpe`, `13a` and others, see `portmert.tuner.texts.text_pipeline`.
    text_model
        The sentencepiece model for the spm and flores steps.
    drop_missing
        Whether to leave out segments that some text of their set lacks; a warning counts them.
    """

    source: Path
    references: Annotated[tuple[Path, ...], Field(min_length=1)]
    reference_links: tuple[Path, ...] = ()
    test_source: Path | None = None
    test_references: tuple[Path, ...] = ()
    test_reference_links: tuple[Path, ...] = ()
    held_out_source: Path | None = None
    held_out_references: tuple[Path, ...] = ()
    held_out_reference_links: tuple[Path, ...] = ()
    lowercase: bool = False
    text: tuple[str, ...] = ()
    text_model: Path | None = None
    drop_missing: bool = False

    @property
    def pipeline(self) -> text_pipeline.TextPipeline:
        """The steps that change texts before they are scored."""
        return text_pipeline.TextPipeline.from_names(
            ("lowercase",) if self.lowercase else self.text, self.text_model
        )


@dataclass(frozen=True)
class ListsData(Data):
    """The texts of a tuning on given lists.

    Parameters
    ----------
    source, references
        As in `Data`, but both may be missing.
    lists, test_lists
        N-best lists of the dev set and of the test set.
    """

    source: Path | None = None  # type: ignore[assignment]  # what decodes has one
    references: tuple[Path, ...] = ()
    lists: tuple[Path, ...] = ()
    test_lists: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """The content of the file `path`, checked: every file of [tune] and [data] exists."""

    path: Path
    tune: Tune
    data: Data
    metric: Metric
    optimizer: Optimizer
    decoder: Decoder
    aligner: Aligner | None = None
    annotator: Annotator | None = None
    constraints: Constraints = field(default_factory=Constraints)
    executor: Workplace = field(default_factory=Workplace)
    joined: JoinedTexts = field(default_factory=JoinedTexts)

    @property
    def threads(self) -> int:
        """Return the number of threads to use, at least 1."""
        return self.tune.threads or available_processors()

    def fingerprint(self) -> dict[str, str]:
        """Return everything on which the result depends: key -> value, a file by its digest.

        Two experiments with equal fingerprints write the same bytes. The name of a file does not
        count, so that a moved folder is still the same experiment.
        """
        prints = {"portmert": portmert.__version__}
        tables: dict[str, Any] = {
            "tune": self.tune,
            "data": self.data,
            "metric": self.metric,
            "optimizer": self.optimizer,
            "decoder": self.decoder,
            "constraints": self.constraints,
        }
        if self.aligner is not None and "links" in self.metric.needs:
            tables["aligner"] = self.aligner
        if self.annotator is not None and statistics.needs_of([self.metric]):
            prints["annotator"] = self.annotator.fingerprint()
        for table, content in tables.items():
            if table not in {"tune", "data", "constraints"}:
                prints[f"{table}.name"] = content.name()
            for item in dataclasses.fields(content):
                if item.name not in RESULT_FREE and (table, item.name) not in WHERE_IT_RUNS:
                    value = self.joined.content(getattr(content, item.name))
                    prints[f"{table}.{item.name}"] = json.dumps(content_of(value), sort_keys=True)
        return prints


@arguments.checked
def load_config(
    path: Path | str,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    threads: int | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: Path | str | None = None,
    executor: str | None = None,
) -> Experiment:
    """Read and check an experiment.

    Parameters
    ----------
    overrides
        Replace values of the file, each `table.key=value`, or `metric=FORMULA`. A value that is
        not TOML is text. `seed` and `threads` replace both.
    annotator, annotation_cache, executor
        Replace the table [annotator], the folder in [tune], the table [executor].

    Raises
    ------
    ConfigError
        Something in the file is wrong or missing; the text says what and where.

    Examples
    --------
    >>> import portmert
    >>> portmert.load_config("configs/recorded.toml", overrides=["tune.nbest=5"]).tune.nbest
    5
    """
    cache = None if annotation_cache is None else Path(annotation_cache).absolute()
    tune = {"seed": seed, "threads": threads, "annotation_cache": cache}
    settings = {key: value for key, value in tune.items() if value is not None}
    return read_config(Path(path), overrides, settings, annotator, executor)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return json_toml.parse_toml(pipes.standing(path).read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 (byte {error.start}); convert the file") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None


def _override(tables: dict[str, Any], override: str) -> None:
    with faults_at("--set", ConfigError, ConfigError):
        dotted, equals, text = cut(override, "=")
    keys = [key.strip() for key in dotted.split(".")]
    if not equals or not all(keys) or (len(keys) < 2 and keys != ["metric"]):
        raise ConfigError(f"--set {override}: expected table.key=value, for example tune.seed=3")
    try:
        value = json_toml.parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        with faults_at(f"--set {dotted}", ConfigError, ConfigError):
            value = unquoted(text.strip())
    except ValueError as error:
        raise ConfigError(f"--set {dotted}: {str(error).removeprefix('value ')}") from None
    table = tables
    for key in keys[:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise ConfigError(f"--set {override}: {key} is a value, not a table")
    table[keys[-1]] = value


def read_config(
    path: Path,
    overrides: Sequence[str],
    settings: Mapping[str, Any],
    annotator: str | Annotator | None,
    executor: str | None,
) -> Experiment:
    """Read and check an experiment as `load_config` does; `settings` are values of [tune]."""
    tables = _read_toml(path)
    for override in overrides:
        _override(tables, override)
    if annotator is not None:
        tables.pop("annotator", None)
    table = tables.get("decoder")
    if "weights" in tables and isinstance(table, dict):
        if "weights" in table:
            raise ConfigError(f"{path}: [weights] and [decoder.weights]; leave one of them")
        tables["decoder"] = {**table, "weights": tables.pop("weights")}
    _check_tables(path, tables)
    tune = table_of(path, Tune, {**tables["tune"], **settings})
    data = table_of(path, Data, tables["data"])
    parts = {
        family: _component(path, family, tables.get(family, {"name": DEFAULT_OPTIMIZER}))
        for family in ("metric", "optimizer", "decoder", "aligner", "annotator")
        if family in tables or family == "optimizer"
    }
    if annotator is not None:
        parts["annotator"] = registry.annotator(annotator)
    decoder = parts["decoder"]
    if getattr(decoder, "processes", None) == 0:  # one switch for both kinds of workers
        parts["decoder"] = replace(decoder, processes=tune.threads)
    place = Workplace()
    if "executor" in tables:
        place = Workplace.of_table(tables["executor"], where=str(path), folder=path.parent)
    return complete(
        Experiment(
            path=path,
            tune=tune,
            data=data,
            constraints=Constraints.of(tables.get("constraints"), f"{path}: [constraints]"),
            executor=place if executor is None else Workplace.parse(executor),
            **parts,
        )
    )


def complete(experiment: Experiment) -> Experiment:
    """Check an experiment, and put joined texts of its folder in place of columns of files.

    Raises
    ------
    ConfigError
        A file is missing, or what the metric needs; or values do not go together.
    """
    if experiment.tune.min_gain and not experiment.optimizer.holds_out:
        raise ConfigError(
            f"{experiment.path}: [tune] min_gain: optimizer {experiment.optimizer.name()} holds "
            f"no segments out"
        )
    _check_files(experiment)
    _check_needs(experiment)
    return _with_joined_texts(experiment)


def _check_tables(path: Path, tables: Mapping[str, Any]) -> None:
    names = {f.name for f in dataclasses.fields(Experiment)} - {"path", "joined"}
    for name, content in tables.items():
        if name not in names:
            test = "; a test set is test_source and test_references in [data]"
            meant = test if name == "test" else suggest(name, names)
            raise ConfigError(f"{path}: there is no table [{name}]{meant}")
        if not isinstance(content, dict) and not (name == "metric" and isinstance(content, str)):
            raise ConfigError(f"{path}: {name} is a table; write [{name}], then its keys")
    for name in ("tune", "data", "metric", "decoder"):
        if name not in tables:
            raise ConfigError(f"{path}: the table [{name}] is missing")


def table_of(path: Path, cls: type[Table], content: Mapping[str, Any]) -> Table:
    """Return the table [tune] or [data]; relative paths are relative to the folder of `path`.

    Raises
    ------
    ConfigError
        A key is unknown or missing, or a value has the wrong type or range.
    """
    name = cls.__name__.lower()
    keys = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]  # a dataclass
    for key in content:
        if key not in keys:
            raise ConfigError(f"{path}: [{name}] has no key '{key}'{suggest(key, keys)}")
    with faults_at(f"{path}: [{name}]", ConfigError, ConfigError):
        resolved = _resolved(content, cls, path.parent)
    try:
        return TypeAdapter(cls).validate_python(resolved)
    except ValidationError as error:
        raise ConfigError(f"{path}: [{name}] {errors.reason(error)}") from None


def _component(path: Path, family: str, content: Any) -> Any:
    where = f"{path}: [{family}]"
    if family == "metric" and not isinstance(content, str) and "formula" in content:
        formula = content["formula"]
        if len(content) > 1 or not isinstance(formula, str):
            raise ConfigError(
                f'{where} formula = "..." stands alone: it names the metrics and their options'
            )
        content = formula
    if isinstance(content, str):  # metric = "0.6*port + 0.4*(1-ter)"
        try:
            return registry.metric(content)
        except ConfigError as error:
            raise ConfigError(f"{where} {error}") from None
    name = content.get("name")
    if not isinstance(name, str):
        choices = ", ".join(families.names(family))
        raise ConfigError(f'{where} needs name = "...", one of: {choices}')
    try:
        cls = families.component(family, name)
        options = {key: value for key, value in content.items() if key != "name"}
        resolved = _resolved(options, cls, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{where} {error}") from None
    return registry.build(family, name, resolved, where=where)


def _resolved(content: Mapping[str, Any], cls: type[Any], folder: Path) -> dict[str, Any]:
    """Put the config's folder before relative paths: values annotated `Path` or `Feature`."""
    hints = typing.get_type_hints(cls)
    makers: dict[type[Any], Callable[[str], object]] = {
        Path: lambda text: text if text == pipes.STDIN else str(folder / files.expanded(text)),
        features.Feature: lambda text: features.Feature.parse(text, folder),
    }
    resolved = dict(content)
    for key in content:
        for kind, make in makers.items():
            if _is_of(kind, hints.get(key)):
                with faults_at(key, errors.InputError, ConfigError):  # ~nobody
                    resolved[key] = _converted(content[key], make)
    return resolved


def _is_of(kind: type[Any], hint: object) -> bool:
    return hint is kind or any(_is_of(kind, part) for part in typing.get_args(hint))


def _converted(value: object, make: Callable[[str], object]) -> object:
    if isinstance(value, str):
        return make(value)
    if isinstance(value, list):
        return [_converted(item, make) for item in value]
    return value


def _check_files(experiment: Experiment) -> None:
    path, data, outputs = experiment.path, experiment.data, {"output", "annotation_cache"}
    if data.lowercase and data.text:
        raise ConfigError(
            f"{path}: [data] lowercase and text: make lowercase one of the steps of text"
        )
    with faults_at(f"{path}: [data] text", ConfigError, ConfigError):
        _ = data.pipeline
    keys_of_table = {
        "tune": [item.name for item in dataclasses.fields(Tune) if item.name not in outputs],
        "data": [item.name for item in dataclasses.fields(Data)],
        "decoder": experiment.decoder.inputs,
    }
    for table, names in keys_of_table.items():
        for name in names:
            for file in _named_files(getattr(getattr(experiment, table), name)):
                if not os.path.isfile(file_key(file)[0]):  # noqa: PTH113  long names
                    raise ConfigError(f"{path}: [{table}] {name}: there is no file {file}")
    _check_sets(experiment)


def _named_files(value: object) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    for item in value.files if isinstance(value, features.Feature) else ():
        yield item
    for item in value if isinstance(value, tuple) else ():
        yield from _named_files(item)


def _check_sets(experiment: Experiment) -> None:
    path, data = experiment.path, experiment.data
    for prefix in ("test_", "held_out_"):
        key, counterpart = f"{prefix}source", f"{prefix}references"
        if (getattr(data, key) is None) != (not getattr(data, counterpart)):
            if getattr(data, key) is None:
                key, counterpart = counterpart, key
            raise ConfigError(
                f"{path}: [data] has {key}, but no {counterpart}; give both or neither"
            )
    if experiment.tune.held_out and data.held_out_source is not None:
        raise ConfigError(
            f"{path}: [tune] held_out and [data] held_out_source; give one of them: a share of "
            f"the dev set or a set of its own"
        )
    for prefix in ("", "test_", "held_out_"):
        references = getattr(data, f"{prefix}references")
        links = getattr(data, f"{prefix}reference_links")
        if links and len(links) != len(references):
            raise ConfigError(
                f"{path}: [data] {prefix}reference_links: {counted(len(links), 'file')} for "
                f"{counted(len(references), 'reference')}; give one for each, or none"
            )


def _with_joined_texts(experiment: Experiment) -> Experiment:
    """Return the experiment with texts of its folder in place of columns of files."""
    data, folder = experiment.data, files.absolute(experiment.tune.output) / "texts"
    replacements: dict[str, Any] = {}
    texts: dict[Path, str] = {}
    left_out: list[tuple[str, ...]] = []
    for prefix in ("", "test_", "held_out_"):
        keys = [f"{prefix}{key}" for key in ("source", "references", "reference_links")]
        set_of_texts = SetOfTexts(*(getattr(data, key) for key in keys))
        if set_of_texts.source is None:
            continue
        try:
            joined = joined_set(set_of_texts, folder, prefix, drop=data.drop_missing)
        except errors.InputError as error:
            advice = str(error).replace("--drop-missing", "[data] drop_missing = true")
            raise errors.InputError(advice) from None
        if joined is None:
            continue
        source, *joined_files = joined.texts
        count = len(set_of_texts.references)
        replacements |= zip(
            keys, (source, tuple(joined_files[:count]), tuple(joined_files[count:])), strict=True
        )
        texts |= joined.texts
        left_out += joined.left_out
    return replace(
        experiment, data=replace(data, **replacements), joined=JoinedTexts(texts, tuple(left_out))
    )


def _check_needs(experiment: Experiment) -> None:
    metric, annotator, data = experiment.metric, experiment.annotator, experiment.data
    if "links" in metric.needs and experiment.aligner is None:
        for prefix in ("", "test_", "held_out_"):
            links = f"{prefix}reference_links"
            if getattr(data, f"{prefix}references") and not getattr(data, links):
                raise ConfigError(
                    f"{experiment.path}: metric {metric.name()} needs links of the references; "
                    f"give [data] {links}, a file of `0-0 1-2` lines for each reference, or an "
                    f"[aligner]"
                )
    if annotator is not None:
        try:
            annotator.fingerprint()  # also where the metric asks it for nothing
        except AnnotatorError as error:
            raise ConfigError(f"{experiment.path}: [annotator] {error}") from None
    elif statistics.needs_of([metric]):
        raise ConfigError(
            f"{experiment.path}: metric {metric.name()} compares syntax; give an [annotator] that "
            f'tags or parses, as name = "udpipe" and model = "FILE"'
        )


# The content of files that configurations name.


def content_of(value: object) -> Any:
    """Return a value for JSON; a file is replaced by the digest of its content."""
    if isinstance(value, features.Feature):
        value = value.content()
    if isinstance(value, Path):
        return _digest(value)
    if isinstance(value, Metric):  # a metric of a formula
        options = {f.name: content_of(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"name": value.name(), **options}
    if isinstance(value, list | tuple):
        return [content_of(item) for item in value]
    if isinstance(value, dict):
        return {str(key): content_of(item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)


def _digest(path: Path) -> str | list[str]:
    """Return a digest of a file, or of a WordNet folder; the name of another folder.

    Of `FILE#KEY` it is both.
    """
    file, key = file_key(path)
    if key is not None:
        return [str(_digest(Path(file))), key]
    if path.is_file() or any(path.rglob(TABLES)):
        return files.file_digest(path)
    if (path / "index.sense").is_file():
        return content_hash(path)
    return path.name
