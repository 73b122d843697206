"""Score plain text or the first hypotheses of n-best lists, as Moses' `evaluator` does."""

from collections.abc import Sequence

import click
import numpy as np

from portmert.metrics._base import FloatArray, Metric, Vocabulary

from ..base import streams
from ..base.errors import InputError
from ..base.warn import warn_of
from ..nbest.check import check_links
from ..nbest.read import read_nbest
from ..texts import corpus, prepare, statistics
from ._program import Flag, OptionValues, UsageError, printed_score, program, say
from ._scorer import Scorer, scorer_of_options

SHARE_OUTSIDE = 0.05
"""Share of the bootstrap samples that lie outside the interval printed."""

OPTIONS = (
    Flag("sctype", "s", help="the scorer type (default BLEU), repeatable"),
    Flag("scconfig", "c", help="configuration of the scorer before it, NAME1:VAL1,NAME2:VAL2"),
    Flag("reference", "R", help="comma separated list of reference files"),
    Flag("candidate", "C", help="comma separated list of candidate files"),
    Flag("nbest", "n", help="comma separated list of n-best files (only 1-best is evaluated)"),
    Flag("bootstrap", "b", help="number of bootstrap samples (default 0: none)"),
    Flag("rseed", "r", help="the random seed for the samples (default 0)"),
    Flag("factors", "f", help="list of factors passed to the scorer before it (e.g. 0|2)"),
    Flag("filter", "l", help="filter command of the scorer before it"),
)  # fmt: skip


@program("evaluator", OPTIONS)
def main(values: OptionValues) -> int:
    """Run the program; return its exit status."""
    references = values.items_of("reference")
    candidates = values.items_of("candidate")
    nbests = values.items_of("nbest")
    if not references:
        raise UsageError("specify at least one reference file")
    if bool(candidates) == bool(nbests):
        raise UsageError("specify candidate files or n-best files, and not both")
    samples = values.integer("bootstrap", 0)
    scorers = _scorers(values)
    for note in (note for scorer in scorers for note in scorer.notes):
        say(note)
    for path in candidates or nbests:
        for scorer in scorers:
            stats = _stats(path, scorer, references, is_list=bool(nbests))
            words = [path] if len(candidates or nbests) > 1 else []
            words += [scorer.name] if len(scorers) > 1 else []
            if samples:
                words += _interval(scorer.metric, stats, samples, values.integer("rseed", 0))
            else:
                score = float(scorer.metric.score(stats.sum(axis=0)))
                words.append(f"{printed_score(scorer.metric, score):.4f}")
            click.echo("\t".join(words))
    return 0


def _scorers(values: OptionValues) -> list[Scorer]:
    """Return the scorers in order: an option is of the --sctype before it."""
    groups: list[list[tuple[str, str]]] = []
    for name, value in values.in_order:
        if name == "sctype":
            groups.append([(name, value)])
        elif name in {"scconfig", "factors", "filter"}:
            if not groups:
                # mert-moses.pl always gives --sctype; the original refuses this as well.
                raise UsageError(f"--{name} must follow the --sctype it belongs to")
            groups[-1].append((name, value))
    return [scorer_of_options(OptionValues(group)) for group in groups or [[]]]


def _stats(path: str, scorer: Scorer, references: Sequence[str], *, is_list: bool) -> FloatArray:
    """Return the (S, K) statistics of the output."""
    vocabulary = Vocabulary()
    read: corpus.References = scorer.references(references, vocabulary)
    if is_list:
        nbest = read_nbest([path], vocabulary, segments=len(read))
        if read.source_lengths is not None:
            check_links(nbest, read.source_lengths)
        texts = scorer.prepared(nbest.texts.take(nbest.offsets[:-1]))
    else:
        links = scorer.hypothesis_links
        if links is not None and read.source_lengths is None:
            raise InputError("--scconfig hyplinks needs source:FILE to be checked against")
        texts = prepare.read_output(path, read, beside="the reference", links=links)
        texts = scorer.prepared(texts)
    batch = corpus.make_batch(texts, np.arange(len(texts) + 1), read)
    warn_of(statistics.notices(scorer.metric, batch))
    return statistics.compute_stats(scorer.metric, batch)


def _interval(metric: Metric, stats: FloatArray, samples: int, seed: int) -> list[str]:
    """Return the mean over samples of segments, and where all but a few of them lie."""
    rng = streams.whole(seed)
    sums = (stats[rng.integers(len(stats), size=len(stats))].sum(axis=0) for _ in range(samples))
    scores = np.sort([printed_score(metric, float(metric.score(total))) for total in sums])
    low = scores[int(samples * SHARE_OUTSIDE / 2)]
    high = scores[min(samples - 1, int(samples * (1 - SHARE_OUTSIDE / 2)))]
    return [f"{scores.mean():.4f}", f"[{low:.4f},{high:.4f}]"]
