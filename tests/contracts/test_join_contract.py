"""Whatever has ids is joined by them, in any order; what lacks or repeats one is refused."""

import json
import random
from itertools import chain, product

import numpy as np
import pytest

import portmert
from portmert.metrics._base import Vocabulary
from portmert.tuner.base.columns import ID_KEYS, INDEX_KEYS
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.files import read_lines
from portmert.tuner.texts.corpus import read_references, read_source
from portmert.tuner.texts.joining import joined
from tests.support.cli import commands

SIZE = 3
IDS = ("s-9", "s-10", "s-11", "s-12")
TEXTS = {name: f"words of {name}" for name in IDS}


def json_line(**record):
    return json.dumps(record) + "\n"


def value_of(name, rank):
    return IDS.index(name) * 10 + rank + 0.5


PAIRS = [(name, rank) for name in IDS for rank in range(1, SIZE + 1)]

# How values are written: what names the file, its head, and a record of one hypothesis.
VALUES = {
    "json": ("v.jsonl#v", "", lambda s, k: json_line(custom_id=s, index=k - 1, v=value_of(s, k))),
    "json from 1": ("v.jsonl#v", "", lambda s, k: json_line(id=s, rank=k, v=value_of(s, k))),
    "json with keys of its own": (
        "v.jsonl#a.v:doc.name:at",
        "",
        lambda s, k: json_line(doc={"name": s}, at=k, a={"v": value_of(s, k)}),
    ),
    "table": (
        "v.tsv#v",
        "v\tseg_id\tn\n",
        lambda s, k: f"{value_of(s, k)}\t{s}\t{k}\n",
    ),
    "keys of Kaldi": ("v.txt", "", lambda s, k: f"{s}-{k} {value_of(s, k)}\n"),
    # Every key that the program knows.
    **{
        f"json by {key} and {rank}": (
            "v.jsonl#v",
            "",
            lambda s, k, key=key, rank=rank: json_line(**{key: s, rank: k, "v": value_of(s, k)}),
        )
        for key, rank in product(ID_KEYS, INDEX_KEYS)
        if ID_KEYS.index(key) % len(INDEX_KEYS) == INDEX_KEYS.index(rank)
    },
}
# The same for texts of segments.
LINES = {
    "json": ("t.jsonl#t", "", lambda s: json_line(utt=s, t=TEXTS[s])),
    "json inside": ("t.jsonl#a.t", "", lambda s: json_line(id=s, a={"t": TEXTS[s]})),
    "table": ("t.tsv#t", "id\tt\n", lambda s: f"{s}\t{TEXTS[s]}\n"),
    "table of no name": ("t#t", "id\tt\n", lambda s: f"{s}\t{TEXTS[s]}\n"),
    "json of no name": ("t#t", "", lambda s: json_line(utt=s, t=TEXTS[s])),
    "lines with ids": ("t.txt", "", lambda s: f"{s} {TEXTS[s]}\n"),
    "lines with ids behind": ("t.trn", "", lambda s: f"{TEXTS[s]} ({s})\n"),
    **{
        f"{kind} by {key}": form
        for key in ID_KEYS
        for kind, form in (
            ("json", ("t.jsonl#t", "", lambda s, key=key: json_line(**{key: s, "t": TEXTS[s]}))),
            ("table", ("t.tsv#t", f"{key}\tt\n", lambda s: f"{s}\t{TEXTS[s]}\n")),
        )
    },
}
JOINS_NOTHING = {
    "humaneval make": "judges see whole texts",
}
"""Commands without --drop-missing, and why."""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    list_of(IDS)

    def written(named, head, records):
        (tmp_path / named.partition("#")[0]).write_text(head + "".join(records))
        return named

    return written


def list_of(ids, path="list.jsonl"):
    with open(path, "w") as file:  # noqa: PTH123
        for name in ids:
            hypotheses = [{"text": f"{name} h{k}", "features": {"F": k}} for k in range(SIZE)]
            file.write(json_line(id=name, hypotheses=hypotheses))


def shuffled(things, seed):
    return random.Random(seed).sample(list(things), len(things))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", VALUES)
def test_values_are_joined_by_segment_and_hypothesis(write, kind, seed):
    named, head, record = VALUES[kind]
    path = write(named, head, [record(*pair) for pair in shuffled(PAIRS, seed)])
    list_of(shuffled(IDS, seed + 1))
    lists = portmert.Lists.read("list.jsonl", features=[f"v={path}"])
    expected = [value_of(name, k) for name in lists.nbest.ids for k in range(1, SIZE + 1)]
    assert lists.nbest.features[:, 1].tolist() == expected
    if "json" in kind or kind == "table":
        found = portmert.optimize(lists, f"scores:{path}", optimizer="mert:restarts=1")
        assert found.score == np.mean([value_of(name, SIZE) for name in IDS])


@pytest.mark.parametrize("kind", VALUES)
def test_values_that_lack_or_repeat_a_hypothesis_are_refused(write, kind):
    named, head, record = VALUES[kind]
    records = [record(*pair) for pair in PAIRS]
    for wrong, expected in ((records[:-1], "s-12"), ([*records, records[4]], "stands twice")):
        path = write(named, head, wrong)
        with pytest.raises(InputError, match=expected) as caught:
            portmert.Lists.read("list.jsonl", features=[f"v={path}"])
        assert path.partition("#")[0] in str(caught.value)


