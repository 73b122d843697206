"""Memory and time stay in proportion to the input, however small files unpack."""

import collections
import contextlib
import gzip
import itertools
import sys
import tracemalloc

import pytest

from portmert.extensions.metaeval.human_scores import read_human_scores
from portmert.metrics._base import Vocabulary
from portmert.metrics._lexicon_files import read_words
from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.base.files import each_line, writing
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from tests.support.cli import fault
from tests.support.run_folders import write, write_lines


@contextlib.contextmanager
def calls_counted():
    """Count the calls of functions, those in C too: work, whatever the machine is busy with."""
    calls = itertools.count()
    sys.setprofile(lambda _frame, event, _argument: next(calls) if "call" in event else None)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_lines_without_end_in_a_small_file_are_refused_at_once(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    with writing(path) as out:
        for _ in range(30):
            out.write(b"a b c\n" * 200_000)
    assert path.stat().st_size < 60_000
    read = itertools.count()
    with pytest.raises(InputError, match="the compressed content is more than 200 times the file"):
        collections.deque(zip(read, each_line(path), strict=False), maxlen=0)
    assert next(read) < 2_000_000  # of 6 million lines


def test_a_small_table_of_much_content_is_refused(tmp_path):
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"1 <p>a</p> <p>b</p>\n" * 1_000_000))
    with pytest.raises(ConfigError, match=r"t\.gz: the compressed content is more than 200 times"):
        registry.metric(f"meteor:version=1.5,paraphrases={tmp_path}/t.gz")


def test_the_memory_for_a_word_list_is_that_of_its_file(tmp_path):
    write(tmp_path / "long", "w" * (4 << 20))
    tracemalloc.start()
    try:
        assert [len(word) for word in read_words(tmp_path / "long")] == [4 << 20]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 << 20  # 200 times the file were asked for


def test_a_slip_in_a_segment_does_not_ask_for_all_memory(tmp_path):
    rows = [f"s{n}\t0\t1" for n in range(3000)] + ["s0\t9999999\t1"]
    path = write_lines(tmp_path / "human.tsv", ["system\tsegment\tscore", *rows])
    with pytest.raises(InputError, match="one is of segment 9999999; is that number a slip"):
        read_human_scores(path)


def test_a_metric_program_that_never_ends_a_line_is_stopped(tmp_path):
    text = write(tmp_path / "text", "a\n")
    said = fault("score", "--metric", "command:cat /dev/zero", "--hyp", text, "--ref", text)
    assert "an answer of more than 1048576 bytes" in said or "before it was asked" in said


def test_what_a_metric_program_says_stays_one_line(tmp_path):
    code = "import sys; input(); sys.exit('one\\r\\n\\x1b[2Jtwo\\u2028three\\x85four')"
    program = write(tmp_path / "program.py", code)
    text = write(tmp_path / "text", "a\n")
    command = f"command:{sys.executable} {program}"
    said = fault("score", "--metric", command, "--hyp", text, "--ref", text)
    assert len(said.splitlines()) == 1
    assert "\x1b" not in said


def test_work_grows_with_sparse_features_and_not_with_their_square(tmp_path):
    def calls_for(count):
        sparse = " ".join(f"s_{number}= 1" for number in range(count))
        lines = [f"0 ||| a ||| LM= 1 {sparse} ||| 0", "0 ||| b ||| LM= 2 ||| 0"]
        path = write_lines(tmp_path / "nbest", lines)
        with calls_counted() as calls:
            read = read_nbest([path], Vocabulary())
        assert len(read.sparse.names) == count
        return next(calls)

    calls_for(10)
    assert calls_for(200_000) < 20 * calls_for(20_000) + 1000


@pytest.mark.parametrize("metric", ["meteor", "ribes", "ter", "terp", "1 - 0.5*ter"])
@pytest.mark.parametrize("side", ["hypothesis", "reference"])
def test_a_line_longer_than_a_metric_can_compare_is_named(tmp_path, metric, side):
    short = write(tmp_path / "short", "a\na\n")
    tokens = 2_000 if metric == "meteor" else 20_001
    long = write(tmp_path / "long", "a\n" + "a " * tokens + "\n")
    texts = (long, short) if side == "hypothesis" else (short, long)
    said = fault("score", "--metric", metric, "--hyp", texts[0], "--ref", texts[1])
    assert f"segment 1, {side} 0 (counted from 0): {tokens} tokens; " in said
