"""IBM model 1, trained in both directions on the training text, and its scores of hypotheses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NULL = 0


def numbered(lines: list[list[str]]) -> dict[str, int]:
    """Return the number of each word; 0 is NULL."""
    return {word: number + 1 for number, word in enumerate(sorted({w for x in lines for w in x}))}


@dataclass
class ModelOne:
    """Probabilities of target words given source words."""

    given: dict[str, int]
    words: dict[str, int]
    table: dict[int, float]

    @classmethod
    def trained(cls, source: list[str], target: list[str], rounds: int = 5) -> ModelOne:
        """Return the model after some rounds of expectation and maximisation."""
        sources, targets = ([line.split() for line in text] for text in (source, target))
        given, words = numbered(sources), numbered(targets)
        width = len(words) + 1
        keys, spots, spot = [], [], 0
        for s, t in zip(sources, targets, strict=True):
            left = np.array([NULL, *(given[w] for w in s)], np.int64)
            right = np.array([words[w] for w in t], np.int64)
            keys.append((left[:, None] * width + right).ravel())
            spots.append(
                np.broadcast_to(spot + np.arange(len(right)), (len(left), len(right))).ravel()
            )
            spot += len(right)
        place = np.concatenate(spots)
        unique, event = np.unique(np.concatenate(keys), return_inverse=True)
        first = unique // width
        chance = np.full(len(unique), 1.0)
        for _ in range(rounds):
            share = chance[event]
            share /= np.bincount(place, share)[place]
            counts = np.bincount(event, share)
            chance = counts / np.bincount(first, counts)[first]
        kept = chance > 1e-6
        table = dict(zip(unique[kept].tolist(), chance[kept].tolist(), strict=True))
        return cls(given, words, table)

    def score(self, source: str, target: str, least: float = 1e-7) -> float:
        """Return the log-probability of the target without its length."""
        left = [NULL, *(self.given.get(word, -1) for word in source.split())]
        width, total = len(self.words) + 1, 0.0
        for word in target.split():
            right = self.words.get(word, -1)
            chances = [
                self.table.get(s * width + right, 0.0) for s in left if s >= 0 and right > 0
            ]
            total += np.log(max(least, sum(chances) / len(left)))
        return float(total)
