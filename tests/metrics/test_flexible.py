"""MBLEU and MTER: by hand, and beside BLEU and TER of texts that a slow twin has mapped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics.bleu import Bleu
from portmert.metrics.flexible import Mbleu, Mter
from portmert.metrics.terp import Ter
from portmert.tuner.components import registry
from tests.oracles import lexical as oracle
from tests.support.strategies_metrics import batch_of_pairs

sentences = st.lists(st.sampled_from(oracle.WORDS), max_size=6)


@pytest.fixture(scope="module")
def synonyms(tmp_path_factory):
    return oracle.write_wordnet(tmp_path_factory.mktemp("lexicon") / "wordnet")


def test_stems_and_synonyms_become_words_of_the_reference(synonyms):
    batch = batch_of_pairs((["the", "hound", "walked"], ["the", "dog", "walks"]))
    for metric, by_stem, by_both in ((Mbleu, 2 / 3, 1.0), (Mter, 1 / 3, 0.0)):
        options = {"max_order": 1} if metric is Mbleu else {}
        stem, both = metric(**options), metric(synonyms=synonyms, **options)
        assert float(stem.score(stem.stats(batch)[0])) == pytest.approx(by_stem)
        assert float(both.score(both.stats(batch)[0])) == pytest.approx(by_both)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6))
def test_scores_are_those_of_mapped_texts(synonyms, pairs):
    batch = batch_of_pairs(*pairs)
    for metric, plain in ((Mbleu(synonyms=synonyms), Bleu()), (Mter(synonyms=synonyms), Ter())):
        rows = metric.stats(batch).tolist()
        for (hypothesis, reference), row in zip(pairs, rows, strict=True):
            twins = [
                plain.stats(batch_of_pairs((list(words), reference)))[0].tolist()
                for words in oracle.mapped(hypothesis, reference, oracle.ALL)
            ]
            assert row in twins, (metric, hypothesis, reference)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6))
def test_with_equal_words_alone_they_are_bleu_and_ter(pairs):
    batch = batch_of_pairs(*pairs)
    for name, plain in (("mbleu:stem=false", Bleu()), ("mter:stem=false", Ter())):
        assert registry.metric(name).stats(batch).tolist() == plain.stats(batch).tolist()
