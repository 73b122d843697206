"""Processes that die, fail, or cannot start."""

from __future__ import annotations

import pytest

from portmert.extensions.parsers import _workers
from portmert.extensions.parsers._workers import Workers
from portmert.tuner.base.errors import AnnotatorError
from portmert.tuner.texts.annotator import Annotation, AnnotationRequest

BACKEND = """
import os, time
from portmert.tuner.texts.annotator import Annotation
from portmert.tuner.base.errors import AnnotatorError

def load(options):
    if options.get("start") == "error":
        raise AnnotatorError("no model here; train one")
    if options.get("start") == "bug":
        raise KeyError("a\\nb")
    if options.get("start") == "die":
        os.write(2, b"out of luck\\n")
        os.kill(os.getpid(), 9)
    print("noise on the standard output")
    def parse(sentences, request):
        for words in sentences:
            if words[0] == "die":
                os.write(2, b"last words\\n")
                os.kill(os.getpid(), 11)
            if words[0] == "raise":
                raise ValueError("cannot say it")
            if words[0] == "error":
                raise AnnotatorError("no tagger")
            if words[0] == "sleep":
                time.sleep(600)
        if sentences[0][0] == "few":
            return []
        return [
            None if words[0] == "none" else Annotation(
                tags=tuple(words) if "tags" in request.layers else (),
                heads=((0, "root"),),
                tree="(X \\u00e9)",
                parses=((-0.1, ((0, "root"),)), (float(request.parses), ((0, "dep"),))),
                marginals={gamma: ((0, 0, "root", 1 / 3),) for gamma in request.gammas},
            )
            for words in sentences
        ]
    return parse
"""
TAGS = AnnotationRequest(frozenset({"tags"}))
NAME = "backend_of_a_test"


@pytest.fixture(scope="module", autouse=True)
def _module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backend")
    (folder / f"{NAME}.py").write_text(BACKEND)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield


@pytest.fixture
def started():
    made = []

    def start(chunk=4, **options):
        made.append(Workers(NAME, options, "fake", chunk))
        return made[-1]

    yield start
    for workers in made:
        workers.close()


def run(workers, words, request=TAGS, processes=1):
    sentences = [[word] for word in words]
    return list(workers.annotate(sentences, request, processes=processes))


def tags(answers):
    return [answer and answer.tags[0] for answer in answers]


@pytest.mark.parametrize("processes", [1, 3])
def test_answers_come_in_order_whatever_the_number_of_processes(started, processes):
    words = [str(number) for number in range(30)]
    assert tags(run(started(), words, processes=processes)) == words


def test_a_process_that_hangs_is_a_fault_and_no_sentence_without_a_parse(monkeypatch):
    monkeypatch.setattr(_workers, "PATIENCE_SECONDS", 8)
    stuck = Workers(NAME, {"model": "m"}, "backend", 2)
    message = r"backend is stuck with m: it gave no answer for 8 s.* 2 sentences, .* 'sleep well'"
    with pytest.raises(AnnotatorError, match=message):
        list(stuck.annotate([["sleep", "well"], ["a"]], TAGS, processes=1))


def test_an_answer_arrives_whole(started):
    request = AnnotationRequest(
        frozenset({"tags", "parses", "marginals"}), parses=7, gammas=(0.25, 1.0)
    )
    found = run(started(), ["\u00e9 \u3000"], request)
    assert found == [
        Annotation(
            tags=("\u00e9 \u3000",),
            heads=((0, "root"),),
            tree="(X \u00e9)",
            parses=((-0.1, ((0, "root"),)), (7.0, ((0, "dep"),))),
            marginals={0.25: ((0, 0, "root", 1 / 3),), 1.0: ((0, 0, "root", 1 / 3),)},
        )
    ]


@pytest.mark.parametrize("bad", ["die", "raise"])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_crash_costs_the_sentence_and_not_the_run(started, bad, processes):
    found = run(started(), ["a", bad, "b", bad, "c", "none"], processes=processes)
    assert tags(found) == ["a", None, "b", None, "c", None]


def test_a_process_is_kept_for_the_next_call(started):
    workers = started()
    run(workers, ["a"])
    kept = list(workers._pool.idle)
    run(workers, ["b"])
    assert workers._pool.idle == kept
    assert len(kept) == 1


def test_a_dead_process_is_not_kept(started):
    workers = started()
    run(workers, ["die"])
    assert workers._pool.idle == []
    assert tags(run(workers, ["b"])) == ["b"]


def test_no_sentence_needs_no_process():
    assert run(Workers("no.such.module", {}, "fake", 4), []) == []


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("error", "no model here; train one"),
        ("bug", r"cannot load the model: KeyError: 'a\\nb'"),
        ("die", "fake: its process does not start: it was killed by SIGKILL: out of luck"),
    ],
)
def test_a_backend_that_does_not_start_is_an_error(started, start, message):
    with pytest.raises(AnnotatorError) as caught:
        run(started(start=start), ["a"])
    assert str(caught.value) == message.replace("\\\\", "\\")


def test_an_error_of_the_backend_stops_the_run(started):
    with pytest.raises(AnnotatorError, match="no tagger"):
        run(started(), ["a", "b", "c", "d", "error", "e"])


def test_too_few_answers_are_an_error_and_no_shift(started):
    with pytest.raises(AnnotatorError, match="0 answers to 2 sentences"):
        run(started(), ["few", "a"])


def test_a_backend_that_only_fails_is_at_fault(started, monkeypatch):
    monkeypatch.setattr(_workers, "HOPELESS", 3)
    message = "fake failed on each of the first 3 sentences; on the last, ValueError: cannot say"
    with pytest.raises(AnnotatorError, match=message):
        run(started(), ["raise"] * 5)
    # Not where it also succeeds.
    assert tags(run(started(), ["a", *["raise"] * 7])) == ["a", *[None] * 7]


def test_leaving_early_ends_what_is_under_way(started):
    workers = started(chunk=1)
    answers = workers.annotate([["a"], ["sleep"]], TAGS, processes=2)
    assert next(answers).tags == ("a",)
    answers.close()  # does not wait for ten minutes
    assert tags(run(workers, ["b"])) == ["b"]


def test_same_options_share_processes():
    one = _workers.workers(NAME, {"x": 1}, "fake")
    assert _workers.workers(NAME, {"x": 1}, "fake") is one
    assert _workers.workers(NAME, {"x": 2}, "fake") is not one
