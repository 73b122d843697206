"""Adds features to the lists of the three systems, and writes them in three formats.

    python features.py WORK OUT

WORK has the text (train, qe, dev, test; .ja and .en), lm.bin, models/ (l2r, r2l, reverse), the
lists {moses,l2r,r2l}.{qe,dev,test}.nbest, and word links: {dev,test}.links of the references,
r2l.{dev,test}.links of the lists, l2r.{dev,test}.links of the first hypotheses.

No feature is made from a reference of dev or test. `estimate` learns from the references of `qe`,
pairs that the models were not trained on.
"""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import kenlm
import numpy as np
from lexical import ModelOne

WORK, OUT = Path(sys.argv[1]), Path(sys.argv[2])
HERE = Path(__file__).parent
SYSTEMS, SETS, MOST = ("moses", "l2r", "r2l"), ("qe", "dev", "test"), 30
MODELS = ("l2r", "r2l", "reverse")


def lines_of(name: str) -> list[str]:
    """Return the lines of a text."""
    return (WORK / name).read_text(encoding="utf-8").splitlines()


def entries_of(system: str, part: str) -> list[dict]:
    """Return the first hypotheses of each list: segment, text, features as written, rest."""
    found, count = [], {}
    for line in lines_of(f"{system}.{part}.nbest"):
        segment, text, features, score, *rest = (field.strip() for field in line.split(" ||| "))
        number = int(segment)
        count[number] = count.get(number, 0) + 1
        if count[number] <= MOST:
            found.append(
                {
                    "segment": number,
                    "text": text,
                    "own": features,
                    "score": float(score),
                    "rest": rest,
                }
            )
    return found


def scores_by(model: str, name: str, sources: list[str], targets: list[str]) -> list[float]:
    """Return log-probabilities of the targets given the sources, by a trained model."""
    paths = [WORK / f"{name}.{model}.{suffix}" for suffix in ("given", "wanted", "scores")]
    if not paths[2].exists():
        for path, text in zip(paths, (sources, targets), strict=False):
            path.write_text("".join(line + "\n" for line in text), encoding="utf-8")
        part = paths[2].with_suffix(".part")
        subprocess.run(
            [
                sys.executable,
                HERE / "transformer.py",
                "score",
                WORK / "models" / model,
                "--source",
                paths[0],
                "--target",
                paths[1],
                "--out",
                part,
            ],
            check=True,
        )
        part.replace(paths[2])
    return [float(line) for line in paths[2].read_text().split()]


def described(entry: dict) -> list[float]:
    """Return what the quality estimate is computed from: values that no system owns."""
    length, source = max(1, len(entry["text"].split())), len(entry["source"].split())
    words = entry["text"].split()
    unknown = sum(any(ord(c) > 0x2E7F for c in word) for word in words) / length
    repeated = 1 - len(set(words)) / length
    base = [
        entry["lm"] / length,
        entry["ibm1"] / length,
        entry["ibm1_reverse"] / source,
        entry["reverse"] / source,
        math.log(length / source),
        unknown,
        repeated,
        1 / length,
        1 / source,
    ]
    return [*base, *(a * b for i, a in enumerate(base) for b in base[i:])]


def main() -> None:
    """Write everything."""
    ja, en = lines_of("train.ja"), lines_of("train.en")
    lexical, backwards = ModelOne.trained(ja, en), ModelOne.trained(en, ja)
    lm = kenlm.Model(str(WORK / "lm.bin"))
    lists = {}
    for part in SETS:
        sources = lines_of(f"{part}.ja")
        for system in SYSTEMS:
            entries = lists[system, part] = entries_of(system, part)
            for entry in entries:
                entry["source"] = source = sources[entry["segment"]]
                entry["lm"] = lm.score(entry["text"]) * math.log(10)
                entry["ibm1"] = lexical.score(source, entry["text"])
                entry["ibm1_reverse"] = backwards.score(entry["text"], source)
            texts = [entry["source"] for entry in entries], [entry["text"] for entry in entries]
            for model in MODELS:
                if model == system:  # its score is in its list
                    continue
                given, wanted = reversed(texts) if model == "reverse" else texts
                for entry, value in zip(
                    entries, scores_by(model, f"{system}.{part}", given, wanted), strict=True
                ):
                    entry[model] = value
    estimate(lists)
    for part in ("dev", "test"):
        add_links(lists, part)
    OUT.mkdir(parents=True, exist_ok=True)
    for part in ("dev", "test"):
        write(f"{part}.src", lines_of(f"{part}.ja"))
        write(f"{part}.ref", lines_of(f"{part}.en"))
        write(f"{part}.links", lines_of(f"{part}.links"))
        for system in SYSTEMS:
            entries = lists[system, part]
            firsts = {entry["segment"]: entry for entry in reversed(entries)}
            name = f"{system}.{part}"
            write(f"{name}.txt", [firsts[number]["text"] for number in sorted(firsts)])
            write(f"{name}.links", [firsts[number]["links"] for number in sorted(firsts)])
            zipped(OUT / f"{system}.{part}.qe.gz", [f"{entry['qe']:.4f}" for entry in entries])
        zipped(OUT / f"moses.{part}.nbest.gz", map(moses_line, lists["moses", part]))
        zipped(OUT / f"r2l.{part}.nbest.gz", map(marian_line, lists["r2l", part]))
        zipped(OUT / f"l2r.{part}.jsonl.gz", json_lines(lists["l2r", part]))


