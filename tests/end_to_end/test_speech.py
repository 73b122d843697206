"""Lists of recognisers from the command line: dev and test folders to a tested result."""

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

import portmert
from portmert.tuner.cli import main

SEARCH = ("--optimizer", "mert", "--restarts", 1, "--threads", 1)


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def kaldi(tmp_path, monkeypatch):
    """Folders dev and test: of each utterance the reference is the second hypothesis."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(3)
    for name in ("dev", "test"):
        folder = tmp_path / "exp" / name
        folder.mkdir(parents=True)
        words, ac, lm, text = [], [], [], []
        for n in range(12):
            right = rng.sample("abcdef", 4)
            for rank, said in enumerate((right[::-1], right, right[:2]), 1):
                key = f"{name}{n}-{rank}"
                words.append(f"{key} {' '.join(said)}\n")
                ac.append(f"{key} {10 + rank + rng.random()}\n")
                lm.append(f"{key} {5 + (said != right) + rng.random()}\n")
            text.append(f"{name}{n} {' '.join(right)}\n")
        rng.shuffle(text)
        start = {"weights": {"-ac": 0.1, "-lm": 1.0, "length": -0.3}}
        (tmp_path / "start.json").write_text(json.dumps(start))
        for file, lines in {"words": words, "ac_cost": ac, "lm_cost": lm, "text": text}.items():
            (folder / file).write_text("".join(lines))
    return tmp_path


def costs(name):
    return f"kaldi:ac=exp/{name}/ac_cost,lm=exp/{name}/lm_cost"


TUNE = ("rerank-tune", "--metric", "wer", "--ids", "--nbest", "exp/dev/words")
REFS = ("--ref", "exp/dev/text", "--test-ref", "exp/test/text", "--replicas", 2)


@pytest.mark.usefixtures("kaldi")
def test_from_folders_of_kaldi_to_a_tested_result_in_one_command():
    test = ("--test-nbest", "exp/test/words", "--test-nbest-format", costs("test"))
    call = (*TUNE, *REFS, "--nbest-format", costs("dev"), *test, *SEARCH, "--out-dir", "tuned")
    result = run(*call, "--json", "t.json")
    assert result.exit_code == 0, result.stderr
    scores = json.loads(Path("t.json").read_text())["comparison"]["scores"]
    named = {one["system"]: one["score"] for one in scores}
    assert {"tuned", "first", "equal weights", "oracle"} <= named.keys()
    assert {"ac", "lm"} <= {name.split()[-1].lstrip("-") for name in named}
    assert named["oracle"] == 1 > named["first"]
    assert named["averaged"] > named["first"]
    again = run(*call)
    assert again.exit_code == 0, again.stderr
    costs_now = Path("exp/test/ac_cost")
    costs_now.write_text(costs_now.read_text().replace("-1 1", "-1 2"))
    assert "holds work of another experiment" in run(*call).stderr


@pytest.mark.usefixtures("kaldi")
def test_scores_by_key_give_the_same_result_as_costs_of_the_format():
    named = (*TUNE, *REFS, "--test-nbest", "exp/test/words", *SEARCH)
    formats = ("--nbest-format", costs("dev"), "--test-nbest-format", costs("test"))
    features = [
        word
        for name, option in (("dev", "--feature"), ("test", "--test-feature"))
        for kind in ("ac", "lm")
        for word in (option, f"-{kind}=exp/{name}/{kind}_cost")
    ]
    assert run(*named, *formats, "--out-dir", "a").exit_code == 0
    assert run(*named, *features, "--out-dir", "b").exit_code == 0
    for name in ("weights.json", "output.txt"):
        assert Path("a", name).read_text() == Path("b", name).read_text()


def test_one_archive_for_dev_and_test(kaldi):
    for kind in ("ac", "lm"):
        parts = [(kaldi / "exp" / name / f"{kind}_cost").read_text() for name in ("dev", "test")]
        (kaldi / kind).write_text("".join(parts))
    call = (*TUNE, *REFS, "--nbest-format", "kaldi:ac=ac,lm=lm", "--test-nbest", "exp/test/words")
    result = run(*call, *SEARCH, "--out-dir", "tuned")
    assert result.exit_code == 0, result.stderr
    assert "36 numbers of other lists in ac" in result.stderr


@pytest.mark.usefixtures("kaldi")
def test_the_format_of_dev_lacks_the_test_list():
    call = (*TUNE, *REFS, "--nbest-format", costs("dev"), "--test-nbest", "exp/test/words")
    result = run(*call, *SEARCH, "--out-dir", "tuned")
    assert result.exit_code == 1
    assert "exp/dev/ac_cost: nothing for test0-1, which exp/test/words has" in result.stderr
    assert "give the file of this list" in result.stderr


@pytest.mark.usefixtures("kaldi")
def test_crossval_and_python():
    call = ("crossval", "--metric", "wer", "--ids", "--ref", "exp/dev/text", "--splits", 1)
    result = run(*call, "--nbest", "exp/dev/words", "--nbest-format", costs("dev"))
    assert result.exit_code == 0, result.stderr
    dev, test = (
        portmert.Lists.read(
            f"exp/{name}/words",
            format=costs(name),
            refs=[f"exp/{name}/text"],
            ids=True,
        )
        for name in ("dev", "test")
    )
    found = portmert.rerank_tune(dev, "wer", test=test, out_dir="py", replicas=2, optimizer="mert")
    assert [name for name, _ in dev.nbest.feature_names] == ["-ac", "-lm"]
    assert len(found.lines) == 12


def test_folders_of_espnet_2(kaldi):
    for name in ("dev", "test"):
        for row in (kaldi / "exp" / name / "words").read_text().splitlines():
            key, _, words = row.partition(" ")
            utterance, _, rank = key.rpartition("-")
            tables = kaldi / name / "logdir" / "output.1" / f"{rank}best_recog"
            tables.mkdir(parents=True, exist_ok=True)
            with (tables / "text").open("a") as file:
                file.write(f"{utterance} {words}\n")
            with (tables / "score").open("a") as file:
                file.write(f"{utterance} tensor(-{rank}.5)\n")
    call = ("rerank-tune", "--metric", "wer", "--ids", "--nbest", "dev", "--test-nbest", "test")
    result = run(*call, *REFS, "--feature", "length", *SEARCH, "--out-dir", "tuned")
    assert result.exit_code == 0, result.stderr
    assert "ESPnet 2 n-best, 1 feature, 12 segments x 3" in result.stderr
    again = run(*call, *REFS, "--feature", "length", *SEARCH, "--out-dir", "tuned")
    assert again.exit_code == 0, again.stderr
    (tables / "score").write_text((tables / "score").read_text().replace("-3.5", "-3.25", 1))
    changed = run(*call, *REFS, "--feature", "length", *SEARCH, "--out-dir", "tuned")
    assert "holds work of another experiment" in changed.stderr
    weights = ("--weights", "tuned/weights.json", "--feature", "length", "--ids")
    assert run("rerank", "--nbest", "test", *weights).stdout.count("\n") == 12


def test_references_in_the_column_of_a_manifest_are_those_of_the_test_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("dev", "test"):
        rng = random.Random(name)
        lines = []
        for n in range(12):
            said = rng.sample("abcdef", 4)
            beams = [[" ".join(words), -rng.random()] for words in (said[::-1], said, said[:2])]
            content = {"audio_filepath": f"{name}{n}", "text": " ".join(said), "beams": beams}
            lines.append(json.dumps(content) + "\n")
        Path(f"{name}.json").write_text("".join(lines))
    result = run("rerank-tune", "--metric", "wer", "--nbest", "dev.json", "--ref", "dev.json#text",
                 "--test-nbest", "test.json", "--test-ref", "test.json#text", "--feature",
                 "length", "--replicas", 2, "--out-dir", "out", *SEARCH)  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "Test set" in result.stdout


@pytest.mark.usefixtures("kaldi")
def test_written_terms_choose_as_the_weights_do_and_in_steps():
    """The formula of Kaldi: acwt times the acoustic cost, the graph's, a penalty for each word."""
    lists = ("--ids", "--nbest", "exp/dev/words", "--nbest-format", costs("dev"))
    lists += ("--feature", "length", "--ref", "exp/dev/text")
    words, *tables = (
        dict(line.split(maxsplit=1) for line in Path("exp/dev", name).read_text().splitlines())
        for name in ("words", "ac_cost", "lm_cost")
    )
    found = []
    for step in ((), ("--penalty-step", "0.5")):
        call = ("optimize", "--metric", "wer", *lists, *SEARCH, *step, "--out", "w.json")
        result = run(*call, "--weights", "start.json")
        assert result.exit_code == 0, result.stderr
        kaldi = json.loads(Path("w.json").read_text())["recogniser"]["kaldi"]
        by_cost = {}
        for key, text in words.items():
            ac, lm = (float(table[key]) for table in tables)
            cost = kaldi["acwt"] * ac + lm + kaldi["word-ins-penalty"] * len(text.split())
            by_cost.setdefault(key.rpartition("-")[0], []).append((cost, text))
        best = "".join(f"{name} {min(costs)[1]}\n" for name, costs in by_cost.items())
        assert run("rerank", *lists[:7], "--weights", "w.json", "--out", "best").exit_code == 0
        assert Path("best").read_text() == best
        found.append((kaldi, result.stderr))
    assert found[1][0]["lmwt"] % 1 == found[1][0]["word-ins-penalty"] % 0.5 == 0
    assert "before rounding)" in found[1][1]
    assert run(*call, "--replicas", 2, "--out-dir", "r").exit_code == 2
