"""What every reader of n-best lists promises; the registry finds the readers."""

from __future__ import annotations

import json
import random
from functools import partial
from itertools import product

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner import families
from portmert.tuner.base.columns import INDEX_KEYS
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import notices_to
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.nbest.readers._json import IDS
from portmert.tuner.nbest.records import ListFile, SegmentNames

NAMES = families.own_names("reader")

EXPECTED = (
    "moses marian joshua cdec travatar fairseq flat tsv jsonl "
    "openai huggingface kaldi espnet mlm-scoring"
)
FOLDERS = ["espnet2"]  # which is no file: tests/tuner/nbest/readers/test_speech.py
FORMATS = [name for name in NAMES if name not in ("auto", *FOLDERS)]
RECOGNISED = [name for name in FORMATS if name != "flat"]  # plain text is anything


def reader_of(name):
    return registry.reader("flat:n=2" if name == "flat" else name)


def sample(name):
    return "".join(families.component("reader", name).example)


def read(tmp_path, name, text, **options):
    path = tmp_path / "list"
    path.write_bytes(text.encode())
    return read_nbest([path], Vocabulary(), reader=reader_of(name), **options)


def test_every_format_of_the_issue_is_there():
    assert set(FORMATS) >= set(EXPECTED.split())


@pytest.mark.parametrize("name", NAMES)
def test_a_format_is_made_of_machinery_alone(name):
    cls = families.component("reader", name)
    bases = cls.__mro__[1 : cls.__mro__.index(Reader) + 1]  # machinery alone, never a format
    assert all(base.__module__.rpartition(".")[2].startswith("_") for base in bases)


@pytest.mark.parametrize("name", FORMATS)
def test_sample_is_read(tmp_path, name):
    said = []
    with notices_to(said.append):
        nbest = read(tmp_path, name, sample(name))
    assert len(nbest) == 2
    assert [nbest.texts.words(row) for row in range(3)] == [["a", "b"], ["b"], []]
    assert nbest.texts.links is None
    assert nbest.features.shape == (len(nbest.texts), sum(n for _, n in nbest.feature_names))
    assert nbest.features.flags.f_contiguous
    assert nbest.list_sizes == (len(nbest.texts),)
    assert sorted(nbest.lines) == list(range(len(nbest.texts)))
    assert len(said) == 1
    assert " n-best, " in said[0]
    assert "no word alignment" in said[0]


@pytest.mark.parametrize("name", RECOGNISED)
def test_sample_is_recognised_by_its_own_reader_only(name):
    head = ListFile("list", sample(name).encode()).head
    assert [
        other for other in FORMATS if families.component("reader", other).recognises(head)
    ] == [name]


@pytest.mark.parametrize("name", FORMATS)
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path, name):
    plain = read(tmp_path, name, sample(name))
    other = read(tmp_path, name, "\ufeff" + sample(name).replace("\n", "\r\n"))
    assert plain.texts.vocabulary.words == other.texts.vocabulary.words
    assert np.array_equal(plain.features, other.features)


@pytest.mark.parametrize("name", ["kaldi"])
def test_a_key_that_stands_twice_is_refused(tmp_path, name):
    first, one, _, *rest = families.component("reader", name).example
    with pytest.raises(InputError, match=r"list:\d+: .* stands twice"):
        read(tmp_path, name, "".join([first, one, one, *rest]))


def _record(**keys):
    return json.dumps(keys)


