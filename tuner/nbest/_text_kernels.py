"""Read n-best lists by compiled loops: bytes in, flat arrays out.

Numbers and tokens are read by kernels of `texts._token_kernels`: one number parser serves lists,
scores.dat and annotations; what it leaves, Python reads.

Text is a (n,) uint8 array. Fields and tokens are byte spans `begin:end` of it. A fault is returned
as a code and the byte position where it was found; the caller makes the message of it.
"""

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import helper, kernel

from ..texts._token_kernels import (
    ByteArray,
    empty_table,
    grown,
    hash_of,
    intern,
    is_space,
    read_natural,
    read_number,
    scan_number,
)

FIELDS = 6
"""Most fields a line may have: id, hypothesis, features, score, segmentation, word alignment."""
OK, NO_LABEL, NO_VALUE, NO_NAME, TWICE, NOT_A_LINK, NOT_A_SPAN, OUT_OF_RANGE = range(8)
TOO_FEW, TOO_MANY, TOO_LONG = 8, 9, 10


@kernel
def split_lines(
    text: ByteArray, lines: int, fields: int
) -> tuple[IntArray, IntArray, IntArray, IntArray, bool]:
    """Find the fields of each line, separated by the token `|||`.

    Parameters
    ----------
    fields : int
        The number of fields of which spans are returned.

    Returns
    -------
    starts : (lines + 1,) int64
        Where each line begins; the last is the size of the text.
    counts : (lines,) int64
        Number of fields.
    cuts : (lines, fields, 2) int64
        Spans of the first fields without white space around them.
    ids : (lines,) int64
        The first field as a number, -1 where it is none.
    glued : bool
        Whether `|||` stands somewhere without white space on both sides.
    """
    starts = np.empty(lines + 1, dtype=np.int64)
    counts = np.empty(lines, dtype=np.int64)
    cuts = np.empty((lines, fields, 2), dtype=np.int64)
    ids = np.empty(lines, dtype=np.int64)
    size, i, glued = text.size, 0, False
    for line in range(lines):
        starts[line] = begin = i
        count = 0
        while True:
            ended = i >= size or text[i] == 10
            if not ended:
                if not (
                    text[i] == 124 and i + 2 < size and text[i + 1] == 124 and text[i + 2] == 124
                ):
                    i += 1
                    continue
                if not (
                    (i == starts[line] or is_space(text[i - 1]))
                    and (i + 3 == size or is_space(text[i + 3]))
                ):
                    glued = True
                    i += 1
                    continue
            if count < fields:
                left, right = begin, i
                while left < right and is_space(text[left]):
                    left += 1
                while left < right and is_space(text[right - 1]):
                    right -= 1
                cuts[line, count, 0], cuts[line, count, 1] = left, right
            count += 1
            if ended:
                i += 1
                break
            i += 3
            begin = i
        for k in range(count, fields):
            cuts[line, k, 0] = cuts[line, k, 1] = min(i - 1, size)
        counts[line] = count
        ids[line], after = read_natural(text, cuts[line, 0, 0], cuts[line, 0, 1])
        if after != cuts[line, 0, 1]:
            ids[line] = -1
    starts[lines] = size
    return starts, counts, cuts, ids, glued


@helper
def noted(rows: IntArray, count: int, place: int, begin: int, end: int) -> IntArray:
    """Return the rows, more of them where all are taken, with row `count` set."""
    if count == rows.shape[0]:
        rows = np.concatenate((rows, np.empty_like(rows)))
    rows[count, 0], rows[count, 1], rows[count, 2] = place, begin, end
    return rows


@helper
def _begins(text: ByteArray, i: int, span: IntArray) -> bool:
    """Whether `name=` of a name at `span` stands at i too."""
    at = span[0]
    if i + span[1] - at >= text.size:
        return False
    while at < span[1] and text[at] == text[i]:
        at += 1
        i += 1
    begins: bool = at == span[1] and text[i] == 61
    return begins


@helper
def _repeat(labels: TokenArray, width: int, end: int) -> None:
    """Give the values up to `end` the labels of the first `width`, again and again, in place."""
    for k in range(width, end):
        labels[k] = labels[k - width]


