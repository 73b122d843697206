"""What the readers say: about a list, and about lines that are wrong."""

from __future__ import annotations

import pytest

from portmert.tuner import families
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.base.warn import notices_to
from portmert.tuner.components import registry
from portmert.tuner.nbest.readers import _bars
from tests.support.reading import fails, read, refusals

MARIAN = "0 ||| a b ||| F0= -1 F1= -2 ||| -3\n"


def said(folder, name, *texts):
    lines = []
    with notices_to(lines.append):
        read(folder, name, *texts)
    return [line.replace(f"{folder}/", "") for line in lines]


# Descriptions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "".join(f"{s} ||| a ||| F0=-{n}.5 ||| -1\n" for s in range(3) for n in range(4)),
            "Marian n-best, 1 model, 3 segments x 4, no word alignment",
        ),
        (
            "0 ||| a ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -1 F1= -2 ||| -3\n",
            "Marian n-best, 2 models, 1 segment x 1, word alignment, word scores not used",
        ),
        (  # marian-scorer adds its score
            "0 ||| a b ||| 0-0 1-1 ||| F0= -1 Score= -2 ||| -3\n",
            "Marian n-best, 2 models, 1 segment x 1, word alignment",
        ),
        (
            "0 ||| a b ||| WordScores= -1 -2 ||| F0= -1 Score= -2 ||| -3\n",
            "Marian n-best, 2 models, 1 segment x 1, no word alignment, word scores not used",
        ),
        *(
            (
                f"0 ||| a b ||| {first} ||| -3\n0 ||| b ||| {second} ||| -4\n",
                "Marian n-best, 1 model, 1 segment x 2, no word alignment, word scores not used",
            )
            for first, second in (
                ("F0= -1 WordScores= -1 -2 -3", "F0= -2 WordScores= -1 -2"),
                ("WordScores= -1 -2 -3 F0= -1", "WordScores= -1 -2 F0= -2"),
                ("F0= -1 ||| WordScores= -1 -2 -3", "F0= -2 ||| WordScores= -1 -2"),
            )
        ),
        (
            (
                "0 ||| a b ||| LM0= -1 TM0= 1 2 ||| 0\n0 ||| b ||| LM0= -1 TM0= 1 2 ||| 0\n"
                "1 ||| b ||| LM0= -1 TM0= 1 2 ||| 0\n"
            ),
            "Moses n-best, 3 features, 2 segments x 1..2, no word alignment",
        ),
        (
            "0 ||| a ||| tm_pt_0=-1 lm_0=2 ||| -3\n0 ||| b ||| lm_0=2 ||| -3\n",
            (
                "Joshua n-best, 2 features, 1 segment x 2, no word alignment, 1 of the features "
                "not in all hypotheses (0 where absent)"
            ),
        ),
        ("0 ||| a ||| -3 ||| egfp=-1\n", "Travatar n-best, 1 feature, 1 segment x 1, no word"),
        (
            (
                "2024-01-01 00:00:00 | INFO | fairseq_cli.generate | loading\nS-0\tx\nT-0\ty\n"
                "H-0\t-0.5\ta\nD-0\t-0.5\ta\nP-0\t-0.5 -0.25\n"
                "Generate test with beam=5: BLEU4 = 1.00\n"
            ),
            "fairseq n-best, 3 features, 1 segment x 1, no word alignment, 2 log lines passed",
        ),
        ("id\thyp\tLM\n0\ta\t1\n", "TSV n-best, 1 feature, 1 segment x 1, no word alignment"),
        ('{"id": 0, "text": "a", "features": {"LM": 1}}\n', "JSON lines n-best, 1 feature"),
    ],
)
def test_auto_says_what_it_found(tmp_path, text, expected):
    (line,) = said(tmp_path, "auto", text)
    assert line.startswith(expected)


def test_several_lists_are_described_by_name_and_may_be_of_several_formats(tmp_path):
    lines = said(
        tmp_path, "auto", MARIAN, '{"id": 0, "text": "z", "features": {"F0": 1, "F1": 2}}\n'
    )
    assert [line.partition(" n-best")[0] for line in lines] == [
        "list1: Marian",
        "list2: JSON lines",
    ]


def test_many_features_that_are_absent_somewhere_stay_sparse(tmp_path, monkeypatch):
    monkeypatch.setattr(_bars, "MOST_FILLED", 1)
    text = "0 ||| a ||| LM=1 x=1 ||| 0\n0 ||| b ||| LM=1 y=2 ||| 0\n"
    nbest = read(tmp_path, "cdec", text)
    assert nbest.feature_names == (("LM", 1),)
    assert nbest.sparse.names == ("x", "y")


# Detection