# A hypothesis of a segment by its number, from 0, in each way in which formats write numbers.
NUMBERED = {
    "kaldi": ("kaldi", "", lambda s, k: f"{s}-{k + 1} h{k} {s}"),
    **{
        f"jsonl {key} from {base}": (
            "jsonl",
            "",
            lambda s, k, key=key, base=base: _record(
                id=s, text=f"h{k} {s}", features={"F": k}, **{key: k + base}
            ),
        )
        for key, base in product(INDEX_KEYS, (0, 1))
    },
    **{
        f"tsv {key}": ("tsv", f"seg_id\t{key}\thyp\tF\n", lambda s, k: f"{s}\t{k}\th{k} {s}\t{k}")
        for key in INDEX_KEYS
    },
    "openai": (
        "openai",
        "",
        lambda s, k: _record(
            custom_id=s,
            response={
                "body": {"choices": [{"index": k, "text": f"h{k} {s}", "logprobs": LOGPROBS}]}
            },
        ),
    ),
}
LOGPROBS = {"token_logprobs": [-1.0]}


def _numbered_list(tmp_path, form, pairs):
    name, head, record = NUMBERED[form]
    nbest = read(tmp_path, name, head + "".join(record(*pair) + "\n" for pair in pairs))
    order = np.argsort(nbest.ids)
    texts = {
        nbest.ids[s]: [
            (nbest.texts.words(row), nbest.features[row].tolist(), int(nbest.ranks[row]))
            for row in range(nbest.offsets[s], nbest.offsets[s + 1])
        ]
        for s in order
    }
    return texts, [nbest.feature_names, nbest.list_sizes], nbest


@pytest.mark.parametrize("form", NUMBERED)
def test_hypotheses_stand_by_their_numbers_in_whatever_order_lines_stand(tmp_path, form):
    pairs = list(product(("s-9", "s-10", "s-11"), range(4)))
    expected, columns, _ = _numbered_list(tmp_path, form, pairs)
    assert [words[0] for words, _, _ in expected["s-10"]] == ["h0", "h1", "h2", "h3"]
    assert [rank for _, _, rank in expected["s-10"]] == [1, 2, 3, 4]
    assert not {name for name, _ in columns[0]} & set(INDEX_KEYS)
    for seed in range(3):
        order = random.Random(seed).sample(pairs, len(pairs))
        found, same_columns, nbest = _numbered_list(tmp_path, form, order)
        assert (found, same_columns) == (expected, columns)
        places = [order[line] for line in nbest.lines]  # features by lines go with their lines
        assert [f"h{k}" for _, k in places] == [
            nbest.texts.words(row)[0] for row in range(len(places))
        ]


@pytest.mark.parametrize("form", NUMBERED)
def test_a_number_that_stands_twice_is_refused(tmp_path, form):
    pairs = [("s-9", 0), ("s-9", 1), ("s-10", 0), ("s-9", 1)]
    with pytest.raises(InputError, match=r"list:\d: .*'?s-9.* stands twice"):
        _numbered_list(tmp_path, form, pairs)


def test_a_column_called_rank_that_has_no_numbers_is_a_feature_with_a_warning(tmp_path, caplog):
    text = "id\thyp\trank\n0\ta\t1.5\n0\tb\t0.5\n"
    assert read(tmp_path, "tsv", text).feature_names == (("rank", 1),)
    assert "'rank' has no numbers of hypotheses" in caplog.text


