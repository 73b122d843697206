"""The compiled loop that reads Moses' features.dat and scores.dat."""

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics.kernels.compiled import kernel
from portmert.tuner.nbest._text_kernels import OK, TOO_FEW, TOO_MANY, noted
from portmert.tuner.texts._token_kernels import ByteArray, is_space, read_number


@kernel
def parse_tables(
    text: ByteArray, starts: IntArray, counts: IntArray, table: FloatArray
) -> tuple[int, int, int, IntArray, IntArray]:
    """Read blocks of lines of numbers.

    Parameters
    ----------
    starts, counts : (blocks,) int64
        Where the first line of each block begins, and how many lines it has.
    table : (counts.sum(), K) float64
        Modified in place: K numbers of each line.

    Returns
    -------
    code, position, found : int
        OK, or the first line without K numbers, and how many it has up to there.
    ends : (blocks,) int64
        Where the line after each block begins.
    slow : (M, 3) int64
        Numbers left to Python: flat index into `table`, begin, end.
    """
    size, width = text.size, table.shape[1]
    ends = np.zeros(starts.size, dtype=np.int64)
    slow, slows = np.empty((64, 3), dtype=np.int64), 0
    row = 0
    for block in range(starts.size):
        i = starts[block]
        for _ in range(counts[block]):
            column = 0
            begin_line = i
            while i < size and text[i] != 10:
                if is_space(text[i]):
                    i += 1
                    continue
                begin = i
                while i < size and not is_space(text[i]):
                    i += 1
                if column == width:
                    return TOO_MANY, begin, column, ends, slow[:slows]
                value, exact = read_number(text, begin, i)
                if not exact:
                    slow = noted(slow, slows, row * width + column, begin, i)
                    slows += 1
                table[row, column] = value
                column += 1
            if column < width:
                return TOO_FEW, begin_line, column, ends, slow[:slows]
            i = min(i + 1, size)
            row += 1
        ends[block] = i
    return OK, 0, 0, ends, slow[:slows]
