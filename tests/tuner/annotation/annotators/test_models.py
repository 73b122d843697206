from __future__ import annotations

import os

import pytest

from portmert.tuner.annotation.annotators import _models
from portmert.tuner.base.errors import AnnotatorError


def test_a_fingerprint_is_one_line_in_an_order_of_its_own(tmp_path):
    model = tmp_path / "m"
    model.write_text("a")
    one = _models.fingerprint("lib", "1.2", {"b": 1, "a": "x"}, model, "given")
    assert one == f"lib 1.2 {_models.digest(model)}+given a=x b=1"


def test_the_hash_is_that_of_the_content_wherever_it_is(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "part").mkdir(parents=True)
        (tmp_path / name / "part" / "x").write_text("same")
        (tmp_path / name / "y").write_text("")
    assert _models.digest(tmp_path / "one") == _models.digest(tmp_path / "two")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "x").write_text("other"),
        lambda folder: (folder / "x").rename(folder / "z"),
        lambda folder: (folder / "new").write_text(""),
    ],
)
def test_the_hash_changes_with_every_file(tmp_path, change):
    (tmp_path / "x").write_text("same!")
    (tmp_path / "y").write_text("")
    os.utime(tmp_path / "x", ns=(0, 0))
    before = _models.digest(tmp_path)
    change(tmp_path)
    assert _models.digest(tmp_path) != before


def test_a_model_that_is_not_there_is_named(tmp_path):
    with pytest.raises(AnnotatorError, match="gone: No such file or directory"):
        _models.digest(tmp_path / "gone")
