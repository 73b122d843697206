"""Lexical resources in files: WordNet, paraphrase tables, lists of words."""

import functools
import gzip
import hashlib
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from ._base import FloatArray, Ragged, Vocabulary

T = TypeVar("T")

_TERP_ENTRY = re.compile(r"(\S+)(?:\s+(\S+))?\s+<p>(.*)</p>\s+<p>(.*)</p>")

PARTS = ("noun", "verb", "adj", "adv")
_WORDNET_FILES = ("index.sense", *(f"{part}.exc" for part in PARTS))
_FREE, _RATIO = 1 << 22, 200
"""Bytes that any .gz may expand to; a larger content is at most so many times its file."""
_OFFSET = re.compile(r"[0-9]{1,18}")
_PART_OF_TYPE = {"1": 0, "2": 1, "3": 2, "4": 3, "5": 2}
"""The parts of speech of `index.sense`; 5 are satellite adjectives, kept with the adjectives."""
DETACHMENTS = tuple(
    tuple(pair.split(":") for pair in pairs.split())
    for pairs in (
        "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y",
        "s: ies:y es:e es: ed:e ed: ing:e ing:",
        "er: est: er:e est:e",
        "",
    )
)
"""Endings of inflected forms and of their base forms, by part of speech: WordNet's morphy."""


@dataclass(frozen=True, eq=False)
class WordNet:
    """The sets of synonyms of words.

    Parameters
    ----------
    synsets
        For each part of speech: lemma -> its sets.
    exceptions
        For each part of speech: irregular form -> lemmas.
    """

    synsets: tuple[Mapping[str, Sequence[int]], ...]
    exceptions: tuple[Mapping[str, Sequence[str]], ...]

    def sets(self, word: str) -> set[int]:
        """Return the sets of a word and of its base forms; a set of all parts of speech."""
        lemma = word.lower()
        numbers: set[int] = set()
        parts = zip(self.synsets, self.exceptions, DETACHMENTS, strict=True)
        for synsets, exceptions, detachments in parts:
            bases = [lemma, *exceptions.get(lemma, ())]
            if lemma not in exceptions:
                bases += [
                    lemma.removesuffix(ending) + base
                    for ending, base in detachments
                    if lemma.endswith(ending)
                ]
            for base in bases:
                numbers.update(synsets.get(base, ()))
        return numbers


@dataclass(frozen=True, eq=False)
class Paraphrases:
    """Pairs of phrases that mean the same.

    Parameters
    ----------
    words
        The words behind the ids of the phrases.
    left, right : Ragged
        E phrases each, none empty; in TERp left is the reference's.
    probabilities : (E,) float64
        Above 0; TERp's tables may have numbers above 1.
    """

    words: list[str]
    left: Ragged
    right: Ragged
    probabilities: FloatArray


def _cached(parse: Callable[..., T]) -> Callable[..., T]:
    """Return a function that parses files again only if they have changed."""

    @functools.lru_cache(maxsize=6)
    def cached(paths: tuple[Path, ...], _: object) -> T:
        return parse(*paths)

    def read(*paths: Path) -> T:
        stamps = []
        for path in paths:
            try:
                status = path.stat()
            except OSError as error:
                raise ValueError(f"{path}: {error.strerror or error}") from None
            stamps.append((path.absolute(), status.st_mtime_ns, status.st_size))
        return cached(paths, tuple(stamps))

    return functools.wraps(parse)(read)


