"""What readers of JSON and of Kaldi's tables say about what is wrong, and where."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.columns import DROP
from portmert.tuner.base.errors import InputError
from portmert.tuner.components import registry
from portmert.tuner.nbest.feature_files import read_numbers
from portmert.tuner.nbest.read import read_nbest
from tests.support.reading import fails, read, refusals


def completion(**other):
    logprobs = {"token_logprobs": [-0.5, -1.0]}
    return json.dumps({"choices": [{"index": 0, "text": "a b", "logprobs": logprobs, **other}]})


def chat(*logprobs, content="a"):
    tokens = [{"token": "x", "logprob": value} for value in logprobs]
    choice = {"message": {"content": content}, "logprobs": {"content": tokens}}
    return json.dumps({"choices": [choice]})


def utterance(**item):
    return json.dumps({"utts": {"u": {"output": [item]}}}, indent=1)


def scored(**item):
    return json.dumps({"u": {"hyp_1": item}})


def test_a_key_with_a_line_end_stays_in_the_line_of_the_message(tmp_path):
    message = fails(tmp_path, "jsonl", '{"id": 0, "b\\n": 1}\n')
    assert "\n" not in message
    assert message.endswith("(keys found: b , id)")


test_what_is_wrong_is_said_with_its_place = refusals(
    {
        "openai": {
            "{}": "list1:1: 'choices' is missing, expected a list of objects (keys found: none)",
            '{"choices": []}': "list1:1: id '0': 'choices' is empty: a segment has",
            "[]": "list1: no hypothesis in the file",
            '{"choices": [3]}': "list1:1: 'choices' is [3], expected a list of objects",
            f"{completion()}\n{completion(logprobs=None)}": (
                "list1:2: log-probabilities: this answer has none, the first one has"
            ),
            f"{completion(logprobs=None)}\n{completion()}": (
                "list1:2: log-probabilities: this answer has, the first one not"
            ),
            chat(content=None): "list1:1: id '0': an answer without text; --drop",
            completion(logprobs={"token_logprobs": [None, -1.0]}): (
                "list1:1: token 1 of 'logprobs.token_logprobs' has no log-probability; is it the"
            ),
            chat(-1e300): "list1:1: 'logprobs.content, token 1' is -1e+300; values must be",
            completion(logprobs={"tokens": []}): (
                "list1:1: 'logprobs.token_logprobs' is missing, expected a list, "
                "one entry a token (k"
            ),
            '{"choices": [{"index": 1, "text": ""}, {"index": 1, "text": ""}]}': (
                "list1:1: two choices have the index 1"
            ),
            '{"custom_id": "x", "response": null, "error": {"message": "too long"}}': (
                f"list1:1: id 'x': the request failed: too long; {DROP}"
            ),
            '{"outputs": [{"text": "a", "cumulative_logprob": -1}]}': (
                "list1:1: 'token_ids' is missing, expected a list of tokens (keys found: cumul"
            ),
        },
        "openai:features=logprob": {
            completion(logprob=1): (
                "list1: two features are called 'logprob'; each needs a name of its own"
            ),
        },
        "huggingface:features=a+a": {
            '{"sequences": ["b"], "a": [-1]}': "list1: two features are called 'a'",
        },
        "tsv:features=LM+LM": {
            "id\thyp\tLM\n0\ta\t1\n": "list1: two features are called 'LM'",
        },
        "openai:features=reward": {
            completion(): (
                "list1:1: 'reward' is missing, expected scores (name the keys in features=) (keys"
            ),
        },
        "huggingface": {
            '{"sequences": [[1, 2]], "sequences_scores": [[-1]]}': (
                "list1:1: the sequences are no texts ([1, 2]); save them decoded: tokenizer.batch"
            ),
            '{"sequences": ["a", "b"], "sequences_scores": [-1]}': (
                "list1:1: 'sequences_scores' has 1 entry in 1 segment, 'sequences' has 2 in 1"
            ),
            '{"sequences": ["a"], "score": [-1]}': (
                "list1:1: 'sequences_scores' is missing, expected a list, an entry a hypothesis (k"
            ),
            '{"sequences": [["a"], []], "sequences_scores": [[1], []]}': (
                "list1:1: 'sequences' has a segment without hypotheses"
            ),
            b"PK\x03\x04rubbish": "list1: ",
        },
        "huggingface:n=2": {
            '{"sequences": ["a"], "sequences_scores": [1]}': (
                "list1:1: 'sequences' has 1 entry, no multiple of n=2"
            ),
        },
        "kaldi": {
            "u-1 a\nu-1 b\n": "list1:2: u-1 stands twice, first in line 1",
            "u-1 a\nu b\n": "list1:2: 'u b' does not begin with a key of a hypothesis, like",
        },
        "espnet": {
            '{"utts": {"u": null}}': "list1: utts: 'u' is null, expected an object with",
            '{"utts": []}': "list1:1: 'utts' is [], expected an object of utterances",
            utterance(rec_token="a", score=-1): (  # noqa: S106  words
                "list1: utts.u.output, hypothesis 1: 'rec_text' is missing, expected a text (keys"
            ),
            '{"utts": {"u": {"output": []}}}': "list1: utts.u: 'output' is empty: a segment",
            '{\n"utts": \n': "list1:2: not JSON: ",
        },
        "mlm-scoring": {
            '{"u": {"ref": "a"}}': "list1: u: 'hyp_1' is missing, expected a hypothesis",
            scored(text="a"): "list1: u.hyp_1: 'score' is missing, expected a number",
        },
    }
)


def test_costs_of_another_list_are_refused(tmp_path):
    costs = tmp_path / "ac_cost.txt"
    costs.write_text("u-1 1.5\nu-2 x\n")
    name = f"kaldi:ac={costs}"
    assert fails(tmp_path, name, "u-1 a\n") == "ac_cost.txt:2: 'x' for the value is not a number"
    costs.write_text("u-1 1.5\n")
    assert fails(tmp_path, name, "u-1 a\nu-2 b\n") == (
        "ac_cost.txt: nothing for u-2, which list1 has (found: u-1, ...); give the file of this "
        "list (test lists: --test-nbest-format, --test-feature)"
    )
    assert fails(tmp_path, f"kaldi:costs={costs}", "u-1 a\n") == (
        "ac_cost.txt: name this file of costs, as kaldi:NAME=FILE"
    )


def test_scores_of_more_than_the_list_are_refused(tmp_path):
    costs = tmp_path / "ac_cost"
    costs.write_text("u-1 1\nu-2 2\nv-1 1\n")
    assert fails(tmp_path, f"kaldi:ac={costs}", "u-1 a\n") == (
        "ac_cost: u-2 not in list1; is that list cut off?"
    )


def test_more_names_than_references_are_refused(tmp_path):
    assert fails(tmp_path, "kaldi", "u-1 a\nv-1 a\n", segments=1) == (
        "list1:2: id 'v' is number 2 of the list, the references have 1 segment"
    )


def test_lists_of_numbers_do_not_mix_with_lists_of_names(tmp_path):
    (tmp_path / "moses").write_text("0 ||| a ||| F= 1 ||| 0\n")
    (tmp_path / "tsv").write_text("id\thyp\tF\nu\ta\t1\n")
    with pytest.raises(InputError, match="moses: its segments are numbers, those of another list"):
        read_nbest(
            [tmp_path / "tsv", tmp_path / "moses"], Vocabulary(), reader=registry.reader("auto")
        )


# What is read


def columns(nbest):
    return [name for name, _ in nbest.feature_names], nbest.features.tolist()


def test_log_probabilities_are_summed_and_counted_choices_stand_by_index(tmp_path):
    second = json.loads(completion(index=1, text="second"))["choices"]
    first = completion(index=0, text="first", logprobs={"token_logprobs": [-3]})
    text = json.dumps({"choices": second + json.loads(first)["choices"]})
    nbest = read(tmp_path, "openai", f"{text}\n{chat(-1.0, -2.0, -4.0)}")
    assert columns(nbest) == (["logprob", "tokens"], [[-3.0, 1.0], [-1.5, 2.0], [-7.0, 3.0]])
    assert [nbest.texts.words(row) for row in range(3)] == [["first"], ["second"], ["a"]]


def test_outputs_of_vllm(tmp_path):
    output = {"index": 0, "text": "a", "cumulative_logprob": -2.5, "token_ids": [5, 6]}
    nbest = read(tmp_path, "auto", json.dumps({"prompt": "x", "outputs": [output]}))
    assert columns(nbest) == (["logprob", "tokens"], [[-2.5, 2.0]])


SERVICES = {
    "openai": (
        '{"choices": [{"message": {"content": "it is 4"}, "logprobs": null}, '
        '{"message": {"content": "no"}}]}'
    ),
    "openai-responses": (
        '{"custom_id": "q", "response": {"status_code": 200, "body": {"object": "response", '
        '"output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": '
        '[{"text": "it ", "logprobs": []}, {"text": "is 4", "logprobs": []}]}]}}, "error": null}'
    ),
    "anthropic": (
        '{"custom_id": "q", "result": {"type": "succeeded", "message": {"type": "message", '
        '"content": [{"type": "thinking", "thinking": "x"}, {"text": "it is 4"}]}}}'
    ),
    "gemini": (
        '{"key": "q", "response": {"candidates": [{"content": {"parts": [{"text": "no"}]}, '
        '"index": 1}, {"content": {"parts": [{"text": "it is"}, {"text": " 4"}]}, "index": 0}]}}'
    ),
    "lm-evaluation": (
        '{"doc_id": 0, "resps": [["it is 4", "no"]], "filtered_resps": ["4"], "filter": "a"}\n'
        '{"doc_id": 0, "resps": [["it is 4", "no"]], "filtered_resps": ["5"], "filter": "b"}'
    ),
    "mt-bench:text=turns.1": (
        '{"question_id": 0, "choices": [{"index": 0, "turns": ["first", "it is 4"]}]}'
    ),
    "alpaca-eval": '[{"instruction": "how much is it?", "output": "it is 4", "generator": "m"}]',
    "tgi": (
        '[{"generated_text": "it is 4", "details": {"tokens": [{"text": "it", "logprob": -1.5}], '
        '"best_of_sequences": [{"generated_text": "no", "tokens": [{"logprob": -2}]}]}}]'
    ),
    "jsonl:hypotheses=x.0": '{"x": [["it is 4", "no"], ["b c"]]}',
    "jsonl:hypotheses=x.*.t": '{"x": [{"t": "it is 4"}, {"t": "no"}]}',
    "jsonl:hypotheses=x": '{"x": [["it is 4", "no"]]}',
}
ONE_ANSWER = ("openai-responses", "anthropic", "mt-bench:text=turns.1", "alpaca-eval")


@pytest.mark.parametrize("name", SERVICES)
def test_answers_inside_of_lists_are_no_tokens(tmp_path, name):
    nbest = read(tmp_path, name, SERVICES[name])
    texts = [" ".join(nbest.texts.words(row)) for row in range(len(nbest.texts))]
    assert texts == (["it is 4"] if name in ONE_ANSWER else ["it is 4", "no"])
    assert columns(nbest) == (
        (["logprob", "tokens"], [[-1.5, 1], [-2, 1]]) if name == "tgi" else ([], [[]] * len(texts))
    )
    if ":" not in name:
        again = read(tmp_path, "auto", SERVICES[name])
        assert again.texts.vocabulary.words == nbest.texts.vocabulary.words


test_answers_that_are_none = refusals(
    {
        "anthropic": {
            '{"custom_id": "q", "result": {"type": "expired"}}': (
                "list1:1: id 'q': the request ended as 'expired'; --drop"
            ),
            '{"custom_id": "q", "result": {"type": "errored", "error": {"type": "error", "error": '
            '{"type": "overloaded", "message": "wait"}}}}': (
                "list1:1: id 'q': the request failed: overloaded, wait; --drop"
            ),
        },
        "gemini": {
            '{"key": "q", "response": {"candidates": [{"finishReason": "SAFETY"}]}}': (
                "list1:1: id 'q': an answer ended by SAFETY"
            ),
        },
        "lm-evaluation": {
            '{"doc_id": 0, "resps": [[[-1.5, false]]]}': (
                "list1:1: 'resps' is [[[-1.5, false]]], expected answers (log-likelihoods are"
            ),
        },
        "tgi": {
            '{"generated_text": "a", "details": {"best_of_sequences": [1]}}': (
                "list1:1: 'details.best_of_sequences' is [1], expected a list of objects"
            ),
        },
        "mt-bench": {
            '{"question_id": 0, "choices": [{"turns": ["a", "b"]}]}': (
                'list1:1: \'turns\' is ["a", "b"], expected one text; name the turn: mt-bench:t'
            ),
        },
        "jsonl": {
            '{"id": 0, "text": ["a b", "c"]}': (
                'list1:1: \'text\' is ["a b", "c"], expected a text; name one: text.0'
            ),
        },
    }
)


@pytest.mark.parametrize("indent", [None, 2])
def test_answers_in_one_document(tmp_path, indent):
    answers = [json.loads(completion()), json.loads(chat(-3.0))]
    for name in ("auto", "openai"):
        nbest = read(tmp_path, name, json.dumps(answers, indent=indent))
        assert columns(nbest) == (["logprob", "tokens"], [[-1.5, 2.0], [-3.0, 1.0]])
        assert len(nbest) == 2
    answers[1]["choices"][0]["message"] = None
    message = fails(tmp_path, "openai", json.dumps(answers, indent=indent))
    assert message.startswith("list1: entry 2: id '1': an answer without text")
    assert fails(tmp_path, "openai", json.dumps([{}, 3], indent=indent)).startswith(
        "list1: entry 1"
    )
    assert fails(tmp_path, "openai", "[{]").startswith("list1:1: not JSON: ")


def test_a_saved_dict_over_several_lines(tmp_path):
    saved = {"sequences": ["a", "b"], "sequences_scores": [-1, -2]}
    nbest = read(tmp_path, "auto", json.dumps(saved, indent=1))
    assert columns(nbest) == (["sequences_scores"], [[-1.0], [-2.0]])


def test_archive_of_arrays(tmp_path):
    np.savez(
        tmp_path / "list.npz", sequences=np.array(["a b", "b", "", "c"]),
        sequences_scores=np.array([-1, -2, -3, -4], dtype=np.float32),
    )  # fmt: skip
    data = (tmp_path / "list.npz").read_bytes()
    nbest = read(tmp_path, "huggingface:n=2", data)
    assert nbest.offsets.tolist() == [0, 2, 4]
    assert columns(nbest) == (["sequences_scores"], [[-1.0], [-2.0], [-3.0], [-4.0]])
    assert len(read(tmp_path, "auto", data)) == 1  # all of one segment, without n


def test_archive_that_numpy_calls_old_is_read_without_a_word(tmp_path):
    np.savez(tmp_path / "list.npz", sequences=["a", "b"], sequences_scores=np.array([-1.0, -2.0]))
    with (
        zipfile.ZipFile(tmp_path / "list.npz") as new,
        zipfile.ZipFile(tmp_path / "old.npz", "w") as old,
    ):
        for name in new.namelist():
            old.writestr(name, new.read(name).replace(b"(2,), } ", b"(2L,), }", 1))  # Python 2's
    nbest = read(tmp_path, "huggingface", (tmp_path / "old.npz").read_bytes())
    assert columns(nbest) == (["sequences_scores"], [[-1.0], [-2.0]])


def test_an_archive_that_expands_without_end_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "list.npz", sequences_scores=np.zeros(20_000_000))
    data = (tmp_path / "list.npz").read_bytes()
    assert len(data) < 200_000
    message = fails(tmp_path, "huggingface:n=2", data)
    assert message == "list1: archive: 160000128 bytes of arrays, more than 200 times the file"


@pytest.mark.parametrize("kind", ["U1", "f8"])
def test_an_archive_of_many_rows_without_content_is_refused(tmp_path, kind):
    np.savez(tmp_path / "list.npz", sequences=np.zeros((10**8, 0), kind))
    message = fails(tmp_path, "huggingface:n=2", (tmp_path / "list.npz").read_bytes())
    assert message == (
        "list1: archive: 'sequences' has 100000000 empty rows, expected texts or numbers"
    )


def test_a_header_of_an_array_that_is_too_large_is_one_line(tmp_path):
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }".ljust(60_000) + b"\n"
    data = b"\x93NUMPY\x02\x00" + len(head).to_bytes(4, "little") + head + bytes(8)
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(InputError) as fault:
        read_numbers(tmp_path / "a.npy")
    assert "\n" not in str(fault.value)
    with zipfile.ZipFile(tmp_path / "list.npz", "w") as archive:
        archive.writestr("sequences.npy", data)
    assert "\n" not in fails(tmp_path, "huggingface", (tmp_path / "list.npz").read_bytes())


def test_archive_with_pickled_objects_is_refused(tmp_path):
    np.savez(tmp_path / "list.npz", sequences=np.array([0x110000], dtype="u4").view("U1"))
    message = fails(tmp_path, "auto", (tmp_path / "list.npz").read_bytes())
    assert "not what numpy.savez writes of numbers or texts; is it cut off, or " in message
    np.savez(tmp_path / "list.npz", sequences=np.array([{}], dtype=object))
    message = fails(tmp_path, "auto", (tmp_path / "list.npz").read_bytes())
    assert message.startswith("list1: not what numpy.savez writes of numbers or texts; ")


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        (np.array([1j]), "complex128"),
        (np.array([1], dtype="M8[s]"), "datetime64[s]"),
        (np.array([b"1"]), "|S1"),
        (np.zeros(1, dtype=[("a", "i4")]), "[('a', '<i4')]"),
    ],
)
def test_archive_of_other_arrays_is_refused(tmp_path, scores, kind):
    np.savez(tmp_path / "list.npz", sequences=["a"], sequences_scores=scores)
    assert fails(tmp_path, "huggingface", (tmp_path / "list.npz").read_bytes()) == (
        f"list1: 'sequences_scores' is an array of {kind}, expected texts or numbers"
    )


def test_archive_of_numbers_in_any_precision(tmp_path):
    for kind in (np.float16, np.longdouble, np.int8, np.uint64):
        np.savez(tmp_path / "x.npz", sequences=["a"], sequences_scores=np.ones(1, dtype=kind))
        nbest = read(tmp_path, "huggingface", (tmp_path / "x.npz").read_bytes())
        assert columns(nbest) == (["sequences_scores"], [[1.0]])


def test_costs_are_negated_and_printed_tensors_are_numbers(tmp_path):
    (tmp_path / "ac_cost.gz.txt").write_text("u-2 3\nu-1 1.5 \n")
    (tmp_path / "score").write_text("u-1 tensor(-2.5)\nu-2 tensor(-0.5, device='cuda:0')\n")
    name = f"kaldi:ac={tmp_path}/ac_cost.gz.txt,-lm={tmp_path}/score"
    nbest = read(tmp_path, name, "u-1 a\nu-2\n")
    assert columns(nbest) == (["-ac", "-lm"], [[-1.5, 2.5], [-3.0, 0.5]])
    assert nbest.ids == ("u",)


def test_names_are_numbered_as_they_come(tmp_path):
    text = "id\thyp\tF\nz\ta\t1\nz\tc\t3\na\tb\t2\n"
    nbest = read(tmp_path, "tsv", text)
    assert nbest.ids == ("z", "a")
    assert [nbest.texts.words(row) for row in range(3)] == [["a"], ["c"], ["b"]]


def test_scores_of_a_second_file_are_found_by_utterance_and_number(tmp_path):
    hypotheses = {"hyp_2": {"score": 2, "text": "b"}, "hyp_1": {"score": 1, "text": "a"}}
    (tmp_path / "lm.json").write_text(json.dumps({"u": dict(reversed(hypotheses.items()))}))
    name = f"mlm-scoring:bert={tmp_path}/lm.json"
    nbest = read(tmp_path, name, json.dumps({"u": hypotheses}))
    assert columns(nbest) == (["score", "bert"], [[1.0, 1.0], [2.0, 2.0]])


def test_a_second_file_has_the_same_hypotheses(tmp_path):
    name = f"mlm-scoring:bert={tmp_path}/lm.json"
    one, two = {"score": 1, "text": "a"}, {"score": 2, "text": "b"}
    (tmp_path / "lm.json").write_text(json.dumps({"u": {"hyp_1": one, "hyp_2": two}}))
    assert fails(tmp_path, name, scored(**one)) == (
        "lm.json: u.hyp_2 not in list1; is that list cut off?"
    )
    assert fails(tmp_path, name, scored(**one | {"text": "c"})) == (
        "lm.json: u.hyp_1: not the hypothesis 'c' that list1 has there"
    )
    assert fails(tmp_path, f"mlm-scoring:scores={tmp_path}/lm.json", scored(**one)) == (
        "lm.json: name this file of scores, as mlm-scoring:NAME=FILE"
    )
    assert fails(tmp_path, f"mlm-scoring:score={tmp_path}/lm.json", scored(**one)) == (
        "lm.json: there is a feature 'score' already; choose another"
    )
