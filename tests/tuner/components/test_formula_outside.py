"""Formulas with scores from outside: files and programs beside metrics of our own."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import portmert
from portmert.extensions.programs.metric import CommandMetric
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from portmert.tuner.components.external import Scores, with_outcomes
from portmert.tuner.texts.corpus import make_batch, read_references
from portmert.tuner.texts.statistics import compute_stats
from tests.support.cli import fault, run

LIST = """\
0 ||| a b c d ||| F= 3 G= 0 ||| 0
0 ||| a b c x ||| F= 2 G= 5 ||| 0
1 ||| e f g y ||| F= 1 G= 5 ||| 0
1 ||| e f g h ||| F= 2 G= 0 ||| 0
"""
COUNT_A = """
import sys
from pathlib import Path
for line in sys.stdin:
    kind, *rest = (part.strip() for part in line.split("|||"))
    words = rest[-1].split()
    print(f"{words.count('a')} 1" if kind == "SCORE" else float(words[0]) / float(words[1]))
    sys.stdout.flush()
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "ref").write_text("a b c d\ne f g h\n")
    (tmp_path / "qe.txt").write_text("0.5\n0.9\n0.1\n0.3\n")
    (tmp_path / "my qe+1.txt").write_text("1\n2\n3\n4\n")
    (tmp_path / "count.py").write_text(COUNT_A)
    return tmp_path


def outside(text):
    return [
        one for one in registry.metric(text).metrics if isinstance(one, Scores | CommandMetric)
    ]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("0.5*scores:comet.txt + 0.5*bleu", ["comet.txt"]),
        ("0.5*scores:qe.txt+0.5*chrf", ["qe.txt"]),
        ("scores:a.txt,b-1.npy*2 + bleu", ["a.txt", "b-1.npy"]),
        ("SCORES:/dev/qe/x.gz/2", []),
        ("max(scores:a/b, scores:c)", ["a/b", "c"]),
        ('bleu + scores:"my qe+1.txt" * 0.1', ["my qe+1.txt"]),
        ("bleu + scores:'a,b',c' d'#'k 1' * 0.1", ["a,b", "c d#k 1"]),
        ("bleu - 0.1*scores:metricx", ["metricx"]),
        ("scores:a - scores:b", ["a", "b"]),
    ],
)
def test_files_stand_in_formulas(text, files):
    if not files:  # a name with slashes goes to its end
        assert registry.metric(text).files == (Path("/dev/qe/x.gz/2"),)
        return
    formula = registry.metric(text)
    assert [str(file) for one in outside(text) for file in one.files] == files
    assert formula.higher_is_better
    assert registry.metric(formula.signature) == formula


def test_commands_stand_in_quotes():
    formula = registry.metric("""0.5*command+links:'run "it all" -x, a*b' + bleu""")
    (command,) = outside(formula.signature)
    assert command.links
    assert command.command == 'run "it all" -x, a*b'
    assert registry.metric(formula.signature) == formula
    # What begins with a command is one, whatever it holds.
    assert registry.metric("command:run --a 2*3 + bleu").command == "run --a 2*3 + bleu"


def test_direction_comes_from_the_metrics_whose_it_is_known():
    assert not registry.metric("ter - 0.1*scores:comet").higher_is_better
    assert registry.metric("-scores:metricx").higher_is_better
    with pytest.raises(ConfigError, match="rises where bleu gets better and falls where ter does"):
        registry.metric("bleu + ter + scores:x")
    with pytest.raises(ConfigError, match=r"write scores:\.\.\. with a file or a command"):
        registry.metric("0.5*scores: + bleu")


