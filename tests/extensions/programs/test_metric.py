"""Scores from files, and programs that speak METEOR's protocol."""

from __future__ import annotations

import pickle
import selectors
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

from portmert.extensions.programs.metric import CommandMetric
from portmert.metrics._base import Batch, Texts, Vocabulary
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError, InputError, ProgramError
from portmert.tuner.components import registry
from portmert.tuner.components.external import with_outcomes
from portmert.tuner.nbest.model import featured, taken
from portmert.tuner.texts.statistics import compute_stats
from tests.metrics.test_port import EXAMPLE
from tests.support.places import SERVED
from tests.support.strategies_metrics import batch_of

PROGRAM = """\
import sys
for number, line in enumerate(sys.stdin):
    fields = line.rstrip("\\n").split(" |||")
    if fields[0] == "SCORE":
        hypothesis, *references = [set(text.split()) for text in fields[:0:-1]]
        best = max(len(hypothesis & reference) for reference in references)
        print(best, len(hypothesis), flush=True)
    else:
        match, size = map(float, fields[1].split())
        print(match / max(size, 1), flush=True)
"""


def program(tmp_path, text=PROGRAM):
    path = tmp_path / "metric.py"
    path.write_text(text)
    return f"{sys.executable} -u {path}"


def texts_batch(hypotheses, references, each=1):
    vocabulary = Vocabulary()
    segments = len(references)
    return Batch(
        Texts.from_lines(hypotheses, vocabulary),
        np.arange(segments + 1) * each,
        Texts.from_lines(references, vocabulary),
        np.arange(segments + 1),
    )


@pytest.fixture
def closed():
    """Close the programs of metrics at the end."""
    metrics = []
    yield lambda metric: metrics.append(metric) or metric
    for metric in metrics:
        metric.process.close()


def fails(metric, batch):
    with pytest.raises(ProgramError) as caught:
        compute_stats(metric, batch)
    metric.process.close()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Programs


def test_program_is_asked_for_statistics_and_scores(tmp_path, closed):
    metric = closed(registry.metric(f"command:{program(tmp_path)}"))
    batch = texts_batch(["a b", "c", "", "x y z"], ["a b c", "x"], each=2)
    stats = compute_stats(metric, batch)
    assert stats.tolist() == [[2, 2], [1, 1], [0, 0], [1, 3]]
    assert metric.score(stats.sum(axis=0)).shape == ()
    assert float(metric.score(stats.sum(axis=0))) == pytest.approx(4 / 6)
    stack = np.stack([stats, 2 * stats])
    assert metric.score(stack).shape == (2, 4)
    assert metric.score(stack)[1].tolist() == metric.score(stats).tolist()
    assert metric.score(np.empty((0, 2))).shape == (0,)


def test_a_formula_with_a_program_that_runs_travels_to_other_processes(tmp_path, closed):
    whole = registry.metric(f'0.5*command:"{program(tmp_path)}" + 0.5*bleu')
    closed(whole.metrics[0])
    compute_stats(whole, texts_batch(["a b"], ["a b c"], each=1))
    again = pickle.loads(pickle.dumps(whole))  # noqa: S301  our own
    assert again == whole
    stats = compute_stats(again, texts_batch(["a b"], ["a b c"], each=1))
    assert again.metrics[0].process is not whole.metrics[0].process
    closed(again.metrics[0])
    assert again.score(stats) == whole.score(stats)


def test_many_long_lines_do_not_block(tmp_path, closed):
    # far more than both pipes hold, in both directions
    chatty = PROGRAM.replace("print(best, len", "print(best, '0' * 200 + str(len").replace(
        "hypothesis), flush", "hypothesis)), flush"
    )
    metric = closed(CommandMetric(program(tmp_path, chatty)))
    hypotheses = [f"w{k} " * 60 for k in range(3000)]
    with using(threads=3):
        stats = compute_stats(metric, texts_batch(hypotheses, hypotheses))
    assert stats[:, 0].tolist() == [1] * 3000


def test_program_that_fails_shows_its_last_words(tmp_path):
    text = "import sys\nprint('noise', file=sys.stderr)\nsys.exit('no such language: xx')"
    message = fails(CommandMetric(program(tmp_path, text)), texts_batch(["a"], ["a"]))
    assert message.startswith(f"metric program `{sys.executable} -u ")
    assert message.endswith(
        "ended with status 1 after 0 of 1 answer; its stderr ends: noise / no such language: xx"
    )


