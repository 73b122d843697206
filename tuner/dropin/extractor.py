"""Write features.dat and scores.dat of n-best lists, as Moses' `extractor` does."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise, starmap
from pathlib import Path

import numpy as np

from portmert.metrics._base import Vocabulary, offsets_of

from ..base.context import using
from ..base.errors import InputError, counted
from ..base.warn import warn_of
from ..nbest import check, moses_dat
from ..nbest.model import NBest, taken
from ..nbest.moses_dat import DatLists
from ..nbest.read import read_nbest
from ..nbest.records import read_list
from ..texts import corpus, statistics
from ._program import Flag, OptionValues, UsageError, program, say
from ._scorer import Scorer, scorer_of_options

OPTIONS = (
    Flag("sctype", "s", help="the scorer type: any metric of `portmert metrics`, as BLEU, PORT"),
    Flag("scconfig", "c", help="its configuration, NAME1:VAL1,NAME2:VAL2 (source:FILE,"
         "reflinks:FILE for PORT)"),
    Flag("reference", "r", help="comma separated list of reference files"),
    Flag("binary", "b", takes_value=False, help="write 32-bit numbers, as Moses; text is exact"),
    Flag("nbest", "n", help="comma separated list of n-best files"),
    Flag("scfile", "S", help="the scorer data output file"),
    Flag("ffile", "F", help="the feature data output file"),
    Flag("prev-ffile", "E", help="comma separated list of previous feature data"),
    Flag("prev-scfile", "R", help="comma separated list of previous scorer data"),
    Flag("factors", "f", help="list of factors passed to the scorer (e.g. 0|2)"),
    Flag("filter", "l", help="filter command used to preprocess the sentences"),
    Flag("allow-duplicates", "d", takes_value=False, help="omit the duplicate removal step"),
    Flag("verbose", "v", help="ignored: there is no more to say"),
)  # fmt: skip


def extract(
    nbests: Sequence[Path | str],
    references: Sequence[Path | str],
    scorer: Scorer,
    *,
    dense: Collection[str] | None = None,
) -> tuple[DatLists, NBest]:
    """Count the statistics of the distinct hypotheses of some n-best lists.

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
    batch = corpus.make_batch(nbest.texts, nbest.offsets, read, lines=nbest.lines)
    warn_of(statistics.notices(scorer.metric, batch))
    stats = statistics.compute_stats(scorer.metric, batch)
    return DatLists.of(nbest, stats, scorer.name), nbest


def merged_as_moses(
    parts: Sequence[tuple[DatLists, Sequence[Sequence[int]]]], *, keep_duplicates: bool
) -> DatLists:
    """Return the lists merged, the hypotheses of a segment in the order that Moses leaves.

    Moses puts the last hypothesis of a segment in the place of a duplicate (mert/Data.cpp,
    removeDuplicates).

    Parameters
    ----------
    parts
        Lists and, for each of their segments, the rows of all hypotheses as they arrived; the row
        of a duplicate is that of its first occurrence.
    keep_duplicates
        As Moses' `--allow-duplicates`.
    """
    if keep_duplicates and len(parts) == 1:
        return _with_rows(*parts[0])
    lists = moses_dat.merge_dat([part for part, _ in parts])
    order: list[Sequence[int]] = []
    for segment, (begin, end) in enumerate(pairwise(lists.offsets.tolist())):
        arrived = [(part, row) for part, rows in parts for row in rows[segment]]
        if len(arrived) == end - begin:
            order.append(range(begin, end))
            continue
        places = {_key(lists, row): row for row in range(begin, end)}
        left = [places[_key(part, row)] for part, row in arrived]
        seen: set[int] = set()
        place = 0
        while place < len(left):
            if left[place] in seen:
                left[place] = left[-1]
                left.pop()
            else:
                seen.add(left[place])
                place += 1
        order.append(left)
    return _with_rows(lists, order)


def _arrived(nbests: Sequence[str], nbest: NBest) -> list[list[int]]:
    """Return, for each segment, the row of each of its lines, duplicates among them.

    A pipe cannot be read again: its duplicates are forgotten.
    """
    if not all(Path(path).is_file() for path in nbests):
        return [list(range(begin, end)) for begin, end in pairwise(nbest.offsets.tolist())]
    assert nbest.lines is not None  # noqa: S101  it was read from files
    row_of_line = {line: row for row, line in enumerate(nbest.lines.tolist())}
    rows: dict[tuple[bytes, ...], int] = {}
    row_lists: list[list[int]] = [[] for _ in range(len(nbest))]
    lines = (line for path in nbests for line in read_list(path).byte_lines())
    for number, line in enumerate(lines):
        key = tuple(field.strip() for field in line.split(b"|||", 3)[:3])
        row = rows.setdefault(key, row_of_line.get(number, -1))
        if row >= 0:
            row_lists[int(key[0])].append(row)
    return row_lists


def _key(lists: DatLists, row: int) -> tuple[object, ...]:
    """Return all that makes two hypotheses of a segment equal."""
    sparse: frozenset[tuple[str, float]] = frozenset()
    if lists.sparse is not None:
        begin, end = lists.sparse.offsets[row : row + 2].tolist()
        names = [lists.sparse.names[column] for column in lists.sparse.columns[begin:end]]
        sparse = frozenset(zip(names, lists.sparse.values[begin:end].tolist(), strict=True))
    return (tuple(lists.features[row].tolist()), tuple(lists.stats[row].tolist()), sparse)


def _with_rows(lists: DatLists, order: Sequence[Sequence[int]]) -> DatLists:
    """Return the lists with these rows of each segment."""
    rows = np.array([row for segment in order for row in segment], dtype=np.int64)
    nbest = taken(lists, rows, offsets_of([len(segment) for segment in order]))
    return DatLists.of(nbest, lists.stats[rows], lists.score_name)


@program("extractor", OPTIONS)
def main(values: OptionValues) -> int:
    """Run the program; return its exit status."""
    nbests = values.items_of("nbest")
    references = values.items_of("reference")
    before = [values.items_of(name) for name in ("prev-ffile", "prev-scfile")]
    if nbests and not references:
        raise UsageError("the references are not specified; the n-best list cannot be scored")
    if not nbests and not before[0]:
        raise UsageError("nothing to do: give --nbest")
    scorer = scorer_of_options(values)
    for note in scorer.notes:
        say(note)
    say(f"Scorer type: {scorer.metric.signature}")
    parts: list[tuple[DatLists, Sequence[Sequence[int]]]] = []
    if before[0] or before[1]:
        earlier = moses_dat.read_dat(*before)
        parts.append((earlier, list(starmap(range, pairwise(earlier.offsets.tolist())))))
    if nbests:
        with using(threads=0):
            counted_lists, nbest = extract(nbests, references, scorer)
        parts.append((counted_lists, _arrived(nbests, nbest)))
    lists = merged_as_moses(parts, keep_duplicates="allow-duplicates" in values)
    binary = "binary" in values
    moses_dat.write_features(lists, values.last("ffile", "features.data"), binary=binary)
    moses_dat.write_scores(lists, values.last("scfile", "statscore.data"), binary=binary)
    say(f"{counted(len(lists.features), 'hypothesis')} of {counted(len(lists), 'segment')}")
    return 0
