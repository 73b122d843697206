"""Runs everything once on next to nothing, for the sake of compiling it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from metrics._base import Vocabulary
from tuner import registry
from tuner.corpus import make_batch, read_references
from tuner.moses_dat import read_dat
from tuner.nbest import read_nbest, write_nbest
from tuner.optimization import Setup, optimize_dat, optimize_lists
from tuner.statistics import compute_stats

LIST = """\
0 ||| a b c d e ||| F0= -3 -1.5 G0= -3 ||| -1 ||| 0-1=0-1 2-3=2-4 ||| 0-0 1-1 2-2
0 ||| b a c e d ||| F0= -2 -2.5 G0= -3.25 ||| -2 ||| 0-1=0-1 2-3=2-4 ||| 0-1 1-0 2-2
1 ||| c d e f a ||| F0= -4 1e-3 G0= -4 ||| -3 ||| 0-1=0-1 2-3=2-4 ||| 0-0 1-1 2-2
1 ||| d c e a f ||| F0= -3 -2 G0= -4.5 ||| -4 ||| 0-1=0-1 2-3=2-4 ||| 0-1 1-0 2-2
"""
FEATURES = """\
FEATURES_TXT_BEGIN_0 0 2 2 F0_0 G0_0
-1 -3.5
-2 -3
FEATURES_TXT_END_0
FEATURES_TXT_BEGIN_0 1 2 2 F0_0 G0_0
-1 -3.5
-2 -3
FEATURES_TXT_END_0
"""
SCORES = """\
SCORES_TXT_BEGIN_0 0 2 9 BLEU
2 4 1 3 1 2 1 1 4
4 4 3 3 2 2 1 1 4
SCORES_TXT_END_0
SCORES_TXT_BEGIN_0 1 2 9 BLEU
4 4 1 3 1 2 1 1 4
2 4 3 3 2 2 1 1 4
SCORES_TXT_END_0
"""


def warm_up() -> None:
    """Read, count with every metric, and optimize, on four hypotheses."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in (
            ("list", LIST),
            ("ref", "a b c d\nc d e f\n"),
            ("src", "p q r s\np q r s\n"),
            ("links", "0-0 1-1 2-2\n0-0 1-1 2-2\n"),
            ("features", FEATURES),
            ("scores", SCORES),
        ):
            (folder / file).write_text(content, encoding="utf-8")
        vocabulary = Vocabulary()
        references = read_references(
            [folder / "ref"],
            vocabulary=vocabulary,
            source=folder / "src",
            links=[folder / "links"],
        )
        nbest = read_nbest([folder / "list", folder / "list"], vocabulary, segments=2)
        write_nbest(nbest, folder / "copy")
        batch = make_batch(nbest.texts, nbest.offsets, references)
        for metric in registry.names("metric"):
            compute_stats(registry.metric(metric), batch)
        quick = Setup(registry.optimizer("mert", {"effort": 30, "restarts": 1}))
        optimize_lists(nbest, references, registry.metric("port"), quick, notice=_ignore)
        lists = read_dat([folder / "features"], [folder / "scores"])
        optimize_dat(lists, registry.metric("bleu"), quick, notice=_ignore)


def _ignore(_: str) -> None:
    """Say nothing."""
