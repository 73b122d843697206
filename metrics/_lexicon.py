"""Matches of words and phrases that are not equal: by stem, synonym or paraphrase.

A `Lexicon` is read from the files that the options of a metric name. Its `Relations` for the words
of one test set are flat arrays over its vocabulary, for the kernels.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import Stemmer
from numpy.typing import NDArray

from . import _lexicon_files, _shared
from ._base import Batch, FloatArray, IntArray, Ragged, Texts, TokenArray
from .kernels.compiled import Segments
from .kernels.lexicon import Phrases, Words, matching_words, phrases_in
from .kernels.pairs import first_equals


class Relations(NamedTuple):
    """Stems, synonyms and so on of the V words of a vocabulary, and pairs of phrases of them.

    Parameters
    ----------
    words
        Synonyms of a word are the words with which it shares a set of synonyms.
    left, right : Ragged
        E phrases each, none empty, all of whose words are in the vocabulary; sorted by the left.
    probabilities : (E,) float64
    """

    words: Words
    left: Ragged
    right: Ragged
    probabilities: FloatArray


@dataclass(frozen=True)
class Lexicon:
    """Stems, synonyms and paraphrases; see `read_lexicon`.

    Called with a batch, it returns the relations of the batch's words. Equal lexicons share them
    (see `Batch.once`).

    Parameters
    ----------
    language
        The language of the Snowball stemmer; None: words have no stems.
    wordnet, paraphrases
        None: no synonyms, no paraphrases.
    words
        A list of words, in lower case.
    both_ways
        Whether pairs of paraphrases may be used in either direction.
    """

    language: str | None
    wordnet: _lexicon_files.WordNet | None
    paraphrases: _lexicon_files.Paraphrases | None
    words: frozenset[str]
    both_ways: bool

    def __call__(self, corpus: Batch) -> Relations:
        """Return the relations of the words of a test set."""
        words, synonyms = corpus.references.vocabulary.words, self._synonyms(corpus)
        stems = np.arange(len(words), dtype=np.int32)
        if self.language is not None:
            numbers: dict[str, int] = {}
            for place, stem in enumerate(Stemmer.Stemmer(self.language).stemWords(words)):
                stems[place] = numbers.setdefault(stem, len(numbers))
        in_list = np.array([word.lower() in self.words for word in words], dtype=np.bool_)
        vocabulary_words = Words(stems, synonyms.values, synonyms.offsets, in_list)
        return Relations(vocabulary_words, *self._phrases(words))

    def _synonyms(self, corpus: Batch) -> Ragged:
        words = corpus.references.vocabulary.words
        if self.wordnet is None:
            return Ragged(np.empty(0, dtype=np.int32), np.zeros(len(words) + 1, dtype=np.int64))
        members: dict[int, list[int]] = {}
        sets = [self.wordnet.sets(word) for word in words]
        for word, numbers in enumerate(sets):
            for number in numbers:
                members.setdefault(number, []).append(word)
        return Ragged.from_rows([
            sorted({synonym for number in numbers for synonym in members[number]} - {word})
            for word, numbers in enumerate(sets)
        ])  # fmt: skip

    def _phrases(self, words: list[str]) -> tuple[Ragged, Ragged, FloatArray]:
        """Return left phrases, right ones and probabilities."""
        if self.paraphrases is None:
            return Ragged.from_rows([]), Ragged.from_rows([]), np.empty(0)
        ids = {word: number for number, word in enumerate(words)}
        word_ids = np.array([ids.get(word, -1) for word in self.paraphrases.words], dtype=np.int32)
        left, right = (
            Ragged(word_ids[side.values], side.offsets)
            for side in (self.paraphrases.left, self.paraphrases.right)
        )
        usable = np.flatnonzero(_all_known(left) & _all_known(right))
        left, right = left.take(usable), right.take(usable)
        probabilities = self.paraphrases.probabilities[usable]
        if self.both_ways:
            left, right = Ragged.joined([left, right]), Ragged.joined([right, left])
            probabilities = np.concatenate([probabilities, probabilities])
        order = np.lexsort(_columns(left).T[::-1])
        return left.take(order), right.take(order), probabilities[order]


NO_LEXICON = Lexicon(None, None, None, frozenset(), both_ways=False)
"""Nothing is known of words: they match if they are equal."""


def check_language(language: str) -> None:
    """Raise `ValueError` if there is no stemmer for a language."""
    if language not in Stemmer.algorithms():
        raise ValueError(
            f"language is {language!r}; Snowball has stemmers for "
            f"{', '.join(Stemmer.algorithms())}"
        )


def read_lexicon(
    *,
    language: str,
    stem: bool,
    synonyms: Path | None,
    paraphrases: Path | None,
    words: Path | None,
    both_ways: bool,
) -> Lexicon:
    """Read the files of a lexicon.

    Raises
    ------
    ValueError
        There is no stemmer for the language, or a file is not what it should be.
    """
    check_language(language)
    return Lexicon(
        language if stem else None,
        None if synonyms is None else _lexicon_files.read_wordnet(synonyms),
        None if paraphrases is None else _lexicon_files.read_paraphrases(paraphrases),
        frozenset() if words is None else _lexicon_files.read_words(words),
        both_ways,
    )


def matches(relations: Relations, segments: Segments) -> tuple[Phrases, IntArray]:
    """Return what hypotheses may match in their references besides words.

    Two hypotheses have the same matches if they are equal once words that match nothing of the
    reference are replaced by one sign, listed ones by another.

    Returns
    -------
    phrases
        The places of left phrases in the references, with their paraphrases.
    first : (H,) int64
        For each hypothesis the first of its segment with the same matches.
    """
    left, right = _shared.flat(relations.left), _shared.flat(relations.right)
    words = len(relations.words.stems)
    places = phrases_in(segments, left.values, left.offsets, right.values, right.offsets, words)
    phrases = Phrases(places, left.lengths, right.values, right.offsets)
    plain = matching_words(segments, relations.words, phrases)
    return phrases, first_equals(plain, segments.token_offsets, segments.offsets)


def listed_words(texts: Texts, relations: Relations) -> FloatArray:
    """Return (N,) float64: how many words of each text stand in the list."""
    tokens = texts.tokens.alone()
    counts = np.concatenate([[0.0], np.cumsum(relations.words.in_list[tokens.values])])
    return np.asarray(np.diff(counts[tokens.offsets]))


def _all_known(phrases: Ragged) -> NDArray[np.bool_]:
    """Return (E,) bool: whether no word of a phrase is -1."""
    if not len(phrases):
        return np.empty(0, dtype=np.bool_)
    return np.asarray(np.minimum.reduceat(phrases.values, phrases.offsets[:-1]) >= 0)


def _columns(phrases: Ragged) -> TokenArray:
    """Return (E, longest) int32: a phrase a row, -1 behind its end."""
    lengths = phrases.lengths
    table = np.full((len(phrases), int(lengths.max(initial=1))), -1, dtype=np.int32)
    table[np.arange(table.shape[1]) < lengths[:, np.newaxis]] = phrases.values
    return table
