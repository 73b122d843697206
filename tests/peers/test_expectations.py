"""What other tools expect of the same metrics: from their packages, repositories and samples.

Their figures are read where they are installed; none is copied. Moses' tests of its tuning
programs are in tests/tuner/dropin/test_peers.py. Variables of the environment name the folders of
what is not everywhere: WNSEARCHDIR of WordNet 3.0 (data.noun ...), TERP and MULTEVAL of the
repositories snover/terp and jhclark/multeval.
"""

import ast
import os
import re
from importlib import metadata
from pathlib import Path

import pytest

import portmert
from tests.support.places import SHARED

TERP = SHARED / "data" / "peers" / "terp"
STOP_WORDS = Path(os.environ.get("TERP", TERP)) / "data" / "shift_word_stop_list.txt"
WORDNET = Path(os.environ.get("WNSEARCHDIR", "/usr/share/wordnet"))
MULTEVAL = Path(os.environ.get("MULTEVAL", SHARED / "data" / "peers" / "multeval"))


def page(package):
    """Return the description of an installed package, else skip the test."""
    try:
        return metadata.metadata(package).get_payload()
    except metadata.PackageNotFoundError:
        pytest.skip(f"package: {package} is not installed")


def score(hypotheses, references, metric, **more):
    return portmert.score(hypotheses, references, metric=metric, notice=print, **more).score


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
        one = portmert.score(*texts, metric=metric, notice=print)
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
