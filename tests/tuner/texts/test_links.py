import sqlite3
from dataclasses import dataclass, field

import numpy as np
import pytest

from portmert.aligners._base import Aligner
from portmert.metrics._base import Ragged, Texts, Vocabulary
from portmert.tuner.base.errors import InputError, ProgramError, StateError
from portmert.tuner.texts.links import DATABASE, Linker


@dataclass(frozen=True)
class Counting(Aligner):
    """Links word i to word min(i, last); trained, as it were, on the first batch it sees."""

    calls: list = field(default_factory=list)
    short: bool = False

    def align(self, *, source, target, workdir):
        model = workdir / "model"
        if not model.exists():
            model.write_text("\n".join(target))
        self.calls.append(list(zip(source, target, strict=True)))
        links = [
            [(i, min(i, len(t.split()) - 1)) for i in range(len(s.split()))]
            for s, t in zip(source, target, strict=True)
        ]
        return links[: len(links) - self.short]


def annotator(tmp_path, aligner, references=("x y",)):
    (tmp_path / "src").write_text("a b c\n\n")
    files = []
    for number, first in enumerate(references):
        files.append(tmp_path / f"ref{number}")
        files[-1].write_text(f"{first}\nz\n")
    return Linker(
        aligner,
        tmp_path / "notes",
        source=tmp_path / "src",
        references=tuple(files),
    )


def texts(*lines):
    return Texts.from_lines(lines, Vocabulary())


def links_of(made):
    return [[tuple(pair) for pair in made.links.row(i).tolist()] for i in range(len(made))]


def test_dev_links_are_made_once_in_one_batch(tmp_path):
    aligner = Counting()
    one = annotator(tmp_path, aligner, references=("x y", "w"))
    files = one.dev_links()
    assert [file.read_text() for file in files] == ["0-0 1-1 2-1\n\n", "0-0 1-0 2-0\n\n"]
    assert one.dev_links() == files
    assert aligner.calls == [[("a b c", "x y"), ("a b c", "w")]]  # empty sides never reach it


def test_dev_links_check_the_number_of_lines(tmp_path):
    one = annotator(tmp_path, Counting())
    (tmp_path / "ref0").write_text("x y\n")
    with pytest.raises(InputError, match=r"ref0: 1 line, .*src has 2"):
        one.dev_links()


def test_hypothesis_links_align_each_distinct_pair_once(tmp_path):
    aligner = Counting()
    one = annotator(tmp_path, aligner)
    hypotheses, offsets = texts("x", "x y", "x", "", "q"), np.array([0, 4, 5])
    made = one.hypothesis_links(hypotheses, offsets=offsets, sources=["a b", ""])
    assert links_of(made) == [[(0, 0), (1, 0)], [(0, 0), (1, 1)], [(0, 0), (1, 0)], [], []]
    assert aligner.calls[1:] == [[("a b", "x"), ("a b", "x y")]]
    again = one.hypothesis_links(
        texts("x y", "new"), offsets=np.array([0, 2, 2]), sources=["a b", ""]
    )
    assert links_of(again) == [[(0, 0), (1, 1)], [(0, 0), (1, 0)]]
    assert aligner.calls[2:] == [[("a b", "new")]]


def test_the_aligner_sees_the_dev_set_before_any_hypothesis(tmp_path):
    one = annotator(tmp_path, Counting())
    one.hypothesis_links(texts("h"), offsets=np.array([0, 1]), sources=["a"])
    assert (tmp_path / "notes" / "aligner" / "model").read_text() == "x y"


def test_links_of_the_list_are_left_alone(tmp_path):
    given = Texts(Vocabulary(), Ragged.from_rows([[]]), Ragged.from_rows([[]], 2))
    one = annotator(tmp_path, None)
    assert one.hypothesis_links(given, offsets=np.array([0, 1]), sources=["a"]) is given


def test_no_links_and_no_aligner_is_an_error(tmp_path):
    one = annotator(tmp_path, None)
    with pytest.raises(InputError, match=r"no word alignment and there is no \[aligner\]"):
        one.hypothesis_links(texts("h"), offsets=np.array([0, 1]), sources=["a"])


def test_an_aligner_that_loses_pairs_is_an_error(tmp_path):
    one = annotator(tmp_path, Counting(short=True))
    with pytest.raises(ProgramError, match=r"Counting\.align returned list with 0 entries"):
        one.dev_links()


def test_a_damaged_cache_is_named(tmp_path):
    one = annotator(tmp_path, Counting())
    one.dev_links()
    (tmp_path / "notes" / DATABASE).write_bytes(b"no database" * 100)
    with pytest.raises(StateError, match=f"{DATABASE}: .*delete the file"):
        one.hypothesis_links(texts("h"), offsets=np.array([0, 1]), sources=["a"])


def test_an_interrupted_batch_leaves_nothing(tmp_path):
    one = annotator(tmp_path, Counting())
    one.hypothesis_links(texts("h"), offsets=np.array([0, 1]), sources=["a"])
    broken = annotator(tmp_path, Counting(short=True))
    with pytest.raises(ProgramError):
        broken.hypothesis_links(texts("h", "i"), offsets=np.array([0, 2]), sources=["a"])
    with sqlite3.connect(tmp_path / "notes" / DATABASE) as database:
        assert database.execute("SELECT count(*) FROM links").fetchone() == (1,)
    database.close()
