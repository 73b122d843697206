"""Statistics of METEOR and TERp against BLEU's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.texts.corpus import make_batch, read_references
from portmert.tuner.texts.statistics import compute_stats
from tests.bench.measure import in_turn, median_ratio

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.lists import Lists

PAIRS = 20_000


def lexical(folder: Path, lists: Lists) -> list[list[str]]:
    """Count a list of 50,000 hypotheses that is read, without and with paraphrases."""
    vocabulary = Vocabulary()
    references = read_references([lists.reference], vocabulary=vocabulary)
    nbest = read_nbest([lists.nbest], vocabulary, segments=len(references))
    batch = make_batch(nbest.texts, nbest.offsets, references)
    table = folder / "paraphrases"
    _write_paraphrases(table, [word for word in vocabulary.words if "<" not in word])
    work = {
        "METEOR": "meteor",
        "METEOR 1.5, stems": "meteor:version=1.5,stem=true",
        f"METEOR 1.5, {PAIRS:,} paraphrases": f"meteor:version=1.5,paraphrases={table}",
        "TERp": "terp",
        f"TERp, {PAIRS:,} paraphrases": f"terp:paraphrases={table}",
    }
    bleu, *metrics = (registry.metric(name) for name in ("bleu", *work.values()))
    units, *seconds = in_turn(
        *(lambda metric=metric: compute_stats(metric, batch) for metric in (bleu, *metrics)),
        rounds=5,
    )
    return [
        [
            f"count {what} / BLEU",
            f"{median_ratio(taken, units):.1f}",
            "<= 9" if what.startswith("TERp") else "<= 6",
        ]
        for what, taken in zip(work, seconds, strict=True)
    ]


def _write_paraphrases(path: Path, words: list[str]) -> None:
    rng = np.random.default_rng(8)
    phrases = [" ".join(rng.choice(words, rng.integers(1, 4))) for _ in range(2 * PAIRS)]
    chances = rng.integers(1, 1000, PAIRS) / 1000
    lines = (
        f"{chance} <p>{a}</p> <p>{b}</p>\n"
        for chance, a, b in zip(chances, phrases[::2], phrases[1::2], strict=True)
    )
    path.write_text("".join(lines), encoding="utf-8")
