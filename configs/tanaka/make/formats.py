"""Writes configs/formats: the start of l2r.dev.jsonl.gz in the formats of other tools.

python formats.py TANAKA FORMATS
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

SEGMENTS, MOST = 16, 4


def main(lists: Path, out: Path) -> None:
    """Write all formats."""
    with gzip.open(lists / "l2r.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(next(lines)) for _ in range(SEGMENTS)]
    found = {
        f"utt-{record['id']:02}": [
            (one["text"], one["features"]["logprob"], one["features"]["r2l"])
            for one in record["hypotheses"][:MOST]
        ]
        for record in records
    }
    sources, references = (
        (lists / f"dev.{side}").read_text(encoding="utf-8").splitlines()[:SEGMENTS]
        for side in ("src", "ref")
    )

    def lines(name: str, entries: list) -> None:
        text = "".join(
            f"{entry if isinstance(entry, str) else json.dumps(entry)}\n" for entry in entries
        )
        (out / name).write_text(text, encoding="utf-8")

    def costs(place: int) -> list[str]:
        return [
            f"{name}-{number} {-entry[place]:.3f}"
            for name, entries in found.items()
            for number, entry in enumerate(entries, 1)
        ]

    def scored(place: int) -> dict:
        return {
            name: {
                f"hyp_{number}": {"score": entry[place], "text": entry[0]}
                for number, entry in enumerate(entries, 1)
            }
            for name, entries in found.items()
        }

    lines("chat.jsonl", [
        {"id": f"batch-{name}", "custom_id": name, "response": {"status_code": 200, "body": {
            "object": "chat.completion", "choices": [
                {"index": number, "message": {"role": "assistant", "content": text},
                 "logprobs": {"content": [{"token": word, "logprob": share} for word, share in
                                          shares(text, logprob)]},
                 "finish_reason": "stop"} for number, (text, logprob, _) in enumerate(entries)]}}}
        for name, entries in found.items()])  # fmt: skip
    lines("completions.jsonl", [
        {"object": "text_completion", "choices": [
            {"index": number, "text": text, "logprobs": {
                "tokens": text.split(),
                "token_logprobs": [share for _, share in shares(text, logprob)]},
             "finish_reason": "stop"} for number, (text, logprob, _) in enumerate(entries)]}
        for entries in found.values()])  # fmt: skip
    lines("generate.jsonl", [
        {"id": name, "sequences": [text for text, *_ in entries],
         "sequences_scores": [logprob for _, logprob, _ in entries]}
        for name, entries in found.items()])  # fmt: skip
    lines("nemo.json", [
        {"audio_filepath": f"{name}.wav", "duration": 1.5, "pred_text": entries[0][0],
         "beams": [[text, logprob] for text, logprob, _ in entries]}
        for name, entries in found.items()])  # fmt: skip
    espnet = {"utts": {name: {
        "output": [{"name": f"target1[{number}]", "rec_text": f"{text}<eos>", "score": logprob}
                   for number, (text, logprob, _) in enumerate(entries, 1)], "utt2spk": "made"}
        for name, entries in found.items()}}  # fmt: skip
    lines("espnet.json", [json.dumps(espnet, indent=1)])
    lines("am.json", [json.dumps(scored(1), indent=1)])
    lines("bert.json", [json.dumps(scored(2), indent=1)])
    lines("words", [f"{name}-{number} {text}" for name, entries in found.items()
                    for number, (text, *_) in enumerate(entries, 1)])  # fmt: skip
    lines("ac_cost", costs(1))
    lines("lm_cost", costs(2))
    lines("text", [f"{name} {line}" for name, line in
                   reversed(list(zip(found, references, strict=True)))])  # fmt: skip
    lines("line.ref", references)
    fairseq = ["2024-05-02 10:11:12 | INFO | fairseq_cli.generate | loading model(s)"]
    for number in sorted(range(SEGMENTS), key=lambda place: -len(sources[place])):
        fairseq += [f"S-{number}\t{sources[number]}", f"T-{number}\t{references[number]}"]
        for text, logprob, _ in found[f"utt-{number:02}"]:
            each = [share for _, share in shares(text, logprob)]
            mean = f"{logprob / len(each):.4f}"
            fairseq += [f"H-{number}\t{mean}\t{text}", f"D-{number}\t{mean}\t{text}",
                        f"P-{number}\t{' '.join(map(str, each))}"]  # fmt: skip
    lines("fairseq.out", fairseq)


def shares(text: str, logprob: float) -> list[tuple[str, float]]:
    """Return an equal share of the score for each word; the last one has what rounding left."""
    words = text.split()
    each = round(logprob / len(words), 3)
    rest = round(logprob - each * (len(words) - 1), 3)
    return [(word, each) for word in words[:-1]] + [(words[-1], rest)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
