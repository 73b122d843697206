"""Groups of segments, from every form of file."""

import json

import numpy as np
import pytest

from portmert.tuner.base.errors import InputError
from portmert.tuner.base.files import Lines
from portmert.tuner.texts.groups import Groups, groups_beside, read_groups

IDS = ("u1", "u2", "u3", "u4")
SGML = """<refset><doc docid="a"><seg id="1">x</seg><seg id="2">y</seg></doc>
<doc docid="b"><seg id="1">z</seg></doc></refset>
"""
JSON = [{"id": f"u{n}", "speaker": "ba"[n % 2]} for n in (1, 2, 3, 4)]


def read(path, text, **options):
    path.write_text(text, encoding="utf-8")
    return read_groups(path, **{"segments": 4} | options)


def labels(groups):
    return [groups.names[k] for k in groups.of_segment]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("groups", "a\nb\na\nb\n"),
        ("utt2spk", "u2 b\nu1 a\nu3 a\nu4 b\nu5 c\n"),
        ("groups.tsv", "id\tspeaker\nu4\tb\nu3\ta\nu2\tb\nu1\ta\n"),
        ("groups.csv", 'id,speaker\nu4,b\nu3,a\n"u2",b\nu1,a\n'),
        ("groups.jsonl", "".join(f"{json.dumps(record)}\n" for record in JSON)),
        ("groups.json", json.dumps(JSON, indent=1)),
        ("talks.stm", ";; a comment\n" + "".join(
            f"f 1 {s} {n}.0 {n}.5 <o> x\n" for n, s in enumerate("abab")
        )),
    ],
)  # fmt: skip
def test_every_form_names_the_same_groups(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    key = "#speaker" if name.startswith("groups.") else ""
    groups = read_groups(f"{path}{key}", 4, IDS)
    assert labels(groups) == ["a", "b", "a", "b"]
    assert groups.sizes.tolist() == [2, 2]


def test_a_name_of_stm_is_held_to_its_form(tmp_path):
    """Else each line would be a group of its own."""
    path = tmp_path / "talks.stm"
    path.write_text("".join(f"f left s{n % 2} {n} {n + 5} a b\n" for n in range(4)))
    with pytest.raises(InputError, match=r"talks\.stm: its name is that of STM, but its lines"):
        read_groups(path, 4)


def test_subsets_in_memory_are_not_called_groups():
    with pytest.raises(InputError, match=r"^subsets: groups of 1 segment, "):
        read_groups(["x"], 2, name="subsets")


def test_documents_of_sgml_are_found(tmp_path):
    path = tmp_path / "ref.sgm"
    path.write_text(SGML, encoding="utf-8")
    groups = groups_beside([path], 3, None)
    assert labels(groups) == ["a", "a", "b"]
    assert labels(read_groups(path, 3)) == ["a", "a", "b"]
    (tmp_path / "plain").write_text("x\ny\nz\n", encoding="utf-8")
    assert groups_beside([tmp_path / "plain"], 3, None) is None


def test_speakers_of_stm_are_found_and_joined_by_ids(tmp_path):
    lines = [f"f 1 {speaker} {n}.0 {n}.5 x\n" for n, speaker in enumerate("sts")]
    (tmp_path / "ref").write_text("".join(lines), encoding="utf-8")
    assert labels(groups_beside([tmp_path / "ref"], 3, None)) == ["s", "t", "s"]
    ids = ("f-1-1.000", "f-1-0.000", "f-1-2.000")
    assert labels(groups_beside([tmp_path / "ref"], 3, ids)) == ["t", "s", "s"]


def test_speakers_beside_a_text_of_kaldi_are_found(tmp_path):
    (tmp_path / "text").write_text("u1 x\nu2 y\nu3 z\n", encoding="utf-8")
    (tmp_path / "utt2spk").write_text("u1 s\nu2 t\nu3 s\n", encoding="utf-8")
    assert labels(groups_beside([tmp_path / "text"], 3, IDS[:3])) == ["s", "t", "s"]
    assert groups_beside([tmp_path / "text"], 3, None) is None


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("g", "a\nb\n", {}, "g: groups of 2 segments, the texts have 4; give one"),
        ("utt2spk", "u1 a\n", {}, "the groups have ids ('u1'), the segments of the texts"),
        ("utt2spk", "u1 a\n", {"ids": IDS},
         "the texts: id 'u2' and 2 more not in .*utt2spk .*ids there: u1"),
        ("utt2spk", "u1 a\nu1 b\n", {"ids": IDS}, "segment 'u1' is in two groups, 'a' and 'b'"),
        ("g", "a\n\na\na\n", {}, "g: segment 2 has an empty group"),
        ("g", "", {}, "g: the file is empty; expected the group of each segment"),
    ],
)  # fmt: skip
def test_what_names_no_group_of_each_segment_is_refused(name, text, options, message, tmp_path):
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        read(tmp_path / name, text, **options)


def test_statistics_are_summed_over_groups():
    groups = Groups.of(["a", "b", "a", "c"], "made up")
    stats = np.arange(16.0).reshape(2, 4, 2)
    assert groups.summed(stats)[0].tolist() == [[4.0, 6.0], [2.0, 3.0], [6.0, 7.0]]
    assert groups.summed(stats).shape == (2, 3, 2)
    some = groups.of_segments(np.array([1, 3]))
    assert (some.names, some.of_segment.tolist()) == (("b", "c"), [0, 1])


def test_groups_in_memory_are_labels():
    assert labels(read_groups(Lines("groups", "abba"), 4)) == list("abba")