def add_links(lists: dict, part: str) -> None:
    """Give each hypothesis of Moses and r2l its word links, and the first ones of l2r."""
    for entry in lists["moses", part]:
        entry["links"] = entry["rest"][-1]
    for entry, links in zip(lists["r2l", part], lines_of(f"r2l.{part}.links"), strict=True):
        entry["links"] = links
    links = lines_of(f"l2r.{part}.links")
    for entry in lists["l2r", part]:
        entry["links"] = links[entry["segment"]]


def estimate(lists: dict) -> None:
    """Give each hypothesis `qe`, the chrF that a ridge regression of the pairs of `qe` expects."""
    references = lines_of("qe.en")
    learn = [entry for (_, part), entries in lists.items() if part == "qe" for entry in entries]
    goal = np.array([segment_chrf(e["text"], references[e["segment"]]) for e in learn])
    rows = np.array([described(entry) for entry in learn])
    mean, spread = rows.mean(0), rows.std(0) + 1e-9
    rows = (rows - mean) / spread
    inner = rows.T @ rows + 0.01 * len(rows) * np.eye(rows.shape[1])
    weights = np.linalg.solve(inner, rows.T @ (goal - goal.mean()))
    for entries in lists.values():
        values = (
            np.array([described(e) for e in entries]) - mean
        ) / spread @ weights + goal.mean()
        for entry, value in zip(entries, values.tolist(), strict=True):
            entry["qe"] = value


def short(value: float) -> str:
    """Return a number with two digits behind the point."""
    return f"{value:.2f}"


def shared(entry: dict, *names: str) -> str:
    """Return features that every system has, as lists write them."""
    return " ".join(f"{name}= {short(entry[name])}" for name in names)


def moses_line(entry: dict) -> str:
    """Return a line of a Moses list."""
    own = " ".join(
        word if word.endswith("=") else f"{float(word):.4g}" for word in entry["own"].split()
    )
    added = shared(entry, "ibm1", "ibm1_reverse", "reverse", "l2r", "r2l")
    return (
        f"{entry['segment']} ||| {entry['text']} ||| {own} {added} ||| {entry['score']:.3f} "
        f"||| {entry['links']}"
    )


def marian_line(entry: dict) -> str:
    """Return a line of a Marian list."""
    added = shared(entry, "lm", "ibm1", "ibm1_reverse", "reverse")
    return (
        f"{entry['segment']} ||| {entry['text']} ||| {entry['links']} ||| F0= {short(float(entry['own'].split()[1]))} "
        f"F1= {short(entry['l2r'])} {added} ||| {entry['score']:.3f}"
    )


def json_lines(entries: list[dict]) -> list[str]:
    """Return a segment a line with its hypotheses."""
    found: dict[int, list] = {}
    for entry in entries:
        scores = {
            "logprob": round(float(entry["own"].split()[1]), 2),
            **{
                name: round(entry[name], 2)
                for name in ("r2l", "lm", "ibm1", "ibm1_reverse", "reverse")
            },
            "length": len(entry["text"].split()),
        }
        found.setdefault(entry["segment"], []).append({"text": entry["text"], "features": scores})
    return [
        json.dumps({"id": number, "hypotheses": hypotheses}, ensure_ascii=False)
        for number, hypotheses in found.items()
    ]


def segment_chrf(hypothesis: str, reference: str) -> float:
    """Return the chrF of one segment."""
    total, orders = 0.0, 0
    texts = [text.replace(" ", "") for text in (hypothesis, reference)]
    for order in range(1, 7):
        left, right = (
            Counter(text[i : i + order] for i in range(len(text) - order + 1)) for text in texts
        )
        if left and right:
            common = sum((left & right).values())
            precision, recall = common / sum(left.values()), common / sum(right.values())
            total += 5 * precision * recall / (4 * precision + recall) if common else 0.0
        orders += bool(left or right)
    return total / max(1, orders)


def write(name: str, lines: list[str]) -> None:
    """Write a text."""
    (OUT / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def zipped(path: Path, lines) -> None:
    """Write a gzipped text, without the time of day."""
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
