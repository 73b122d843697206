"""Read lists of fairseq-generate and fairseq-interactive."""

import dataclasses
import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from ...base.errors import shown
from ._base import (
    CollectingReader,
    Collector,
    ListFile,
    finite_number,
    hard_links,
)

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
class _Hypothesis:
    """The lines of one hypothesis, the first of them at `line`."""

    line: int
    id: int
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

    def id_of(self, file: ListFile, line: int, kind: str, name: str | None) -> str:
        """Return the id of a line; a source line behind another kind begins a segment."""
        self.has_ids = name is not None if self.has_ids is None else self.has_ids
        if self.has_ids != (name is not None):
            some, first = ("no", "one") if self.has_ids else ("an", "none")
            file.fail(line, f"the line {kind} has {some} id, the first record has {first}")
        if name is not None:
            return name
        if kind in "SO":
            self.segment += not self.in_source
        self.in_source = kind in "SO"
        if self.segment < 0:
            file.fail(line, f"a line {kind} before the first source, a line S or O")
        return str(self.segment)


@dataclass(frozen=True)
class Fairseq(CollectingReader):
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

    def collect(self, file: ListFile) -> Collector:
        """Return the hypotheses of a whole file."""
        checks = Collector(file, ())
        found: list[_Hypothesis] = []
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
            kind, rest = match[1], match[3]
            segment = checks.segment(number, counter.id_of(file, number, kind, match[2]))
            if kind == "H":
                score, text = _scored(file, number, kind, rest)
                found.append(_Hypothesis(number, segment, score, text))
            elif kind in "DPA":
                self._attach(checks, number, kind, segment, rest, found)
            elif kind not in "SOTWCIE":  # source, reference, time, constraints, iterations
                file.fail(number, f"unknown kind of line {kind}-{segment}")
        return self._collected(file, found, logged)

    def _attach(
        self,
        checks: Collector,
        line: int,
        kind: str,
        segment: int,
        rest: str,
        found: list[_Hypothesis],
    ) -> None:
        """Put what a D, P or A line says to the hypothesis before it."""
        file = checks.file
        last = found[-1] if found else None
        if last is None or last.id != segment:
            file.fail(line, f"{kind}-{segment} does not follow a line H-{segment}")
        attribute = {"D": "detokenized", "P": "positions", "A": "links"}[kind]
        if getattr(last, attribute) is not None:
            file.fail(line, f"a second {kind}-{segment} for the hypothesis of line {last.line}")
        if kind == "D":
            _, last.detokenized = _scored(file, line, kind, rest)
        elif kind == "P":
            what = "a positional score"
            last.positions = [finite_number(file, line, item, what) for item in rest.split()]
            if not last.positions:
                file.fail(line, f"P-{segment} has no positional scores")
        elif "," in rest:
            rows = [row.split(",") for row in rest.split()]
            last.links = checks.links(line, hard_links(file, line, rows))
        elif "-" in rest or not rest.strip():
            last.links = checks.links(line, rest)
        else:
            last.bare_positions = True

    def _collected(self, file: ListFile, found: list[_Hypothesis], logged: int) -> Collector:
        positional = bool(found) and found[0].positions is not None
        names = ["Score", "PSum", "PMean"] if positional else ["Score"]
        collector = Collector(file, tuple((name, 1) for name in names))
        for each in found:
            if (each.positions is not None) != positional:
                has, first = ("no", "one") if positional else ("a", "none")
                file.fail(each.line, f"{has} P line for this hypothesis, the first has {first}")
            values = [each.score]
            if each.positions is not None:
                total = sum(each.positions)
                values += [total, total / len(each.positions)]
            text = each.detokenized if self.text == "D" else each.text
            if text is None:
                file.fail(each.line, "no D line for this hypothesis; give text=H")
            collector.add(
                each.line,
                segment=each.id,
                text=text,
                values=values,
                score=each.score,
                links=each.links,
            )
        remarks = [f"{logged} log lines passed over"] if logged else []
        if any(each.bare_positions for each in found):
            remarks.append("A lines not used: positions without links")
        collector.remark = ", ".join(remarks)
        return collector


def _scored(file: ListFile, line: int, kind: str, rest: str) -> tuple[float, str]:
    """Return the score and the text of an H or D line."""
    score, tab, text = rest.partition("\t")
    if not tab:
        file.fail(line, f"an {kind} line has a score, a tab and a text, found '{shown(rest)}'")
    return finite_number(file, line, score, "the score"), text
