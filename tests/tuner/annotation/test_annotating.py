"""Texts annotated through the cache: the arrays, what is asked, what fails, warm as cold."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portmert.extensions.parsers.unpacking import annotations
from portmert.metrics._base import Arcs, Ragged, Texts, Vocabulary
from portmert.tuner.annotation import annotating, records
from portmert.tuner.annotation import cache as annotation_cache
from portmert.tuner.annotation import layers as annotation_layers
from portmert.tuner.annotation.annotating import CachedAnnotator
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import AnnotatorError, InputError, ProgramError
from portmert.tuner.texts.annotator import Annotation, AnnotationRequest
from portmert.tuner.texts.prepare import coverage
from tests.oracles import annotators as oracle
from tests.oracles.metrics import Text, expected_links
from tests.support.known_annotator import (
    Fixed,
    Known,
    OneTree,
    ParsesOnly,
    TreesOnly,
    answer_of,
    texts_of,
)
from tests.support.strategies_metrics import nodes, texts

NEEDS = ["tags", "heads", "trees", Arcs(2, 0.5), Arcs(50, 1.0)]


def row_of(text, part, index):
    return [
        tuple(item) if np.ndim(item) else item for item in getattr(text, part).row(index).tolist()
    ]


def assert_says(found: Texts, rows, needs=NEEDS):
    """The arrays say what was said of each text."""
    words = found.vocabulary.words
    for index, row in enumerate(rows):
        if found.tags is not None:
            assert [words[tag] for tag in row_of(found, "tags", index)] == list(row.tags)
        parse = [(head, words[label]) for head, label in found.heads.row(index).tolist()]
        assert parse == list(row.heads)
        tree = [(words[label], parent) for label, parent in found.trees.row(index).tolist()]
        assert tree == ([] if row.tree is None else nodes(row.tree, str))
        for need in needs:
            if isinstance(need, Arcs):
                links = found.arcs[need]
                start, stop = links.links.offsets[index : index + 2]
                said = {
                    (word, head, words[label]): weight
                    for (word, head, label), weight in zip(
                        links.links.row(index).tolist(), links.weights[start:stop], strict=True
                    )
                }
                expected = expected_links(row, need.parses, need.gamma)
                assert said == pytest.approx(expected, rel=1e-12)
                assert len(said) == stop - start
                assert all(0 < weight <= 1 for weight in said.values())


def same(a: Texts, b: Texts):
    """Equal bit for bit, vocabulary included."""
    assert a.vocabulary.words == b.vocabulary.words
    for part in ("tags", "heads", "trees"):
        assert_same_rows(getattr(a, part), getattr(b, part))
    assert a.arcs.keys() == b.arcs.keys()
    for need, links in a.arcs.items():
        assert_same_rows(links.links, b.arcs[need].links)
        assert links.weights.tobytes() == b.arcs[need].weights.tobytes()


def assert_same_rows(a: Ragged | None, b: Ragged | None):
    assert (a is None) == (b is None)
    if a is not None and b is not None:
        assert a.values.tobytes() == b.values.tobytes()
        assert a.values.dtype == b.values.dtype == np.int32
        assert a.offsets.tolist() == b.offsets.tolist()


def consistent(rows):
    """Of equal texts the first."""
    first = {}
    return [first.setdefault(row.words, row) for row in rows]


corpora = st.lists(texts(0), max_size=6).map(consistent)


@given(corpora)
def test_arrays_say_what_the_annotator_said(rows):
    assert_says(Fixed(rows).annotate(rows, NEEDS), rows)


@given(corpora, st.data())
@settings(max_examples=20)
def test_warm_cold_and_half_warm_are_the_same(tmp_path_factory, rows, data):
    cache = tmp_path_factory.mktemp("cache")
    cold = Fixed(rows, cache=cache)
    first = cold.annotate(rows, NEEDS)
    warm = Fixed(rows, cache=cache)
    same(warm.annotate(rows, NEEDS), first)
    assert warm.backend.requests == []
    assert warm.counts == (cold.counts[1], 0, cold.counts[2])
    half = Fixed(rows)
    some = data.draw(st.lists(st.sampled_from(rows), max_size=4)) if rows else []
    half.annotate(some[::-1], NEEDS[2:])
    same(half.annotate(rows, NEEDS), first)
    for one in (cold, warm, half):
        one.annotator.close()


@given(corpora)
@settings(max_examples=15)
def test_heads_follow_from_trees(rows):
    found = Fixed(rows, TreesOnly).annotate(rows, ["heads", "trees", Arcs(9, 0.5)])
    ruled = [
        row
        if row.tree is None
        else replace(row, heads=oracle.heads(row.tree), parses=((0.0, oracle.heads(row.tree)),))
        for row in rows
    ]
    assert_says(found, ruled, [Arcs(9, 0.5)])


@given(corpora)
@settings(max_examples=15)
def test_heads_follow_from_weighted_parses(rows):
    found = Fixed(rows, ParsesOnly).annotate(rows, ["heads", Arcs(3, 0.5)])
    words = found.vocabulary.words
    for index, row in enumerate(rows):
        best = row.parses[0][1] if row.parses else ()
        assert [(h, words[label]) for h, label in found.heads.row(index).tolist()] == list(best)


CAT = Text(("the", "cat"), tags=("D", "N"), heads=((2, "det"), (0, "root")), tree=oracle.example())
DOG = Text(("a", "dog"), tags=("D", "N"), heads=((2, "det"), (0, "root")))
GO = Text(("go",), tags=("V",), heads=((0, "root"),))
EMPTY = Text(())


def test_an_empty_text_is_neither_annotated_nor_failed():
    one = Fixed([EMPTY])
    found = one.annotate([EMPTY, EMPTY], NEEDS)
    assert (one.backend.requests, one.counts) == ([], (0, 0, 0))
    assert [len(getattr(found, part).values) for part in ("tags", "heads", "trees")] == [0, 0, 0]
    assert found.heads.values.shape == found.trees.values.shape == (0, 2)
    assert found.arcs[Arcs(2, 0.5)].links.values.shape == (0, 3)


def test_a_view_of_texts_is_annotated_as_what_it_shows():
    one = Fixed([CAT, DOG, GO], OneTree)
    found = one.annotator.annotate(texts_of([CAT, DOG, GO, DOG]).rows(1, 4), ["tags"])
    assert [row_of(found, "tags", index) for index in range(3)] == [
        [found.vocabulary.words.index(tag) for tag in text.tags] for text in (DOG, GO, DOG)
    ]
    assert [words for words, _ in one.backend.requests] == [[DOG.words, GO.words]]


def test_what_is_there_or_not_from_a_text_alone_is_not_asked_for():
    one = Fixed([CAT], OneTree)
    given_tags = replace(texts_of([CAT]), tags=Ragged.from_rows([[0, 1]]))
    assert one.annotator.annotate(given_tags, ["links", "tags"]) is given_tags
    found = one.annotator.annotate(given_tags, ["links", "tags", "heads"])
    assert found.tags is given_tags.tags
    assert one.backend.requests == [([CAT.words], AnnotationRequest(frozenset({"heads"})))]


def test_distinct_sentences_are_asked_once_and_only_for_what_is_missing(tmp_path):
    one = Fixed([CAT, DOG, GO], OneTree, cache=tmp_path)
    one.annotate([CAT, CAT, EMPTY, DOG], ["tags"])
    one.annotate([DOG, GO], ["tags"])
    one.annotate([GO, CAT], ["tags", "heads"])
    assert [(words, sorted(request.layers)) for words, request in one.backend.requests] == [
        ([CAT.words, DOG.words], ["tags"]),
        ([GO.words], ["tags"]),
        ([GO.words, CAT.words], ["heads", "tags"]),
    ]
    assert one.counts == (0, 3, 0)
    one.annotator.reset()
    spent = one.annotator.seconds
    one.annotate([DOG, CAT, CAT], ["tags"])
    assert one.counts == (2, 0, 0)
    assert one.annotator.seconds == spent > 0  # nothing was asked
    other = Fixed([CAT], OneTree, cache=tmp_path)
    other.backend.__dict__["version"] = "known 2"  # another model: nothing of it is in the cache
    renamed = CachedAnnotator(other.backend, cache=tmp_path, processes=1)
    renamed.annotate(texts_of([CAT]), ["tags"])
    assert renamed.counts["misses"] == 1


def test_lists_of_several_lengths_are_asked_apart():
    rows = [replace(CAT, parses=((-1.0, CAT.heads), (-2.0, ((0, "x"), (0, "y")))))]
    one = Fixed(rows)
    one.annotate(rows, ["heads", Arcs(1, 0.5), Arcs(2, 0.5), Arcs(2, 0.25)])
    assert [(request.parses, sorted(request.layers)) for _, request in one.backend.requests] == [
        (1, ["heads", "parses"]),
        (2, ["parses"]),
    ]


def test_marginals_are_taken_as_they_are_for_each_gamma():
    arcs = {
        0.5: ((0, 2, "det", 0.75), (0, 0, "root", 0.25), (1, 0, "root", 1.0), (1, 1, "x", 0.0))
    }
    one = Fixed([])
    one.backend.known[CAT.words] = Annotation(marginals=arcs)
    found = one.annotate([CAT, EMPTY], [Arcs(0, 0.5)]).arcs[Arcs(0, 0.5)]
    assert found.links.row(0)[:, :2].tolist() == [[0, 2], [0, 0], [1, 0]]  # no link of no weight
    assert found.weights.tolist() == [0.75, 0.25, 1.0]
    assert found.links.lengths.tolist() == [3, 0]
    assert one.backend.requests == [
        ([CAT.words], AnnotationRequest(frozenset({"marginals"}), 1, (0.5,)))
    ]


@pytest.mark.parametrize(
    ("cls", "need", "message"),
    [
        (
            OneTree,
            "trees",
            "annotator one-tree gives no constituency parses; it gives heads, tags",
        ),
        (
            OneTree,
            Arcs(0, 0.5),
            "gives no expected links over all trees (edge marginals); it gives",
        ),
        (TreesOnly, "tags", "gives no part-of-speech tags; it gives tree"),
        (ParsesOnly, "tags", "gives no part-of-speech tags; it gives parses"),
    ],
)
def test_what_an_annotator_cannot_give_is_named(cls, need, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Fixed([CAT], cls).annotate([CAT], [need])


def test_one_parse_where_a_list_is_wanted_is_said_once():
    one = Fixed([CAT, DOG], OneTree)
    one.annotate([CAT], [Arcs(50, 0.25)])
    one.annotate([DOG], [Arcs(50, 0.25)])
    assert len(one.said) == 1
    assert "EDPM is then DPM" in one.said[0]
    assert Fixed([CAT], OneTree).said == []
    alone = Fixed([replace(CAT, parses=((-1.0, CAT.heads),))])
    alone.annotate([CAT], [Arcs(50, 0.25)])
    assert len(alone.said) == 1  # a list of one


def test_lists_of_fewer_parses_than_asked_for_are_said_once_with_their_depth():
    heads = ((0, "root"), (1, "dep"))
    rows = [
        Text((f"w{n}", "x"), frozenset(), ("A", "B"), heads, None, ((-1.0, heads), (-2.0, heads)))
        for n in range(annotating.LEAST_SENTENCES + 1)
    ]
    one = Fixed(rows)
    one.annotate(rows[:5], [Arcs(50, 0.25)])
    assert one.said == []  # of few sentences nothing is said: short ones have few parses
    one.annotate(rows, [Arcs(50, 0.25)])
    one.annotate(rows, [Arcs(50, 0.25), Arcs(2, 1.0)])
    (line,) = one.said
    assert "gives at most 2 parses of a sentence, 50 are asked for" in line
    found = coverage(one.annotator)
    assert "at most 2 parses of a sentence, 50 asked for" in found
    assert f"{len(rows)} sentences, 100.0% with a parse, 0 without" in found
    assert "2 asked for" not in found.replace("50 asked for", "")


BAD_PARSES = [
    ((1, "x"), (2, "y")),  # each its own head
    ((2, "x"), (1, "y")),  # a cycle
    ((3, "x"), (0, "y")),  # out of range
    ((-1, "x"), (0, "y")),
]


@pytest.mark.parametrize("heads", BAD_PARSES)
def test_a_parse_that_is_none_counts_as_failed(heads):
    one = Fixed([replace(CAT, heads=heads), GO], OneTree)
    found = one.annotate([CAT, GO], ["tags", "heads"])
    assert found.heads.lengths.tolist() == [0, 1]
    assert found.tags.lengths.tolist() == [2, 1]
    assert one.counts == (0, 2, 1)
    assert one.said == ["annotator one-tree: 1 of 2 sentences have no parse and count as unparsed"]


def test_failures_are_told_again_when_there_are_twice_as_many():
    rows = [replace(GO, words=(f"w{number}",)) for number in range(8)]
    one = Fixed([replace(row, heads=BAD_PARSES[0][:1]) for row in rows], OneTree)
    for row in rows:
        one.annotate([row], ["heads"])
    assert [int(line.split(" of ")[0].split()[-1]) for line in one.said] == [1, 2, 4, 8]
    one.annotator.reset()
    one.annotate(rows[:1], ["heads"])
    assert "1 of 1 sentence " in one.said[-1]


@pytest.mark.parametrize("heads", BAD_PARSES)
def test_of_weighted_parses_only_those_that_are_some_count(heads):
    one = Fixed(
        [replace(CAT, parses=((-1.0, heads), (float("-inf"), CAT.heads), (-3.0, CAT.heads)))]
    )
    links = one.annotate([CAT], [Arcs(3, 1.0)]).arcs[Arcs(3, 1.0)]
    assert links.links.row(0)[:, 0].tolist() == [0, 1]
    assert links.weights.tolist() == [1.0, 1.0]
    none = Fixed([replace(CAT, parses=((-1.0, heads),))])
    assert none.annotate([CAT], [Arcs(3, 1.0)]).arcs[Arcs(3, 1.0)].links.lengths.tolist() == [0]
    assert none.counts == (0, 1, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"tags": ("D",)},
            "1 tags, expected 2 (one a token) in its answer to 'the cat' (2 tokens)",
        ),
        ({"heads": ((0, "root"),)}, "1 heads, expected 2"),
        ({"tags": ("a\nb", "c")}, "a tag or label holds a line end"),
        ({"tags": ("a\ud800", "c")}, "a tag or label is no text"),
    ],
)
def test_an_answer_about_another_sentence_is_an_error(changes, message):
    with pytest.raises(ProgramError, match=re.escape(message)):
        Fixed([replace(CAT, **changes)], OneTree).annotate([CAT], ["tags", "heads"])


def test_a_tree_of_other_tokens_is_an_error_and_one_that_is_none_has_failed():
    one = Fixed([])
    one.backend.known[CAT.words] = Annotation(tree="(S (NN cat))")
    one.backend.known[GO.words] = Annotation(tree="(S (NN go)")
    with pytest.raises(ProgramError, match="1 leaves of the tree, expected 2"):
        one.annotate([CAT], ["trees"])
    assert one.annotate([GO], ["trees"]).trees.lengths.tolist() == [0]


def test_an_annotator_that_does_not_work_is_named():
    broken = Fixed([], OneTree)
    broken.backend.known[CAT.words] = AnnotatorError("no model")
    with pytest.raises(ProgramError, match="annotator one-tree: no model"):
        broken.annotate([CAT], ["tags"])

    @dataclass(frozen=True)
    class NoModel(OneTree):
        def fingerprint(self):
            raise AnnotatorError("x.model: no such model")

    with pytest.raises(ProgramError, match=r"annotator no-model: x\.model: no such model"):
        Fixed([], NoModel)


def many(count, parsed):
    return [
        Text(
            (f"w{number}",),
            tags=("N",) if number < parsed else (),
            heads=((0, "root"),) if number < parsed else (),
        )
        for number in range(count)
    ]


def test_too_many_failures_stop_and_are_not_kept(tmp_path):
    rows = many(30, parsed=10)
    one = Fixed(rows, OneTree, cache=tmp_path, max_failed=0.5)
    with pytest.raises(
        ProgramError,
        match=r"no parse of 20 of 30 sentences, more than the share of 0.5 .* \(one is 'w10' "
        r"\(1 token\)\); is it the right model",
    ):
        one.annotate(rows, ["heads"])
    again = Fixed(rows, OneTree, cache=tmp_path, max_failed=0.7)
    again.annotate(rows, ["heads"])
    assert again.counts == (10, 20, 20)


def test_a_share_that_is_allowed_or_of_few_sentences_does_not_stop():
    rows = many(30, parsed=15)
    Fixed(rows, OneTree, max_failed=0.5).annotate(rows, ["heads"])
    few = many(annotating.LEAST_SENTENCES - 1, parsed=0)
    one = Fixed(few, OneTree, max_failed=0.5)
    assert one.annotate(few, ["heads"]).heads.lengths.sum() == 0


def test_failures_of_several_calls_count_together():
    rows = many(40, parsed=20)
    one = Fixed(rows, OneTree, max_failed=0.3)
    for row in rows[:20]:
        one.annotate([row], ["heads"])
        one.annotator.reset()
    with pytest.raises(ProgramError, match="no parse of 20 of 40 sentences"):
        one.annotate(rows[20:], ["heads"])


def test_hopeless_work_stops_early(monkeypatch):
    monkeypatch.setattr(annotating, "KEPT_TOGETHER", 8)
    rows = many(100, parsed=0)
    one = Fixed(rows, OneTree, max_failed=0.1)
    one.backend.known[rows[40].words] = AssertionError("not needed")
    with pytest.raises(ProgramError, match="of 100 sentences"):
        one.annotate(rows, ["heads"])


def test_what_was_answered_before_an_interrupt_is_kept(tmp_path):
    rows = many(30, parsed=30)
    one = Fixed(rows, OneTree, cache=tmp_path)
    one.backend.known[rows[25].words] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        one.annotate(rows, ["heads"])
    again = Fixed(rows, OneTree, cache=tmp_path)
    again.annotate(rows, ["heads"])
    assert again.counts == (25, 5, 0)


@pytest.mark.parametrize("odd", ["", " ", "a b", "\t", "é", "\u3000", "\x85", "\r"])
def test_tags_may_be_any_text_but_line_ends(odd):
    tags = [("DT", odd), (), (odd, "DT", "NN"), ("NN",)]
    vocabulary = Vocabulary()
    kept = [records.pack_tags(row) for row in tags]
    found = records.unpack_tags(kept, vocabulary)
    words = [vocabulary.words[tag] for tag in found.values.tolist()]
    assert words == [tag for row in tags for tag in row]
    assert found.lengths.tolist() == [2, 0, 3, 1]
    assert vocabulary.words == ["DT", odd, "NN"]


def test_progress_is_reported():
    seen = []
    with using(progress=lambda _, *step: seen.append(step)):
        one = Fixed([CAT, GO], OneTree)
    one.annotate([CAT, GO, CAT], ["tags"])
    assert seen == [(1, 2), (2, 2)]


def test_whole_annotations_come_back_from_the_cache():
    rows = [
        replace(
            CAT,
            tree=oracle.leaf("X", "y"),
            parses=((-1.0, CAT.heads), (-2.5, ((0, "a"), (1, "b")))),
        )
    ]
    one = Fixed(rows)
    one.backend.known[CAT.words] = replace(answer_of(rows[0]), tree="(S1 (S (D -LRB-) (N b)))")
    one.backend.known[GO.words] = None
    found = list(annotations(one.annotator, [(), CAT.words, GO.words, CAT.words], parses=2))
    assert found[0] == Annotation()
    assert (
        found[1]
        == found[3]
        == Annotation(CAT.tags, CAT.heads, "(S (D the) (N cat))", rows[0].parses)
    )
    assert found[2] is None
    only = list(annotations(one.annotator, [CAT.words], needs=["tags"]))
    assert only == [Annotation(CAT.tags)]
    with pytest.raises(InputError, match="gives one parse of a sentence only"):
        list(annotations(Fixed([CAT], OneTree).annotator, [CAT.words], parses=2))


@pytest.mark.parametrize("layer", ["tags", "heads", "trees", "parses 2"])
@pytest.mark.parametrize("damage", ["substr(record, 1, length(record) - 1)", "x'00'", "7", "'ab'"])
def test_damaged_records_are_made_anew(tmp_path, layer, damage):
    said = []
    arrays = []
    for damaged in (False, True):
        one = Fixed([GO, CAT], cache=tmp_path)
        one.backend.known[CAT.words] = Annotation(
            CAT.tags, CAT.heads, "(S (D the) (N cat))", ((-1.0, CAT.heads),)
        )
        one.backend.known[GO.words] = None
        if damaged:
            with closing(sqlite3.connect(tmp_path / annotation_cache.FILE)) as database:
                database.execute(
                    f"UPDATE records SET record = {damage} WHERE kind = "  # noqa: S608
                    "(SELECT id FROM kinds WHERE layer = ?)",
                    (layer,),
                )
                database.commit()
        sentences = [GO.words, CAT.words, GO.words]
        said.append(one.annotations(sentences, parses=2))
        arrays.append(one.annotate([CAT, GO], ["tags", "heads", "trees"]).heads.values.tobytes())
        one.annotator.close()
        assert sum("damaged" in line for line in one.said) == damaged
    assert said[0] == said[1]
    assert arrays[0] == arrays[1]
    assert len(said[0][1].heads) == len(CAT.words)


def test_layers_are_named_by_what_answers_depend_on():
    names = [
        str(annotation_layers.kept_for(need, Known.gives)) for need in [*NEEDS, Arcs(0, 0.25)]
    ]
    assert names == ["tags", "heads", "trees", "parses 2", "parses 50", "marginals 0.25"]
