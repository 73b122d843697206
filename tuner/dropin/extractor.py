"""Moses' `extractor`: from n-best lists and references to features.dat and scores.dat."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from metrics._base import Vocabulary
from tuner.corpus import make_batch
from tuner.dropin._program import SUCCESS, Option, UsageError, comma_list, last, run, say
from tuner.dropin._scorer import Scorer, read_scorer
from tuner.errors import InputError
from tuner.moses_dat import DatLists, read_dat, without_duplicates, write_features, write_scores
from tuner.nbest import check_links, read_nbest
from tuner.statistics import compute_stats, notices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

OPTIONS = (
    Option("sctype", "s", help="the scorer type: any metric of `portmert metrics`, as BLEU, PORT"),
    Option("scconfig", "c", help="its configuration, NAME1:VAL1,NAME2:VAL2 (source:FILE,"
           "reflinks:FILE for PORT)"),
    Option("reference", "r", help="comma separated list of reference files"),
    Option("binary", "b", takes_value=False, help="ignored: text is written, and exact"),
    Option("nbest", "n", help="comma separated list of n-best files"),
    Option("scfile", "S", help="the scorer data output file"),
    Option("ffile", "F", help="the feature data output file"),
    Option("prev-ffile", "E", help="comma separated list of previous feature data"),
    Option("prev-scfile", "R", help="comma separated list of previous scorer data"),
    Option("factors", "f", help="list of factors passed to the scorer (e.g. 0|2)"),
    Option("filter", "l", help="filter command used to preprocess the sentences"),
    Option("allow-duplicates", "d", takes_value=False, help="omit the duplicate removal step"),
    Option("verbose", "v", help="ignored"),
    Option("help", "h", takes_value=False, help="print this message and exit"),
)  # fmt: skip


def extract(
    nbests: Sequence[Path | str],
    references: Sequence[Path | str],
    scorer: Scorer,
    *,
    notice: Callable[[str], None],
    threads: int = 1,
) -> DatLists:
    """Count the statistics of all hypotheses of some n-best lists.

    Equal hypotheses are counted once; those of equal features and statistics are all there.

    Raises
    ------
    InputError
        Lists and references do not fit, or a list has no links and the metric needs them.
    """
    vocabulary = Vocabulary()
    read = scorer.references(references, vocabulary)
    nbest = read_nbest(nbests, vocabulary, segments=len(read), notice=notice)
    if "links" in scorer.metric.needs and nbest.texts.links is None:
        raise InputError(
            f"{nbests[0]}: no word alignment in the list, and metric {scorer.metric.name()} "
            f"compares word orders; let Moses print it: -print-alignment-info-in-n-best true (in "
            f"--decoder-flags)"
        )
    if read.source_lengths is not None:
        check_links(nbest, read.source_lengths)
    nbest = replace(nbest, texts=scorer.prepared(nbest.texts))
    batch = make_batch(nbest.texts, nbest.offsets, read, lines=nbest.lines)
    for line in notices(scorer.metric, batch):
        notice(line)
    return DatLists(
        features=nbest.features,
        stats=compute_stats(scorer.metric, batch, threads=threads),
        offsets=nbest.offsets,
        feature_names=nbest.feature_names,
        score_name=scorer.name,
        sparse=nbest.sparse,
    )


def write(lists: DatLists, features: Path | str, scores: Path | str) -> None:
    """Write both files."""
    write_features(lists, features)
    write_scores(lists, scores)


def main(arguments: Sequence[str]) -> int:
    """Run the program; return its exit status."""
    return run("extractor", OPTIONS, _work, arguments)


def _work(given: dict[str, list[str]]) -> int:
    nbests = comma_list(last(given, "nbest", ""))
    references = comma_list(last(given, "reference", ""))
    before = [comma_list(last(given, name, "")) for name in ("prev-ffile", "prev-scfile")]
    if nbests and not references:
        raise UsageError("the references are not specified; the n-best list cannot be scored")
    if not nbests and not before[0]:
        raise UsageError("nothing to do: give --nbest")
    scorer = read_scorer(
        last(given, "sctype", "BLEU"),
        last(given, "scconfig", ""),
        factors=last(given, "factors", ""),
        filter_command=last(given, "filter", ""),
    )
    say(f"Scorer type: {scorer.metric.signature}")
    parts = [read_dat(*before)] if before[0] or before[1] else []
    if nbests:
        threads = os.cpu_count() or 1
        parts.append(extract(nbests, references, scorer, notice=say, threads=threads))
    lists = parts[0] if len(parts) == 1 else joined(parts[0], parts[1])
    if "allow-duplicates" not in given:
        lists = without_duplicates(lists)
    write(lists, last(given, "ffile", "features.data"), last(given, "scfile", "statscore.data"))
    say(f"{len(lists.features)} hypotheses of {len(lists)} segments")
    return SUCCESS


def joined(first: DatLists, second: DatLists) -> DatLists:
    """Return the hypotheses of both, segment by segment.

    Raises
    ------
    InputError
        They are of other segments, features or metrics, or one has sparse features.
    """
    for what, one, other in (
        ("segments", len(first), len(second)),
        ("features", first.feature_names, second.feature_names),
        ("metric", first.score_name, second.score_name),
        ("statistics", first.stats.shape[1], second.stats.shape[1]),
    ):
        if one != other:
            raise InputError(f"the files together: {what}: {one} and {other}; they must be equal")
    if first.sparse is not None or second.sparse is not None:
        raise InputError(
            "previous data with sparse features cannot be merged here; give mert all files"
        )
    segments = [np.repeat(np.arange(len(part)), np.diff(part.offsets)) for part in (first, second)]
    order = np.argsort(np.concatenate(segments), kind="stable")
    return replace(
        first,
        features=np.asfortranarray(np.concatenate([first.features, second.features])[order]),
        stats=np.concatenate([first.stats, second.stats])[order],
        offsets=first.offsets + second.offsets,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
