"""Writes the demo's files: a bitext, its gold links, a treebank of the target language."""

from __future__ import annotations

from pathlib import Path

from portmert.tuner.base.files import write_text
from tests.support.languages.grammar import generate
from tests.support.languages.treebank import to_conllu

TREEBANK = "treebank.conllu"


def write_bitext(
    folder: Path,
    *,
    train: int,
    dev: int,
    test: int,
    seed: int,
    treebank: int = 0,
    free: float = 0.0,
) -> None:
    """Write `train`, `dev` and `test`, each as .src, .tgt and .links (gold, `0-0 1-2`).

    No sentence of dev or test occurs in train. The same seed gives the same bytes.

    Parameters
    ----------
    free
        See `Grammar`.
    treebank
        Write the first so many target sentences of train, parsed, to treebank.conllu.
    """
    pairs = generate(train + dev + test, seed=seed, free=free)
    start = 0
    for name, size in (("dev", dev), ("test", test), ("train", train)):
        part = pairs[start : start + size]
        start += size
        for suffix, lines in (
            ("src", [" ".join(pair.source) for pair in part]),
            ("tgt", [" ".join(pair.target) for pair in part]),
            ("links", [" ".join(f"{s}-{t}" for s, t in pair.links) for pair in part]),
        ):
            write_text(folder / f"{name}.{suffix}", "".join(f"{line}\n" for line in lines))
    if treebank:
        write_text(folder / TREEBANK, to_conllu(pairs[dev + test :][:treebank], "train"))
