"""Turns words into characters, or takes punctuation off them."""

import string
from typing import TypeVar

import numpy as np

from ._base import Batch, Ragged, Texts, Vocabulary, offsets_of

T = TypeVar("T", bound="Batch")


def in_characters(batch: T, *, spaces: bool = False) -> T:
    """Return the batch with the characters of each text as its tokens, without white space.

    Tokens are code points; the vocabulary of the result is empty. `spaces`: with one space between
    words, and with the white space of other scripts that words contain.
    """
    if spaces:
        parts = batch.once(_behind_spaces)
        return batch.changed(lambda texts: _without_first(_spelled(texts, parts)))
    spelling = batch.once(_spelling)
    return batch.changed(lambda texts: _spelled(texts, spelling))


def without_punctuation(batch: T) -> T:
    """Return the batch with a sign at the end of a word, or else at its begin, as a word.

    As sacrebleu does for the words of chrF++; the vocabulary of the result is empty.
    """
    parts = batch.once(_parts)
    return batch.changed(lambda texts: _spelled(texts, parts))


def _parts(corpus: Batch) -> Ragged:
    """Return the ids of the parts of each word of the vocabulary."""
    vocabulary = Vocabulary()
    return Ragged.from_rows(
        [
            [vocabulary.add(part) for piece in word.split() for part in _split(piece)]
            for word in corpus.references.vocabulary.words
        ]
    )


def _split(word: str) -> tuple[str, ...]:
    if len(word) > 1 and word[-1] in string.punctuation:
        return word[:-1], word[-1]
    if len(word) > 1 and word[0] in string.punctuation:
        return word[0], word[1:]
    return (word,)


def _spelling(corpus: Batch) -> Ragged:
    """Return the code points of each word of the vocabulary, without other scripts' spaces."""
    return _points(["".join(word.split()) for word in corpus.references.vocabulary.words])


def _behind_spaces(corpus: Batch) -> Ragged:
    """Return the code points of each word of the vocabulary behind a space."""
    return _points([f" {word}" for word in corpus.references.vocabulary.words])


def _points(words: list[str]) -> Ragged:
    offsets = offsets_of([len(word) for word in words])
    points = np.frombuffer("".join(words).encode("utf-32-le"), dtype="<u4")
    return Ragged(points.astype(np.int32), offsets)


def _without_first(texts: Texts) -> Texts:
    """Return texts without the first token of each that has any."""
    tokens = texts.tokens
    has = tokens.lengths > 0
    is_kept = np.ones(len(tokens.values), dtype=np.bool_)
    is_kept[tokens.offsets[:-1][has]] = False
    cut = offsets_of(has)
    return Texts(texts.vocabulary, Ragged(tokens.values[is_kept], tokens.offsets - cut))


def _spelled(texts: Texts, spelling: Ragged) -> Texts:
    tokens = texts.tokens.alone()
    letters = spelling.take(tokens.values.astype(np.int64))
    return Texts(Vocabulary(), Ragged(letters.values, letters.offsets[tokens.offsets]))
