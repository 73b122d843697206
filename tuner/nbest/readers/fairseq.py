"""Read lists of fairseq-generate and fairseq-interactive."""

import dataclasses
import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import shown
from portmert.tuner.nbest.readers._base import CollectingReader, Collector, ListFile, finite_number

_RECORD = re.compile(r"([A-Z])-(\d+)(?:_\d+)?\t(.*)", re.ASCII)
_LOG = re.compile(
    r"\d{4}-\d\d-\d\d .*\| (?:INFO|WARNING|ERROR) \|.*|\| .*|Namespace\(.*|NOTE: .*"
    r"|Generate .*|Translated .*|Total time: .*",
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


@dataclass(frozen=True)
class Fairseq(CollectingReader):
    """Read `H-7`, score, text; `D-7`, score, text; `P-7`, positional scores; `A-7`, links.

    The features are Score (of the H line) and, if there are P lines, PSum and PMean, the sum and
    the mean of the positional scores. The ids may be in any order. S, T and log lines are skipped.

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
        records = [match[1] for line in head if (match := _RECORD.fullmatch(line))]
        return "H" in records and all(
            _RECORD.fullmatch(line) or _LOG.fullmatch(line) for line in head
        )

    def collect(self, file: ListFile) -> Collector:
        """Return the hypotheses of a whole file."""
        checks = Collector(file, ())
        found: list[_Hypothesis] = []
        logged = 0
        for number, line in enumerate(file.lines(), 1):
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
            kind, segment, rest = match[1], checks.segment(number, match[2]), match[3]
            if kind == "H":
                score, text = _scored(file, number, kind, rest)
                found.append(_Hypothesis(number, segment, score, text))
            elif kind in "DPA":
                self._attach(checks, number, kind, segment, rest, found)
            elif kind not in "STWCIE":  # source, reference, time, constraints, iterations
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
        else:
            last.links = checks.links(line, rest)

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
        collector.remark = f"{logged} log lines passed over" if logged else ""
        return collector


def _scored(file: ListFile, line: int, kind: str, rest: str) -> tuple[float, str]:
    """Return the score and the text of an H or D line."""
    score, tab, text = rest.partition("\t")
    if not tab:
        file.fail(line, f"an {kind} line has a score, a tab and a text, found '{shown(rest)}'")
    return finite_number(file, line, score, "the score"), text
