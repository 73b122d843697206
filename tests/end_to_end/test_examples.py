"""The examples that are shipped: how a new user gets them, and what their features are."""

import gzip
import json
import os
import re
import shlex
from contextlib import chdir

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

import portmert
from portmert.tuner.base.files import read_lines
from tests.support.cli import run
from tests.support.places import ROOT
from tests.support.readme import BLOCK, PAGES, entries

INSTALL = re.search(
    r"## Install\n+```sh\n(.*?)```", (ROOT / "docs/index.md").read_text("utf-8"), re.DOTALL
)[1]


@pytest.mark.parametrize("place", ["an empty folder", "a clone"])
def test_the_lines_of_the_home_page_install_the_examples(tmp_path, place):
    if place == "a clone":
        for name in ("configs", "docs", "tests"):
            (tmp_path / name).mkdir()
    with chdir(tmp_path):
        for line in INSTALL.splitlines():
            program, *arguments = shlex.split(line, comments=True)
            if program == "portmert":
                run(*arguments)
            elif program == "cd":
                os.chdir(*arguments)
            else:
                assert program == "pip"
        # The examples with Moses need its stand-in.
        assert os.access("configs/recorded/recorded_moses", os.X_OK)
        first = BLOCK.search((ROOT / "docs/index.md").read_text("utf-8"))[1]
        assert "configs/tanaka" in first
        run("score", "--metric", "chrf", "--hyp", "configs/tanaka/l2r.dev.txt", "--ref",
            "configs/tanaka/dev.ref")  # fmt: skip


GAIN = re.compile(r"\S+( ↓)?:? (?:dev )?(-?\d+\.\d+) -> (-?\d+\.\d+)")


def examples():
    """Yield (page, list, reference, file of a feature) of each example that has them."""
    for page in PAGES:
        text, variables = page.read_text(encoding="utf-8"), {}
        for block in BLOCK.findall(text):
            for written, _ in entries(block):
                command = written.removeprefix("$ ").replace("\\\n", " ").strip()
                if assigned := re.fullmatch(r"([A-Z]+)=(\S+)", command):
                    variables[assigned[1]] = assigned[2]
                for name, value in variables.items():
                    command = command.replace(f"${name}", value)
                yield from taken(page, command, r"--nbest (\S+)", r"--ref (\S+)")
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            code = block
            for name, value in re.findall(r'^([A-Z]+) = "(\S+)"$', block, re.MULTILINE):
                code = code.replace(f'{name} + "', f'"{value}').replace(f"{{{name}}}", value)
            yield from taken(page, code, r'read\(\s*"([^"]+)"', r'refs="([^"]+)"')


def taken(page, text, nbest, ref):
    lists, refs = re.search(nbest, text), re.search(ref, text)
    for file in re.findall(r"(?:--feature |with_feature\(f?\")[\w-]+=([\w./-]+)", text):
        if lists and refs and (ROOT / file).is_file() and "configs/" in file:
            yield str(page.relative_to(ROOT)), lists[1], refs[1], file


EXAMPLES = sorted(set(examples()))


def test_pages_have_examples_with_features():
    assert {"docs/how-to/rerank.md", "docs/how-to/crossval.md"} <= {one[0] for one in EXAMPLES}


def hypotheses(nbest):
    """Yield (segment, hypothesis) of a list, whose lines are hypotheses or segments."""
    with gzip.open(nbest, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("{"):
                record = json.loads(line)
                yield from ((record["id"], one["text"]) for one in record["hypotheses"])
            else:
                yield line.replace("@@ ", "").split(" ||| ")[:2]


@pytest.mark.parametrize(("nbest", "ref", "file"), sorted({one[1:] for one in EXAMPLES}))
def test_no_feature_of_an_example_is_made_of_its_references(nbest, ref, file):
    references = (ROOT / ref).read_text(encoding="utf-8").splitlines()
    rows = list(hypotheses(ROOT / nbest))[::9]
    feature = np.loadtxt(ROOT / file)[::9]
    for metric in (BLEU(effective_order=True), CHRF(), TER()):
        scores = [
            metric.sentence_score(line, [references[int(segment)]]).score for segment, line in rows
        ]
        assert abs(np.corrcoef(scores, feature)[0, 1]) < 0.95, type(metric).__name__


TANAKA = ROOT / "configs" / "tanaka"


REAL = ("moses.{}.nbest.gz", "l2r.{}.jsonl.gz", "r2l.{}.nbest.gz")


def real(system, part):
    """Return lists of a real system with their quality estimate, and the references."""
    quality = TANAKA / f"{system.partition('.')[0]}.{part}.qe.gz"
    references = TANAKA / f"{part}.ref"
    file = TANAKA / system.format(part)
    return portmert.Lists.read(file, refs=references, features=[f"qe={quality}"]), references


@pytest.mark.parametrize("part", ["dev", "test"])
@pytest.mark.parametrize("system", REAL)
def test_no_feature_of_the_real_lists_is_made_of_the_references(system, part):
    lists, references = real(system, part)
    nbest, references = lists.nbest, read_lines(references)
    rows = np.arange(0, len(nbest.features), 31)
    words = nbest.texts.vocabulary.words
    texts = [" ".join(words[one] for one in nbest.texts.tokens.row(row)) for row in rows]
    for metric in (BLEU(effective_order=True), CHRF(), TER()):
        scores = [
            metric.sentence_score(text, [references[segment]]).score
            for text, segment in zip(texts, nbest.segment_of_row[rows], strict=True)
        ]
        for values in nbest.features[rows].T:
            assert abs(np.corrcoef(scores, values)[0, 1]) < 0.95


@pytest.mark.parametrize(
    "system", [REAL[0], *(pytest.param(system, marks=pytest.mark.slow) for system in REAL[1:])]
)
def test_tuning_on_the_real_lists_gains_on_their_test_set(system):
    found = portmert.optimize(real(system, "dev")[0], "bleu", optimizer="mert:restarts=1")
    lists, references = real(system, "test")
    first = TANAKA / f"{system.partition('.')[0]}.test.txt"
    before = portmert.score(first, references, metric="bleu")
    after = portmert.score(portmert.rerank(lists, found).lines, references, metric="bleu")
    assert after.score > before.score + 0.02


def test_no_result_on_a_page_is_worse_than_before_tuning():
    found = [
        (page.name, line)
        for page in PAGES
        for line in page.read_text(encoding="utf-8").splitlines()
        if (match := GAIN.match(line))
        and (float(match[3]) - float(match[2])) * (-1 if match[1] else 1) < 0
    ]
    assert found == []
