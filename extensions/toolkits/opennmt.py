"""Read what OpenNMT prints while it translates."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import shown
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.nbest.records import Hypothesis, ListFile

_STAMP = re.compile(r"\A[^\[\]]{0,99}\[[^\[\]]{0,99}\b(?:DEBUG|INFO|WARNING|ERROR)\] ?")
_LINE = re.compile(
    r"(?:SENT|FEATS) (?P<sentence>[0-9]{1,9}):.*"
    r"|PRED (?P<predicted>[0-9]{1,9}): ?(?P<best>.*)"
    r"|PRED SCORE: (?P<best_score>.*)"
    r"|Line (?P<empty>[0-9]{1,9}) is empty\."
    r"|\[(?P<score>[^\[\]]+)\] ?(?P<text>.*)"
    r"|BEST HYP:|(?:GOLD|ALIGN|PRED AVG|Translated|Loading|Average|Total|Tokens per)\b.*|\s*"
)
_QUOTED = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_LISTED = re.compile(rf"\[(?:(?:{_QUOTED})(?:, (?:{_QUOTED}))*+)?\]")
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u(?!d[89a-f])[0-9a-f]{4}|.)")


@dataclass(frozen=True)
class Opennmt(Reader):
    """Read the log of OpenNMT (Lua, or py with `-verbose`): `SENT 1: ...`, then `[-1.5] a b`.

    The feature is `score`. A segment whose hypotheses are not listed has that of its `PRED` line.
    For what OpenNMT writes to its output file, and OpenNMT-tf prints, use `flat:n=N`.
    """

    title: ClassVar[str] = "OpenNMT"
    example: ClassVar[tuple[str, ...]] = (
        "",
        "SENT 1: y\nPRED 1: a b\nPRED SCORE: -1.5\n\nBEST HYP:\n[-1.5000] a b\n",
        "[-1.0000] b\n",
        "\nSENT 2: x\nPRED 2: \nPRED SCORE: -2.0\n",
    )

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether there is a sentence or its translation, and nothing but lines of a log."""
        matches = [_LINE.fullmatch(_STAMP.sub("", line, count=1)) for line in head]
        numbered = any(match and (match["sentence"] or match["predicted"]) for match in matches)
        return numbered and all(
            match or _STAMP.match(line) for match, line in zip(matches, head, strict=True)
        )

    def records(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole file."""
        segment, text = -1, ""
        best = None  # of a PRED line, until others of the segment are listed
        for number, match in _lines(file):
            sentence = match["sentence"] or match["predicted"] or match["empty"]
            if sentence:
                if best and best.segment != int(sentence) - 1:
                    yield best
                    best = None
                segment = int(sentence) - 1
            if match["predicted"]:
                text = match["best"]
            elif match["empty"]:
                best = Hypothesis(number, segment, "", {"score": 0.0})
            elif match["best_score"] is not None:
                score = file.number(number, match["best_score"], "the score")
                best = Hypothesis(number, segment, text, {"score": score})
            elif match["score"] is not None:
                if segment < 0:
                    file.fail(number, "a hypothesis before the first line `SENT 1: ...`")
                best = None
                score = file.number(number, match["score"], "the score")
                yield Hypothesis(number, segment, _as_text(match["text"]), {"score": score})
        if best:
            yield best


def _lines(file: ListFile) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield number and fields of each line of the log; others that are logged are left out."""
    for number, whole in enumerate(file.lines(), 1):
        line = _STAMP.sub("", whole, count=1)
        match = _LINE.fullmatch(line)
        if match is not None:
            yield number, match
        elif line == whole:
            file.fail(
                number,
                f"'{shown(line)}' is no line of OpenNMT's log, expected SENT, PRED, BEST "
                f"HYP or a hypothesis behind its score, `[-1.5] a b`",
            )


def _as_text(hypothesis: str) -> str:
    """Return a hypothesis as text; OpenNMT-py prints it as a list of Python."""
    if not _LISTED.fullmatch(hypothesis):
        return hypothesis
    tokens = re.findall(_QUOTED, hypothesis)
    return " ".join(_ESCAPE.sub(_escaped, token[1:-1]) for token in tokens)


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else {"n": " ", "t": " "}.get(code, code)
