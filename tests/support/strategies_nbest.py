"""Random n-best lists as text, in all the forms that the format allows."""

from __future__ import annotations

import functools

from hypothesis import strategies as st

WORDS = ["a", "b", "the", "é", "日本", "|", "||", "a|||b", "x=1", "0-0", "||||", "-1.5"]
NUMBERS = [
    "0", "-0", "1", "-2", "0.5", "-1.25", "3.14159", "1e-3", "-2.5E+2", ".5", "7.", "+4",
    "0.1", "9.99999999999999e29", "5e-324", "123456789012345678901234567890", "-23.7265",
    "0.30000000000000004", "9007199254740993", "1e23",
]  # fmt: skip
DENSE = {"LM0": 1, "TM0": 3, "Lex_0": 2, "D_0": 1}

# Strategies are made once: to make one takes longer than to draw from it.
_SPACES, _GLUE = st.sampled_from([" ", "  ", "\t"]), st.sampled_from([" ", ""])
_NUMBER, _WORDS = st.sampled_from(NUMBERS), st.lists(st.sampled_from(WORDS), max_size=4)
_VALUES = {name: st.lists(_NUMBER, min_size=n, max_size=n) for name, n in DENSE.items()}
_SPARSE = st.lists(st.sampled_from(["s_a", "s_b", "s_c=d"]), unique=True)
_NAMES = st.lists(st.sampled_from(sorted(DENSE)), min_size=1, unique=True)
_FORMS, _ENDS = st.sampled_from(["", "s", "l", "sl", "ls"]), st.sampled_from(["\n", "\r\n"])
_between = functools.cache(st.integers)
_ids = functools.cache(lambda segments: st.lists(_between(0, segments - 1), max_size=6))


@functools.cache
def _pairs(length):
    return st.lists(st.tuples(_between(0, 5), _between(0, length - 1)), max_size=6)


@st.composite
def features(draw, names, sparse):
    parts = []
    for name in names:
        values = draw(_VALUES[name])
        parts.append(f"{name}={draw(_GLUE)}{' '.join(values)}")
    if sparse:
        parts.extend(f"{name}= {draw(_NUMBER)}" for name in draw(_SPARSE))
    return " ".join(draw(st.permutations(parts)))


@functools.cache
@st.composite
def segmentation(draw, length):
    """Phrases that tile the hypothesis, maybe one that is dropped."""
    pairs, at, source = [], 0, 0
    while at < length:
        if draw(_between(0, 5)) == 0:
            pairs.append(f"{source}={at}")
            source += 1
        size, width = draw(_between(1, length - at)), draw(_between(1, 3))
        left = f"{source}-{source + width - 1}" if width > 1 else f"{source}"
        right = f"{at}-{at + size - 1}" if size > 1 else f"{at}"
        pairs.append(f"{left}={right}")
        at, source = at + size, source + width
    return " ".join(pairs)


@functools.cache
@st.composite
def links(draw, length):
    if not length:
        return ""
    return " ".join(f"{i}-{j}" for i, j in draw(_pairs(length)))


@st.composite
def nbest_texts(draw, *, lists=3, linked=None):
    """Several lists of the same segments and features."""
    segments = draw(_between(1, 3))
    names = draw(_NAMES)
    sparse = draw(st.booleans())
    same_form = draw(st.booleans())
    texts = []
    for number in range(draw(_between(1, lists))):
        if number == 0 or not same_form:
            form = draw(_FORMS) if linked is None else linked
        ids = [*range(segments), *draw(_ids(segments))]
        lines = []
        for segment in draw(st.permutations(ids)):
            words = draw(_WORDS)
            gap = draw(_SPACES)
            fields = [str(segment), gap.join(words), draw(features(names, sparse))]
            fields.append(draw(_NUMBER))
            for kind in form:
                strategy = segmentation(len(words)) if kind == "s" else links(len(words))
                fields.append(draw(strategy))
            lines.append(" ||| ".join(fields))
            if draw(st.booleans()):
                lines.append(lines[-1])  # equal hypotheses are common in real lists
        end = draw(_ENDS)
        texts.append("".join(line + end for line in lines))
    return texts
