"""Writes the demo's files: a bitext and its gold links."""

from __future__ import annotations

from pathlib import Path

from portmert.tuner.base.files import write_text
from tests.support.languages.grammar import generate


def write_bitext(folder: Path, *, train: int, dev: int, test: int, seed: int) -> None:
    """Write `train`, `dev` and `test`, each as .src, .tgt and .links (gold, `0-0 1-2`).

    No sentence of dev or test occurs in train. The same seed gives the same bytes.
    """
    pairs = generate(train + dev + test, seed=seed)
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
