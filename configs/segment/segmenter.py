"""Puts the blanks back: `helivedahardlife` becomes `he lived a hard life`.

python3 configs/segment/segmenter.py WEIGHTS SIZE <TEXT    prints n-best lists
python3 configs/segment/segmenter.py lines                 answers lines of JSON
"""

import collections
import json
import math
import sys
from pathlib import Path

words = Path("configs/tanaka/dev.ref").read_text().split()
counts = collections.Counter(words)


def decode(weights, sources, size):
    return [segmented(weights, source, size) for source in sources]


def segmented(weights, source, size):
    best = [[(0.0, [], {"lm": 0.0, "letters": 0.0, "words": 0.0})]]
    for end in range(1, len(source) + 1):
        found = []
        for begin in range(max(0, end - 12), end):
            word = source[begin:end]
            known = word in counts
            lm = math.log10(counts[word] / len(words)) if known else 0.0
            letters = 0.0 if known else -float(len(word))
            more = weights["lm"] * lm + weights["letters"] * letters + weights["words"]
            for score, text, f in best[begin]:
                added = {"lm": f["lm"] + lm, "letters": f["letters"] + letters,
                         "words": f["words"] + 1}  # fmt: skip
                found.append((score + more, [*text, word], added))
        best.append(sorted(found, key=lambda one: -one[0])[:size])
    return [
        {"text": " ".join(text), "features": features, "model_score": score}
        for score, text, features in best[-1]
    ]


def main():
    if sys.argv[1:] == ["lines"]:
        for line in sys.stdin:
            asked = json.loads(line)
            for number, found in enumerate(decode(**asked)):
                print(json.dumps({"id": number, "hypotheses": found}), flush=True)
        return
    weights = {
        name: float(value)
        for name, value in map(str.split, Path(sys.argv[1]).read_text().splitlines())
    }
    sources = sys.stdin.read().splitlines()
    for number, found in enumerate(decode(weights, sources, int(sys.argv[2]))):
        print(json.dumps({"id": number, "hypotheses": found}))


if __name__ == "__main__":
    main()
