"""Moses' command line: its switches, the weights that it shows and is told, its launcher."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..base.errors import InputError, counted
from ..base.markup import SGML
from ..base.numbers import parse_finite
from ..weights.feature_weights import FeatureNames, FeatureWeights
from ..weights.moses_ini import NEVER_TUNED

PLACEHOLDER = "{command}"
NOT_TUNED = "UNTUNEABLECOMPONENT"

FULL_NAMES = {
    "aws": "alternate-weight-setting", "b": "beam-threshold", "cbd": "cube-pruning-diversity",
    "cbds": "cube-pruning-deterministic-search", "cbls": "cube-pruning-lazy-scoring",
    "cbp": "cube-pruning-pop-limit", "con": "consensus-decoding", "da": "phrase-drop-allowed",
    "dd": "disable-discarding", "dl": "distortion-limit", "dpb": "decoding-graph-backoff",
    "du": "drop-unknown", "edc": "early-distortion-cost", "edt": "early-discarding-threshold",
    "fd": "factor-delimiter", "lhssg": "include-lhs-in-search-graph",
    "lmbr": "lminimum-bayes-risk", "mbr": "minimum-bayes-risk", "mp": "monotone-at-punctuation",
    "mu": "mark-unknown", "osg": "output-search-graph", "osgx": "output-search-graph-extended",
    "owg": "output-word-graph", "pb": "output-search-graph-pb", "r": "recover-input-path",
    "s": "stack", "sd": "stack-diversity", "slf": "output-search-graph-slf",
    "t": "report-segmentation", "T": "translation-details", "Tall": "translation-all-details",
    "th": "threads", "tot": "translation-option-threshold", "tt": "report-segmentation-enriched",
    "Ttree": "tree-translation-details", "usg": "unpruned-search-graph", "v": "verbose",
    "xb": "xml-brackets", "xi": "xml-input",
}  # fmt: skip
"""Short name of a switch -> the name that a moses.ini must use (moses/Parameter.cpp)."""


MARKS = (
    ("report-segmentation", re.compile(r"^\|\d+-\d+\|$"), "leave it out (-t)"),
    ("report-segmentation-enriched", re.compile(r"^\|\d+-\d+,"), "leave it out (-tt)"),
    (
        "report-all-factors",
        re.compile(r".\|."),
        "leave it out, or give references with the same factors",
    ),
)
"""Switches that change the hypotheses of lists, what references must then have, and advice."""
_TAG = re.compile(rb"</?[A-Za-z][^<>]*>")


def parse_flags(flags: str) -> dict[str, list[str]]:
    """Return the switches as they are written, without their dashes, each with its values.

    Raises
    ------
    ValueError
        A quotation mark is not closed.
    """
    switches: dict[str, list[str]] = {}
    name = ""
    for word in shlex.split(flags):
        if word.startswith("-") and word[1:2] not in {*"0123456789", ""}:
            name = word.lstrip("-")
            switches[name] = []
        elif name:
            switches[name].append(word)
    return switches


def flag_sections(flags: str) -> dict[str, list[str]]:
    """Return the switches as sections of a moses.ini: full name -> lines.

    Moses reads a section that has a short name, as `[s]`, or no line, and forgets it. So names are
    full, and a switch without a value is `true`.
    """
    return {
        FULL_NAMES.get(name, name): values or ["true"]
        for name, values in parse_flags(flags).items()
    }


def is_on(values: Sequence[str]) -> bool:
    """Return whether a switch with these values is set."""
    return bool(values) and values[0].lower() not in {"0", "false", "no", "off"}


def check_source(
    source: Path, lines: Sequence[bytes], settings: Mapping[str, list[str]], *, linked: bool
) -> None:
    """Raise `InputError` for a line that Moses reads as something else, or dies of.

    Parameters
    ----------
    settings
        Full name of a switch -> its values.
    linked
        See `Decoder.check_texts`.
    """
    if SGML.match(lines[0].decode("utf-8", "replace")):
        raise InputError(f"{source}: SGML, whose tags Moses would translate; give plain lines")
    kind = (settings.get("inputtype") or ["0"])[0]
    if kind != "0" and linked:
        raise InputError(
            f"{source}: -inputtype {kind} has no positions of words, and the metric needs links "
            f"to them; take a metric without links, or decode text"
        )
    if kind != "0":
        return
    reads_xml = (settings.get("xml-input") or ["pass-through"])[0] not in {"pass-through", "0"}
    delimiter = (settings.get("factor-delimiter") or ["|"])[0].encode()
    factors: tuple[int, bytes] | None = None
    for number, raw in enumerate(lines, 1):
        line = raw
        if reads_xml:
            line = _TAG.sub(b" ", raw)
            if b"<" in line:
                raise InputError(
                    f"{source}:{number}: '<' that begins no XML, and -xml-input reads XML: Moses "
                    f"would translate nothing of the line; escape it as &lt;"
                )
        for word in line.split():
            if word[:1] == b"[" and word[-1:] == b"]":
                raise InputError(
                    f"{source}:{number}: Moses dies of '{word.decode('utf-8', 'replace')}', which "
                    f"it takes for a nonterminal; escape the brackets as &#91; and &#93;"
                )
            count = word.count(delimiter) if delimiter else 0
            factors = factors or (count, word)
            if count != factors[0]:
                words = [each.decode("utf-8", "replace") for each in (word, factors[1])]
                raise InputError(
                    f"{source}:{number}: '{words[0]}' has {counted(count + 1, 'factor')}, "
                    f"'{words[1]}' {factors[0] + 1}: all words must have as many; escape a "
                    f"{delimiter.decode()} that separates none as &#124;"
                )


def wrapped(wrapper: str, command: Sequence[str]) -> tuple[str, ...]:
    """Return the command line that starts `command` through a launcher.

    `{command}` in the wrapper becomes the whole command as one argument, quoted for a shell.
    Without it, the command follows the wrapper's words; for `ssh` it is quoted.
    """
    words = shlex.split(wrapper)
    if any(PLACEHOLDER in word for word in words):
        return tuple(word.replace(PLACEHOLDER, shlex.join(command)) for word in words)
    if words and Path(words[0]).name in {"ssh", "rsh"}:  # which join their arguments by spaces
        return (*words, shlex.join(command))
    return (*words, *command)


@dataclass(frozen=True)
class ShownFeatures:
    """The dense features that can be tuned, as Moses shows them.

    Parameters
    ----------
    weights : FeatureWeights
        Weights of the tuneable components, in the order of Moses' n-best lists.
    tuned : mapping of str to tuple of bool
        For each feature that has other components too: which of them are tuneable.
    untuneable : tuple of str
        Features without a tuneable component.
    """

    weights: FeatureWeights
    tuned: Mapping[str, tuple[bool, ...]]
    untuneable: tuple[str, ...]

    @property
    def names(self) -> FeatureNames:
        """Each feature and how many tuneable components it has."""
        return self.weights.names

    @cached_property
    def dense(self) -> frozenset[str]:
        """The names of all features that Moses calls dense."""
        return frozenset({*self.weights.values, *self.untuneable})

    @property
    def hides_some(self) -> bool:
        """Whether lists lack features that may move hypotheses; a penalty of unknown words not."""
        hidden = (name.rstrip("0123456789") for name in self.untuneable)
        return bool(self.tuned) or not NEVER_TUNED.issuperset(hidden)

    def is_sparse(self, name: str) -> bool:
        """Return whether a feature of this name is sparse."""
        return "_" in name and name not in self.dense

    def overwrite(self, weights: FeatureWeights) -> str:
        """Return the argument of `-weight-overwrite`: `LM0= 0.5 TM0= 0.2 x`.

        An `x` keeps what moses.ini says.

        Raises
        ------
        InputError
            A feature has no weight, or another number of them.
        """
        weights.vector(self.names)
        parts = []
        for name, size in self.names:
            values = iter(weights.values[name])
            mask = self.tuned.get(name, (True,) * size)
            parts += [f"{name}=", *(repr(next(values)) if tuned else "x" for tuned in mask)]
        return " ".join(parts)


def parse_shown(text: str) -> ShownFeatures:
    """Read what `-show-weights` printed.

    Lines that are neither `Name= numbers` nor `Name UNTUNEABLE` are other messages, of the program
    or of its launcher.

    Raises
    ------
    InputError
        No feature can be tuned, or a weight is not a number.
    """
    values: dict[str, tuple[float, ...]] = {}
    tuned: dict[str, tuple[bool, ...]] = {}
    untuneable = []
    for line in text.splitlines():
        name, *tokens = line.split() or [""]
        if tokens == ["UNTUNEABLE"]:
            untuneable.append(name)
        if not name.endswith("=") or not tokens:
            continue
        name = name[:-1]
        mask = tuple(token != NOT_TUNED for token in tokens)
        numbers = []
        for token in tokens:
            value = parse_finite(token)
            if value is not None:
                numbers.append(value)
            elif token != NOT_TUNED:
                raise InputError(
                    f"-show-weights: weight of {name} is '{token}', expected a number"
                )
        if not numbers:
            untuneable.append(name)
            continue
        values[name] = tuple(numbers)
        if not all(mask):
            tuned[name] = mask
    if not values:
        raise InputError("-show-weights: names no feature that can be tuned")
    return ShownFeatures(FeatureWeights(values), tuned, tuple(untuneable))
