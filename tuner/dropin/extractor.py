"""Makes features.dat and scores.dat of n-best lists, as Moses' `extractor` does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from portmert.metrics._base import Vocabulary
from portmert.tuner.dropin._program import SUCCESS, Option, UsageError, comma_list, last, run, say
from portmert.tuner.dropin._scorer import Scorer, read_scorer
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.nbest.check import check_links
from portmert.tuner.nbest.moses_dat import (
    DatLists,
    merge_dat,
    read_dat,
    write_features,
    write_scores,
)
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.texts.corpus import make_batch
from portmert.tuner.texts.statistics import compute_stats, notices

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
    for note in scorer.notes:
        say(note)
    say(f"Scorer type: {scorer.metric.signature}")
    parts = [read_dat(*before)] if before[0] or before[1] else []
    if nbests:
        threads = available_processors()
        parts.append(extract(nbests, references, scorer, notice=say, threads=threads))
    duplicates = "allow-duplicates" in given
    lists = parts[0] if duplicates and len(parts) == 1 else merge_dat(parts)
    write(lists, last(given, "ffile", "features.data"), last(given, "scfile", "statscore.data"))
    say(f"{counted(len(lists.features), 'hypothesis')} of {counted(len(lists), 'segment')}")
    return SUCCESS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
