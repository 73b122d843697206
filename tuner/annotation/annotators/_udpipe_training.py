"""Training of a UDPipe 1 model on a treebank.

The library prints and cannot be interrupted. So it runs in a process of its own: `python -m` this
module `TREEBANK MODEL SIZE`.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from ...base import line_processes
from ...base.errors import AnnotatorError, InputError, ProgramError
from ...base.extras import require
from ...base.files import check_writable, writing
from ...base.programs import end, python, start, undisturbed
from ...base.warn import notice
from ...texts.annotator import AnnotationRequest, Annotator
from . import _conllu
from ._conllu import ConlluTree
from ._trees import ROOT

Size = Literal["micro", "tiny", "full"]
Case = Literal["keep", "lower", "both"]

_TAGGER = (
    "models=1;iterations={iterations};guesser_suffix_rules={rules};guesser_enrich_dictionary={enrich};"
    "use_lemma=0;provide_lemma=0"
)
_PARSER = (
    "iterations={iterations};hidden_layer={hidden};embedding_form={form};embedding_upostag={other};"
    "embedding_xpostag={other};embedding_deprel={other};embedding_feats={feats}"
)


RECIPES: dict[str, tuple[int | None, str, str]] = {
    # Seconds: for tests and tries.
    "micro": (
        300,
        _TAGGER.format(iterations=3, rules=4, enrich=0),
        _PARSER.format(iterations=4, hidden=50, form=16, other=8, feats=0),
    ),
    # Minutes.
    "tiny": (
        1500,
        _TAGGER.format(iterations=5, rules=6, enrich=4),
        _PARSER.format(iterations=5, hidden=100, form=32, other=20, feats=20),
    ),
    # A quarter of an hour for 200,000 words.
    "full": (
        None,
        _TAGGER.format(iterations=4, rules=6, enrich=4),
        _PARSER.format(iterations=4, hidden=100, form=50, other=20, feats=20),
    ),
}
"""By `Size`: the number of sentences (None: all), and options of tagger and parser."""


@dataclass(frozen=True)
class Accuracy:
    """Shares of words with the right tag, the right head, and the right head and label."""

    sentences: int
    words: int
    tags: float
    heads: float
    links: float


def train(treebank: Path, out: Path, *, size: Size = "tiny", case: Case = "keep") -> int:
    """Train a model on a treebank; the same treebank gives the same bytes.

    Parameters
    ----------
    treebank
        CoNLL-U, plain, .gz, .bz2, .xz or .zst.
    out
        The model; whole or not at all.
    size
        How large the model is, and so how good: see `RECIPES`.
    case
        As in the treebank, lowercased, or each sentence both ways.

    Returns
    -------
    int
        The number of sentences it was trained on.

    Raises
    ------
    InputError
        The treebank is wrong at some line, or lacks tags or heads.
    ProgramError
        The library refuses the treebank.
    """
    require("ufal.udpipe", extra="syntax")
    check_writable(out)
    sentences = _sentences(treebank, RECIPES[size][0], "train on")
    for block in sentences:
        _check_root(treebank, block)
    with tempfile.TemporaryDirectory(prefix="portmert-train-") as name:
        text, model = Path(name) / "treebank.conllu", Path(name) / "model"
        text.write_text("".join(_written(sentences, case)), encoding="utf-8")
        _run(text, model, size, treebank)
        with writing(out) as file:
            file.write(model.read_bytes())
    return len(sentences)


def read_test(treebank: Path) -> list[ConlluTree]:
    """Return the sentences of a treebank with which answers are compared.

    Raises
    ------
    InputError
        The treebank is wrong at some line, or empty.
    """
    return _sentences(treebank, None, "compare with")


def accuracy(annotator: Annotator, blocks: list[ConlluTree], tagset: _conllu.Tagset) -> Accuracy:
    """Compare an annotator's answers with a treebank.

    Raises
    ------
    ProgramError
        The annotator does not work.
    """
    distinct = list(dict.fromkeys(block.tokens for block in blocks))
    request = AnnotationRequest(frozenset({"tags", "heads"}))
    try:
        answers = dict(zip(distinct, annotator.annotate(distinct, request), strict=True))
    except AnnotatorError as error:
        raise ProgramError(str(error)) from None
    words = sum(len(block.words) for block in blocks)
    tags = heads = links = 0
    for block in blocks:
        answer = answers[block.tokens]
        if answer is None:
            continue
        gold = [_conllu.tag(word, tagset) for word in block.words]
        tags += sum(a == b for a, b in zip(answer.tags, gold, strict=True))
        pairs = list(zip(answer.heads, block.heads, strict=True))
        heads += sum(a[0] == b[0] for a, b in pairs)
        links += sum(a == b for a, b in pairs)
    return Accuracy(len(blocks), words, tags / words, heads / words, links / words)


def _sentences(treebank: Path, limit: int | None, purpose: str) -> list[ConlluTree]:
    sentences: list[ConlluTree] = []
    for block in _conllu.read(treebank):
        if block.unparsed:
            continue
        where = f"{treebank}:{block.line}"
        if not block.heads:
            raise InputError(f"{where}: HEAD is '{_conllu.NOTHING}'; a treebank has heads")
        if not all(_conllu.tag(word, "upos") or _conllu.tag(word, "xpos") for word in block.words):
            raise InputError(f"{where}: a word has neither UPOS nor XPOS; a treebank has tags")
        sentences.append(block)
        if len(sentences) == limit:
            break
    if not sentences:
        raise InputError(f"{treebank}: no sentence to {purpose}")
    return sentences


def _check_root(treebank: Path, block: ConlluTree) -> None:
    """Refuse a tree that the library would refuse after minutes, without naming its line."""
    roots = [word for word, (head, _) in enumerate(block.heads, 1) if not head]
    labelled = [word for word, (_, label) in enumerate(block.heads, 1) if label == ROOT]
    if len(roots) != 1 or labelled != roots:
        raise InputError(
            f"{treebank}:{block.line}: HEAD is 0 of {_list_of_words(roots)}, DEPREL is '{ROOT}' "
            f"of {_list_of_words(labelled)}; UDPipe learns from trees in which one word has both"
        )


def _list_of_words(words: list[int]) -> str:
    if not words:
        return "no word"
    return f"word{'s' * (len(words) > 1)} {' and '.join(map(str, words))}"


def _written(sentences: list[ConlluTree], case: Case) -> Iterator[str]:
    for block in sentences:
        for lower in {"keep": (False,), "lower": (True,), "both": (False, True)}[case]:
            for number, (word, (head, label)) in enumerate(
                zip(block.words, block.heads, strict=True), 1
            ):
                form = word.form.lower() if lower else word.form
                tags = (column or _conllu.NOTHING for column in word[1:])
                columns = (str(number), form, "_", *tags, str(head), label, "_", "_")
                yield "\t".join(columns) + "\n"
            yield "\n"


def _run(text: Path, model: Path, size: Size, treebank: Path) -> None:
    last, part, status = "", "tagger", 0
    process: subprocess.Popen[str] | None = None
    try:
        with undisturbed():
            process = start(
                python(__name__, str(text), str(model), size),
                env=line_processes.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        assert process.stderr is not None  # noqa: S101  a pipe was asked for
        for line in process.stderr:
            last = line.strip() or last
            if line.startswith("Parser"):
                part = "parser"
            if line.startswith("Iteration"):
                notice(f"{part}, {last[0].lower()}{last[1:]}")
        status = process.wait()
    finally:
        if process is not None and process.stderr is not None:
            end(process)
            process.stderr.close()
    if status:
        raise ProgramError(f"{treebank}: UDPipe cannot train on it (status {status}): {last}")


def main(arguments: list[str]) -> None:
    """Train in this process; the last line on stderr shows what went wrong."""
    udpipe = import_module("ufal.udpipe")
    text, model, size = arguments
    _, tagger, parser = RECIPES[size]
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    reader.setText(Path(text).read_text(encoding="utf-8"))
    sentences, sentence = udpipe.Sentences(), udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = udpipe.Sentence()
    blob = b""
    if not error.occurred():
        blob = udpipe.Trainer.train(
            "morphodita_parsito", sentences, udpipe.Sentences(), "none", tagger, parser, error
        )
    if error.occurred():
        sys.exit(" ".join(error.message.split()))
    Path(model).write_bytes(blob)


if __name__ == "__main__":
    main(sys.argv[1:])
