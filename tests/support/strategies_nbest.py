"""Random n-best lists as text, in all the forms that the format allows."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = ["a", "b", "the", "é", "日本", "|", "||", "a|||b", "x=1", "0-0", "||||", "-1.5"]
NUMBERS = [
    "0", "-0", "1", "-2", "0.5", "-1.25", "3.14159", "1e-3", "-2.5E+2", ".5", "7.", "+4",
    "0.1", "9.99999999999999e29", "5e-324", "123456789012345678901234567890", "-23.7265",
    "0.30000000000000004", "9007199254740993", "1e23",
]  # fmt: skip
SPACES = st.sampled_from([" ", "  ", "\t"])
DENSE = {"LM0": 1, "TM0": 3, "Lex_0": 2, "D_0": 1}


@st.composite
def features(draw, names, sparse):
    parts = []
    for name in names:
        values = draw(
            st.lists(st.sampled_from(NUMBERS), min_size=DENSE[name], max_size=DENSE[name])
        )
        glue = draw(st.sampled_from([" ", ""]))
        parts.append(f"{name}={glue}{' '.join(values)}")
    if sparse:
        chosen = draw(st.lists(st.sampled_from(["s_a", "s_b", "s_c=d"]), unique=True))
        parts.extend(f"{name}= {draw(st.sampled_from(NUMBERS))}" for name in chosen)
    return " ".join(draw(st.permutations(parts)))


@st.composite
def segmentation(draw, length):
    """Phrases that tile the hypothesis, maybe one that is dropped."""
    pairs, at, source = [], 0, 0
    while at < length:
        if draw(st.integers(0, 5)) == 0:
            pairs.append(f"{source}={at}")
            source += 1
        size, width = draw(st.integers(1, length - at)), draw(st.integers(1, 3))
        left = f"{source}-{source + width - 1}" if width > 1 else f"{source}"
        right = f"{at}-{at + size - 1}" if size > 1 else f"{at}"
        pairs.append(f"{left}={right}")
        at, source = at + size, source + width
    return " ".join(pairs)


@st.composite
def links(draw, length):
    if not length:
        return ""
    pairs = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, length - 1)), max_size=6))
    return " ".join(f"{i}-{j}" for i, j in pairs)


@st.composite
def nbest_texts(draw, *, lists=3, linked=None):
    """Several lists of the same segments and features."""
    segments = draw(st.integers(1, 3))
    names = draw(st.lists(st.sampled_from(sorted(DENSE)), min_size=1, unique=True))
    sparse = draw(st.booleans())
    same_form = draw(st.booleans())
    texts = []
    for number in range(draw(st.integers(1, lists))):
        if number == 0 or not same_form:
            form = draw(st.sampled_from(["", "s", "l", "sl", "ls"])) if linked is None else linked
        ids = [*range(segments), *draw(st.lists(st.integers(0, segments - 1), max_size=6))]
        lines = []
        for segment in draw(st.permutations(ids)):
            words = draw(st.lists(st.sampled_from(WORDS), max_size=4))
            gap = draw(SPACES)
            fields = [str(segment), gap.join(words), draw(features(names, sparse))]
            fields.append(draw(st.sampled_from(NUMBERS)))
            for kind in form:
                strategy = segmentation(len(words)) if kind == "s" else links(len(words))
                fields.append(draw(strategy))
            lines.append(" ||| ".join(fields))
            if draw(st.booleans()):
                lines.append(lines[-1])  # equal hypotheses are common in real lists
        end = draw(st.sampled_from(["\n", "\r\n"]))
        texts.append("".join(line + end for line in lines))
    return texts