@pytest.mark.usefixtures("files")
def test_values_and_shares_by_hand():
    formula = registry.metric(f'scores:qe.txt + 3*command:"{sys.executable} -u count.py"')
    nbest = portmert.Lists.read("list").nbest
    references = read_references(["ref"], vocabulary=nbest.texts.vocabulary)
    batch = make_batch(
        nbest.texts,
        nbest.offsets,
        references,
        outcomes=with_outcomes(nbest, [formula], drop=False).outcomes,
    )
    stats = compute_stats(formula, batch)
    scores, counts = [0.5, 0.9, 0.1, 0.3], [1, 1, 0, 0]
    first = (scores[0] + scores[2]) / 2 + 3 * (counts[0] + counts[2]) / 2
    assert formula.score(stats[[0, 2]].sum(axis=0)) == pytest.approx(first)
    found = formula.influences(stats, nbest.offsets)
    assert found["scores"] == pytest.approx((0.3, 1.0))  # exchanging one changes no count of a
    assert found["command"] == pytest.approx((0.5, 0.0))
    # With chrF: root mean squares of what the formula moves by, exchanging one hypothesis.
    mixed = registry.metric("scores:qe.txt + 0.5*chrf")
    stats = compute_stats(mixed, batch)
    chrf = registry.metric("chrf")
    rows = compute_stats(chrf, batch)
    start = chrf.score(rows[[0, 2]].sum(axis=0))
    moves = [0.5 * (chrf.score(rows[list(pair)].sum(axis=0)) - start)
             for pair in ((0, 2), (1, 2), (0, 2), (0, 3))]  # fmt: skip
    ours = np.sqrt(np.mean(np.square(moves)))
    theirs = np.sqrt(np.mean(np.square([0, 0.2, 0, 0.1])))
    assert mixed.influences(stats, nbest.offsets)["chrf"][1] == pytest.approx(
        ours / (ours + theirs)
    )


@pytest.mark.usefixtures("files")
def test_it_is_tuned_on_and_says_which_part_dominates():
    given = ["optimize", "--nbest", "list", "--ref", "ref", "--restarts", 1, "--out", "w"]
    shown = run(*given, "--metric", "0.5*scores:qe.txt + 0.5*bleu:max_order=1")
    said = (
        "of the formula, scores 0.3000, bleu 0.8750 for the first hypotheses; exchanging one moves"
    )
    assert f"{said} it by scores " in shown.stderr
    # F chooses what BLEU likes, 30 * 0.4 + 1; G what the scores like, 30 * 0.5 + 0.
    more = ("--optimizer", "mert", "--metric", "30*scores:qe.txt + bleu", "--json")
    assert json.loads(run(*given, *more).stdout)["final_score"] == pytest.approx(15)
    command = f'0.5*command:"{sys.executable} -u count.py" + 0.5*bleu'
    assert "of the formula, command 0.5000, bleu" in run(*given, "--metric", command).stderr
    assert "of the formula" not in run(*given, "--metric", "1 - scores:qe.txt").stderr


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("0.5*scores:gone + bleu", "gone: No such file"),
        ("0.5*scores:short + bleu", "short: 1 score, n-best list 1 has 4 hypotheses"),
        ("0.5*scores:qe.txt,qe.txt + bleu", "2 files of scores for 1 n-best lists"),
        ("scores:text + bleu", "text:1: 'one' is not a finite number"),
        ("0.5*scores:nan + bleu", "nan:1: 'nan' is not a finite number"),
        ('bleu + command:"no-such-program"', "no-such-program` cannot be started"),
    ],
)
def test_what_does_not_fit_is_named(files, metric, message):
    (files / "short").write_text("1\n")
    (files / "text").write_text("one\n")
    (files / "nan").write_text("nan\n" * 4)
    given = ["optimize", "--nbest", "list", "--ref", "ref", "--out", "w", "--metric", metric]
    assert message in fault(*given)


@pytest.mark.usefixtures("files")
def test_other_scores_are_other_work(files):
    given = ["optimize", "--nbest", "list", "--ref", "ref", "--metric", "bleu + scores:qe.txt",
             "--restarts", 1, "--replicas", 1, "--out-dir", "run"]  # fmt: skip
    run(*given)
    run(*given)
    (files / "qe.txt").write_text("0\n0\n0\n1\n")
    assert "the content of metric changed" in fault(*given)


def test_existing_file_is_no_formula(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in ("scores:a+chrf", "scores:a - chrf"):
        assert [one.name() for one in registry.metric(text).metrics] == ["scores", "chrf"]
    with pytest.raises(ConfigError, match='stand in quotes, as scores:"my file"') as raised:
        registry.metric("scores:my file")
    assert "(column 11)" in str(raised.value)
    for name in ("a+chrf", "a - chrf", "my file"):
        (tmp_path / name).write_text("1\n")
        for text in (f"scores:{name}", f'scores:"{name}"'):
            metric = registry.metric(text)
            assert metric.files == (Path(name),)
            assert registry.metric(metric.signature) == metric
