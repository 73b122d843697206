"""Keys of texts: equal where tokens are, whatever the ids of words are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Ragged, Vocabulary
from portmert.tuner.nbest.join import text_keys, word_hashes

TEXT = st.lists(st.sampled_from("abc"), max_size=4)


def ragged(texts, vocabulary):
    values = [vocabulary.find(word) for text in texts for word in text]
    offsets = np.cumsum([0, *map(len, texts)])
    return Ragged(np.array(values, dtype=np.int32), offsets)


def keys(texts, words):
    vocabulary = Vocabulary(words)
    return text_keys(ragged(texts, vocabulary), word_hashes(vocabulary.words)).tolist()


@given(st.lists(TEXT, max_size=12))
def test_keys_are_equal_where_texts_are(texts):
    numbers = keys(texts, "abc")
    assert numbers == keys(texts, "xcba")
    assert len(set(numbers)) == len(set(map(tuple, texts)))
