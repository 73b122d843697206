"""Scorers: the metric of `--sctype PORT --scconfig alpha:0.5,source:dev.ja`, and its texts."""

import dataclasses
import re
import shlex
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from portmert.metrics._base import Metric, Texts, Vocabulary
from portmert.tuner import families
from portmert.tuner.base import numbers, programs
from portmert.tuner.base.errors import ConfigError, InputError, ProgramError, counted, faults_at
from portmert.tuner.components import external, registry
from portmert.tuner.texts import corpus, prepare, text_pipeline
from portmert.tuner.texts.annotator import TextAnnotator, open_annotator
from portmert.tuner.texts.corpus import References
from portmert.tuner.texts.statistics import annotator_needed, needs_of

NOT_HERE = {
    "sempos": "it compares tectogrammatic factors, which only Moses' own program reads",
    "meant": "it asks a server of semantic roles",
}
"""Scorers of Moses that are no metrics here, and why."""

FILTER_SECONDS = 600.0
"""A filter that reads and writes nothing for so long hangs: it changes lines, one by one."""
TIMES_INPUT = 100
"""Output larger than this many times the input is none of a filter."""


@dataclass(frozen=True)
class Scorer:
    """A metric, and how texts are prepared for it.

    Parameters
    ----------
    metric : Metric
    name : str
        Its name in scores.dat: --sctype in capitals.
    lowercase : bool
        Moses' `case:false`.
    source : Path or None
    links : tuple of Path
        Links of the source and each reference.
    factors : tuple of int
        Which of a token's factors `a|b|c` are scored; empty: all there is.
    annotator : str
        The annotator that tags or parses texts, written as for `portmert score --annotator`;
        empty: none.
    filter : str
        Command that changes every text; it reads a line and writes a line.
    text : str
        Steps as of `portmert score --text`, with commas between them.
    notes : tuple of str
        Remarks on the options, for the user.
    """

    metric: Metric
    name: str
    lowercase: bool = False
    source: Path | None = None
    links: tuple[Path, ...] = ()
    factors: tuple[int, ...] = ()
    annotator: str = ""
    filter: str = ""
    text: str = ""
    notes: tuple[str, ...] = ()

    def references(self, paths: Sequence[Path | str], vocabulary: Vocabulary) -> References:
        """Read the references, prepared.

        Raises
        ------
        InputError
            As `plain_references`; or the metric needs an annotator and there is none.
        """
        read = self.plain_references(paths, vocabulary)
        return replace(read, texts=self.prepared(read.texts, "ref"))

    def plain_references(self, paths: Sequence[Path | str], vocabulary: Vocabulary) -> References:
        """Read the references as they stand.

        Raises
        ------
        InputError
            They do not fit, or the metric needs links and there are none.
        """
        if "links" in self.metric.needs and not (self.source and self.links):
            raise InputError(
                f"metric {self.metric.name()} compares word orders: it needs the source text and "
                f"the links of the references; add them to --scconfig as "
                f"source:FILE,reflinks:FILE (one file for each reference, with + between them; "
                f"`portmert align` makes links)"
            )
        return corpus.read_references(
            paths, vocabulary=vocabulary, source=self.source, links=self.links
        )

    def prepared(self, texts: Texts, side: text_pipeline.Side = "hyp") -> Texts:
        """Return texts as the metric sees them: filtered, of some factors, parsed, lowercased."""
        if self.filter:
            texts = _filtered(texts, self.filter)
        if self.factors:
            texts = corpus.with_words(texts, self._of_factors)
        steps = (*filter(None, self.text.split(",")), *(["lowercase"] * self.lowercase))
        pipeline = text_pipeline.TextPipeline.from_names(steps)
        with ExitStack() as opened:
            preparation = prepare.Preparation.of(
                [self.metric],
                pipeline,
                lambda: opened.enter_context(closing(self._open_annotator())),
            )
            return preparation.prepared(texts, side)

    def _open_annotator(self) -> TextAnnotator:
        if not self.annotator:
            message = annotator_needed(self.metric, "add it to --scconfig, as annotator:")
            raise InputError(f"{message} (further options behind semicolons)")
        annotator = registry.annotator(self.annotator)
        return open_annotator(annotator, processes=1)

    def _of_factors(self, token: str) -> str:
        parts = token.split("|")
        if max(self.factors) >= len(parts):
            raise InputError(
                f"token '{token}' has {len(parts)} factors, --factors asks for number "
                f"{max(self.factors)} (they count from 0)"
            )
        return "|".join(parts[factor] for factor in self.factors)


