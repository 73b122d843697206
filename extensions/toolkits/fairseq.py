"""Read lists of fairseq-generate and fairseq-interactive."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import shown
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.nbest.records import Hypothesis, ListFile

_PREFIX = re.compile(
    r"\A(?:.{0,99}%\|.{0,999}\r)?(?:\d{4}-\d\d-\d\d [\d:,.]+ \| \w+ \| [\w.]+ \| "
    r"|\[\d{4}-\d\d-\d\d [\d:,.]+\]\[[\w.]+\]\[\w+\] - |\w+:[\w.]+:)?(?=[A-Z](?:-\d|\t))",
    re.ASCII,
)
"""What logging puts before a record: as fairseq, Hydra and Python itself set it up."""
_RECORD = re.compile(r"([A-Z])(?:-(\d+)(?:_\d+)?)?\t(.*)", re.ASCII)
_LOG = re.compile(
    r"\d{4}-\d\d-\d\d .*\| (?:INFO|WARNING|ERROR) \|.*|\[\d{4}-\d\d-\d\d [^\]]*\]\[.*\]\[\w+\].*"
    r"|(?:INFO|WARNING|ERROR):[\w.]+:.*|\| .*|\[\w+\] (?:dictionary|Dictionary).*|Namespace\(.*"
    r"|NOTE: .*|Generate .*|Translated .*|Total time: .*|.*\b\d+%\|.*|.*\.py:\d+: \w*Warning: .*"
    r"|  warnings\.warn\(.*",
    re.ASCII,
)


@dataclasses.dataclass
class _Lines:
    """The lines of one hypothesis, the first of them at `line`."""

    line: int
    segment: int
    score: float
    text: str
    detokenized: str | None = None
    positions: list[float] | None = None
    links: list[tuple[int, int]] | None = None
    bare_positions: bool = False


@dataclasses.dataclass
class _Counter:
    """Number the segments of lines without ids."""

    has_ids: bool | None = None
    segment: int = -1
    in_source: bool = False

    def segment_of(self, file: ListFile, line: int, kind: str, segment: str | None) -> int:
        """Return the segment of a line; a source line behind another kind begins a segment."""
        self.has_ids = segment is not None if self.has_ids is None else self.has_ids
        if self.has_ids != (segment is not None):
            number, first = ("no", "one") if self.has_ids else ("an", "none")
            file.fail(line, f"the line {kind} has {number} id, the first record has {first}")
        if segment is not None:
            return int(segment)
        if kind in "SO":
            self.segment += not self.in_source
        self.in_source = kind in "SO"
        if self.segment < 0:
            file.fail(line, f"a line {kind} before the first source, a line S or O")
        return self.segment


@dataclass(frozen=True)
class Fairseq(Reader):
    """Read `H-7`, score, text; `D-7`, score, text; `P-7`, positional scores; `A-7`, links.

    The features are Score (of the H line) and, if there are P lines, PSum and PMean, the sum and
    the mean of the positional scores. The ids may be in any order. S, T and log lines are skipped,
    and so is what logging puts before a record. Old versions of fairseq-interactive write no ids;
    segments then begin with S or O lines. Soft links become hard ones. The links of versions
    before 0.9 are not used: they are source positions without an end, counted from 0 or from 1.

    Parameters
    ----------
    text
        The lines from which hypotheses are read.
        `H`: as the model wrote them, without subwords if fairseq was told to remove them.
        `D`: detokenized.
    """

    text: Literal["H", "D"] = "H"

    title: ClassVar[str] = "fairseq"
    example: ClassVar[tuple[str, ...]] = (
        "",
        "S-0\ty\nH-0\t-1.5\ta b\nP-0\t-1.0 -2.0\n",
        "H-0\t-1\tb\nP-0\t-1.0\n",
        "S-1\tx\nH-1\t-2\t\nP-1\t-2.0\n",
    )

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether there are records of hypotheses, and nothing but records and logs."""
        lines = [_PREFIX.sub("", line) for line in head]
        records = [match[1] for line in lines if (match := _RECORD.fullmatch(line))]
        return "H" in records and all(
            _RECORD.fullmatch(line) or _LOG.fullmatch(line) for line in lines
        )

    def records(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole file."""
        hypotheses: list[_Lines] = []
        logged, counter = 0, _Counter()
        for number, whole in enumerate(file.lines(), 1):
            line = _PREFIX.sub("", whole)
            match = _RECORD.fullmatch(line)
            if match is None:
                if not _LOG.fullmatch(line) and line.strip():
                    file.fail(
                        number,
                        f"'{shown(line)}' is no line of fairseq-generate, expected `H-0<TAB>"
                        f"score<TAB>hypothesis`, or S, T, D, P or A lines",
                    )
                logged += bool(line.strip())
                continue
            kind, content = match[1], match[3]
            segment = counter.segment_of(file, number, kind, match[2])
            if kind == "H":
                score, text = _scored(file, number, kind, content)
                hypotheses.append(_Lines(number, segment, score, text))
            elif kind in "DPA":
                last = hypotheses[-1] if hypotheses else None
                if last is None or last.segment != segment:
                    file.fail(number, f"{kind}-{segment} does not follow a line H-{segment}")
                _attach(file, number, kind, content, last)
            elif kind not in "SOTWCIE":  # source, reference, time, constraints, iterations
                file.fail(number, f"unknown kind of line {kind}-{segment}")
        yield from self._hypotheses(file, hypotheses)
        if logged:
            file.remarks.append(f"{logged} log lines passed over")
        if any(lines.bare_positions for lines in hypotheses):
            file.remarks.append("A lines not used: positions without links")

    def _hypotheses(self, file: ListFile, hypotheses: list[_Lines]) -> Iterator[Hypothesis]:
        for lines in hypotheses:
            features = {"Score": lines.score}
            if (lines.positions is None) != (hypotheses[0].positions is None):
                has, first = ("no", "one") if lines.positions is None else ("a", "none")
                file.fail(lines.line, f"{has} P line for this hypothesis, the first has {first}")
            if lines.positions is not None:
                total = sum(lines.positions)
                features |= {"PSum": total, "PMean": total / len(lines.positions)}
            text = lines.detokenized if self.text == "D" else lines.text
            if text is None:
                file.fail(lines.line, "no D line for this hypothesis; give text=H")
            yield Hypothesis(lines.line, lines.segment, text, features, lines.score, lines.links)


def _attach(file: ListFile, line: int, kind: str, content: str, lines: _Lines) -> None:
    """Add a D, P or A line to the lines of its hypothesis."""
    attribute = {"D": "detokenized", "P": "positions", "A": "links"}[kind]
    if getattr(lines, attribute) is not None:
        message = f"a second {kind}-{lines.segment} for the hypothesis of line {lines.line}"
        file.fail(line, message)
    if kind == "D":
        _, lines.detokenized = _scored(file, line, kind, content)
    elif kind == "P":
        items = content.split()
        lines.positions = [file.number(line, item, "a positional score") for item in items]
        if not items:
            file.fail(line, f"P-{lines.segment} has no positional scores")
    elif "," in content:
        lines.links = file.hard_links(line, [row.split(",") for row in content.split()])
    elif "-" in content or not content.strip():
        lines.links = file.links(line, content)
    else:
        lines.bare_positions = True


def _scored(file: ListFile, line: int, kind: str, content: str) -> tuple[float, str]:
    """Return the score and the text of an H or D line."""
    score, tab, text = content.partition("\t")
    if not tab:
        file.fail(line, f"an {kind} line has a score, a tab and a text, found '{shown(content)}'")
    return file.number(line, score, "the score"), text
