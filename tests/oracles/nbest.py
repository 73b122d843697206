"""Slow twins of the n-best readers, from the description of the format: str.split and dicts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

SPACE = re.compile(r"[ \t\r\v\f]+")


@dataclass(frozen=True)
class Hypothesis:
    segment: int
    tokens: tuple[str, ...]
    features: dict[str, tuple[float, ...]]
    score: float
    links: tuple[tuple[int, int], ...] | None

    @property
    def key(self):
        return (self.tokens, tuple(sorted(self.features.items())), self.links)


def tokens_of(text: str) -> list[str]:
    return [token for token in SPACE.split(text) if token]


def fields_of(line: str) -> list[list[str]]:
    fields: list[list[str]] = [[]]
    for token in tokens_of(line):
        if token == "|||":  # noqa: S105  no password
            fields.append([])
        else:
            fields[-1].append(token)
    return fields


def features_of(tokens: list[str]) -> dict[str, tuple[float, ...]]:
    features: dict[str, list[float]] = {}
    for token in tokens:
        value = token
        if "=" in token:
            name, _, value = token.rpartition("=")
            assert name not in features
            features[name] = []
        if value:
            features[name].append(float(value))
    return {name: tuple(values) for name, values in features.items()}


def span_of(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def expanded(pairs: list[str], length: int) -> list[tuple[int, int]]:
    """Phrase pairs -> links; one that begins where the next one does has no target words."""
    spans = [[span_of(side) for side in pair.split("=")] for pair in pairs]
    links = []
    for k, ((first, last), (start, stop)) in enumerate(spans):
        next_start = spans[k + 1][1][0] if k + 1 < len(spans) else length
        if not start == stop == next_start:
            links += [(i, j) for i in range(first, last + 1) for j in range(start, stop + 1)]
    return links


def read_lines(text: str) -> list[Hypothesis]:
    """Read one list."""
    lines = [fields_of(line) for line in text.split("\n") if line.strip()]
    kinds: dict[int, str] = {}
    width = len(lines[0])
    for column in range(4, width):
        for fields in lines:
            if fields[column]:
                kinds[column] = "phrases" if "=" in fields[column][0] else "links"
    if width == 5:
        kinds.setdefault(4, "links")
    if width == 6:
        partner = {"phrases": "links", "links": "phrases"}
        kinds.setdefault(5, partner[kinds.get(4, "phrases")])
        kinds.setdefault(4, partner[kinds[5]])
    hypotheses = []
    for fields in lines:
        links = None
        for column, kind in kinds.items():
            if kind == "links":
                links = [tuple(map(int, token.split("-"))) for token in fields[column]]
        if links is None and "phrases" in kinds.values():
            column = next(c for c, kind in kinds.items() if kind == "phrases")
            links = expanded(fields[column], len(fields[1]))
        hypotheses.append(
            Hypothesis(
                int(fields[0][0]),
                tuple(fields[1]),
                features_of(fields[2]),
                float(fields[3][0]),
                None if links is None else tuple(sorted(set(links))),
            )
        )
    return hypotheses


def merged(lists: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
    """Segments of unique hypotheses in order of arrival."""
    linked = all(hypothesis.links is not None for rows in lists for hypothesis in rows)
    segments: dict[int, dict] = {}
    for rows in lists:
        for hypothesis in rows:
            stripped = hypothesis if linked else replace(hypothesis, links=None)
            segments.setdefault(stripped.segment, {}).setdefault(stripped.key, stripped)
    return [list(segments[k].values()) for k in range(len(segments))]


def dense_names(lists: list[list[Hypothesis]]) -> list[str]:
    """Features that every hypothesis has, in the order of the first line."""
    rows = [hypothesis for hypotheses in lists for hypothesis in hypotheses]
    return [name for name in rows[0].features if all(name in row.features for row in rows)]


def read_dat(features: list[str], scores: list[str]):
    """Read Moses' two files: {segment: unique (features, stats) in order of arrival}."""
    segments: dict[int, dict] = {}
    for feature_text, score_text in zip(features, scores, strict=True):
        for (segment, names, rows), (same_segment, _, stats) in zip(
            blocks(feature_text), blocks(score_text), strict=True
        ):
            assert segment == same_segment
            for row, stat in zip(rows, stats, strict=True):
                key = (tuple(sorted(zip(names, row, strict=True))), tuple(stat))
                segments.setdefault(segment, {}).setdefault(key, None)
    return [list(segments[k]) for k in range(len(segments))]


def blocks(text: str):
    lines = iter(text.splitlines())
    for line in lines:
        _, segment, count, _, *names = line.split()
        yield (
            int(segment),
            names,
            [[float(v) for v in next(lines).split()] for _ in range(int(count))],
        )
        assert "_TXT_END" in next(lines)
