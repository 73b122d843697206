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
    hypotheses = []
    for segment in draw(st.permutations([*range(segments), *draw(_IDS[segments])])):
        words = draw(_WORDS)
        links = draw(_LINKS[len(words)]) if words else ()
        hypotheses.append(
            Hypothesis(segment, words, (draw(_NUMBER), draw(_NUMBER)), draw(_NUMBER), links)
        )
    return hypotheses


def links_text(hypothesis):
    return " ".join(f"{i}-{j}" for i, j in hypothesis.links)


def moses(hypotheses, *, linked, names=("F0", "F1")):
    return "".join(
        f"{h.segment} ||| {' '.join(h.words)} ||| "
        f"{' '.join(f'{n}= {v!r}' for n, v in zip(names, h.values, strict=True))} ||| {h.score!r}"
        + (f" ||| {links_text(h)}\n" if linked else "\n")
        for h in hypotheses
    )


def marian(hypotheses, *, linked, scored):
    """Marian's lines, each with a link to the end of the sentence."""
    lines = []
    for h in hypotheses:
        fields = [str(h.segment), " ".join(h.words)]
        if linked:
            fields.append(f"{links_text(h)} 4-{len(h.words)}".strip())
        if scored:
            fields.append("WordScores= -0.1 -0.2")
        fields += [f"F0= {h.values[0]!r} F1= {h.values[1]!r}", repr(h.score)]
        lines.append(" ||| ".join(fields) + "\n")
    return "".join(lines)


def named_values(h, names):
    """`name=value`, what is 0 left out but the last."""
    pairs = list(zip(names, h.values, strict=True))
    pairs_shown = [pair for pair in pairs if pair[1]] or pairs[-1:]
    return " ".join(f"{name}={value!r}" for name, value in pairs_shown)


def cdec(hypotheses, *, names=("Glue", "PassThrough")):
    return "".join(
        f"{h.segment} ||| {' '.join(h.words)} ||| {named_values(h, names)} ||| {h.score!r}\n"
        for h in hypotheses
    )


def travatar(hypotheses, *, names=("Glue", "PassThrough")):
    return "".join(
        f"{h.segment} ||| {' '.join(h.words)} ||| {h.score!r} ||| {named_values(h, names)}\n"
        for h in hypotheses
    )


def tsv(hypotheses):
    return "F0\tid\tmodel_score\thyp\tlinks\tF1\n" + "".join(
        f"{h.values[0]!r}\t{h.segment}\t{h.score!r}\t{' '.join(h.words)}\t{links_text(h)}\t"
        f"{h.values[1]!r}\n"
        for h in hypotheses
    )


def jsonl(hypotheses, *, as_pairs):
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
        for h in hypotheses
    )


def fairseq(hypotheses):
    return "".join(
        f"S-{h.segment}\tx y\nH-{h.segment}\t{h.score!r}\t{' '.join(h.words)}\n"
        f"D-{h.segment}\t{h.score!r}\t{''.join(h.words)}\n"
        f"P-{h.segment}\t{h.values[0]!r} {h.values[1]!r}\nA-{h.segment}\t{links_text(h)}\n"
        for h in hypotheses
    )


# Formats with one score, segment by segment


def numbered(hypotheses):
    """Hypotheses as (segment, number from 1, text, score), grouped by segment."""
    counts = {}
    for h in sorted(hypotheses, key=lambda h: h.segment):
        counts[h.segment] = counts.get(h.segment, 0) + 1
        yield str(h.segment), counts[h.segment], " ".join(h.words), h.values[0]


def grouped(hypotheses):
    """Lists of (number, text, score) by segment."""
    segments = {}
    for segment, number, text, score in numbered(hypotheses):
        segments.setdefault(segment, []).append((number, text, score))
    return segments


def scored_tsv(hypotheses):
    rows = [f"{s}\t{text}\t{score!r}\n" for s, _, text, score in numbered(hypotheses)]
    return "".join(["id\thyp\tscore\n", *rows])


def json_lines(objects):
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in objects)


def openai(hypotheses):
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
        for segment, items in grouped(hypotheses).items()
    )


def huggingface(hypotheses):
    return json_lines(
        {
            "id": segment,
            "sequences": [text for _, text, _ in items],
            "sequences_scores": [score for _, _, score in items],
        }
        for segment, items in grouped(hypotheses).items()
    )


def nemo(hypotheses):
    return json_lines(
        {"beams": [[text, score] for _, text, score in items]}
        for items in grouped(hypotheses).values()
    )


def espnet(hypotheses):
    utterances = {
        segment: {"output": [{"rec_text": f"{text}<eos>", "score": x} for _, text, x in items]}
        for segment, items in grouped(hypotheses).items()
    }
    return json.dumps({"utts": utterances}, indent=4, ensure_ascii=False)


def mlm_scoring(hypotheses):
    utterances = {
        segment: {f"hyp_{n}": {"score": score, "text": text} for n, text, score in items}
        for segment, items in grouped(hypotheses).items()
    }
    return json.dumps(utterances, indent=2, sort_keys=True)


def kaldi(hypotheses):
    """Words, and costs."""
    words = "".join(f"{s}-{n} {text}\n" for s, n, text, _ in numbered(hypotheses))
    return words, "".join(f"{s}-{n} {-score!r}\n" for s, n, _, score in numbered(hypotheses))