def test_program_that_failed_is_not_started_again(tmp_path):
    text = f"open({str(tmp_path / 'starts')!r}, 'a').write('x')"
    metric = CommandMetric(program(tmp_path, text))
    first = fails(metric, texts_batch(["a"], ["a"]))
    assert fails(metric, texts_batch(["a"], ["a"])) == first
    assert (tmp_path / "starts").read_text() == "x"


def test_after_an_interrupt_no_answer_is_taken_for_that_of_another_question(tmp_path, closed):
    asked, answer = tmp_path / "asked", tmp_path / "answer"
    slow = f"""    if "slow" in line and not os.path.exists({str(asked)!r}):
        open({str(asked)!r}, "w").close()
        os.kill(os.getppid(), signal.SIGALRM)
        while not os.path.exists({str(answer)!r}):
            time.sleep(0.01)
    fields"""
    slow = PROGRAM.replace("for number", "import os, signal, time\nfor number", 1).replace(
        "    fields", slow, 1
    )
    metric = closed(CommandMetric(program(tmp_path, slow)))
    assert compute_stats(metric, texts_batch(["a b"], ["a b"])).tolist() == [[2, 2]]
    # It comes while the program thinks: its answer, 1 of 3, is to no question that is asked later.
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            compute_stats(metric, texts_batch(["slow x y"], ["slow"]))
    finally:
        signal.signal(signal.SIGALRM, before)
    answer.touch()
    assert compute_stats(metric, texts_batch(["slow a"], ["a slow"])).tolist() == [[2, 2]]


def test_program_that_is_silent_is_given_up(tmp_path):
    text = "import sys, time\nsys.stdin.readline()\ntime.sleep(60)"
    metric = CommandMetric(program(tmp_path, text), timeout_seconds=0.3)
    message = fails(metric, texts_batch(["a"], ["a"]))
    assert "wrote nothing for 0.3 s, 0 of 1 answer are there" in message


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("'one 2'", "answered 'one 2', expected finite numbers"),
        ("'nan'", "answered 'nan', expected finite numbers"),
        ("''", "answered an empty line to SCORE, expected numbers"),
        ("'1\\n2', end=''", "wrote more than one line for each of 1 question;"),
    ],
)
def test_answers_that_are_no_statistics(tmp_path, answer, expected):
    text = f"import sys\nfor line in sys.stdin:\n    print({answer}, flush=True)"
    message = fails(CommandMetric(program(tmp_path, text)), texts_batch(["a"], ["a"]))
    assert expected in message


def test_program_that_talks_unasked(tmp_path):
    text = (
        "print('METEOR version 1.5', flush=True)\nimport sys\nfor line in sys.stdin:\n    print(1)"
    )
    metric = CommandMetric(program(tmp_path, text))
    metric.process._start()
    with selectors.DefaultSelector() as selector:
        stdout = metric.process._started._process.stdout
        selector.register(stdout, selectors.EVENT_READ)
        assert selector.select(30)
    assert "wrote 'METEOR version 1.5', before it was asked" in fails(
        metric, texts_batch(["a"], ["a"])
    )


def test_answers_of_other_widths(tmp_path):
    text = "import sys\nfor n, line in enumerate(sys.stdin):\n    print(*range(n + 1), flush=True)"
    message = fails(CommandMetric(program(tmp_path, text)), texts_batch(["a"], ["a"]))
    assert "answered 2 numbers to a SCORE line, 1 to another" in message


def test_score_of_more_than_a_number(tmp_path, closed):
    text = "import sys\nfor line in sys.stdin:\n    print('1 2', flush=True)"
    metric = closed(CommandMetric(program(tmp_path, text)))
    with pytest.raises(ProgramError, match="answered '1 2' to EVAL, expected one number"):
        metric.score(np.zeros(2))


def test_text_with_bars_is_refused(tmp_path, closed):
    metric = closed(CommandMetric(program(tmp_path)))
    with pytest.raises(InputError, match=r"segment 0: a text has the token \|\|\|"):
        compute_stats(metric, texts_batch(["a ||| b"], ["a"]))


def test_program_that_is_not_there():
    message = fails(CommandMetric("no-such-program --x"), texts_batch(["a"], ["a"]))
    assert message == (
        "metric program `no-such-program --x` cannot be started: No such file or directory"
    )