def test_values_without_an_index_stand_together(write):
    records = [json_line(id=name, v=value_of(name, k)) for name, k in PAIRS]
    blocks = [records[k : k + SIZE] for k in range(0, len(records), SIZE)]
    path = write("v.jsonl#v", "", list(chain(*shuffled(blocks, 1))))
    lists = portmert.Lists.read("list.jsonl", features=[f"v={path}"])
    assert lists.nbest.features[:, 1].tolist() == [value_of(*pair) for pair in PAIRS]
    write("v.jsonl#v", "", shuffled(records, 1))
    with pytest.raises(InputError, match="no number tells which hypothesis"):
        portmert.Lists.read("list.jsonl", features=[f"v={path}"])


def test_values_without_ids_need_lists_in_order(write):
    path = write("v.txt", "", [f"{value_of(*pair)}\n" for pair in PAIRS])
    lists = portmert.Lists.read("list.jsonl", features=[f"v={path}"])
    assert lists.nbest.features[:, 1].tolist() == [value_of(*pair) for pair in PAIRS]
    list_of(reversed(IDS))
    with pytest.raises(InputError, match=r"'s-12' stands before 's-11'.*FILE.jsonl#KEY"):
        portmert.Lists.read("list.jsonl", features=[f"v={path}"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", LINES)
def test_texts_are_joined_by_segment(write, kind, seed):
    named, head, record = LINES[kind]
    path = write(named, head, [record(name) for name in shuffled(IDS, seed)])
    list_of(shuffled(IDS, seed + 1))
    options = {"features": [f"near=chrf@{path}"]}
    lists = portmert.Lists.read("list.jsonl", refs=[path], source=path, **options)
    expected = [TEXTS[name] for name in lists.nbest.ids]
    texts = lists.references.texts
    assert [" ".join(texts.words(row)) for row in range(len(texts))] == expected
    assert list(lists.source_lines) == expected
    alone = portmert.Lists.read("list.jsonl", source=path)
    assert list(alone.source_lines) == expected
    near = dict(zip(lists.nbest.ids, lists.nbest.features[::SIZE, 1], strict=True))
    list_of(IDS)
    plain = write("plain", "", [f"{TEXTS[name]}\n" for name in IDS])
    in_order = portmert.Lists.read("list.jsonl", features=[f"near=chrf@{plain}"])
    assert in_order.nbest.features[::SIZE, 1].tolist() == [near[name] for name in IDS]


@pytest.mark.parametrize("kind", LINES)
def test_texts_that_lack_or_repeat_a_segment_are_refused(write, kind):
    named, head, record = LINES[kind]
    records = [record(name) for name in IDS]
    path = write(named, head, records[:-1])
    with pytest.raises(InputError, match="s-12"):
        portmert.Lists.read("list.jsonl", refs=[path])
    write(named, head, [*records, record(IDS[1]).replace("words", "other")])
    with pytest.raises(InputError, match=r"s-10|5 segments"):
        portmert.Lists.read("list.jsonl", refs=[path])
    if not kind.startswith(
        "lines with ids"
    ):  # each hypothesis may carry the reference of its segment
        write(named, head, [*records, records[1]])
        lists = portmert.Lists.read("list.jsonl", refs=[path])
        assert lists.references.ids == IDS


@pytest.mark.parametrize("kind", LINES)
def test_where_one_side_has_ids_they_must_be_in_order(write, kind):
    plain = write("plain", "", [f"{TEXTS[name]}\n" for name in IDS])
    lists = portmert.Lists.read("list.jsonl", refs=[plain])
    assert len(lists.references) == len(IDS)
    list_of(reversed(IDS))
    with pytest.raises(InputError, match=r"plain: no ids.*FILE.jsonl#KEY"):
        portmert.Lists.read("list.jsonl", refs=[plain])
    named, head, record = LINES[kind]
    if kind.startswith("lines with ids"):
        return
    path = write(named, head, [record(name) for name in reversed(IDS)])
    bare = [f"{n} ||| a{k} ||| F= {k} ||| 0\n" for n in range(len(IDS)) for k in range(2)]
    write("bare", "", bare)
    with pytest.raises(InputError, match="'s-12' stands before 's-11'"):
        portmert.Lists.read("bare", refs=[path])
    with pytest.raises(InputError, match="'s-12' stands before 's-11'"):
        portmert.score("plain", [path], metric="chrf")
    write(named, head, [record(name) for name in IDS])
    lists = portmert.Lists.read("bare", refs=[path])
    assert lists.references.texts.words(0)[-1] == IDS[0]


@pytest.mark.parametrize("kind", LINES)
def test_two_texts_with_ids_are_scored_in_any_order(write, kind):
    named, head, record = LINES[kind]
    path = write(named, head, [record(name) for name in shuffled(IDS, 2)])
    other = write("o.jsonl#t", "", [json_line(id=name, t=TEXTS[name]) for name in IDS])
    ids = kind.startswith("lines with ids")
    if ids:
        other = write("o.txt", "", [f"{name} {TEXTS[name]}\n" for name in IDS])
    assert portmert.score(path, [other], metric="wer", ids=ids).score == 1
    found = read_references([other, path], vocabulary=Vocabulary(), source=path)
    assert found.source == read_source(joined([other, path])[0][1])


@pytest.mark.parametrize("key", ["request_id", "uid", "path"])
def test_ids_under_unusual_keys_are_not_passed_over(write, key):
    """Records in another order are refused, with the option that joins them."""
    pairs, names = shuffled(PAIRS, 1), shuffled(IDS, 1)
    numbers = [json_line(**{key: s, "index": k - 1, "v": value_of(s, k)}) for s, k in pairs]
    value = write("v.jsonl#v", "", numbers)
    text = write("t.tsv#t", f"{key}\tt\n", [f"{name}\t{TEXTS[name]}\n" for name in names])
    other = write("o.jsonl#t", "", [json_line(**{key: s, "t": TEXTS[s]}) for s in IDS])
    for call in (
        lambda: portmert.Lists.read("list.jsonl", features=[f"v={value}"]),
        lambda: portmert.optimize("list.jsonl", f"scores:{value}"),
        lambda: portmert.Lists.read("list.jsonl", refs=[text]).references,
        lambda: portmert.score(other, [text], metric="wer"),
    ):
        with pytest.raises(InputError, match=f"join by them: .*#[vt]:{key}"):
            call()
    lists = portmert.Lists.read(
        "list.jsonl", refs=[f"{text}:{key}"], features=[f"v={value}:{key}"]
    )
    assert lists.nbest.features[:, 1].tolist() == [value_of(*pair) for pair in PAIRS]
    assert portmert.score(f"{other}:{key}", [f"{text}:{key}"], metric="wer").score == 1


def test_a_column_without_ids_is_taken_by_place(write):
    path = write("t.jsonl#t", "", [json_line(t=TEXTS[name], set="dev") for name in IDS])
    lists = portmert.Lists.read("list.jsonl", refs=[path])
    assert lists.references.texts.words(0)[-1] == IDS[0]


def test_what_is_missing_may_be_dropped(write, caplog):
    refs = [json_line(id=name, t=TEXTS[name], src="a") for name in IDS[1:]]
    path = write("t.jsonl#t", "", refs)
    values = [record for record in PAIRS if record != ("s-10", 2)]
    named, head, record = VALUES["json"]
    write(named, head, [record(*pair) for pair in values])
    with pytest.raises(InputError, match=r"'s-9'.*missing='segment' leaves"):
        portmert.Lists.read("list.jsonl", refs=[path])
    lists = portmert.Lists.read(
        "list.jsonl", refs=[path], source="t.jsonl#src", features=[f"v={named}"], missing="segment"
    )
    assert lists.nbest.ids == ("s-11", "s-12")
    assert len(lists.references) == len(lists.source_lines) == 2
    assert lists.references.texts.words(0)[-1] == "s-11"
    assert "1 segment left out; the first is 's-9': nothing in t.jsonl" in caplog.text
    assert (
        "where values are missing: v (1); 1 segment with all of them, first 's-10'" in caplog.text
    )
    found = portmert.optimize(lists, "chrf", optimizer="mert:restarts=1")
    assert found.score > 0


def test_an_existing_file_with_a_hash_in_its_name_is_a_text(write):
    path = write("a", "", [])
    assert path == "a"
    (names := [f"{TEXTS[name]}" for name in IDS]).reverse()
    with open("t#x", "w") as file:  # noqa: PTH123
        file.write("\n".join(names) + "\n")
    assert read_lines(joined(["t#x"])[0][0]) == names


def test_every_command_that_joins_texts_can_drop_what_is_missing():
    for name, command in commands():
        options = {option for one in command.params for option in one.opts}
        if options & {"--ref", "--nbest"} and name not in JOINS_NOTHING:
            assert "--drop-missing" in options, name


@pytest.mark.parametrize("gap", [0, 1, 3])
def test_a_segment_that_lists_lack_is_told_or_asked_for(tmp_path, caplog, gap):
    refs = tmp_path / "refs"
    refs.write_text("".join(f"word {n}\n" for n in range(4)))
    for name, with_id in (("numbered", True), ("bare", False)):
        records = [
            {"id": n, "hypotheses": [{"text": f"word {n}", "score": 1.0}] * 2} for n in range(4)
        ]
        del records[gap]
        lines = [
            {**record} if with_id else {"hypotheses": record["hypotheses"]} for record in records
        ]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    lists = portmert.Lists.read(tmp_path / "numbered", refs=refs, missing="segment")
    assert [lists.references.texts.words(n)[1] for n in range(3)] == [
        str(n) for n in range(4) if n != gap
    ]
    assert f"1 segment left out; the first is '{gap}'" in caplog.text
    with pytest.raises(InputError, match="no ids: which are missing cannot be known"):
        _ = portmert.Lists.read(tmp_path / "bare", refs=refs, missing="segment").nbest