def read_wordnet(folder: Path) -> WordNet:
    """Read `index.sense` and the four `*.exc` of a WordNet 3 folder.

    Raises
    ------
    ValueError
        A file is missing or has a line that WordNet's files do not have.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; expected the dict folder of WordNet")
    for name in _WORDNET_FILES:
        if not (folder / name).is_file():
            raise ValueError(
                f"{folder}: no file {name}; expected the dict folder of WordNet, which has "
                f"{', '.join(_WORDNET_FILES)}"
            )
    return _parse_wordnet(*(folder / name for name in _WORDNET_FILES))


@_cached
def read_paraphrases(path: Path) -> Paraphrases:
    """Read a table as Meteor's (three lines a pair) or TERp's (`0.1 <p>a</p> <p>b</p>`), or .gz.

    Left out are pairs of two equal phrases, which say nothing, and pairs of probability 0, whose
    price in TERp is infinite.

    Raises
    ------
    ValueError
        The file cannot be read or a line is not of its format; the message names it.
    """
    lines = _lines(path)
    if not any(lines):
        raise ValueError(f"{path}: the file is empty; expected a table of paraphrases")
    first = next(line for line in lines if line)
    entries = _terp_entries(path, lines) if "<p>" in first else _meteor_entries(path, lines)
    vocabulary = Vocabulary()
    add = vocabulary.add
    left, right, probabilities = [], [], []
    for entry in entries:
        left_words, right_words = entry.phrase.split(), entry.paraphrase.split()
        if not left_words or not right_words:
            raise ValueError(f"{path}:{entry.line}: a phrase without a word")
        if left_words != right_words and entry.probability > 0.0:
            probabilities.append(entry.probability)
            left.append([add(word) for word in left_words])
            right.append([add(word) for word in right_words])
    return Paraphrases(
        vocabulary.words,
        Ragged.from_rows(left),
        Ragged.from_rows(right),
        np.array(probabilities, dtype=np.float64),
    )


@_cached
def read_words(path: Path) -> frozenset[str]:
    """Read a list of words, one per line.

    Raises
    ------
    ValueError
        The file cannot be read, has no word, or a line with several.
    """
    lines = _lines(path)
    for number, line in enumerate(lines, 1):
        if len(line.split()) > 1:
            raise ValueError(f"{path}:{number}: {len(line.split())} words; expected one per line")
    words = frozenset(line.lower() for line in lines if line)
    if not words:
        raise ValueError(f"{path}: no word; expected a list of words, one per line")
    return words


def content_hash(path: Path) -> str:
    """Return a hash of what a file holds; of a folder, of what is read of WordNet there."""
    paths = [path / name for name in _WORDNET_FILES] if path.is_dir() else [path]
    digest = hashlib.sha256()
    for each in paths:
        try:
            digest.update(hashlib.sha256(each.read_bytes()).digest())
        except OSError as error:
            raise ValueError(f"{each}: {error.strerror or error}") from None
    return f"sha256:{digest.hexdigest()}"


def _lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file, .gz or not, without white space around them."""
    data = bytearray()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            most = max(_FREE, _RATIO * path.stat().st_size)
            while piece := file.read(_FREE):  # read(most) would take that much memory at once
                data += piece
                if len(data) > most:
                    raise ValueError(
                        f"{path}: the compressed content is more than {_RATIO} times the file"
                    )
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}: not UTF-8; convert the file to UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(
            f"{path}: the compressed stream is damaged or cut off; copy or make the file again"
        ) from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    return [line.strip() for line in text.removeprefix("\ufeff").removesuffix("\n").split("\n")]


@_cached
def _parse_wordnet(index: Path, *exception_files: Path) -> WordNet:
    synsets: tuple[dict[str, list[int]], ...] = ({}, {}, {}, {})
    for number, line in enumerate(_lines(index), 1):
        # lemma%type:file:id:head:head_id offset sense tags
        sense, _, fields = line.partition(" ")
        lemma, _, key = sense.rpartition("%")
        part, offset = _PART_OF_TYPE.get(key[:1]), fields.partition(" ")[0]
        if not lemma or part is None or not _OFFSET.fullmatch(offset):
            raise ValueError(
                f"{index}:{number}: no line of WordNet's index.sense; expected "
                f"lemma%type:file:id:: offset sense tags"
            )
        # The same offset stands for another set in the file of another part of speech.
        synsets[part].setdefault(lemma, []).append(int(offset) * len(PARTS) + part)
    exceptions: list[dict[str, list[str]]] = []
    for path in exception_files:
        forms: dict[str, list[str]] = {}
        for number, line in enumerate(_lines(path), 1):
            form, *bases = line.split() or [""]
            if form and not bases:
                raise ValueError(f"{path}:{number}: '{form}' has no base form behind it")
            forms.setdefault(form, []).extend(bases)
        exceptions.append(forms)
    return WordNet(synsets, tuple(exceptions))


class _Entry(NamedTuple):
    """The first line of a pair, its probability, and both phrases."""

    line: int
    probability: float
    phrase: str
    paraphrase: str


def _meteor_entries(path: Path, lines: list[str]) -> Iterator[_Entry]:
    """Yield the pairs of a table of three lines a pair."""
    if len(lines) % 3:
        raise ValueError(
            f"{path}: its number of lines, {len(lines)}, is no multiple of three; expected "
            f"three a pair: probability, phrase, paraphrase "
            f"(or one, as in TERp: 0.1 <p>phrase</p> <p>paraphrase</p>)"
        )
    for number in range(0, len(lines), 3):
        probability, first, second = lines[number : number + 3]
        if not 0.0 < _number(probability) <= 1.0:
            raise ValueError(
                f"{path}:{number + 1}: probability {probability}; expected a number above 0, to 1"
            )
        yield _Entry(number + 1, float(probability), first, second)


def _terp_entries(path: Path, lines: list[str]) -> Iterator[_Entry]:
    """Yield the pairs of a table of one line a pair; a line may be empty.

    A line of two numbers stands for two pairs of the same phrases, as in the program.
    """
    for number, line in enumerate(lines, 1):
        match = _TERP_ENTRY.fullmatch(line)
        if match is not None:
            *numbers, first, second = match.groups()
            for place, text in enumerate(filter(None, numbers)):
                if not 0.0 <= _number(text) <= 1e6:
                    raise ValueError(
                        f"{path}:{number}: {'second ' * place}probability {text}; expected a "
                        f"number from 0 to 1e6"
                    )
                yield _Entry(number, float(text), first, second)
        elif line:
            raise ValueError(
                f"{path}:{number}: no entry of a paraphrase table; expected "
                f"0.1 <p>phrase</p> <p>paraphrase</p>"
            )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
