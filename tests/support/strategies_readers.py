"""Random n-best lists, and what each format makes of them."""

from __future__ import annotations

import json
from typing import NamedTuple

from hypothesis import strategies as st

WORDS = ["a", "b", "the", "é", "日本", "x=1", "0-0", "-1.5", "|", "F0="]


class Hypothesis(NamedTuple):
    segment: int
    words: tuple[str, ...]
    values: tuple[float, float]
    score: float
    links: tuple[tuple[int, int], ...]


# Strategies are made once: to make one takes longer than to draw from it.
_SEGMENTS, _NUMBER = st.integers(1, 3), st.integers(-40, 40).map(lambda n: n / 8)
_WORDS = st.lists(st.sampled_from(WORDS), max_size=4).map(tuple)
_IDS = {n: st.lists(st.integers(0, n - 1), max_size=5) for n in (1, 2, 3)}
_LINKS = {
    n: st.lists(st.tuples(st.integers(0, 3), st.integers(0, n - 1)), max_size=4).map(tuple)
    for n in (1, 2, 3, 4)
}


@st.composite
def lists(draw):
    """Two features; every segment has at least one hypothesis."""
    segments = draw(_SEGMENTS)
    found = []
    for segment in draw(st.permutations([*range(segments), *draw(_IDS[segments])])):
        words = draw(_WORDS)
        links = draw(_LINKS[len(words)]) if words else ()
        found.append(
            Hypothesis(segment, words, (draw(_NUMBER), draw(_NUMBER)), draw(_NUMBER), links)
        )
    return found


def links_text(hypothesis):
    return " ".join(f"{i}-{j}" for i, j in hypothesis.links)


def moses(found, *, linked, names=("F0", "F1")):
    return "".join(
        f"{h.segment} ||| {' '.join(h.words)} ||| "
        f"{' '.join(f'{n}= {v!r}' for n, v in zip(names, h.values, strict=True))} ||| {h.score!r}"
        + (f" ||| {links_text(h)}\n" if linked else "\n")
        for h in found
    )


def marian(found, *, linked, scored):
    """Marian's lines, each with a link to the end of the sentence."""
    lines = []
    for h in found:
        fields = [str(h.segment), " ".join(h.words)]
        if linked:
            fields.append(f"{links_text(h)} 4-{len(h.words)}".strip())
        if scored:
            fields.append("WordScores= -0.1 -0.2")
        fields += [f"F0= {h.values[0]!r} F1= {h.values[1]!r}", repr(h.score)]
        lines.append(" ||| ".join(fields) + "\n")
    return "".join(lines)


def named(h, names):
    """`name=value`, what is 0 left out but the last."""
    pairs = list(zip(names, h.values, strict=True))
    kept = [pair for pair in pairs if pair[1]] or pairs[-1:]
    return " ".join(f"{name}={value!r}" for name, value in kept)


def cdec(found, *, names=("Glue", "PassThrough")):
    return "".join(
        f"{h.segment} ||| {' '.join(h.words)} ||| {named(h, names)} ||| {h.score!r}\n"
        for h in found
    )


def travatar(found, *, names=("Glue", "PassThrough")):
    return "".join(
        f"{h.segment} ||| {' '.join(h.words)} ||| {h.score!r} ||| {named(h, names)}\n"
        for h in found
    )


def tsv(found):
    return "F0\tid\tmodel_score\thyp\tlinks\tF1\n" + "".join(
        f"{h.values[0]!r}\t{h.segment}\t{h.score!r}\t{' '.join(h.words)}\t{links_text(h)}\t"
        f"{h.values[1]!r}\n"
        for h in found
    )


def jsonl(found, *, as_pairs):
    return "".join(
        json.dumps(
            {
                "id": h.segment,
                "text": " ".join(h.words),
                "features": {"F1": h.values[1], "F0": h.values[0]},
                "model_score": h.score,
                "links": [list(pair) for pair in h.links] if as_pairs else links_text(h),
            },
            ensure_ascii=as_pairs,
        )
        + "\n"
        for h in found
    )


def fairseq(found):
    return "".join(
        f"S-{h.segment}\tx y\nH-{h.segment}\t{h.score!r}\t{' '.join(h.words)}\n"
        f"D-{h.segment}\t{h.score!r}\t{''.join(h.words)}\n"
        f"P-{h.segment}\t{h.values[0]!r} {h.values[1]!r}\nA-{h.segment}\t{links_text(h)}\n"
        for h in found
    )


# Formats with one score, segment by segment


def numbered(found):
    """Hypotheses as (segment, number from 1, text, score), grouped by segment."""
    counts = {}
    for h in sorted(found, key=lambda h: h.segment):
        counts[h.segment] = counts.get(h.segment, 0) + 1
        yield str(h.segment), counts[h.segment], " ".join(h.words), h.values[0]


def grouped(found):
    """Lists of (number, text, score) by segment."""
    segments = {}
    for segment, number, text, score in numbered(found):
        segments.setdefault(segment, []).append((number, text, score))
    return segments


def scored_tsv(found):
    rows = [f"{s}\t{text}\t{score!r}\n" for s, _, text, score in numbered(found)]
    return "".join(["id\thyp\tscore\n", *rows])


def json_lines(objects):
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in objects)


def openai(found):
    """Choices in reverse, which their index brings into order."""
    return json_lines(
        {
            "custom_id": segment,
            "response": {
                "body": {
                    "choices": [
                        {"index": n, "text": text, "logprobs": {"token_logprobs": [score, 0.0]}}
                        for n, text, score in reversed(items)
                    ]
                }
            },
        }
        for segment, items in grouped(found).items()
    )


def huggingface(found):
    return json_lines(
        {
            "id": segment,
            "sequences": [text for _, text, _ in items],
            "sequences_scores": [score for _, _, score in items],
        }
        for segment, items in grouped(found).items()
    )


def nemo(found):
    return json_lines(
        {"beams": [[text, score] for _, text, score in items]} for items in grouped(found).values()
    )


def espnet(found):
    utterances = {
        segment: {"output": [{"rec_text": f"{text}<eos>", "score": x} for _, text, x in items]}
        for segment, items in grouped(found).items()
    }
    return json.dumps({"utts": utterances}, indent=4, ensure_ascii=False)


def mlm_scoring(found):
    utterances = {
        segment: {f"hyp_{n}": {"score": score, "text": text} for n, text, score in items}
        for segment, items in grouped(found).items()
    }
    return json.dumps(utterances, indent=2, sort_keys=True)


def kaldi(found):
    """Words, and costs."""
    words = "".join(f"{s}-{n} {text}\n" for s, n, text, _ in numbered(found))
    return words, "".join(f"{s}-{n} {-score!r}\n" for s, n, _, score in numbered(found))
