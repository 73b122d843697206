"""What other tools expect of the same metrics: from their packages, repositories and samples.

Their figures are read where they are installed; none is copied. Variables of the environment name
the folders of what is not everywhere: WNSEARCHDIR of WordNet 3.0 (data.noun ...), TERP, MULTEVAL,
SACREBLEU, JIWER and MT_METRICS_EVAL of the repositories snover/terp, jhclark/multeval,
mjpost/sacrebleu, jitsi/jiwer and google-research/mt-metrics-eval.
"""

import ast
import os
import re
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import portmert
from portmert.extensions.metaeval.correlation import Pairs
from portmert.extensions.metaeval.data import Points
from portmert.extensions.metaeval.evaluation import calibrated
from portmert.extensions.metaeval.measures import correct_pairs, measured, pearson_rows
from tests.support.places import SHARED

TERP = SHARED / "data" / "peers" / "terp"
STOP_WORDS = Path(os.environ.get("TERP", TERP)) / "data" / "shift_word_stop_list.txt"
WORDNET = Path(os.environ.get("WNSEARCHDIR", "/usr/share/wordnet"))
MULTEVAL = Path(os.environ.get("MULTEVAL", SHARED / "data" / "peers" / "multeval"))


def page(package):
    """Return the description of an installed package, else skip the test."""
    try:
        found = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"package: {package} is not installed")
    # Where a test has imported importlib_metadata, that answers, with the text as a header.
    return found.get_payload() or found["Description"]


def score(hypotheses, references, metric, **more):
    return portmert.score(hypotheses, references, metric=metric, **more).score


def test_sacrebleu_examples():
    text = page("sacrebleu")
    example = text[text.index("# Using SacreBLEU from Python") :]
    example = example[: example.index("### Variable Number")].replace("   ...:", "")
    refs = ast.literal_eval(re.search(r"refs = (\[.*?\n\s+\])", example, re.DOTALL)[1])
    hyps = ast.literal_eval(re.search(r"sys = (\[.*?\])\n", example, re.DOTALL)[1])
    bleu = float(re.search(r"BLEU = ([\d.]+)", example)[1])
    chrf = float(re.search(r"chrF2 = ([\d.]+)", example)[1])
    found = 100 * score(hyps, refs, "bleu:smooth=exp", text="13a")
    assert found == pytest.approx(bleu, abs=0.005)
    assert 100 * score(hyps, refs, "chrf") == pytest.approx(chrf, abs=0.005)


def test_jiwer_on_empty_references():
    """Edits are equal. jiwer's rate of a text without a reference word is their number, ours 0."""
    found = re.findall(r"assert jiwer\.(wer|cer)\('(.*?)', '(.*?)'\) == (\d+)", page("jiwer"))
    assert len(found) >= 4
    for metric, reference, hypothesis, expected in found:
        texts = [hypothesis, "a b"], [[reference, "a b"]]
        one = portmert.score(*texts, metric=metric)
        assert one.parts["edits"] == int(expected)
        assert one.parts["rate"] == pytest.approx(int(expected) / one.parts["ref_len"])


def terp_texts():
    """Return the tokens of the hypotheses and references of the sample."""
    path = TERP / "correct_output" / "terpa.simple.pra"
    blocks = path.read_text().split("Sentence ID: ")[1:]
    return [
        [re.search(rf"^{name}: (.*)$", block, re.MULTILINE)[1].strip() for block in blocks]
        for name in ("Hypothesis", "Reference")
    ]


def test_terp_sample():
    for path in (TERP, STOP_WORDS, WORDNET / "data.noun"):
        if not path.exists():
            pytest.skip(f"shared data: {path}")
    files = f"synonyms={WORDNET},stop_words={STOP_WORDS},paraphrases={TERP / 'sample.pt.txt'}"
    hypotheses, references = terp_texts()
    (line,) = (TERP / "correct_output" / "terpa.simple.sample.sys.scr").read_text().splitlines()
    found = score(hypotheses, [references], f"terp:{files}")
    assert found == pytest.approx(float(line.split()[2]), abs=1e-12)


@pytest.mark.skipif(
    not (MULTEVAL / "reg-test").is_dir(), reason=f"shared data: MultEval's repository, {MULTEVAL}"
)
def test_multeval_gold():
    example, gold = MULTEVAL / "example", MULTEVAL / "reg-test"
    files = example / "hyps.lc.tok.en.baseline.opt0", [example / "refs.test2010.lc.tok.en.0"]
    names = (f"hyps.baseline.opt0.{name}.gold" for name in ("bleu", "ter"))
    bleu, ter = (float((gold / name).read_text()) for name in names)
    assert round(100 * score(*files, "bleu:smooth=mteval"), 2) == bleu
    # tercom 0.8, which made the gold, finds one edit less of 41,130 than we and sacrebleu.
    assert score(*files, "ter") - ter == pytest.approx(1 / 62774, abs=1e-9)