@kernel
def parse_features(
    text: ByteArray, cuts: IntArray, most: int
) -> tuple[int, int, FloatArray, FloatArray, TokenArray, IntArray, IntArray, IntArray, bool]:
    """Read `Name= v v name_x= v` (field 2) and the model score (field 3) of each line.

    Returns
    -------
    code, position : int
        OK, or the first fault and where.
    scores : (lines,) float64
    values : (N,) float64
    labels : (N,) int32
        Which name each value stands behind. If `same`, only those of the first line are set.
    offsets : (lines + 1,) int64
        Values of each line.
    spans : (names, 2) int64
        Where each distinct name stands first, without its `=`.
    slow : (M, 3) int64
        Numbers left to Python: index into `values` (or -1 - line for a score), begin, end.
    same : bool
        Every line has the labels of the first, in its order.
    """
    lines = cuts.shape[0]
    scores, offsets = np.empty(lines), np.zeros(lines + 1, dtype=np.int64)
    values, labels = np.empty(most), np.empty(most, dtype=np.int32)
    table = empty_table(256)
    hashes, spans = np.empty(most, dtype=np.uint64), np.empty((most, 2), dtype=np.int64)
    last_line = np.empty(most, dtype=np.int64)
    slow, slows = np.empty((64, 3), dtype=np.int64), 0
    count, n, same = 0, 0, True
    code, position = OK, 0
    for line in range(lines):
        i, end = cuts[line, 2, 0], cuts[line, 2, 1]
        label, name_at, valued = -1, i, True
        while i < end:
            begin, equals, known, at = i, -1, -1, n - offsets[line]
            value, exact, token_end = scan_number(text, i, end)
            is_number = exact and (token_end == end or is_space(text[token_end]))
            if not is_number:
                if line > 0 and same and at < offsets[1] and _begins(text, i, spans[labels[at]]):
                    known = labels[at]  # as in the first line
                    equals = i + spans[known, 1] - spans[known, 0]
                    i = equals + 1
                while i < end and not is_space(text[i]):
                    if text[i] == 61:
                        equals, known = i, -1
                    i += 1
                token_end = i
            i = token_end
            if equals >= 0:
                if not valued:
                    code, position = NO_VALUE, name_at
                    break
                if equals == begin:
                    code, position = NO_NAME, begin
                    break
                label = known
                if known < 0:
                    if 2 * count >= table.size:
                        table = grown(table, hashes, count)
                    h = hash_of(text, begin, equals)
                    label = intern(text, begin, equals, h, table, hashes, spans, count)
                if label == count:
                    count += 1
                elif last_line[label] == line:
                    code, position = TWICE, begin
                    break
                last_line[label] = line
                name_at, begin, valued = begin, equals + 1, False
            elif label < 0:
                code, position = NO_LABEL, begin
                break
            if begin < token_end:
                if not is_number:
                    value, exact = read_number(text, begin, token_end)
                if not exact:
                    slow = noted(slow, slows, n, begin, token_end)
                    slows += 1
                values[n] = value
                if same and line > 0:
                    same = at < offsets[1] and labels[at] == label
                    if not same:
                        _repeat(labels, offsets[1], n)
                if line == 0 or not same:
                    labels[n] = label
                n += 1
                valued = True
            while i < end and is_space(text[i]):
                i += 1
        if code == OK and label < 0:
            code, position = NO_LABEL, cuts[line, 2, 0]
        if code == OK and not valued:
            code, position = NO_VALUE, name_at
        if code != OK:
            break
        offsets[line + 1] = n
        if same and n - offsets[line] != offsets[1]:
            same = False
            _repeat(labels, offsets[1], n)
        begin, end = cuts[line, 3, 0], cuts[line, 3, 1]
        scores[line], exact = read_number(text, begin, end)
        if not exact:
            slow = noted(slow, slows, -1 - line, begin, end)
            slows += 1
    return (
        code,
        position,
        scores,
        values[:n],
        labels[:n],
        offsets,
        spans[:count],
        slow[:slows],
        same,
    )


@helper
def _sorted_set(links: TokenArray, begin: int, end: int) -> int:
    """Sort links[begin:end] by source, then target, and drop repeated ones; return the new end."""
    top = begin
    for k in range(begin, end):
        source, target = links[k, 0], links[k, 1]
        at = top
        while at > begin and (
            links[at - 1, 0] > source or (links[at - 1, 0] == source and links[at - 1, 1] > target)
        ):
            at -= 1
        if at > begin and links[at - 1, 0] == source and links[at - 1, 1] == target:
            continue
        for move in range(top, at, -1):
            links[move, 0], links[move, 1] = links[move - 1, 0], links[move - 1, 1]
        links[at, 0], links[at, 1] = source, target
        top += 1
    return top