def test_text_of_no_format_is_refused(tmp_path):
    assert fails(tmp_path, "auto", "just a line\n") == (
        "list1: the first lines (`just a line`) fit no format of n-best lists that is recognised; "
        "name it by --nbest-format (plain hypotheses are flat:n=N)"
    )


def test_what_looks_like_moses_gets_moses_messages(tmp_path):
    message = fails(tmp_path, "auto", "0 ||| a b ||| LM= -1\n")
    assert message.startswith("list1:1: 3 fields separated by |||, expected 4 to 6")


def test_blank_lines_only(tmp_path):
    assert "blank lines only" in fails(tmp_path, "auto", "\n \n")


@pytest.mark.parametrize("name", families.names("reader"))
def test_an_empty_file_is_refused(tmp_path, name):
    for text in ("", "\ufeff"):
        message = fails(tmp_path, name + (":n=2" if name == "flat" else ""), text)
        assert message == "list1: empty file, expected an n-best list; did the decoder fail?"


def test_wrong_options_are_refused():
    with pytest.raises(ConfigError, match="unknown reader 'mariam'; did you mean 'marian'"):
        registry.reader("mariam")
    with pytest.raises(ConfigError, match="reader tsv has no option 'txt'; did you mean 'text'"):
        registry.reader("tsv:txt=a")
    with pytest.raises(ConfigError, match="n: Input should be greater than or equal to 1"):
        registry.reader("flat:n=0")


def test_long_lines_are_recognised(tmp_path):
    text = "x " * 400_000
    line = '{"id": 0, "text": "' + text + '", "features": 1}\n'
    assert said(tmp_path, "auto", line * 2)[0].startswith("JSON lines n-best, 1 feature")


# Lines that are wrong


test_a_wrong_line_is_refused = refusals(
    {
        "marian": {
            MARIAN + "0 ||| a b\n": "list1:2: 2 fields separated by |||, expected at least 4",
            MARIAN + "0 ||| a ||| 0-0 ||| F0= -1 F1= -2 ||| -3\n": (
                "list1:2: a word alignment and no word scores, line 1 has no word alignment and no"
            ),
            "0 ||| a ||| 0.1,x 0.5,0.5 ||| F0=-1 ||| -3\n": (
                "list1:1: 'x' for a soft alignment is not a number"
            ),
            "0 ||| a b ||| 0-0 1-4 ||| F0=-1 ||| -3\n": (
                "list1:1: link 1-4, but the hypothesis has 2 tokens; Marian aligns subwords"
            ),
            "0 ||| a ||| 0:0 ||| F0=-1 ||| -3\n": (
                "list1:1: '0:0' is not a link, expected source-target positions from 0 like 0-0"
            ),
        },
        "travatar": {
            "0 ||| a ||| 1\n": "list1:1: 3 fields separated by |||, expected 4: id, hyp",
            "0 ||| a ||| LM=1 ||| 1\n": (
                "list1:1: the features stand before the score; Travatar prints them behind it"
            ),
        },
        "joshua": {
            "0 ||| a ||| lm_0=1 lm_0=2 ||| 1\n": "list1:1: feature lm_0 stands twice",
        },
        "jsonl": {
            '{"hypotheses": ["a", "b"], "scores": [1]}': (
                "list1:1: 'scores' has 1 entry, 'hypotheses' has 2; "
                "expected one for each hypothesis"
            ),
            '{"hypotheses": ["a", "b"], "scores": 1}': (
                "list1:1: 'scores' is 1, expected a list, an entry a hypothesis"
            ),
            '{"hypotheses": [[1, 2]]}': (
                "list1:1: 'hypotheses' is [1, 2], expected a list of hypotheses: "
                "objects, texts, or"
            ),
            "{]\n": "list1:1: not JSON: ",
            "[" * 100_000: "list1:1: not JSON: brackets are nested too deep",
            "[1]\n": "list1: entry 1: '1' is no JSON object",
            '{"text": "a", "features": 1}\n': "list1:1: 'id' is missing, expected a segment",
            '{"id": 0, "text": "a", "features": 1}\n{"id": 0, "text": "b"}\n': (
                "list1:2: features none, the first hypothesis has features"
            ),
            '{"id": 0, "text": "a", "features": NaN}\n': (
                "list1:1: not JSON: NaN is no number of JSON; expected one object per line"
            ),
            '{"id": 0, "text": "a", "features": {"x": 1}}\n'
            '{"id": 0, "text": "b", "features": {"x": 1, "y": [1, 2]}}\n': (
                "list1:2: features x, y (2 values), the first hypothesis has x"
            ),
            '{"id": 0, "text": "a", "features": 1, "links": 3}\n': (
                "list1:1: 'links' is 3, expected \"0-0 1-1\" or [[0, 0], [1, 1]]"
            ),
            '{"id": 0, "text": "a", "features": 1, "links": ""}\n'
            '{"id": 0, "text": "a", "features": 2}\n': (
                "list1:2: no word alignment, the first hypothesis has"
            ),
            '{"hypotheses": {"text": "a"}}\n': 'list1:1: \'hypotheses\' is {"text": "a"}',
            '{"id": "u", "hypotheses": []}': (
                "list1:1: id 'u': 'hypotheses' is empty: a segment has"
            ),
            '{"id": " ", "text": "", "features": 1}': "list1:1: id ' ' is blank",
            '{"id": 0, "text": "", "features": 1}\n{"id": "u", "text": "", "features": 1}\n': (
                "list1:2: segment id 'u' is not a whole number; ids count from 0"
            ),
            '{"id": 0, "sentence": "a"}': (
                "list1:1: 'text' is missing, expected a text (or name its key: --nbest-format"
            ),
        },
        "jsonl:features=x+y": {
            '{"id": 0, "text": "", "x": {"LM": 1}, "y": {"LM": 2}}': (
                "list1: two features are called 'LM'"
            ),
        },
        "jsonl:features=score": {
            '{"id": 0, "text": "a"}\n': "list1:1: 'score' is missing, expected scores",
        },
        "jsonl:features=logprob": {
            '{"id": "u", "hyp": "a", "lm": 1}': (
                "list1:1: 'logprob' is missing, expected scores (name the keys in features=) "
                "(keys found: hyp, id, lm)"
            ),
        },
    }
)