def test_no_command_is_refused():
    with pytest.raises(ConfigError, match="the command is empty"):
        registry.metric("command:")
    with pytest.raises(ConfigError, match="is no command line: No closing quotation"):
        registry.metric("command:java 'x")


def test_no_shell_reads_the_command(tmp_path):
    message = fails(
        CommandMetric(f"no-such-program; touch {tmp_path}/made"), texts_batch(["a"], ["a"])
    )
    assert "cannot be started" in message
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["bleu", "bleu:smooth=add1,max_order=2", "chrf"])
def test_served_metric_is_the_metric(name, closed):
    metric = registry.metric(name)
    outside = closed(registry.metric(f"command:{sys.executable} {SERVED} {name}"))
    batch = batch_of(EXAMPLE)
    stats = compute_stats(outside, batch)
    assert stats.tobytes() == compute_stats(metric, batch).tobytes()
    assert outside.score(stats).tobytes() == metric.score(stats).tobytes()


def test_served_port_gets_its_links(closed):
    metric = registry.metric("port")
    command = f"{sys.executable} {SERVED} port"
    outside = closed(registry.metric(f"command+links:{command}"))
    assert outside.needs == {"links"}
    assert registry.metric("command:x").needs == frozenset()
    batch = batch_of(EXAMPLE)
    stats = compute_stats(outside, batch)
    assert stats.tobytes() == compute_stats(metric, batch).tobytes()
    assert outside.score(stats).tobytes() == metric.score(stats).tobytes()


# Scores in files


def scored(tmp_path, *texts):
    paths = []
    for number, text in enumerate(texts, 1):
        path = tmp_path / f"scores{number}"
        path.write_text(text)
        paths.append(str(path))
    return registry.metric(f"scores:{','.join(paths)}")


def test_scores_follow_the_lines(tmp_path):
    metric = scored(tmp_path, "0.5\n-1\n", "2\n4\n")
    nbest = taken(lists_of(2, 2), np.arange(3), np.array([0, 3]))
    nbest = replace(nbest, lines=np.array([3, 0, 1]), list_sizes=(2, 2))
    nbest = with_outcomes(nbest, [metric], drop=False)
    batch = texts_batch(["a", "b", "c"], ["r"], each=3)
    stats = compute_stats(metric, replace(batch, outcomes=nbest.outcomes))
    assert stats.tolist() == [[4, 1], [0.5, 1], [-1, 1]]
    assert float(metric.score(stats.sum(axis=0))) == pytest.approx(3.5 / 3)


def lists_of(*sizes):
    """Return lists of one segment, a file of each size."""
    count = sum(sizes)
    nbest = featured(np.zeros((count, 1)), np.array([0, count]), (("F", 1),), None)
    ranks = np.arange(1, count + 1, dtype=np.int32)
    return replace(nbest, lines=np.arange(count), list_sizes=sizes, ranks=ranks)


def test_scores_keep_with_segments_that_are_cut_out(tmp_path):
    metric = scored(tmp_path, "1\n2\n3\n4\n")
    batch = texts_batch(["a", "b", "c", "d"], ["r", "s"], each=2)
    batch = replace(batch, outcomes={metric.signature: np.array([4.0, 2.0, 3.0, 1.0])})
    assert metric.stats(batch.segments(1, 2))[:, 0].tolist() == [3, 1]


def test_other_numbers_of_scores_are_refused(tmp_path):
    metric = scored(tmp_path, "0.5\n-1\n")
    with pytest.raises(InputError, match=r"scores1: 2 scores, .* 1 has 3 hypotheses; give one"):
        with_outcomes(lists_of(3), [metric], drop=False)
    with pytest.raises(InputError, match="1 file of scores for 2 n-best lists; give one for each"):
        with_outcomes(lists_of(1, 1), [metric], drop=False)


@pytest.mark.parametrize("line", ["x", "", "nan", "1 2", "inf"])
def test_lines_that_are_no_score(tmp_path, line):
    with pytest.raises(InputError, match=r"scores1:2: '.*' is not a finite number"):
        with_outcomes(lists_of(2), [scored(tmp_path, f"1\n{line}\n")], drop=False)


def test_scores_without_a_list_are_refused(tmp_path):
    metric = scored(tmp_path, "1\n")
    with pytest.raises(InputError, match="from no n-best list"):
        compute_stats(metric, texts_batch(["a"], ["a"]))
    with pytest.raises(ConfigError, match="write scores:FILE,FILE: a name is empty"):
        registry.metric("scores:")