@kernel
def parse_links(
    text: ByteArray, cuts: IntArray, column: int, token_offsets: IntArray, most: int
) -> tuple[int, int, TokenArray, IntArray]:
    """Read `0-0 1-1`: source and target positions, sorted, each pair once.

    Returns
    -------
    code, position : int
        OK, or the first fault and where; a target position must be that of a token.
    links : (V, 2) int32
    offsets : (lines + 1,) int64
    """
    lines = cuts.shape[0]
    links, offsets = np.empty((most, 2), dtype=np.int32), np.zeros(lines + 1, dtype=np.int64)
    n = 0
    for line in range(lines):
        i, end = cuts[line, column, 0], cuts[line, column, 1]
        length = token_offsets[line + 1] - token_offsets[line]
        while i < end:
            begin = i
            source, i = read_natural(text, i, end)
            target = -1
            if source >= 0 and i < end and text[i] == 45:
                target, i = read_natural(text, i + 1, end)
            if target < 0 or (i < end and not is_space(text[i])):
                return NOT_A_LINK, begin, links[:0], offsets
            if target >= length:
                return OUT_OF_RANGE, begin, links[:0], offsets
            links[n, 0], links[n, 1] = source, target
            n += 1
            while i < end and is_space(text[i]):
                i += 1
        n = _sorted_set(links, offsets[line], n)
        offsets[line + 1] = n
    return OK, 0, links[:n], offsets


@helper
def _span(text: ByteArray, i: int, end: int) -> tuple[int, int, int]:
    """Read `a-b`, or `a` as `a-a`, from i on: a, b, and where it ends; a is -1 if it is none."""
    first, i = read_natural(text, i, end)
    last = first
    if first >= 0 and i < end and text[i] == 45:
        last, i = read_natural(text, i + 1, end)
    if last < first:
        first = -1
    return first, last, i


@kernel
def expand_segmentation(
    text: ByteArray, cuts: IntArray, column: int, token_offsets: IntArray, most: int, keeps: bool
) -> tuple[int, int, TokenArray, IntArray]:
    """Read `0-1=0-2 2=3`: each source phrase, linked word by word with its target phrase.

    Moses writes a phrase without target words (an unknown word that is dropped) as if it had the
    one where the next phrase begins. Such a phrase has no links.

    Parameters
    ----------
    most : int
        Words that a source phrase may have.
    keeps : bool
        Whether links are returned; otherwise phrases are only checked.

    Returns
    -------
    code, position : int
        OK, or the first fault and where; target positions must be those of tokens.
    links : (V, 2) int32
    offsets : (lines + 1,) int64
    """
    lines = cuts.shape[0]
    links, offsets = np.empty((1024, 2), dtype=np.int32), np.zeros(lines + 1, dtype=np.int64)
    n = 0
    for line in range(lines):
        i, end = cuts[line, column, 0], cuts[line, column, 1]
        length = token_offsets[line + 1] - token_offsets[line]
        while i < end:
            begin, target_first, target_last = i, -1, -1
            source_first, source_last, i = _span(text, i, end)
            if source_first >= 0 and i < end and text[i] == 61:
                target_first, target_last, i = _span(text, i + 1, end)
            if target_first < 0 or (i < end and not is_space(text[i])):
                return NOT_A_SPAN, begin, links[:0], offsets
            while i < end and is_space(text[i]):
                i += 1
            next_first, k = length, i  # where the next phrase begins
            if i < end:
                while k < end and text[k] != 61:
                    k += 1
                next_first, _, _ = _span(text, k + 1, end)
            if target_first == target_last and target_first == next_first:
                continue
            if target_last >= length:
                return OUT_OF_RANGE, begin, links[:0], offsets
            if source_last - source_first >= most:
                return TOO_LONG, begin, links[:0], offsets
            if not keeps:
                continue
            more = (source_last - source_first + 1) * (target_last - target_first + 1)
            while n + more > links.shape[0]:
                links = np.concatenate((links, np.empty_like(links)))
            for source in range(source_first, source_last + 1):
                for target in range(target_first, target_last + 1):
                    links[n, 0], links[n, 1] = source, target
                    n += 1
        n = _sorted_set(links, offsets[line], n)
        offsets[line + 1] = n
    return OK, 0, links[:n], offsets
