"""A small model of UDPipe and sentences of its language, without data from outside."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from tuner.annotators._udpipe_training import train
from tuner.demo.grammar import generate
from tuner.demo.treebank import to_conllu

PAIRS = generate(60, seed=3)
SENTENCES = list(dict.fromkeys(pair.target for pair in PAIRS))

_FOLDER = tempfile.TemporaryDirectory(prefix="portmert-model-")  # goes with the process


@functools.cache
def model():
    """Train it once a process: under a second."""
    treebank = Path(_FOLDER.name) / "treebank.conllu"
    treebank.write_text(to_conllu(PAIRS, "demo"), encoding="utf-8")
    path = Path(_FOLDER.name) / "demo.udpipe"
    train(treebank, path, size="micro", notice=lambda _: None)
    return path