def read_scorer(
    sctype: str, scconfig: str, *, factors: str = "", filter_command: str = "", text: str = ""
) -> Scorer:
    """Return the scorer of Moses' options.

    `scconfig` is `key:value,key:value`: options of the metric; `case:true` or `false`;
    `reflen:closest`, `shortest` or `average` where the metric has it; and, for metrics of word
    order, `source:FILE`, `reflinks:FILE+FILE`; for metrics that compare syntax
    `annotator:NAME:option=value;option=value`. Of several metrics, `BLEU,TER`,
    the weighted mean is scored, `weights:0.7+0.3`, of error rates 1 - rate.

    Raises
    ------
    ConfigError
        An unknown metric, key or value.
    """
    options: dict[str, str] = {}
    for item in filter(None, scconfig.split(",")):
        key, colon, value = item.partition(":")
        if not colon:
            raise ConfigError(f"--scconfig {scconfig}: '{item}' is not key:value")
        options[key] = value
    case = options.pop("case", "true")
    if case not in {"true", "false"}:
        raise ConfigError(f"--scconfig: case:{case}, expected true or false")
    source, links = options.pop("source", ""), options.pop("reflinks", "")
    annotator = options.pop("annotator", "").replace(";", ",")
    name = sctype.lower().replace("_", "-")
    outside = _from_outside(sctype, options)
    name = name if outside is None else outside.name()
    for metric_name in name.split(","):
        if metric_name in NOT_HERE:
            raise ConfigError(
                f"--sctype {sctype}: {metric_name.upper()} is not supported: "
                f"{NOT_HERE[metric_name]}; `portmert metrics` lists what is"
            )
    notes: tuple[str, ...] = ()
    classes = [type(outside)] if outside else []
    classes = classes or [families.component("metric", part) for part in name.split(",")]
    if "reflen" in options and not any("reflen" in _fields(cls) for cls in classes):
        reflen = options.pop("reflen")
        notes = (f"reflen:{reflen} is ignored: metric {name} has no choice of it",)
    metric = outside or _metric(name, options)
    if annotator:
        registry.annotator(annotator)
        if not needs_of([metric]):
            notes = (*notes, f"annotator:{annotator} is ignored: metric {name} needs none")
    return Scorer(
        metric=metric,
        name=name.upper(),
        lowercase=case == "false",
        source=Path(source) if source else None,
        links=tuple(Path(path) for path in links.split("+") if path),
        factors=_factors(factors),
        annotator=annotator,
        filter=filter_command,
        text=text,
        notes=notes,
    )


def _from_outside(sctype: str, options: dict[str, str]) -> Metric | None:
    """Return a metric from outside, as `m2` or `command:PROGRAM`; None for another one."""
    kind, _, argument = sctype.partition(":")
    kind = kind.lower().replace("m2scorer", "m2")
    if kind not in external.NAMES:
        return None
    if kind == "m2" and options.get("max_unchanged_words") == "2":  # as ours always has
        del options["max_unchanged_words"]
    settings = [f"{key}={options.pop(key)}" for key in list(options) if key != "reflen"]
    parts = ",".join(filter(None, (argument, *settings)))
    metric = registry.metric(f"{kind}:{parts}" if parts else kind)
    if metric.of_lists:
        raise ConfigError(
            f"--sctype {sctype}: it has scores of given hypotheses, and decoding makes new ones; "
            f"`portmert optimize` tunes on given lists"
        )
    return metric


