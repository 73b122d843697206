"""Run everything once on next to nothing, so that it is compiled."""

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from portmert.metrics import _base
from portmert.tuner import families
from portmert.tuner.base.warn import collected_notices
from portmert.tuner.components import registry
from portmert.tuner.nbest import model, read
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.list_statistics import statistics_table
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.weight_search import Setup, find_weights
from portmert.tuner.texts import corpus, statistics

LIST = """\
0 ||| a b c d e ||| F0= -3 -1.5 G0= -3 ||| -1 ||| 0-1=0-1 2-3=2-4 ||| 0-0 1-1 2-2
0 ||| b a c e d ||| F0= -2 -2.5 G0= -3.25 ||| -2 ||| 0-1=0-1 2-3=2-4 ||| 0-1 1-0 2-2
1 ||| c d e f a ||| F0= -4 1e-3 G0= -4 ||| -3 ||| 0-1=0-1 2-3=2-4 ||| 0-0 1-1 2-2
1 ||| d c e a f ||| F0= -3 -2 G0= -4.5 ||| -4 ||| 0-1=0-1 2-3=2-4 ||| 0-1 1-0 2-2
"""


def warm_up(share: int = 0, shares: int = 1, *, only_tuning: bool = False) -> None:
    """Read, count with every metric, and optimize, on four hypotheses.

    Parameters
    ----------
    share, shares
        Do this share of the work alone, counted from 0, so that several processes can divide it.
        The first process alone reads lists and tunes: the others would compile that once more.
    only_tuning
        Leave out all metrics but BLEU and PORT.
    """
    if share == 0:
        with tempfile.TemporaryDirectory() as name:
            _tune(Path(name))
    if not only_tuning and (share > 0 or shares == 1):
        _count(share - 1 if share else 0, max(shares - 1, 1))


def _tune(folder: Path) -> None:
    """Read lists, optimize and rerank."""
    for file, content in (
        ("list", LIST),
        ("ref", "a b c d\nc d e f\n"),
        ("src", "p q r s\np q r s\n"),
        ("links", "0-0 1-1 2-2\n0-0 1-1 2-2\n"),
    ):
        (folder / file).write_text(content, encoding="utf-8")
    vocabulary = _base.Vocabulary()
    references = corpus.read_references(
        [folder / "ref"], vocabulary=vocabulary, source=folder / "src", links=[folder / "links"]
    )
    nbest = read.read_nbest([folder / "list", folder / "list"], vocabulary, segments=2)
    bleu, port = registry.metric("bleu"), registry.metric("port")
    quick = Setup(registry.optimizer("mert", {"searches_per_feature": 30, "restarts": 1}))
    usual = Setup(registry.optimizer(DEFAULT_OPTIMIZER, {}))
    table = statistics_table(nbest, references, port, check=False)
    with collected_notices():
        for setup in (quick, usual):
            find_weights(nbest, table, port, setup)
    batch = corpus.make_batch(nbest.texts, nbest.offsets, references)
    with collected_notices():
        find_weights(nbest, StatTable(statistics.compute_stats(bleu, batch)), bleu, quick)
    model.write_nbest(nbest, folder / "copy")


def _count(share: int, shares: int) -> None:
    """Count this share of the metrics, on texts that are not read from a file."""
    metrics = [registry.metric(name) for name in families.own_names("metric")]
    # Those whose kernels take longest to compile come first.
    metrics.sort(key=lambda metric: metric.name() not in {"terp", "meteor"})
    vocabulary = _base.Vocabulary()
    links = [[(0, 0), (1, 1), (2, 2)]]
    arcs = {need for metric in metrics for need in metric.needs if isinstance(need, _base.Arcs)}
    hypotheses, references = (
        _parsed(_base.Texts.from_lines(lines, vocabulary, links * len(lines)), arcs)
        for lines in (
            ("a b c d e", "b a c e d", "c d e f a", "d c e a f"),
            ("a b c d", "c d e f"),
        )
    )
    batch = _base.Batch(
        hypotheses,
        np.array([0, 2, 4]),
        references,
        np.arange(3),
        source_lengths=np.full(2, 4, dtype=np.int32),
    )
    for metric in metrics[share::shares]:
        statistics.compute_stats(metric, batch)
        metric.details(batch)


def _parsed(texts: _base.Texts, needs: Iterable[_base.Arcs]) -> _base.Texts:
    """Return texts with a parse each, in which every word depends on the one before it."""
    lengths = texts.tokens.lengths.tolist()
    label = texts.vocabulary.add("x")
    heads = [[(i, label) for i in range(n)] for n in lengths]
    trees = [
        # The root at 0, then each word's part of speech, 2k + 1, and below it the word.
        [
            (label, -1),
            *(node for k, token in enumerate(row) for node in ((label, 0), (token, 2 * k + 1))),
        ]
        for row in (texts.tokens.row(k).tolist() for k in range(len(lengths)))
    ]
    links = [(i, i, label) for n in lengths for i in range(n)]
    offsets = _base.offsets_of(lengths)
    arcs = _base.ExpectedArcs(
        _base.Ragged(np.array(links, dtype=np.int32).reshape(-1, 3), offsets), np.ones(len(links))
    )
    # A root, a predicate and an argument, which is the first word.
    nodes = [[(label, k - 1, label) for k in range(3 if n else 0)] for n in lengths]
    words = [[(2, 0, 0)][:n] for n in lengths]
    meaning = _base.Structures(_base.Ragged.from_rows(nodes, 3), _base.Ragged.from_rows(words, 3))
    return replace(
        texts,
        tags=texts.tokens,
        heads=_base.Ragged.from_rows(heads, 2),
        trees=_base.Ragged.from_rows(trees, 2),
        arcs=dict.fromkeys(needs, arcs),
        roles=meaning,
        drs=meaning,
    )