RECORDS = {
    "jsonl": lambda s, texts: _record(id=s, hypotheses=list(texts)),
    "huggingface": lambda s, texts: _record(
        id=s, sequences=list(texts), sequences_scores=[-1.0] * len(texts)
    ),
    "openai": lambda s, texts: _record(
        custom_id=s, choices=[{"text": text, "logprobs": LOGPROBS} for text in texts]
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_stands_twice_is_refused(tmp_path, name):
    record = RECORDS[name]
    for records in (
        [record("u", "ab"), record("u", "cd"), record("v", "a")],
        [record("u", "a"), record("v", "b"), record("u", "cd")],
    ):
        with pytest.raises(InputError, match=r"list:[23]: id 'u' stands twice, first in line 1"):
            read(tmp_path, name, "\n".join(records) + "\n")


@pytest.mark.parametrize("key", IDS)
@pytest.mark.parametrize("name", RECORDS)
def test_records_are_segments_by_every_usual_id_whatever_their_order(tmp_path, name, key):
    records = [
        RECORDS[name](s, [f"t{s}"]).replace('"custom_id"', '"id"').replace('"id"', f'"{key}"')
        for s in (2, 0, 1)
    ]
    nbest = read(tmp_path, name, "\n".join(records) + "\n")
    assert [nbest.texts.words(row) for row in range(3)] == [["t0"], ["t1"], ["t2"]]
    lacking = records[1].replace(f'"{key}": 0, ', "")
    with pytest.raises(InputError, match=rf"list:2: '{key}' is missing"):
        read(tmp_path, name, "\n".join([records[0], lacking]))


FAILED = {
    "jsonl": ({"hypotheses": []}, {"error": "CUDA out of memory"}),
    "huggingface": ({"sequences": []}, {"error": "CUDA out of memory"}),
    "openai": (
        {"choices": []},
        {"object": "error", "code": 400, "message": "too long"},
        {"response": {"status_code": 200, "body": {"object": "error", "message": "bad"}}},
        {"choices": [{"message": {"content": None, "refusal": "I cannot"}}]},
        {"choices": [{"text": "a", "finish_reason": "content_filter"}]},
    ),
}


@pytest.mark.parametrize(
    ("name", "failed"), [(name, record) for name, some in FAILED.items() for record in some]
)
def test_a_record_without_an_answer_is_named_by_its_id_or_left_out(tmp_path, name, failed):
    records = [RECORDS[name]("u", ["a"]), _record(custom_id="v", **failed)]
    text = "\n".join([records[0].replace('"id"', '"custom_id"'), *records[1:]])
    with pytest.raises(InputError, match=r"list:2: id 'v': .*; --drop-missing leaves such"):
        read(tmp_path, name, text)
    names = SegmentNames(drop=True)
    assert read(tmp_path, name, text, names=names).ids == ("u",)
    assert list(names.failed) == ["v"]


def test_answers_that_are_withheld_beside_others_are_counted(tmp_path, caplog):
    choices = [
        {"text": "a", "logprobs": LOGPROBS},
        {"text": "", "finish_reason": "content_filter"},
    ]
    text = _record(custom_id="u", choices=choices)
    with pytest.raises(InputError, match="list:1: id 'u': an answer ended by content_filter"):
        read(tmp_path, "openai", text)
    assert read(tmp_path, "openai", text, names=SegmentNames(drop=True)).list_sizes == (1,)
    assert (
        "1 hypothesis of 1 segment left out; the first is of 'u': an answer ended" in caplog.text
    )


def _vllm(tmp_path, numbers, name="openai", **options):
    outputs = [{"text": "t", "cumulative_logprob": -1.0, "token_ids": [1]}]
    records = [
        _record(request_id=str(k), outputs=[{**outputs[0], "text": f"t{k}"}]) for k in numbers
    ]
    nbest = read(tmp_path, name, "\n".join(records) + "\n", **options)
    return [nbest.texts.words(row)[0] for row in range(len(nbest))]


def test_requests_of_vllm_are_segments_in_the_order_of_their_numbers(tmp_path):
    assert _vllm(tmp_path, [3, 1, 0, 2]) == ["t0", "t1", "t2", "t3"]
    assert _vllm(tmp_path, [12, 10, 11]) == ["t10", "t11", "t12"]  # a second call of generate
    assert _vllm(tmp_path, [0, 2, 3]) == ["t0", "t2", "t3"]
    drop = SegmentNames(drop=True)
    assert _vllm(tmp_path, [3, 0, 2], "openai:id=request_id", names=drop) == ["t0", "t2", "t3"]
    assert drop.left.tolist() == [0, 2, 3]


@pytest.mark.parametrize("numbers", [[3, 0, 2], [0, 1, 0, 1]])
def test_requests_of_vllm_that_are_not_in_order_are_refused(tmp_path, numbers):
    with pytest.raises(InputError, match=r"list:\d: 'request_id' is 0: .*openai:id=request_id"):
        _vllm(tmp_path, numbers)
    with pytest.raises(InputError, match=r"'request_id' is 0: .*not in order"):
        _vllm(tmp_path, [0, 2], names=SegmentNames(drop=True))


def _sentences(tmp_path, numbers, options="", *, key="translations", **more):
    records = [_record(**{"sentence_id": k, key: [f"t{k}"]}) for k in numbers]
    names = SegmentNames(drop=True)
    text = "\n".join(records) + "\n"
    nbest = read(tmp_path, f"jsonl{options}", text, names=names, **more)
    return dict(
        zip(names.left.tolist(), (nbest.texts.words(r)[0] for r in range(len(nbest))), strict=True)
    )


@pytest.mark.parametrize("numbers", [[3, 1, 2, 4], [3, 2, 1], [2, 3, 4], [2], [1, 4]])
def test_sentences_of_sockeye_count_from_1(tmp_path, numbers):
    expected = {k - 1: f"t{k}" for k in sorted(numbers)}
    assert _sentences(tmp_path, numbers, segments=4) == expected
    assert _sentences(tmp_path, numbers) == expected


def test_other_sentences_count_from_0_or_1_as_all_of_them_show(tmp_path):
    read_as = partial(_sentences, tmp_path, key="hypotheses", segments=4)
    assert read_as([3, 0, 2]) == {0: "t0", 2: "t2", 3: "t3"}
    assert read_as([4, 2]) == {1: "t2", 3: "t4"}
    with pytest.raises(
        InputError, match=r"'sentence_id' is 1\.\.3, .*jsonl:first_id=0 or jsonl:f"
    ):
        read_as([3, 1])
    assert read_as([3, 1], ":first_id=0") == {1: "t1", 3: "t3"}
    assert read_as([3, 1], ":first_id=1") == {0: "t1", 2: "t3"}


def test_records_of_one_hypothesis_each_may_be_written_pass_by_pass(tmp_path):
    head, together, apart = "id\thyp\n", "u\ta\nu\tb\nv\tc\n", "u\ta\nv\tc\nu\tb\n"
    for rows in (together, apart):
        nbest = read(tmp_path, "tsv", head + rows)
        assert [nbest.texts.words(row) for row in range(3)] == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("name", FORMATS)
def test_equal_hypotheses_are_kept_once_and_keep_their_line(tmp_path, name):
    path = tmp_path / "list"
    path.write_text(sample(name))
    nbest = read_nbest([path, path], Vocabulary(), reader=reader_of(name))
    count = len(nbest.texts)
    assert nbest.list_sizes == (count, count)
    assert sorted(nbest.lines) == list(range(count))


@pytest.mark.parametrize("name", FORMATS)
def test_a_byte_that_is_not_utf8_is_refused_with_its_line(tmp_path, name):
    path = tmp_path / "list"
    path.write_bytes(sample(name).encode().replace(b"b", b"\xe9", 1))
    with pytest.raises(InputError, match=r"list:\d+: .*(not UTF-8|0xe9)"):
        read_nbest([path], Vocabulary(), reader=reader_of(name))


@pytest.mark.parametrize("name", FORMATS)
def test_an_id_beyond_the_references_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="references have 1"):
        read(tmp_path, name, sample(name), segments=1)


@pytest.mark.parametrize("name", FORMATS)
def test_a_line_of_another_world_is_refused_with_its_number(tmp_path, name):
    text = sample(name) + "something\telse\tagain\nand\tagain\tand\n"
    with pytest.raises(InputError, match=r"list:\d+: ") as caught:
        read(tmp_path, name, text)
    lines = sample(name).count("\n")
    assert int(str(caught.value).split(":")[1]) in (lines + 1, lines + 2)
