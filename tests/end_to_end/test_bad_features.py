"""What users give as features and should not, in every command that takes them: one clear line."""

import pytest

import portmert
from tests.support.cli import fault, run

LIST = """\
0 ||| a b c d ||| F= 3 ||| 0
0 ||| a b x y ||| F= 2 ||| 0
1 |||  ||| F= 1 ||| 0
1 ||| e f g h ||| F= 2 ||| 0
2 ||| i j k l ||| F= 2 ||| 0
2 ||| i j ||| F= 1 ||| 0
3 ||| m n o p ||| F= 2 ||| 0
3 ||| m n ||| F= 1 ||| 0
"""
COMMANDS = {
    "optimize": ["--metric", "bleu", "--ref", "ref", "--restarts", 1, "--out", "w.json"],
    "replicas": ["--metric", "bleu", "--ref", "ref", "--restarts", 1, "--replicas", 1,
                 "--out-dir", "replicas"],
    "crossval": ["--metric", "bleu", "--ref", "ref", "--splits", 1],
    "rerank": ["--weights", "weights.json"],
    "rerank-tune": ["--metric", "bleu", "--ref", "ref", "--restarts", 1, "--replicas", 1,
                    "--test-nbest", "list", "--out-dir", "tuned"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "ref").write_text("a b c d\ne f g h\ni j k l\nm n o p\n")
    (tmp_path / "good").write_text("".join(f"{n}\n" for n in (3, 1, 4, 1, 5, 9, 2, 6)))
    (tmp_path / "weights.json").write_text('{"weights": {"F": [1], "qe": [1]}}')
    return tmp_path


def given(command):
    name = "optimize" if command == "replicas" else command
    return [name, "--nbest", "list", *COMMANDS[command]]


BAD = {
    "fewer numbers": (b"1\n2\n3\n", "file: 3 numbers, n-best list 1 has 8 hypotheses"),
    "more numbers": (b"1\n" * 9, "file: 9 numbers, n-best list 1 has 8 hypotheses"),
    "nothing": (b"", "file: 0 numbers, n-best list 1 has 8 hypotheses"),
    "NaN": (b"1\nnan\n" * 4, "file:2: 'nan' is not a finite number of at most 1e+30"),
    "infinity": (b"1\n-inf\n" * 4, "file:2: '-inf' is not a finite number of at most 1e+30"),
    "too large": (b"1\n1e300\n" * 4, "file:2: '1e300' is not a finite number of at most 1e+30"),
    "text": (b"1\ngood\n" * 4, "file:2: 'good' is not a finite number of at most 1e+30"),
    "two columns": (b"1 2\n" * 8, "file:1: '1 2' is not a finite number of at most 1e+30"),
    "an empty line": (b"1\n\n" * 4, "file:2: '' is not a finite number of at most 1e+30"),
    "no UTF-8": (b"\xff\n" * 8, "file:1: byte 0xff in column 1 is not UTF-8"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", BAD)
def test_files_of_numbers(folder, command, name):
    content, message = BAD[name]
    (folder / "file").write_bytes(content)
    assert message in fault(*given(command), "--feature", "qe=file")
    assert not (folder / "w.json").exists()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["qe=good", "qe=good"], "no feature 'qe': the lists have it already"),
        (["length", "length"], "no feature 'length': the lists have it already"),
        (["F=good"], "no feature 'F': the lists have it already"),
        (["qe=good,good"], "2 files of numbers for 1 n-best lists"),
        (["ratio"], "give --source"),
        (["qe"], "expected NAME=FILE"),
        (["x=chrf@good"], "good: 8 lines, the lists have 4 segments"),
    ],
)
def test_features_that_cannot_be(command, features, message):
    options = [part for feature in features for part in ("--feature", feature)]
    assert message in fault(*given(command), *options)


@pytest.mark.parametrize("command", ["optimize", "replicas", "crossval"])
def test_a_feature_that_is_equal_in_every_segment(folder, command):
    (folder / "same").write_text("1\n1\n2\n2\n3\n3\n4\n4\n")
    shown = run(*given(command), "--feature", "qe=same")
    assert (
        "feature qe is equal for all hypotheses of a segment: it changes nothing" in shown.stderr
    )


def test_a_source_is_for_features_or_an_oracle(folder):
    (folder / "source").write_text("a\nb c\nd\ne\n")
    rerank = ["rerank", "--nbest", "list", "--weights", "weights.json"]
    assert "--source goes with --oracle or --feature" in fault(
        *rerank, "--source", "source", status=2
    )
    (folder / "ratio.json").write_text('{"weights": {"F": [0], "ratio": [-1]}}')
    shown = run("rerank", "--nbest", "list", "--weights", "ratio.json", "--feature", "ratio",
                "--source", "source", "-q")  # fmt: skip
    assert shown.stdout == "a b c d\n\ni j\nm n\n"
    (folder / "source").write_text("a\n")
    assert "source: 1 segment, the n-best lists have 4; both must be of the same text" in fault(
        *rerank, "--feature", "ratio", "--source", "source"
    )


SCORELESS = {
    "flat:n=2": "".join(f"{line.split(' ||| ')[1].strip()}\n" for line in LIST.splitlines()),
    "tsv": "id\thyp\n" + "".join(f"{n // 2}\t{n}\n" for n in range(8)),
    "jsonl": "".join(f'{{"id": {n // 2}, "text": "{n}"}}\n' for n in range(8)),
}


@pytest.mark.parametrize("reader", SCORELESS)
def test_lists_without_scores_take_them_from_features(folder, reader):
    (folder / "texts").write_text(SCORELESS[reader])
    given = ("--nbest", "texts", "--nbest-format", reader, "--feature", "qe=good")
    run("optimize", *given, *COMMANDS["optimize"], "--optimizer", "mert")
    (folder / "one.json").write_text('{"weights": {"qe": [1]}}')
    shown = run("rerank", *given, "--weights", "one.json", "-q").stdout.splitlines()
    texts = portmert.Lists.read("texts", format=reader).nbest.texts
    # Of each pair the better one of 3 and 1, 4 and 1, 5 and 9, 2 and 6.
    assert shown == [" ".join(texts.words(row)) for row in (0, 2, 5, 7)]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "rerank"])
def test_lists_without_any_feature_are_no_success(folder, command):
    (folder / "texts").write_text(SCORELESS["tsv"])
    given = ["texts" if word == "list" else word for word in COMMANDS[command]]
    name = "optimize" if command == "replicas" else command
    said = fault(name, "--nbest", "texts", *given, "--optimizer", "mert")
    assert said.splitlines()[-1] == (
        "portmert: error: the hypotheses have no scores to find weights of; put some into the "
        "lists, or add features to them (--feature NAME=FILE)"
    )
    assert not (folder / "w.json").exists()
