"""Tags and parses of texts as CoNLL-U, or JSON lines for analyses of meaning."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from portmert.metrics._base import Need
from portmert.tuner.annotation import annotating
from portmert.tuner.annotation.annotators import _conllu, _meaning
from portmert.tuner.annotation.annotators._meaning import Argument, Proposition
from portmert.tuner.annotation.layers import MEANING
from portmert.tuner.api.texts import PathLike, TextLike, text_file
from portmert.tuner.base.arguments import checked
from portmert.tuner.base.context import Progress, available_processors, current, using
from portmert.tuner.base.errors import InputError, faults_at
from portmert.tuner.base.files import check_writable, read_lines, writing
from portmert.tuner.base.json_toml import to_json
from portmert.tuner.base.numbers import Positive, Share
from portmert.tuner.components import registry
from portmert.tuner.executors.opening import opened
from portmert.tuner.texts import joining
from portmert.tuner.texts.annotator import Annotation, Annotator, Heads, Structure

from .unpacking import annotations

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
        Folder of the cache of tags and parses. Default: $PORTMERT_CACHE or the user's cache.
    progress
        Called with the phase `"annotating"`, how many lines are done, and how many there are.

    Raises
    ------
    PortmertError
        A text or model cannot be read, or the annotator is missing or fails.

    Examples
    --------
    >>> import tempfile, portmert
    >>> folder, model = tempfile.mkdtemp(), "configs/syntax/parses.mrg"
    >>> how = {"annotator": "ptb", "model": model, "annotation_cache": folder}
    >>> portmert.annotate(["i have a red pen"], f"{folder}/out.conllu", **how).lines
    1
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
                answers = annotations(texts, part, needs=layers, parses=parses)
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
            file.write(f"{meaning_line(words, answer)}\n".encode())
        elif words:
            comments = [*first, f"sent_id = {number}"]
            with faults_at(f"{where}:{number}", ValueError, InputError):
                file.write(_trees(words, answer, comments).encode())
            first = []


def _trees(words: Sequence[str], answer: Annotation | None, comments: list[str]) -> str:
    """Return the CoNLL-U of one sentence; a ValueError names a text that it cannot hold."""
    if answer is None:
        return conllu(words, (), (), [*comments, "unparsed"])
    tree = [f"tree = {answer.tree}"] if answer.tree else []
    if not answer.parses:
        return conllu(words, answer.tags, answer.heads, [*comments, *tree])
    text = []
    for score, heads in answer.parses:
        logprob = [f"parse_logprob = {score!r}"]
        text.append(conllu(words, answer.tags, heads, [*comments, *logprob, *tree]))
        comments, tree = comments[-1:], []
    return "".join(text)


def conllu(
    tokens: Sequence[str], tags: Sequence[str], heads: Heads, comments: Iterable[str]
) -> str:
    """Return one tree with the blank line after it; tags or heads may be empty.

    Raises
    ------
    ValueError
        A tag or label holds a tab or a line end, which the format cannot say.
    """
    lines = [f"# {comment}" for comment in comments]
    for place, token in enumerate(tokens):
        xpos = tags[place] if tags else _conllu.NOTHING
        head, label = heads[place] if heads else (_conllu.NOTHING, _conllu.NOTHING)
        line = f"{place + 1}\t{token}\t_\t_\t{xpos}\t_\t{head}\t{label}\t_\t_"
        if line.count("\t") != len(_conllu.COLUMNS) - 1 or "\n" in line or "\r" in line:
            raise ValueError(f"tag {xpos!r} or label {label!r} of '{token}' cannot be written")
        lines.append(line)
    return "\n".join(lines) + "\n\n"


def propositions_of(structure: Structure) -> list[Proposition]:
    """Return the predicates and arguments from which `roles_tree` made a tree."""
    positions: dict[int, list[int]] = {}
    for node, _, value in structure.words:
        positions.setdefault(node, []).append(int(value))
    propositions: list[tuple[int, list[Argument]]] = []
    for place, (label, parent, _) in enumerate(structure.nodes):
        if parent == 0:
            propositions.append((positions[place][0], []))
        elif parent > 0:
            propositions[-1][1].append((label, tuple(positions.get(place, ()))))
    return [(place, tuple(arguments)) for place, arguments in propositions]


def meaning_line(words: Sequence[str], answer: Annotation | None) -> str:
    """Return the JSON line of one sentence."""
    answer = answer or Annotation()
    content: dict[str, Any] = {"words": list(words)}
    if answer.tags:
        content["tags"] = list(answer.tags)
    if answer.roles is not None:
        content["roles"] = [
            {"verb": verb, "arguments": [{"role": r, "words": list(w)} for r, w in arguments]}
            for verb, arguments in propositions_of(answer.roles)
        ]
    if answer.drs is not None:
        content["drs"] = _box(answer.drs)
    return to_json(content, indent=None, ensure_ascii=False)


def _box(structure: Structure) -> dict[str, Any]:
    """Return nested objects. Their labels are whole, without the numbers that show an order."""
    nodes: list[dict[str, Any]] = []
    for whole, parent, kind in structure.nodes:
        tag, label = kind, whole
        above = nodes[parent] if parent >= 0 else None
        if above is not None and above["tag"] in _meaning.NUMBERED:
            number = f"-{len(above.get('children', ())) + 1}"
            tag, label = tag.removesuffix(number), label.removesuffix(number)
        node: dict[str, Any] = {"tag": tag}
        if symbol := label[len(tag) + 1 :]:
            node["symbol"] = symbol
        nodes.append(node)
        if above is not None:
            above.setdefault("children", []).append(node)
    for place, kind, value in structure.words:
        nodes[place].setdefault(kind, []).append(value)
    return nodes[0]
