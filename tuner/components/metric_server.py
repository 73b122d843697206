"""A server of one of our metrics, in METEOR's text protocol (see `external`)."""

import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np

from portmert.metrics._base import Batch, Metric, Texts, Vocabulary

from ..base.errors import InputError, counted
from ..base.files import decode_line
from ..base.numbers import parse_finite
from ..texts.statistics import compute_stats
from .external import LINKS_FIELD, format_number

_BARS = re.compile(r"(?:^|(?<=[ \t]))\|\|\|(?=[ \t]|$)")
_LINK = r"\d{1,9}+-\d{1,9}+(?![\d-])\s*"  # possessive: digits can be split in one way only
_LINKS = re.compile(rf"links:\s+(\d{{1,9}}+)\s*+((?:;\s*+(?:{_LINK})*+)+)", re.ASCII)
MOST_IN_A_LINE = 1 << 24
"""Bytes of a request beyond which it is refused."""
MOST_SOURCE_TOKENS = 100_000
"""A request only says how many there are; memory grows with them."""

Linked = tuple[int, list[list[tuple[int, int]]]]


class MetricServer:
    """Answers lines; between them it keeps only the words it has seen.

    Parameters
    ----------
    metric : Metric
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._vocabulary = Vocabulary()
        self._lines = 0

    def answers(self, lines: Sequence[bytes]) -> Iterator[str]:
        """Yield the answer to each line; successive lines of one kind are computed together.

        Raises
        ------
        InputError
            A line is not of the protocol, or lacks links that the metric needs.
        """
        texts = []
        for line in lines:
            self._lines += 1
            text = decode_line(line.removesuffix(b"\r"), "stdin", self._lines)
            texts.append((self._lines, text))
        for is_score, group in itertools.groupby(
            texts, key=lambda item: item[1].startswith("SCORE")
        ):
            part = list(group)
            if is_score:
                yield from self._statistics(part)
            else:
                yield from self._scores(part)

    def _scores(self, lines: Sequence[tuple[int, str]]) -> Iterator[str]:
        width = len(self.metric.stat_names)
        rows = np.empty((len(lines), width))
        for row, (number, line) in enumerate(lines):
            match = re.fullmatch(r"EVAL\s*\|\|\|(.*)", line, re.DOTALL)
            if match is None:
                raise InputError(
                    f"stdin:{number}: '{line[:60]}' is no request, expected `SCORE ||| reference "
                    f"||| hypothesis` or `EVAL ||| statistics`"
                )
            values = [parse_finite(word) for word in match[1].split()]
            numbers = [value for value in values if value is not None]
            if len(numbers) != len(values) or len(numbers) != width:
                raise InputError(
                    f"stdin:{number}: EVAL with '{match[1].strip()[:60]}', expected the {width} "
                    f"statistics of {self.metric.signature}"
                )
            rows[row] = numbers
        yield from (format_number(score) for score in self.metric.score(rows).tolist())

    def _statistics(self, lines: Sequence[tuple[int, str]]) -> Iterator[str]:
        needs_links = "links" in self.metric.needs
        hypotheses: list[str] = []
        references: list[str] = []
        ends = [0]
        linked: list[Linked] = []
        for number, line in lines:
            match = re.fullmatch(r"SCORE\s+\|\|\|(?=[ \t]|$)(.*)", line, re.DOTALL)
            fields = [] if match is None else [part.strip() for part in _BARS.split(match[1])]
            field_links = _read_links(fields[-1]) if len(fields) > 2 else None
            if field_links is not None:
                fields.pop()
            if len(fields) < 2:
                raise InputError(
                    f"stdin:{number}: '{line[:60]}': SCORE needs at least one reference and a "
                    f"hypothesis, separated by |||"
                )
            if needs_links:
                linked.append(self._checked(number, fields, field_links))
            references += fields[:-1]
            hypotheses.append(fields[-1])
            ends.append(len(references))
        batch = Batch(
            self._texts(hypotheses, [[row[1][-1]] for row in linked]),
            np.arange(len(hypotheses) + 1, dtype=np.int64),
            self._texts(references, [row[1][:-1] for row in linked]),
            np.array(ends, dtype=np.int64),
            np.array([row[0] for row in linked], dtype=np.int32) if needs_links else None,
        )
        for row in compute_stats(self.metric, batch).tolist():
            yield " ".join(map(format_number, row))

    def _texts(self, lines: list[str], links: list[list[list[tuple[int, int]]]]) -> Texts:
        rows = [row for group in links for row in group]
        has_links = "links" in self.metric.needs
        return Texts.from_lines(lines, self._vocabulary, rows if has_links else None)

    def _checked(self, number: int, fields: Sequence[str], linked: Linked | None) -> Linked:
        """Return the links of a line, after a check of their number and range."""
        name = self.metric.name()
        if linked is None:
            raise InputError(
                f"stdin:{number}: metric {name} compares word orders and needs links, a last "
                f"field `{LINKS_FIELD} SOURCE_TOKENS ; 0-0 1-1 ; 0-0` with those of each "
                f"reference and of the hypothesis; a program that cannot send it can only use "
                f"metrics of tokens"
            )
        source, groups = linked
        if source > MOST_SOURCE_TOKENS:
            raise InputError(
                f"stdin:{number}: {source} source tokens, expected at most {MOST_SOURCE_TOKENS}"
            )
        if len(groups) != len(fields):
            raise InputError(
                f"stdin:{number}: links of {counted(len(groups), 'text')}, references and "
                f"hypothesis are {len(fields)}"
            )
        for text, group in zip(fields, groups, strict=True):
            length = len(text.encode().split())
            for i, j in group:
                if i >= source or j >= length:
                    raise InputError(
                        f"stdin:{number}: link {i}-{j} is out of range: "
                        f"{counted(source, 'source token')}, {counted(length, 'token')} in "
                        f"'{text[:60]}'"
                    )
        return source, groups


def _read_links(field: str) -> Linked | None:
    """Return source tokens and links of a `links:` field; None if it is another field."""
    match = _LINKS.fullmatch(field)
    if match is None:
        return None
    groups = []
    for group in match[2].split(";")[1:]:
        pairs = (pair.split("-") for pair in group.split())
        groups.append(sorted({(int(i), int(j)) for i, j in pairs}))
    return int(match[1]), groups
