from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.aligners import _thot
from portmert.aligners.thot import Thot
from portmert.tuner.base.errors import PortmertError
from tests.support.examples import examples
from tests.support.languages.grammar import generate

PAIRS = generate(400, seed=3)
SOURCE = [" ".join(pair.source) for pair in PAIRS]
TARGET = [" ".join(pair.target) for pair in PAIRS]


def error_rate(found, gold):
    """Alignment error rate with sure links only: 1 - 2 |A and S| / (|A| + |S|)."""
    both = sum(len(set(a) & set(b)) for a, b in zip(found, gold, strict=True))
    return 1 - 2 * both / (sum(map(len, found)) + sum(map(len, gold)))


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({"model": "ibm1", "symmetrization": "intersection"}, 0.35),
        ({"model": "ibm2", "symmetrization": "intersection"}, 0.35),
        ({"model": "hmm"}, 0.35),
        ({"model": "hmm", "symmetrization": "intersection"}, 0.35),
        ({"model": "ibm4", "iterations": 2, "symmetrization": "intersection"}, 0.30),
        ({"model": "fast_align", "symmetrization": "intersection"}, 0.45),
        ({"model": "eflomal"}, 0.30),
    ],
)
def test_links_are_close_to_those_of_the_grammar(tmp_path, options, bound):
    found = Thot(**options).align(source=SOURCE, target=TARGET, workdir=tmp_path)
    rate = error_rate(found, [pair.links for pair in PAIRS])
    # Linking everything to everything, or the diagonal, has a rate above 0.75.
    assert rate < bound


def test_a_second_call_uses_the_models_of_the_first(tmp_path):
    aligner = Thot(model="ibm1", iterations=3)
    first = aligner.align(source=SOURCE, target=TARGET, workdir=tmp_path)
    [folder] = tmp_path.iterdir()
    before = folder.stat().st_mtime_ns
    # In another order and company a pair keeps its links.
    again = aligner.align(source=SOURCE[30:10:-1], target=TARGET[30:10:-1], workdir=tmp_path)
    assert again == first[30:10:-1]
    assert [path.stat().st_mtime_ns for path in tmp_path.iterdir()] == [before]
    assert not list(folder.glob("train.*"))


def test_training_bitext_and_saved_models(tmp_path):
    (tmp_path / "s").write_text("\n".join(SOURCE) + "\n")
    (tmp_path / "t").write_text("\n".join(TARGET) + "\n")
    trains = Thot(
        model="ibm1",
        train_source=tmp_path / "s",
        train_target=tmp_path / "t",
        saved=tmp_path / "kept",
    )
    some = {"source": SOURCE[:5], "target": TARGET[:5]}
    first = trains.align(**some, workdir=tmp_path / "w")
    assert not (tmp_path / "w").exists()
    loads = Thot(model="ibm1", saved=tmp_path / "kept")
    assert loads.align(**some, workdir=tmp_path / "w") == first
    with pytest.raises(PortmertError, match="kept: holds a model ibm1, but hmm is asked for"):
        replace(loads, model="hmm").align(**some, workdir=tmp_path)
    (tmp_path / "t").write_text("\n".join(reversed(TARGET)) + "\n")
    with pytest.raises(PortmertError, match="kept: was trained with another training bitext"):
        trains.align(**some, workdir=tmp_path)


def test_a_saved_model_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(
        PortmertError, match="none: no trained model there; name a training bitext"
    ):
        Thot(saved=tmp_path / "none").align(source=["a"], target=["b"], workdir=tmp_path)


def test_nothing_to_train_on_is_an_error(tmp_path):
    with pytest.raises(PortmertError, match="no pair to train on: 1 pair, none with 1 to 200"):
        Thot().align(source=[""], target=["b"], workdir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_line_too_long_for_the_model_is_named(tmp_path):
    source, target = ["a", "b " * 201], ["x", "y"]
    with pytest.raises(
        PortmertError, match="pair 2: 201 and 1 tokens, thot's hmm takes at most 200"
    ):
        Thot().align(source=source, target=target, workdir=tmp_path)
    Thot(model="ibm1").align(source=source, target=target, workdir=tmp_path)


def test_a_failing_training_process_is_an_error(tmp_path):
    given = {"source": [["a"]], "target": [["b"]], "timeout_seconds": 60}
    with pytest.raises(
        PortmertError, match=r"thot: training hmm \((direct|inverse)\) on 1 pair ended with"
    ):
        _thot.train(tmp_path, "hmm", iterations="many", **given)


def test_training_that_hangs_is_ended(tmp_path):
    lines = [" ".join(f"w{(n * k) % 997}" for k in range(1, 41)) for n in range(2000)]
    with pytest.raises(PortmertError, match=r"on 2000 pairs wrote nothing for 0.05 s") as caught:
        Thot(timeout_seconds=0.05).align(source=lines, target=lines, workdir=tmp_path)
    log = Path(str(caught.value).rpartition("its log is ")[2])
    assert log.parent == tmp_path
    assert log.is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations\n  Input should be greater than or equal to 1"),
        ({"train_source": "s"}, "train_source and train_target go together"),
        ({"subword": "m", "vocab_size": 9}, "subword names a model and vocab_size trains one"),
        ({"vocab_size": 0}, "vocab_size\n  Input should be greater than or equal to 1"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Thot(**options)


def test_pieces_are_projected_to_words(tmp_path):
    aligner = Thot(model="hmm", symmetrization="grow-diag-final-and", vocab_size=250)
    found = aligner.align(source=SOURCE, target=TARGET, workdir=tmp_path)
    for row, pair in zip(found, PAIRS, strict=True):
        assert row == sorted(set(row))
        assert all(s < len(pair.source) and t < len(pair.target) for s, t in row)
    assert error_rate(found, [pair.links for pair in PAIRS]) < 0.45


SPECIAL = [
    *sorted(_thot.SPECIAL),
    *("<phr_pair_annot>", "a<src_segm>b", "</trg_segm>", "a\u00a0b", "a\x00b", "a\x1cb", "\ufeff"),
    *("@thot:NULL", "@thot:", "#", "%s", "\\", "<3bars>"),
]


@pytest.mark.parametrize("model", ["hmm", "fast_align"])
def test_special_tokens_align_as_ordinary_ones(tmp_path, model):
    def renamed(lines, names):
        return [" ".join(names.get(word, word) for word in line.split()) for line in lines]

    aligner = Thot(model=model, iterations=2)
    plain = aligner.align(source=SOURCE, target=TARGET, workdir=tmp_path / "plain")
    words = [sorted({word for line in side for word in line.split()}) for side in (SOURCE, TARGET)]
    names = [dict(zip(side, SPECIAL, strict=False)) for side in words]
    special = aligner.align(
        source=renamed(SOURCE, names[0]),
        target=renamed(TARGET, names[1]),
        workdir=tmp_path / "special",
    )
    assert special == plain


@pytest.mark.parametrize("token", SPECIAL)
def test_unescape_undoes_escape(token):
    escaped = _thot.escape(token)
    assert _thot.unescape(escaped) == token
    assert escaped not in _thot.SPECIAL
    assert not any(tag in escaped for tag in _thot.TAGS)
    assert escaped.isprintable()


@examples(300)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_escape_is_reversible_and_harmless(token):
    escaped = _thot.escape(token)
    assert _thot.unescape(escaped) == token
    assert escaped.isprintable()
    assert len(escaped.split()) == 1 or " " in token
