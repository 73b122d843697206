"""Small models and files for the annotators, without data from outside, and their sentences."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

from tests.support.bracketed import to_brackets
from tests.support.languages.grammar import generate
from tests.support.languages.treebank import to_conllu
from tests.support.udpipe_training import train

_PAIRS = generate(60, seed=3)
PAIRS = list({pair.target: pair for pair in _PAIRS}.values())
SENTENCES = [pair.target for pair in PAIRS]

_FOLDER = tempfile.TemporaryDirectory(prefix="portmert-model-")  # goes with the process


@functools.cache
def treebank():
    """CoNLL-U of all sentences, with their constituency trees."""
    blocks = to_conllu(PAIRS, "demo").split("\n\n")[:-1]
    path = Path(_FOLDER.name) / "treebank.conllu"
    path.write_text(
        "".join(
            f"# tree = {to_brackets(pair)}\n{block}\n\n"
            for pair, block in zip(PAIRS, blocks, strict=True)
        ),
        encoding="utf-8",
    )
    return path


@functools.cache
def brackets():
    """The constituency trees of all sentences, one per line."""
    path = Path(_FOLDER.name) / "treebank.mrg"
    path.write_text("".join(f"{to_brackets(pair)}\n" for pair in PAIRS), encoding="utf-8")
    return path


@functools.cache
def meanings():
    """Roles and a discourse representation of all sentences, as JSON lines."""
    return write_meanings(Path(_FOLDER.name) / "meanings.jsonl", SENTENCES)


def write_meanings(path, sentences):
    """Write each sentence as one box of its words, the first of them predicate of the others."""
    lines = []
    for words in dict.fromkeys(map(tuple, sentences)):
        below = [{"tag": "pred", "symbol": word, "word": [i]} for i, word in enumerate(words)]
        arguments = [{"role": "A0", "words": list(range(1, len(words)))}]
        box = {
            "words": words,
            "tags": [word[0].upper() for word in words],
            "roles": [{"verb": 0, "arguments": arguments}] if len(words) > 1 else [],
            "drs": {"tag": "drs", "children": below},
        }
        lines.append(json.dumps(box) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


@functools.cache
def udpipe():
    """Train a model of UDPipe, once a process: under a second."""
    path = Path(_FOLDER.name) / "demo.udpipe"
    train(treebank(), path)
    return path


OPTIONS = {
    "conllu": lambda: {"files": [treebank()]},
    "ptb": lambda: {"files": [brackets()]},
    "semantics": lambda: {"files": [meanings()]},
    "udpipe": lambda: {"model": udpipe()},
}
"""Name -> the options of an annotator that can be run anywhere."""