# What options do


def test_flat_with_other_segments_than_the_references(tmp_path):
    assert fails(tmp_path, "flat:n=2", "a\t1\nb\t2\n", segments=2) == (
        "list1: 2 lines with n=2: 1 segment, the references have 2"
    )


def test_fairseq_reads_detokenized_text_on_demand(tmp_path):
    text = "H-0\t-0.5\tHello , you\nD-0\t-0.5\tHello, you\n"
    assert read(tmp_path, "fairseq", text).texts.words(0) == ["Hello", ",", "you"]
    assert read(tmp_path, "fairseq:text=D", text).texts.words(0) == ["Hello,", "you"]


def test_tsv_columns_by_name(tmp_path):
    text = "lm\tsource\tbest\twords\tseg\n-1\tx\t-9\ta b\t0\n"
    name = "tsv:id=seg,text=words,features=lm,score=best"
    nbest = read(tmp_path, name, text)
    assert nbest.feature_names == (("lm", 1),)
    assert (nbest.model_scores.tolist(), nbest.texts.words(0)) == ([-9.0], ["a", "b"])


def test_json_lines_with_a_segment_a_line_and_keys_inside(tmp_path):
    text = (
        '{"prompt": "x", "outputs": [{"out": {"text": "a b"}, "logprob": -1.5, "n": [1, 2]},'
        ' {"out": {"text": "c"}, "logprob": -2, "n": [0, 1]}]}\n'
        '{"prompt": "y", "outputs": [{"out": {"text": "two\\nlines"}, "logprob": 0,'
        ' "n": [0, 0]}]}\n'
    )
    nbest = read(tmp_path, "jsonl:hypotheses=outputs,text=out.text,features=logprob+n", text)
    assert nbest.feature_names == (("logprob", 1), ("n", 2))
    assert nbest.features.tolist() == [[-1.5, 1, 2], [-2, 0, 1], [0, 0, 0]]
    assert nbest.offsets.tolist() == [0, 2, 3]
    assert nbest.texts.words(2) == ["two", "lines"]


def test_bars_in_text_are_text_where_bars_separate_nothing(tmp_path):
    nbest = read(tmp_path, "flat:n=1", "a ||| b\t1\n")
    assert nbest.texts.words(0) == ["a", "|||", "b"]


def test_lists_of_nematus_have_numbered_scores(tmp_path):
    text = "0 ||| a ||| -1.5 2\n0 ||| b c ||| -2 3\n1 ||| ||| -3 4\n"
    nbest = read(tmp_path, "auto", text)
    assert nbest.feature_names == (("F0", 1), ("F1", 1))
    assert nbest.features.tolist() == [[-1.5, 2], [-2, 3], [-3, 4]]
    assert nbest.model_scores.tolist() == [-1.5, -2, -3]
    message = fails(tmp_path, "nematus", "0 ||| a ||| -1.5 2\n0 ||| b ||| 1\n")
    assert message == (
        "list1:2: 3 fields separated by |||, the third with 1 score; expected 3: id, hypothesis, "
        "2 scores"
    )
    assert "'x' for feature F0 is not a number" in fails(tmp_path, "nematus", "0 ||| a ||| x\n")