def _metric(name: str, options: dict[str, str]) -> Metric:
    if "," in name:
        return _interpolated(name, options)
    built: Metric = registry.build("metric", name, options, where="--scconfig")
    return built


def _interpolated(name: str, options: dict[str, str]) -> Metric:
    """Return the mean of several metrics; an option goes to those that have it."""
    names = name.split(",")
    texts = options.pop("weights", "+".join(["1"] * len(names))).split("+")
    weights = [numbers.parse_number(text) for text in texts]
    if len(weights) != len(names) or any(w is None or w < 0 for w in weights) or not any(weights):
        raise ConfigError(
            f"--scconfig: weights:{'+'.join(texts)}, expected {counted(len(names), 'number')} "
            f"with + between them, one for each of {name}"
        )
    total = sum(weight or 0.0 for weight in weights)
    fields: set[str] = set()
    parts = []
    for metric_name, weight in zip(names, weights, strict=True):
        cls = families.component("metric", metric_name)
        settings = [f"{key}={value}" for key, value in options.items() if key in _fields(cls)]
        fields |= _fields(cls)
        text = f"{metric_name}:{','.join(settings)}" if settings else metric_name
        better = text if cls.higher_is_better else f"(1 - {text})"
        parts.append(f"{(weight or 0.0) / total!r} * {better}")
    for key in options:
        if key not in fields:
            raise ConfigError(f"--scconfig: none of {name} has an option '{key}'")
    return registry.metric(" + ".join(parts))


def _fields(cls: type[Metric]) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)}


def _factors(text: str) -> tuple[int, ...]:
    if not text:
        return ()
    items = text.split("|")
    if not all(re.fullmatch("[0-9]{1,9}", item) for item in items):
        raise ConfigError(f"--factors {text}: expected numbers with | between them, as 0|2")
    return tuple(int(item) for item in items)


def _filtered(texts: Texts, command: str) -> Texts:
    """Return texts after a program read all of them and wrote as many lines.

    All lines are sent before any is awaited, so a program may buffer its output, or read all lines
    before it writes one. It changes lines one by one: one that reads and writes nothing for ten
    minutes hangs.
    """
    lines = [" ".join(texts.words(row)) for row in range(len(texts))]
    text = "".join(f"{line}\n" for line in lines).encode()
    with faults_at(f"--filter {command}", ValueError, ConfigError):
        words = shlex.split(command)
    with programs.scratch(name="filter") as folder:
        source, out = folder / "in", folder / "out"
        source.write_bytes(text)
        programs.run(
            programs.Command(
                words,
                folder / "log",
                out,
                given=source,
                bounds={out: programs.Bound((1 << 20) + TIMES_INPUT * len(text))},
                timeout_seconds=FILTER_SECONDS,
                name=f"--filter {command}",
                is_scratch=True,
            )
        )
        filtered_lines = out.read_bytes().decode("utf-8", "replace").split("\n")
    if filtered_lines[-1] == "":
        filtered_lines.pop()
    if len(filtered_lines) != len(lines):
        raise ProgramError(
            f"--filter {command}: {counted(len(lines), 'line')} in, "
            f"{counted(len(filtered_lines), 'line')} out; it must write a line for each"
        )
    filtered = Texts.from_lines(filtered_lines, texts.vocabulary)
    if texts.links is None:
        return filtered
    changed = np.flatnonzero(filtered.tokens.lengths != texts.tokens.lengths)
    if len(changed):
        raise InputError(
            f"--filter {command}: '{lines[changed[0]]}' becomes '{filtered_lines[changed[0]]}', "
            f"another number of tokens: links would point to other words"
        )
    return replace(filtered, links=texts.links)
