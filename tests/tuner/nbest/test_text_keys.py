"""Keys of texts: equal where tokens and links are, whatever the ids of words are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Ragged, Texts, Vocabulary
from portmert.tuner.nbest.pool_files import text_keys, word_hashes

TEXT = st.tuples(
    st.lists(st.sampled_from("abc"), max_size=4),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=3),
)


def ragged(rows, width=()):
    lengths = [len(row) for row in rows]
    values = np.array([value for row in rows for value in row], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Ragged(values.reshape(-1, *width), offsets)


def keys(rows, words, *, linked=True):
    vocabulary = Vocabulary(words)
    tokens = ragged([[vocabulary.find(word) for word in text] for text, _ in rows])
    links = ragged([pairs for _, pairs in rows], (2,)) if linked else None
    return text_keys(Texts(vocabulary, tokens, links), word_hashes(vocabulary.words)).tolist()


@given(st.lists(TEXT, max_size=12))
def test_keys_are_equal_where_texts_are(rows):
    found = keys(rows, "abc")
    assert found == keys(rows, "xcba")
    assert len(set(found)) == len({(tuple(text), tuple(pairs)) for text, pairs in rows})
    unlinked = keys(rows, "abc", linked=False)
    assert len(set(unlinked)) == len({tuple(text) for text, _ in rows})


def test_keys_of_a_part_are_those_of_the_whole():
    rows = [(["a", "b"], [(0, 1)]), ([], []), (["b"], [(1, 0)]), (["b", "a"], [(0, 1), (1, 0)])]
    vocabulary = Vocabulary("ab")
    texts = Texts(
        vocabulary,
        ragged([[vocabulary.find(word) for word in text] for text, _ in rows]),
        ragged([pairs for _, pairs in rows], (2,)),
    )
    hashes = word_hashes(vocabulary.words)
    whole = text_keys(texts, hashes).tolist()
    assert text_keys(texts.rows(1, 4), hashes).tolist() == whole[1:]
    assert text_keys(texts.rows(2, 2), hashes).tolist() == []
    # Fixed: pools are kept on disk.
    assert whole[1] == 0
    assert whole == keys(rows, "ab")
