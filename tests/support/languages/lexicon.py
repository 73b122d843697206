"""Makes the words of two made-up languages, all from one seed."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Noun:
    """Holds a noun and its target stems, the usual one first."""

    source: str
    stems: tuple[str, ...]
    gender: int
    kind: int
    """What verbs select their translation by."""


@dataclass(frozen=True)
class Verb:
    """Holds a verb, its target stems, and how they are chosen."""

    source: str
    stems: tuple[str, ...]
    transitive: bool
    particle: str | None
    by_object: tuple[str | None, ...]
    """Another stem for objects of a kind, None where there is no other."""


@dataclass(frozen=True)
class Adjective:
    """Holds an adjective; few stand before the noun in the target language."""

    source: str
    stems: tuple[str, ...]
    before_noun: bool


@dataclass(frozen=True)
class Adverb:
    """Holds an adverb; some begin the target clause."""

    source: str
    forms: tuple[str, ...]
    first: bool


@dataclass(frozen=True)
class Preposition:
    """Holds a postposition of the source, a preposition of the target."""

    source: str
    forms: tuple[str, ...]


@dataclass(frozen=True)
class Pronoun:
    """Holds a pronoun, always the subject."""

    source: str
    target: str
    plural: bool


KINDS = 3
"""Kinds of nouns."""


class Chance:
    """Chooses at random by `random.random` alone, whose sequence Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._next() < probability

    def below(self, limit: int) -> int:
        """Return a whole number in 0..limit-1."""
        return int(self._next() * limit)

    def choose(self, items: Sequence[T]) -> T:
        """Return one item, all alike."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[T], cumulated: Sequence[float]) -> T:
        """Return one item by cumulated weights."""
        return items[bisect(cumulated, self._next() * cumulated[-1])]


class Spelling:
    """Makes pronounceable words, each once."""

    def __init__(self, chance: Chance, onsets: Sequence[str], nuclei: Sequence[str]) -> None:
        self._chance, self._onsets, self._nuclei = chance, onsets, nuclei
        self._used: set[str] = set()

    def word(self, syllables: int) -> str:
        """Return a new word, of a syllable more when the short ones run out."""
        for attempt in range(1_000):
            length = syllables + attempt // 100
            parts = (
                self._chance.choose(self._onsets) + self._chance.choose(self._nuclei)
                for _ in range(length)
            )
            spelling = "".join(parts)
            if spelling not in self._used:
                self._used.add(spelling)
                return spelling
        raise ValueError("the syllables are used up")


def zipf(count: int) -> list[float]:
    """Return cumulated weights 1 / (rank + 3) ** 0.9: few words are frequent, as in texts."""
    return list(accumulate((rank + 3.0) ** -0.9 for rank in range(count)))


@dataclass
class Lexicon:
    """Holds all words of both languages, made from one seed."""

    chance: Chance
    sizes: dict[str, int] = field(
        default_factory=lambda: {
            "nouns": 60, "verbs": 30, "adjectives": 15, "adverbs": 8, "prepositions": 5,
        }
    )  # fmt: skip

    def __post_init__(self) -> None:
        chance = self.chance
        src = Spelling(chance, "kstnhmrgz", "aiueo")
        tgt = Spelling(chance, [*"bdflpvc", "tr", "pl", "br"], [*"aeio", "ou", "ie"])
        self._src, self._tgt = src, tgt
        # Grammatical words are short and made first.
        self.subject_case, self.object_case, self.genitive = (src.word(1) for _ in range(3))
        self.plural, self.negation, self.past, self.question = (src.word(1) for _ in range(4))
        self.one = src.word(1)
        self.that = (src.word(1), tgt.word(1))
        self.because = (src.word(2), tgt.word(2))
        self.and_ = (src.word(2), tgt.word(1))
        self.of, self.who, self.asks = (tgt.word(1) for _ in range(3))
        self.not_before, self.not_after, self.auxiliary = (tgt.word(1) for _ in range(3))
        self.definite = [[tgt.word(1) for _ in range(2)] for _ in range(2)]  # [gender][plural]
        self.indefinite = [tgt.word(1) for _ in range(2)]
        self.particles = [tgt.word(1) for _ in range(5)]
        self.pronouns = [Pronoun(src.word(2), tgt.word(1), bool(n % 2)) for n in range(6)]
        self.nouns = self._homographs([self._noun() for _ in range(self.sizes["nouns"])])
        self.verbs = [self._verb() for _ in range(self.sizes["verbs"])]
        self.saying = [self._verb(transitive=False) for _ in range(8)]
        self.adjectives = [
            Adjective(self._source(), self._forms(), chance.happens(0.25))
            for _ in range(self.sizes["adjectives"])
        ]
        self.adverbs = [
            Adverb(self._source(), self._forms(), chance.happens(0.5))
            for _ in range(self.sizes["adverbs"])
        ]
        self.prepositions = [
            Preposition(self._source(), self._forms()) for _ in range(self.sizes["prepositions"])
        ]
        self._cumulated: dict[int, list[float]] = {}

    def pick(self, items: Sequence[T]) -> T:
        """Choose a word, the first ones of a list more often."""
        count = len(items)
        if count not in self._cumulated:
            self._cumulated[count] = zipf(count)
        return self.chance.weighted(items, self._cumulated[count])

    def _source(self) -> str:
        return self._src.word(2 + self.chance.below(2))

    def _target(self) -> str:
        return self._tgt.word(2 + self.chance.below(2))

    def _forms(self) -> tuple[str, ...]:
        """Return a translation, and for every fourth word a synonym."""
        first = self._target()
        return (first, self._target()) if self.chance.happens(0.25) else (first,)

    def _noun(self) -> Noun:
        return Noun(self._source(), self._forms(), self.chance.below(2), self.chance.below(KINDS))

    def _homographs(self, nouns: list[Noun]) -> list[Noun]:
        """Give every eighth noun the source form of the next one."""
        return [
            Noun(after.source, noun.stems, noun.gender, noun.kind)
            if self.chance.happens(0.12)
            else noun
            for noun, after in pairwise([*nouns, nouns[0]])
        ]

    def _verb(self, *, transitive: bool | None = None) -> Verb:
        chance = self.chance
        return Verb(
            self._source(),
            self._forms(),
            chance.happens(0.7) if transitive is None else transitive,
            chance.choose(self.particles) if chance.happens(0.2) else None,
            tuple(self._target() if chance.happens(0.2) else None for _ in range(KINDS)),
        )
