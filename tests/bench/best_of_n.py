"""Make configs/best-of-n: answers to sums, and what four judges of different worth say of them.

python -m tests.bench.best_of_n FOLDER

Everything is invented. A problem is more or less difficult; eight answers to it are right or not
by its difficulty. `logprob` is a little higher for right answers, `reward` higher for right ones
and for long ones, `verifier` much higher for right ones but useless where a problem is difficult,
and `votes` is the share of the eight that give the same answer.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter
from pathlib import Path

PROBLEMS, ANSWERS = 200, 8


def main() -> None:
    """Write the candidates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    write(parser.parse_args().folder)


def write(folder: Path) -> None:
    """Write JSON lines, a candidate each."""
    rng = random.Random(2012)
    lines = [json.dumps(item) + "\n" for n in range(PROBLEMS) for item in problem(n, rng)]
    folder.mkdir(parents=True, exist_ok=True)
    data = gzip.compress("".join(lines).encode(), mtime=0)
    (folder / "candidates.jsonl.gz").write_bytes(data)


def problem(number: int, rng: random.Random) -> list[dict[str, object]]:
    """Return the answers to one problem."""
    first, second, third = rng.randint(11, 99), rng.randint(11, 99), rng.randint(101, 999)
    result, ease = first * second + third, rng.random()
    found = []
    for _ in range(ANSWERS):
        right = rng.random() < 0.15 + 0.6 * ease
        slip = 0 if right else rng.choice((-100, -10, -1, 1, 10, 100, rng.randint(-500, 500) or 7))
        steps = rng.randint(1, 4)
        text = f"{first} * {second} + {third} = " * steps + str(result + slip)
        judges = {
            "logprob": round(rng.gauss(-4.0 * steps + 0.8 * right, 1.5), 3),
            "reward": round(rng.gauss(1.0 * right + 0.5 * steps, 0.8), 3),
            "verifier": round(rng.gauss((2.0 if ease > 0.35 else 0.0) * right, 1.0), 3),
        }
        found.append((result + slip, text, judges, right))
    votes = Counter(answer for answer, *_ in found)
    return [
        {
            "id": f"problem-{number:03d}",
            "text": text,
            "features": judges | {"votes": votes[answer] / ANSWERS},
            "correct": answer == result,
        }
        for answer, text, judges, _ in found
    ]


if __name__ == "__main__":
    main()