def parsed(name, path):
    """Return the parsed tests of a repository, else skip the test."""
    folder = Path(os.environ.get(name.upper(), SHARED / "data" / "peers" / name.lower()))
    if not (folder / path).is_file():
        pytest.skip(f"shared data: the repository {name}, {folder}")
    return ast.parse((folder / path).read_text(encoding="utf-8"))


def number(node):
    """Return a number that is written as one, or as a quotient."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return number(node.left) / number(node.right)
    return ast.literal_eval(node)


def assigned(tree):
    """Return name -> value of all that is assigned to a name."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Assign))
    return {
        node.targets[0].id: node.value for node in nodes if isinstance(node.targets[0], ast.Name)
    }


@pytest.mark.parametrize(
    ("path", "cases", "metric", "scale", "text"),
    [
        ("test/test_ter.py", "test_cases", "ter", 1, "lowercase"),
        ("test/test_chrf.py", "test_cases_effective_order", "chrf:beta=3", 100, ()),
    ],
)
def test_sacrebleu_tests(path, cases, metric, scale, text):
    rows = assigned(parsed("SACREBLEU", path))[cases].elts
    assert len(rows) > 6
    for row in rows:
        hypotheses, references = (ast.literal_eval(item) for item in row.elts[:2])
        found = scale * score(hypotheses, [references], metric, text=text)
        assert found == pytest.approx(number(row.elts[2]), abs=1e-3), hypotheses


def test_jiwer_tests():
    """Texts of sentences, which one class of their tests joins."""
    tried = 0
    tree = parsed("JIWER", "tests/test_measures.py")
    for group in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for row in (node for node in ast.walk(group) if isinstance(node, ast.Tuple)):
            if len(row.elts) != 3 or not isinstance(row.elts[2], ast.Call):
                continue
            sides = [ast.literal_eval(item) for item in row.elts[:2]]
            sides = [[one] if isinstance(one, str) else one for one in sides]
            if "Contiguous" in group.name:
                sides = [[" ".join(one)] for one in sides]
            found = portmert.score(sides[1], sides[:1], metric="wer").parts["rate"]
            assert found == pytest.approx(number(row.elts[2].args[0]), abs=1e-9), sides
            tried += 1
    assert tried > 20


def test_mt_metrics_eval_tests_of_accuracy_with_ties():
    tree, tried = parsed("MT_METRICS_EVAL", "mt_metrics_eval/tau_optimization_test.py"), 0
    for test in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        values = assigned(test)
        if not {"metric", "human", "expected_best_tau"} <= set(values):
            continue
        scores, human = (
            np.atleast_2d(np.array(ast.literal_eval(values[name]), dtype=float))
            for name in ("metric", "human")
        )
        human[np.isnan(scores)] = np.nan
        pairs, scores = Pairs.of(human), np.nan_to_num(scores)
        epsilon = calibrated(pairs, scores)
        assert epsilon == number(values["expected_best_threshold"])
        correct = correct_pairs(pairs, scores, epsilon).sum(axis=1)
        every = (pairs.better + pairs.worse + pairs.tied).sum(axis=1)
        accuracy = np.mean(correct[every > 0] / every[every > 0])
        assert accuracy == pytest.approx(number(values["expected_best_tau"]), abs=1e-12)
        tried += 1
    assert tried >= 3


def test_mt_metrics_eval_tests_of_pearson():
    tree = parsed("MT_METRICS_EVAL", "mt_metrics_eval/stats_test.py")
    (test,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "testPearson"
    )
    systems, *sides = (ast.literal_eval(node) for node in assigned(test)["corr"].args)
    human, scores = (np.array(side, dtype=float).reshape(systems, -1).T for side in sides)
    points = Points.of(human, np.ones(len(human)))
    (found,) = measured([pearson_rows([(points, scores)])])
    expected = {
        re.search(r"average_by='(\w+)'", line)[1]: float(line.split(",")[1])
        for line in map(ast.unparse, test.body)
        if "average_by" in line
    }
    assert found["pearson"] == pytest.approx(expected["none"], abs=5e-4)
    assert found["pearson_by_item"] == pytest.approx(expected["item"], abs=5e-4)
