"""What the formats share: lines in paragraphs, and whole numbers."""

import itertools
import re
from collections.abc import Iterator, Sequence


def paragraphs(lines: Sequence[str], comment: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of each sentence without comments, with numbers from 1.

    Blank lines stand between sentences.
    """
    rows = ((n, line) for n, line in enumerate(lines, 1) if not line.startswith(comment))
    for filled, group in itertools.groupby(rows, lambda row: bool(row[1].strip())):
        if filled:
            yield list(group)


def whole_number(text: str) -> int | None:
    """Return the number that a text is, or None if it is no number from 0 to 999999999."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None
