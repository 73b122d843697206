"""Tags and parses of texts as CoNLL-U, and word links."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from portmert.aligners._agreement import Agreement, agreement, parse_gold
from portmert.aligners._base import SUBTRACT, Aligner, Links, link_lines, parse_links, warn_of_base
from portmert.metrics._base import Need

from ..annotation import annotating
from ..annotation.annotators import _conllu, _meaning
from ..annotation.layers import MEANING
from ..base.arguments import checked
from ..base.context import Progress, available_processors, current, using
from ..base.errors import InputError, counted, faults_at
from ..base.files import TextFile, check_writable, read_lines, writing
from ..base.numbers import Positive, Share
from ..components import registry
from ..executors.opening import opened
from ..texts import joining
from ..texts.annotator import Annotation, Annotator
from .texts import PathLike, TextLike, text_file

LINES_AT_ONCE = 2048
"""Lines that are in memory and written together."""
LINES_FOR_EACH = 4 * annotating.SHARD
"""The same on a cluster, for each task that is handed out before the first one is done."""


@dataclass(frozen=True)
class Annotated:
    """The counts of an annotated text.

    Attributes
    ----------
    lines, cached, annotated, failed
        The number of lines, of distinct sentences found in the cache, of distinct sentences
        annotated now, and of sentences (of both kinds) without a parse.
    seconds
        The time for the sentences annotated now.
    """

    lines: int
    cached: int
    annotated: int
    failed: int
    seconds: float


@checked
def annotate(
    text: TextLike,
    out: PathLike,
    *,
    annotator: str | Annotator,
    model: PathLike = "",
    parses: Positive = 1,
    layers: Sequence[Need] = (),
    processes: Positive | None = None,
    executor: str = "local",
    max_failed: Share = 0.5,
    annotation_cache: Path | None = None,
    progress: Progress | None = None,
) -> Annotated:
    """Tag and parse a text and write CoNLL-U, or JSON lines for analyses of meaning.

    Parameters
    ----------
    text
        Tokenised text, one segment a line; - is stdin. In Python a list of lines too. An empty
        line gives no tree.
    out
        File of CoNLL-U or JSON lines to write, whole or not at all; compressed if it ends in .gz,
        .bz2, .xz or .zst; - is stdout.
    annotator : NAME[:OPTION=VALUE,...]
        The tagger or parser, as udpipe, spacy or bllip.
    model : TEXT
        Model of the annotator; for conllu and ptb the file of parses.
    parses
        Write up to this many weighted parses of each segment, if the annotator has them.
    layers
        What to write. Default: all that the annotator produces. roles and drs (discourse
        representations) are written as JSON lines, without heads and trees.
    processes
        Worker processes. Default: one for each processor.
    executor
        Where sentences are annotated, see `Search`. On a cluster each machine reads the model from
        the same path, and the models must be the same.
    max_failed
        Stop if a larger share of the segments has no parse.
    annotation_cache : DIR
        Folder of the cache of tags and parses. Default: $PORTMERT_CACHE or the user's cache
        folder.
    progress
        Called with the phase `"annotating"`, how many lines are done, and how many there are.

    Raises
    ------
    PortmertError
        A text or model cannot be read, or the annotator is missing or fails.
    """
    check_writable(out)
    file_of_text = joining.opened(text_file(text, "the text"))
    lines = [tuple(w.decode() for w in s.encode().split()) for s in read_lines(file_of_text)]
    begin, size, show = 0, 0, progress or current().progress

    def shown(phase: str, done: int, total: int) -> None:
        show(phase, begin + size * done // total, len(lines))

    annotator = registry.annotator(annotator, model=str(model))
    with (
        using(annotation_cache=annotation_cache, progress=shown),
        opened(executor),
        closing(
            annotating.opened(
                annotator, processes=processes or available_processors(), max_failed=max_failed
            )
        ) as texts,
    ):
        at_once = LINES_AT_ONCE
        if cluster := current().cluster:
            at_once = LINES_FOR_EACH * cluster.queue_size
        with writing(out) as file:
            for begin in range(0, len(lines), at_once):
                part = lines[begin : begin + at_once]
                size = len(part)
                answers = texts.annotations(part, needs=layers, parses=parses)
                _write(file, texts, part, answers, layers, where=str(file_of_text), begin=begin)
                shown("annotating", 1, 1)
        hits, misses, failed = texts.counts.values()
        return Annotated(len(lines), hits, misses, failed, texts.seconds)


def _write(
    file: IO[bytes],
    annotator: annotating.CachedAnnotator,
    lines: Sequence[tuple[str, ...]],
    answers: Iterable[Annotation | None],
    layers: Sequence[Need],
    *,
    where: str,
    begin: int,
) -> None:
    """Write the analyses of some lines; the first sentence of a text names the annotator."""
    of_meaning = bool(set(MEANING) & set(layers or annotator.has()))
    first = [f"generator = portmert annotate, {annotator.fingerprint}"] if begin == 0 else []
    for number, (words, answer) in enumerate(zip(lines, answers, strict=True), begin + 1):
        if words and of_meaning:
            file.write(f"{_meaning.written(words, answer)}\n".encode())
        elif words:
            comments = [*first, f"sent_id = {number}"]
            with faults_at(f"{where}:{number}", ValueError, InputError):
                file.write(_trees(words, answer, comments).encode())
            first = []


def _trees(words: Sequence[str], answer: Annotation | None, comments: list[str]) -> str:
    """Return the CoNLL-U of one sentence; a ValueError names a text that it cannot hold."""
    if answer is None:
        return _conllu.write(words, (), (), [*comments, "unparsed"])
    tree = [f"tree = {answer.tree}"] if answer.tree else []
    if not answer.parses:
        return _conllu.write(words, answer.tags, answer.heads, [*comments, *tree])
    text = []
    for score, heads in answer.parses:
        logprob = [f"parse_logprob = {score!r}"]
        text.append(_conllu.write(words, answer.tags, heads, [*comments, *logprob, *tree]))
        comments, tree = comments[-1:], []
    return "".join(text)


@checked
def align(
    source: TextLike,
    target: TextLike,
    *,
    aligner: str | Aligner = "thot",
    options: Mapping[str, object] | None = None,
) -> list[Links]:
    """Align the words of a text and its translation.

    Parameters
    ----------
    source
        Tokenised source text, one segment a line; in Python a list of lines too.
    target
        Its tokenised translation, line by line.
    aligner : NAME
        The aligner; `portmert components aligner` lists all. In Python also an object.
    options
        Options of the aligner, as `{"model": "ibm4"}`.

    Returns
    -------
    list of list of (int, int)
        The links of each pair, source and target positions counted from 0.

    Raises
    ------
    PortmertError
        The texts differ in length, or the aligner is missing or fails.

    Examples
    --------
    >>> import portmert
    >>> portmert.align(["das haus", "das buch"] * 9, ["the house", "the book"] * 9)[:2]
    [[(0, 0), (1, 1)], [(0, 0), (1, 1)]]
    """
    if isinstance(aligner, str):
        aligner = registry.aligner(aligner, options or {})
    files = text_file(source, "the source"), text_file(target, "the target")
    lines = tuple(map(read_lines, joining.joined(files)[0]))
    if len(lines[0]) != len(lines[1]):
        raise InputError(
            f"{files[1]}: {counted(len(lines[1]), 'line')}, {files[0]} has {len(lines[0])}"
        )
    workdir = Path(tempfile.mkdtemp(prefix="portmert-align-"))
    try:
        return aligner.align(source=lines[0], target=lines[1], workdir=workdir)
    finally:  # the folder goes, unless there is a log to read in it
        if not any(workdir.glob("*.log")):
            shutil.rmtree(workdir, ignore_errors=True)


@checked
def check_links(links: TextLike, gold: TextLike, *, gold_base: Literal[0, 1] = 0) -> Agreement:
    """Return how well links agree with links made by hand: `0-0` is sure, `0?0` possible.

    Parameters
    ----------
    links : LINKS
        Compare these links with those of `gold`; a line for each pair. They count from 0.
    gold
        Links made by hand; 0-0 is a sure link, 0?0 or 0p0 a possible one.
    gold_base
        Number of the first word in `gold`; many files made by hand count from 1.

    Raises
    ------
    InputError
        A line is none of links, or one side has more lines.
    """
    files = text_file(links, "the links"), text_file(gold, "the gold links")
    rows = [parse_links(line, origin=f"{files[0]}:{n}") for n, line in _numbered(files[0])]
    marks = [
        parse_gold(line, origin=f"{files[1]}:{n}", base=gold_base)
        for n, line in _numbered(files[1])
    ]
    of_gold = [sorted(mark.possible) for mark in marks] if gold_base == 0 else []
    sides = (files[1], of_gold, "--gold-base 1 says so"), (files[0], rows, SUBTRACT)
    for file, links_of_pairs, advice in sides:
        flat = [link for row in links_of_pairs for link in row]
        warn_of_base(flat, sum(map(bool, links_of_pairs)), origin=file, advice=advice)
    if len(rows) != len(marks):
        raise InputError(f"{files[0]}: {counted(len(rows), 'line')}, {files[1]} has {len(marks)}")
    if not rows:
        raise InputError(
            f"{files[0]} and {files[1]}: no line; expected one of links for each pair"
        )
    return agreement(rows, marks)


def _numbered(file: TextFile) -> list[tuple[int, str]]:
    return list(enumerate(link_lines(read_lines(file), origin=str(file)), 1))
