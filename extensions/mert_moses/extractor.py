"""Count the statistics of n-best lists, as Moses' `extractor` does."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import warn_of
from portmert.tuner.nbest import check
from portmert.tuner.nbest.model import NBest
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.texts import corpus, statistics

from ._scorer import Scorer
from .dat_files import with_statistics


def extract(
    nbests: Sequence[Path | str],
    references: Sequence[Path | str],
    scorer: Scorer,
    *,
    dense: Collection[str] | None = None,
) -> tuple[NBest, NBest]:
    """Count the statistics of the distinct hypotheses of some n-best lists; return both lists.

    The first of equal hypotheses stays; those with equal features and statistics all stay.

    Raises
    ------
    InputError
        Lists and references do not fit, or a list has no links and the metric needs them.
    """
    vocabulary = Vocabulary()
    read = scorer.references(references, vocabulary)
    nbest = read_nbest(nbests, vocabulary, segments=len(read), dense=dense)
    if "links" in scorer.metric.needs and nbest.texts.links is None:
        raise InputError(
            f"{nbests[0]}: no word alignment in the list, and metric {scorer.metric.name()} "
            f"compares word orders; let Moses print it: -print-alignment-info-in-n-best true (in "
            f"--decoder-flags)"
        )
    if read.source_lengths is not None:
        check.check_links(nbest, read.source_lengths)
    nbest = replace(nbest, texts=scorer.prepared(nbest.texts))
    batch = corpus.make_batch(nbest.texts, nbest.offsets, read, outcomes=nbest.outcomes)
    warn_of(statistics.notices(scorer.metric, batch))
    stats = statistics.compute_stats(scorer.metric, batch)
    return with_statistics(nbest, stats, scorer.name), nbest
