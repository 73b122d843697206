"""Decode in a process of its own: python -m portmert.extensions.demo._thot_worker.

Reads JSON lines: first what to load, then one `[segment, [token, ...], size, [weight, ...]]` for
each sentence; answers each with one JSON string, the lines of its n-best list. Other weights than
before do not load the model again.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from portmert.aligners._base import Links
from portmert.aligners._thot import escape, matrix_links, symmetrized, unescape
from portmert.extensions.processes.line_processes import own_output

from ._thot_model import load

NAMES = (
    *("WordPenalty0", "LM0", "PhrasePenalty0", "Distortion0", "SegLenDiff0"),
    *("PhraseTS0", "PhraseST0", "SentenceLength0"),
)
"""thot's score components, in its order."""


class Translator:
    """A loaded model that translates one sentence at a time."""

    def __init__(self, task: dict[str, Any]) -> None:
        import thot.translation  # noqa: PLC0415  loads a large library

        self.weights: list[float] = task["weights"]
        self.model = load(Path(task["folder"]), task["aligner"], task["model"], self.weights)
        self._decoder = thot.translation.SmtDecoder(self.model)
        for name, value in task["decoder"].items():
            setattr(self._decoder, name, value)
        self._aligner = symmetrized(
            self.model.direct_word_alignment_model,
            self.model.inverse_word_alignment_model,
            "grow-diag-final-and",
        )
        self._links: dict[tuple[tuple[str, ...], tuple[str, ...]], Links] = {}

    def nbest(self, segment: int, source: Sequence[str], size: int) -> str:
        """Return the lines of a segment's n-best list, best first, each hypothesis once."""
        if not source:
            return _line(segment, [], [0.0] * len(NAMES), 0.0, [], [])
        escaped = [escape(token) for token in source]
        # At least 20, so that the first hypothesis does not depend on the size.
        hypotheses = self._decoder.translate_n(" ".join(escaped), max(size, 20))
        entries = []
        seen = set()
        for hypothesis in hypotheses:
            # thot works in float32, good for 6 or 7 digits in all. + 0.0 turns -0.0 into 0.0,
            # which is written in another way.
            features = [round(value, 6) + 0.0 for value in hypothesis.score_components]
            score = 0.0
            for weight, value in zip(self.weights, features, strict=True):
                score += weight * value
            words = list(hypothesis.target)
            phrases = _phrases(hypothesis)
            links = sorted(
                (s0 + s, t0 + t)
                for s0, s1, t0, t1 in phrases
                for s, t in self._inside(tuple(escaped[s0:s1]), tuple(words[t0:t1]))
            )
            key = (tuple(words), tuple(features), tuple(links))
            if key not in seen:
                seen.add(key)
                entries.append((score, words, features, phrases, links))
        if not entries:
            raise RuntimeError(f"thot found no translation of segment {segment}")
        # By what is written, not by thot's score: that one is float32, and a weight of 0 is 1e-6.
        entries.sort(key=lambda entry: -entry[0])
        return "".join(
            _line(segment, [unescape(word) for word in words], features, score, phrases, links)
            for score, words, features, phrases, links in entries[:size]
        )

    def _inside(self, source: tuple[str, ...], target: tuple[str, ...]) -> Links:
        """Link the words of a phrase pair; the same pair comes in most hypotheses of a list."""
        if len(source) == 1 or len(target) == 1:
            return [(s, t) for s in range(len(source)) for t in range(len(target))]
        links = self._links.get((source, target))
        if links is None:
            _, matrix = self._aligner.get_best_alignment(list(source), list(target))
            links = self._links[source, target] = matrix_links(matrix)
        return links


def _phrases(hypothesis: Any) -> list[tuple[int, int, int, int]]:
    """Return (source start, source end, target start, target end), 0-based, ends exclusive."""
    phrases, start = [], 0
    for (first, last), cut in zip(
        hypothesis.source_segmentation, hypothesis.target_segment_cuts, strict=True
    ):
        phrases.append((first - 1, last, start, cut))
        start = cut
    return phrases


def _line(
    segment: int,
    words: Sequence[str],
    features: Sequence[float],
    score: float,
    phrases: Sequence[tuple[int, int, int, int]],
    links: Links,
) -> str:
    feature_text = " ".join(
        f"{name}= {value!r}" for name, value in zip(NAMES, features, strict=True)
    )
    segmentation = " ".join(f"{_span(s0, s1)}={_span(t0, t1)}" for s0, s1, t0, t1 in phrases)
    aligned = " ".join(f"{s}-{t}" for s, t in links)
    text = " ".join("&#124;&#124;&#124;" if word == "|||" else word for word in words)  # as Moses
    fields = [str(segment), text, feature_text, repr(score + 0.0), segmentation, aligned]
    return " ||| ".join(fields) + "\n"


def _span(start: int, stop: int) -> str:
    """Write a phrase's span as Moses does: inclusive, one number where it is one word."""
    return str(start) if stop == start + 1 else f"{start}-{stop - 1}"


def main() -> None:
    """Serve until the input ends."""
    answers = own_output()
    task = json.loads(sys.stdin.readline())
    translator: Translator | None = None
    for line in sys.stdin:
        segment, source, size, weights = json.loads(line)
        if translator is None:
            translator = Translator({**task, "weights": weights})
        elif translator.weights != weights:
            translator.weights = translator.model.weights = weights
        answers.write(json.dumps(translator.nbest(segment, source, size)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
