"""One list in every format is one list."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from tests.support import strategies_readers as write
from tests.support.examples import examples

EXAMPLES = examples(50)


def read(text, name="auto"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        path.write_bytes(text.encode())
        return read_nbest([path], Vocabulary(), reader=registry.reader(name))


def content(nbest, *, names=None):
    """Everything in a list, features by name."""
    columns = {name: nbest.features[:, k] for k, (name, _) in enumerate(nbest.feature_names)}
    renamed = names or sorted(columns)
    return [
        (
            nbest.texts.words(row),
            [float(columns[name][row]) if name in columns else 0.0 for name in renamed],
            float(nbest.model_scores[row]),
            None if nbest.texts.links is None else nbest.texts.links.row(row).tolist(),
        )
        for row in range(len(nbest.texts))
    ]


def same(a, b, **options):
    assert content(a, **options) == content(b, **options)
    assert np.array_equal(a.offsets, b.offsets)
    assert np.array_equal(a.lines, b.lines)
    assert a.list_sizes == b.list_sizes


@EXAMPLES
@given(write.lists())
def test_marian(found):
    for linked in (False, True):
        expected = read(write.moses(found, linked=linked), "moses")
        for scored in (False, True):
            same(read(write.marian(found, linked=linked, scored=scored), "marian"), expected)


@EXAMPLES
@given(write.lists())
def test_cdec_joshua_and_travatar_with_zeros_left_out(found):
    names = ("Glue", "PassThrough")
    expected = read(write.moses(found, linked=False, names=names), "moses")
    same(read(write.cdec(found), "cdec"), expected, names=names)
    same(read(write.cdec(found), "joshua"), expected, names=names)
    same(read(write.travatar(found), "travatar"), expected, names=names)


@EXAMPLES
@given(write.lists())
def test_tsv_and_json_lines(found):
    found = sorted(found, key=lambda h: h.segment)  # records of an id stand together
    expected = read(write.moses(found, linked=True), "moses")
    same(read(write.tsv(found), "tsv"), expected)
    same(read(write.jsonl(found, as_pairs=True), "jsonl"), expected)
    same(read(write.jsonl(found, as_pairs=False), "jsonl"), expected)


@EXAMPLES
@given(write.lists())
def test_fairseq(found):
    changed = [h._replace(values=(sum(h.values), sum(h.values) / 2), score=h.score) for h in found]
    expected = read(write.moses(changed, linked=True, names=("PSum", "PMean")), "moses")
    nbest = read(write.fairseq(found), "fairseq")
    if len(nbest.texts) == len(expected.texts):  # Score tells apart what the sums do not
        names = ["PSum", "PMean"]
        assert content(nbest, names=names) == content(expected, names=names)
    assert nbest.features[:, 0].tolist() == nbest.model_scores.tolist()
    assert nbest.list_sizes == (len(found),)


@pytest.mark.parametrize("name", ["joshua", "cdec", "travatar"])
def test_a_feature_that_a_whole_list_lacks_is_0_there(tmp_path, name):
    form = write.travatar if name == "travatar" else write.cdec
    one = [write.Hypothesis(0, ("a",), (0.0, 2.0), 1.0, ())]
    two = [write.Hypothesis(0, ("b",), (3.0, 0.0), 1.0, ())]
    (tmp_path / "one").write_text(form(one))
    (tmp_path / "two").write_text(form(two))
    nbest = read_nbest(
        [tmp_path / "one", tmp_path / "two"], Vocabulary(), reader=registry.reader(name)
    )
    assert nbest.feature_names == (("PassThrough", 1), ("Glue", 1))
    assert nbest.features.tolist() == [[2.0, 0.0], [0.0, 3.0]]
    assert nbest.sparse is None
    assert (nbest.list_sizes, nbest.lines.tolist()) == ((1, 1), [0, 1])


@EXAMPLES
@given(write.lists())
def test_lines_lead_back_to_the_hypotheses_of_the_file(found):
    nbest = read(write.moses(found, linked=True), "moses")
    segments = np.repeat(np.arange(len(nbest)), np.diff(nbest.offsets))
    for row, line in enumerate(nbest.lines.tolist()):
        assert found[line].words == tuple(nbest.texts.words(row))
        assert found[line].segment == segments[row]
        assert found[line].values == tuple(nbest.features[row].tolist())
    assert nbest.list_sizes == (len(found),)


@EXAMPLES
@given(write.lists())
def test_formats_with_one_score(found):
    expected = read(write.scored_tsv(found), "tsv")
    for name in ("openai", "huggingface", "nemo", "espnet", "mlm_scoring"):
        nbest = read(getattr(write, name)(found))
        assert_one_score(nbest, expected)
    words, costs = write.kaldi(found)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cost"
        path.write_text(costs)
        assert_one_score(read(words, f"kaldi:x={path}"), expected)


def assert_one_score(nbest, expected):
    assert np.array_equal(nbest.offsets, expected.offsets)
    assert nbest.features[:, 0].tolist() == expected.features[:, 0].tolist()
    rows = range(len(expected.texts))
    assert [nbest.texts.words(n) for n in rows] == [expected.texts.words(n) for n in rows]
