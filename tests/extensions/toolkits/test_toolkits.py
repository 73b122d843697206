"""Lists as toolkits write them: each version, each flag; or whose they are and what to type."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from tests.support.reading import fails, read, refusals

NO_LINKS = None


def contents(nbest):
    """Return segments of (text, values), the feature names, and the links of each hypothesis."""
    texts = [" ".join(nbest.texts.words(row)) for row in range(len(nbest.texts))]
    values = nbest.features.tolist()
    bounds = list(zip(nbest.offsets[:-1], nbest.offsets[1:], strict=True))
    segments = [[(texts[row], *values[row]) for row in range(begin, end)] for begin, end in bounds]
    links = nbest.texts.links
    pairs = NO_LINKS
    if links is not None:
        cuts = links.offsets.tolist()
        pairs = [
            " ".join(f"{i}-{j}" for i, j in links.values[begin:end].tolist())
            for begin, end in itertools.pairwise(cuts)
        ]
    return segments, [name for name, _ in nbest.feature_names], pairs


LUA = "[06/17/17 09:39:04 INFO] "
PY = "[2018-05-28 12:00:00,123 INFO] "
HYDRA = "[2021-03-01 12:00:00,123][fairseq_cli.generate][INFO] - "
HUB = "2020-01-01 00:00:00 | INFO | fairseq.hub_utils | "

CASES = {
    "Marian: soft alignment, the last word is the end of the sentence": (
        "auto",
        "0 ||| a b ||| 0.1,0.9 0.6,0.6 0.2,0.8 ||| F0= -1 ||| -2\n",
        ([[("a b", -1.0)]], ["F0"], ["0-1 1-0"]),
    ),
    "Marian: a threshold gives several links to a word": (
        "auto",
        "0 ||| a b ||| 0-0 1-0 1-1 2-2 ||| F0= -1 ||| -2\n",
        ([[("a b", -1.0)]], ["F0"], ["0-0 1-0 1-1"]),
    ),
    "Marian: the scorer adds its score to word scores": (
        "auto",
        "0 ||| a b ||| WordScores= -1 -2 -3 R2L= -5 ||| F0= -1 F1= -4 ||| -2\n",
        ([[("a b", -5.0, -1.0, -4.0)]], ["R2L", "F0", "F1"], NO_LINKS),
    ),
    "Marian: the scorer adds its score to an alignment": (
        "auto",
        "0 ||| a b ||| 0-0 1-1 Score= -5 ||| WordScores= -1 -2 ||| F0= -1 ||| -2\n",
        ([[("a b", -5.0, -1.0)]], ["Score", "F0"], ["0-0 1-1"]),
    ),
    "Marian: the scorer adds an alignment and word scores of its own": (
        "auto",
        "0 ||| a b ||| 0-0 1-1 ||| WordScores= -1 ||| 0-1 1-0 Score= -5 ||| F0= -1 ||| -2\n",
        ([[("a b", -5.0, -1.0)]], ["Score", "F0"], ["0-0 1-1"]),
    ),
    "Nematus, rescored": (
        "auto",
        "0 ||| a b ||| 0.2 0.5\n0 ||| b ||| 0.3 0.1\n",
        ([[("a b", 0.2, 0.5), ("b", 0.3, 0.1)]], ["F0", "F1"], NO_LINKS),
    ),
    "scores without names, then the score of the list": (
        "auto",
        "0 ||| a b ||| -1 -2 ||| -3\n0 ||| b ||| -2 -2 ||| -4\n",
        ([[("a b", -1.0, -2.0), ("b", -2.0, -2.0)]], ["F0", "F1"], NO_LINKS),
    ),
    "Joshua: values apart from names, alignment last": (
        "auto",
        (
            "0 ||| a ||| tm_pt_0= -1 lm_0= 2 ||| -3 ||| 0-0\n"
            "0 ||| b ||| OOVPenalty= 1 ||| -3 ||| 1-0\n"
        ),
        (
            [[("a", -1.0, 2.0, 0.0), ("b", 0.0, 0.0, 1.0)]],
            ["tm_pt_0", "lm_0", "OOVPenalty"],
            ["0-0", "1-0"],
        ),
    ),
    "no scores": (
        "auto",
        "0 ||| a b\n0 ||| b\n1 |||\n",
        ([[("a b",), ("b",)], [("",)]], [], NO_LINKS),
    ),
    "OpenNMT-tf with scores and soft alignment": (
        "flat:n=2,fields=score+text+links",
        "-1.5 ||| a b ||| 0.1 0.9 ; 0.5 0.3\n-2.5 ||| b ||| 0.2 0.1\n",
        ([[("a b", -1.5), ("b", -2.5)]], ["score"], ["0-1 1-0", "0-0"]),
    ),
    "CTranslate2 with scores, an empty hypothesis": (
        "flat:n=2,fields=score+text",
        "-1.5 ||| a b\n-2.5 ||| \n",
        ([[("a b", -1.5), ("", -2.5)]], ["score"], NO_LINKS),
    ),
    "OpenNMT-py with alignment and score": (
        "flat:n=1,fields=text+links+score",
        "a b ||| 0-0 1-1\t-1.5\nb ||| \t-2.5\n",
        ([[("a b", -1.5)], [("b", -2.5)]], ["score"], ["0-0 1-1", ""]),
    ),
    "Sockeye's score, source and translation": (
        "flat:n=2,fields=score+-+text",
        "1.5\tx y\ta b\n2.5\tx y\tb\n",
        ([[("a b", 1.5), ("b", 2.5)]], ["score"], NO_LINKS),
    ),
    "names of segments in a field": (
        "flat:fields=id+lm+text",
        "u1\t-1\ta\nu2\t-2\tb\nu1\t-3\tc\n",
        ([[("a", -1.0), ("c", -3.0)], [("b", -2.0)]], ["lm"], NO_LINKS),
    ),
    "OpenNMT (Lua): its log, with an empty source line and a single hypothesis": (
        "auto",
        (
            f"{LUA}Using 'space' tokenization\n{LUA}SENT 1: x y\n{LUA}\n{LUA}BEST HYP:\n"
            f"{LUA}[-0.55] a b\n{LUA}[-0.75] c\n{LUA}\n{LUA}Line 2 is empty.\n{LUA}\n"
            f"{LUA}SENT 3: z\n{LUA}PRED 3: e f\n{LUA}PRED SCORE: -3.1\n{LUA}\n"
        ),
        ([[("a b", -0.55), ("c", -0.75)], [("", 0.0)], [("e f", -3.1)]], ["score"], NO_LINKS),
    ),
    "OpenNMT-py: its log, hypotheses as lists of Python": (
        "auto",
        (
            f"{PY}Loading data\n{PY}\nSENT 1: ['x', 'y']\nPRED 1: a b's\nPRED SCORE: -1.2000\n\n"
            "BEST HYP:\n[-1.2000] ['a', \"b's\"]\n[-1.3000] ['it\\'s', '\\u200b\\\\']\n\n"
            "PRED AVG SCORE: -0.1, PRED PPL: 1.1\n"
        ),
        ([[("a b's", -1.2), ("it's \u200b\\", -1.3)]], ["score"], NO_LINKS),
    ),
    "fairseq (Lua, Python before 0.6.1): lines without ids": (
        "auto",
        "S\tx y\nO\tx y\nH\t-0.1\ta b\nA\t1 2 2\nH\t-0.3\tc\nA\t1 1\nO\tz\nH\t-0.5\td\nA\t1 1\n",
        ([[("a b", -0.1), ("c", -0.3)], [("d", -0.5)]], ["Score"], NO_LINKS),
    ),
    "fairseq before 0.9: positions are no links": (
        "auto",
        "S-0\tx\nT-0\ty\nH-0\t-0.1\ta b\nP-0\t-1.0 -2.0\nA-0\t0 1 1\n",
        ([[("a b", -0.1, -3.0, -1.5)]], ["Score", "PSum", "PMean"], NO_LINKS),
    ),
    "fairseq: soft alignment": (
        "auto",
        "H-0\t-0.1\ta b\nA-0\t0.1,0.9 0.8,0.1\n",
        ([[("a b", -0.1)]], ["Score"], ["0-1 1-0"]),
    ),
    "fairseq: Hydra's logging, a progress bar": (
        "auto",
        (
            f"{HYDRA}{{'task': None}}\n  0%|     | 0/2 [00:00<?]\r{HYDRA}S-0\tx\n"
            f"{HYDRA}H-0\t-0.1\ta b\n"
            "INFO:fairseq.tasks:loading\nINFO:fairseq_cli.generate:H-1\t-0.2\tc\n"
        ),
        ([[("a b", -0.1)], [("c", -0.2)]], ["Score"], NO_LINKS),
    ),
    "fairseq: what the hub logs": (
        "auto",
        f"{HUB}S\tx\n{HUB}H\t-0.1\ta b\n{HUB}P\t-1 -2\n",
        ([[("a b", -0.1, -3.0, -1.5)]], ["Score", "PSum", "PMean"], NO_LINKS),
    ),
    "Sockeye: parallel lists; ids from 1; a segment with one hypothesis": (
        "auto",
        (
            '{"score": 0.5, "scores": [[0.5], [0.7]], "sentence_id": 1, "translation": "a b", '
            '"translations": ["a b", "c"]}\n{"score": 0.1, "sentence_id": 2, "translation": "e"}\n'
        ),
        ([[("a b", 0.5), ("c", 0.7)], [("e", 0.1)]], ["scores"], NO_LINKS),
    ),
    "Sockeye: with the scores of target factors, ids from 0": (
        "jsonl:id=sentence_id,hypotheses=translations,features=scores",
        '{"scores": [[0.5, 2], [0.7, 3]], "sentence_id": 0, "translations": ["a b", "c"]}\n',
        ([[("a b", 0.5, 2.0), ("c", 0.7, 3.0)]], ["scores"], NO_LINKS),
    ),
    "CTranslate2: results as JSON, hypotheses as tokens": (
        "auto",
        '{"hypotheses": [["a", "b"], []], "scores": [-0.5, -0.7], "attention": []}\n',
        ([[("a b", -0.5), ("", -0.7)]], ["scores"], NO_LINKS),
    ),
    "CTranslate2 before 2: a list of objects a line": (
        "auto",
        (
            '[{"score": -0.5, "tokens": ["a", "b"]}, {"score": -0.7, "tokens": ["c"]}]\n'
            '[{"score": -0.2, "tokens": ["d"]}]\n'
        ),
        ([[("a b", -0.5), ("c", -0.7)], [("d", -0.2)]], ["score"], NO_LINKS),
    ),
    "parallel lists of several scores, and links": (
        "jsonl:features=lm+meta.tm,links=al",
        (
            '{"id": 0, "hypotheses": ["a", "b"], "lm": [1, 2], "meta": {"tm": [3, 4]}, '
            '"al": ["0-0", "1-0"]}\n'
        ),
        ([[("a", 1.0, 3.0), ("b", 2.0, 4.0)]], ["lm", "meta.tm"], ["0-0", "1-0"]),
    ),
    "parallel lists in an object": (
        "auto",
        '{"hypotheses": ["a", "b"], "features": {"lm": [1, 2], "tm": [[3, 4], [5, 6]]}}\n',
        ([[("a", 1.0, 3.0, 4.0), ("b", 2.0, 5.0, 6.0)]], ["lm", "tm"], NO_LINKS),
    ),
    "pyctcdecode: beams as objects": (
        "auto",
        (
            '{"utt": "u1", "beams": [{"text": "a b", "logit_score": -1, "lm_score": -2}, '
            '{"text": "c", "logit_score": -1, "lm_score": -3}]}\n'
        ),
        ([[("a b", -1.0, -2.0), ("c", -1.0, -3.0)]], ["logit_score", "lm_score"], NO_LINKS),
    ),
    "pyctcdecode: beams as lists, in one document": (
        "auto",
        (
            '[{"utt": "u1", "beams": [["a b", null, [["a", [0, 3]]], -1, -2]]},\n'
            '{"utt": "u2", "beams": [["c", [], -1, -3]]}]\n'
        ),
        ([[("a b", -1.0, -2.0)], [("c", -1.0, -3.0)]], ["logit_score", "lm_score"], NO_LINKS),
    ),
    "lists of texts, a segment a line": (
        "auto",
        '["a b", "c"]\n["d"]\n',
        ([[("a b",), ("c",)], [("d",)]], [], NO_LINKS),
    ),
    "lists of texts, in one document": (
        "auto",
        '[\n ["a b", "c"],\n ["d"]\n]\n',
        ([[("a b",), ("c",)], [("d",)]], [], NO_LINKS),
    ),
    "one list of texts": ("auto", '["a b", "c"]\n', ([[("a b",), ("c",)]], [], NO_LINKS)),
    "NeMo: a manifest with references": (
        "auto",
        '{"audio_filepath": "a.wav", "text": "r", "beams": [["a b", -1.5], ["c", -2]]}\n',
        ([[("a b", -1.5), ("c", -2.0)]], ["score"], NO_LINKS),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_list_is_read_as_its_toolkit_writes_it(tmp_path, case):
    name, text, expected = CASES[case]
    assert contents(read(tmp_path, name, text)) == expected


FLAT = "--nbest-format flat:n=N"


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("-1.5 ||| a b ||| 0-0 1-1", f"OpenNMT-tf; give {FLAT},fields=score+text+links"),
        ("-1.5 ||| a b", f"OpenNMT-tf or CTranslate2; give {FLAT},fields=score+text"),
        ("a b ||| 0-0 1-1\t-1.5", f"OpenNMT-py; give {FLAT},fields=text+links+score"),
        ("a b ||| 0-0 1-1", f"OpenNMT-py; give {FLAT},fields=text+links"),
        ("a b\t-1.5", f"OpenNMT-py or NeMo; give {FLAT},names=score"),
        ("-1.5 ||| a b ||| lm_0=-1 tm=-2e-1", f"Joshua; give {FLAT},fields=-+text+features"),
        ("a b ||| lm_0=-1 tm=-2 ||| -1.5", f"Joshua; give {FLAT},fields=text+features+-"),
        ("0 ||| a b ||| LM: -1 TM: -2", "Phrasal; give --nbest-format flat:fields=id+text+feat"),
        ("1.5\ta b", f"Sockeye; give {FLAT},fields=score+text"),
        ("1.5\tx\ta b", f"Sockeye; give {FLAT},fields=score+-+text"),
        ("a b ||| 0-0 ||| WordScores= -1 -2", "Marian without --n-best; give an n-best list"),
        ("1 ||| a b ||| -1.5 ||| x y ||| 2 2", "an attention file of OpenNMT or Nematus; give"),
    ],
)
def test_a_list_that_cannot_be_guessed_is_named_with_what_to_type(tmp_path, line, advice):
    assert f"it looks like {advice}" in fails(tmp_path, "auto", f"{line}\n")


test_what_is_wrong_is_said_with_its_place = refusals(
    {
        "fairseq": {
            "H-0\t-0.5\ta\nhello\n": "list1:2: 'hello' is no line of fairseq-generate",
            "H-0\t-0.5 a\n": "list1:1: an H line has a score, a tab and a text, found",
            "H-0\tx\ta\n": "list1:1: 'x' for the score is not a number",
            "H-0\t1\ta\nP-1\t-1\n": "list1:2: P-1 does not follow a line H-1",
            "P-1\t-1\n": "list1:1: P-1 does not follow a line H-1",
            "H-0\t1\ta\nP-0\t-1\nP-0\t-1\n": "list1:3: a second P-0 for the hypothesis of",
            "H-0\t1\ta\nP-0\t-1\nH-0\t1\tb\n": "list1:3: no P line for this hypothesis,",
            "H-0\t1\ta\nX-0\t1\n": "list1:2: unknown kind of line X-0",
            "H-0\t1\ta\nA-0\t0-3\n": "list1:1: 0-3 is out of range, the hypothesis has 1",
            "S-0\ta\n": "list1: no hypothesis in the file",
            "H-1\t1\ta\n": "list1: 1 of 2 segments have no hypothesis (ids 0)",
            "H\t-1\ta\n": "list1:1: a line H before the first source, a line S or O",
            "H-0\t-1\ta\nH\t-1\ta\n": "list1:2: the line H has no id, the first record has one",
            "H-0\t-inf\ta\n": (
                "list1:1: the score is -inf; values must be finite, none beyond 1e+30; leave this"
            ),
        },
        "fairseq:text=D": {
            "H-0\t1\ta\n": "list1:1: no D line for this hypothesis; give text=H",
        },
        "flat:fields=id+text+features": {
            "0 ||| a ||| F=1 x\n": "list1:1: 'F=1 x', expected features as name=value or name: va",
            "0 ||| a ||| F=1 F=2\n": "list1: two features are called 'F'",
        },
        "flat:n=2": {
            "a\t1\nb\t2\nc\t3\n": "list1: 3 lines, no multiple of n=2; every segment",
        },
        "flat:n=1": {
            "a\t1\nb\n": "list1:2: 1 field between tabs or |||, expected 2",
        },
        "flat:n=1,names=a": {
            "a\t1\t2\n": "list1: names=a must be 2 different names: there are 2",
        },
        "tsv": {
            "id\thyp\tLM\n0\ta\n": "list1:2: 2 columns separated by tabs, the header names 3",
            "id\thyp\tLM\tLM\n": "list1:1: column 'LM' stands twice",
            "hyp\tLM\n": "list1:1: no column is named id or segment or seg_id or sent_id; name",
            "id\thyp\tLM\n": "list1: no hypothesis in the file",
            "id\thyp\tLM\tlinks\n0\ta\t1\t0_0\n": "list1:2: '0_0' is not a link, expected",
        },
        "tsv:features=LN": {
            "id\thyp\tLM\n": "list1:1: there is no column 'LN' for features=; known",
        },
        "flat": {
            "a\nb\n": "list1: how many hypotheses has a segment? give flat:n=N, or name the",
        },
        "flat:n=1,fields=score+text": {
            "a\n": "list1:1: 1 field between tabs or |||, expected 2",
            "x\ta\n": "list1:1: 'x' for score score is not a number",
        },
        "opennmt": {
            "[-1.5] a\n": "list1:1: a hypothesis before the first line `SENT 1: ...`",
            "SENT 1: x\n[y] a\n": "list1:2: 'y' for the score is not a number",
            "SENT 1: x\nand so\n": "list1:2: 'and so' is no line of OpenNMT's log",
        },
    }
)


def test_soft_links_are_those_that_marian_itself_makes_hard(tmp_path):
    """Of equal probabilities the first counts, as in its `ConvertSoftAlignToHardAlign`."""
    soft = "0 ||| a b c ||| 0.2,0.4,0.4 1,0,0 0.3,0.3,0.3 0,0,1 ||| F0= -1 ||| -1\n"
    hard = "0 ||| a b c ||| 1-0 0-1 0-2 2-3 ||| F0= -1 ||| -1\n"
    assert contents(read(tmp_path, "auto", soft)) == contents(read(tmp_path, "auto", hard))


def test_a_missing_id_is_named_where_the_references_have_ids(tmp_path):
    from portmert.tuner.nbest.records import SegmentNames

    text = json.dumps({"audio_filepath": "u1", "beams": [["a", -1]]})
    names = SegmentNames({"u1": 0}, "ref")
    message = fails(tmp_path, "jsonl", text, names=names)
    assert message.startswith(
        "list1:1: 'id' is missing, expected the id of the segment, as the ref"
    )
    assert "name it: id=KEY (keys found: audio_filepath, beams)" in message
    nbest = read(tmp_path, "jsonl:id=audio_filepath", text, names=SegmentNames({"u1": 0}, "ref"))
    assert nbest.ids == ("u1",)


ALTERNATIVES = '{"alternatives": [{"confidence": -1.5, "text": "a b"}]}'
NBEST = '{"RecognitionStatus": "Success", "NBest": [{"Confidence": 0.9, "Lexical": "a b"}]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ALTERNATIVES, "list1:1: .*Vosk's; give .*jsonl:hypotheses=alternatives,features=conf"),
        (NBEST, "list1:1: .*Azure's; give --nbest-format jsonl:hypotheses=NBest,text=Lexical"),
        ('{"results": [{"alternatives": [{"transcript": "a"}]}]}', "Google, AWS.*write the alt"),
        ('{"results": {"transcripts": [{"transcript": "a"}]}}', "Google, AWS.*write the alt"),
        ('{"text": "a", "segments": [{"id": 0, "text": "a"}]}', "Whisper's, with one hypothesis"),
        ('{"audio_filepath": "a.wav", "pred_text": "a"}', "NeMo without beams; save them"),
        ('{"audio_filepath": "a.wav", "pred_text": ["a", "b"]}', "NeMo without beams; save them"),
        ("0 ||| a ||| F0= -1 ||| -1 ||| WordScores= -0.2 -0.3", r"list1:1: word scores behind"),
        ("0 ||| (ROOT{0-2} ([S]{0-1} the)) ||| lm_0=-1 ||| -1", "list1:1: .*Joshua.*use_tree_nbe"),
    ],
)
def test_lists_of_others_are_told_what_to_do(tmp_path, text, message):
    assert re.search(message, fails(tmp_path, "auto", text + "\n"))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("flat:n=1,fields=-+text+features", "-1.5 ||| a b ||| LM=-1 TM=0.5"),
        ("flat:n=1,fields=text+features+-", "a b ||| LM=-1 TM=0.5 ||| -1.5"),
        ("flat:fields=id+text+features", "0 ||| a b ||| LM: -1 TM: 0.5"),
        (
            "jsonl:features=s.*.LM+s.0.TM",
            '{"text": "a b", "id": 0, "s": [{"LM": -1.5, "TM": 0.5}, {"LM": 0.5, "TM": 2}]}',
        ),
    ],
)
def test_named_features_are_read_in_any_field_and_at_any_place(tmp_path, name, line):
    nbest = read(tmp_path, name, f"{line}\n")
    assert nbest.texts.words(0) == ["a", "b"]
    assert nbest.features.tolist() == [[-1.0, 0.5]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("jsonl:hypotheses=alternatives,features=confidence", ALTERNATIVES),
        ("jsonl:hypotheses=NBest,text=Lexical,features=Confidence", NBEST),
        ("auto", '{"sequences": ["a b"], "scores": [-1.5], "no_speech_prob": 0.01}'),
        ("auto", '{"sequences": [["a", "b"]], "scores": [-1.5], "sequences_ids": [[1, 2]]}'),
    ],
)
def test_what_messages_say_works_and_results_of_generators_are_read(tmp_path, name, text):
    nbest = read(tmp_path, name, text + "\n")
    assert nbest.texts.words(0) == ["a", "b"]
    assert nbest.features.shape == (1, 1)
