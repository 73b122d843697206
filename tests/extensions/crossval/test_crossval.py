"""`portmert crossval`, as users call it."""

import json
import signal
from dataclasses import replace

import numpy as np
import pytest

import portmert
from portmert.tuner.base import streams
from portmert.tuner.nbest.model import write_nbest
from portmert.tuner.runs.records import DIGESTS
from tests.support.cli import fault, run
from tests.support.forks import forks
from tests.support.places import INVENTED

DATA = INVENTED / "recorded"
LISTS = ("--nbest", DATA / "1.nbest.gz", "--nbest", DATA / "2.nbest.gz")
GIVEN = (*LISTS, "--ref", DATA / "dev.tgt", "--weights", DATA / "start.json")
QUICK = (
    *GIVEN,
    "--metric",
    "bleu",
    "--optimizer",
    "mert:searches_per_feature=5,restarts=1",
    "--splits",
    "2",
)


def crossval(*arguments, status=0):
    return run("crossval", *arguments, status=status)


def test_the_scores_are_found_again_by_hand(tmp_path):
    """Lists of one half are written and tuned on; those of the other reranked, all scored."""
    out = tmp_path / "out.json"
    crossval(*GIVEN, "--metric", "bleu", "--optimizer", "mert:searches_per_feature=20",
             "--seed", 3, "--splits", 2, "--out-dir", tmp_path / "cells",
             "--json", out)  # fmt: skip
    document = json.loads(out.read_text())
    assert json.loads((tmp_path / "cells" / "result.json").read_text()) == document
    nbest = portmert.Lists.read([DATA / "1.nbest.gz", DATA / "2.nbest.gz"]).nbest
    lines = (DATA / "dev.tgt").read_text().splitlines()
    scores = {name: [] for name in ("mert:searches_per_feature=20", "start", "first", "only LM0")}
    for split in (1, 2):
        place = streams.split(3, split).permutation(40)
        parts = [np.flatnonzero(place < 20), np.flatnonzero(place >= 20)]
        paths = [tmp_path / f"{split}-{n}.nbest" for n in range(2)]
        for part, path in zip(parts, paths, strict=True):
            write_nbest(of_segments(nbest, part), path)
        refs = [[[lines[n] for n in part]] for part in parts]
        chosen = {name: [None] * 40 for name in scores}
        for side, other in ((0, 1), (1, 0)):
            zero = {name: (0.0,) * size for name, size in nbest.feature_names}
            signs = [zero | {"LM0": sign} for sign in (1.0, -1.0)]
            tuned = portmert.optimize(
                portmert.Lists.read(paths[side], refs=refs[side]), "bleu",
                weights=DATA / "start.json", optimizer="mert:searches_per_feature=20",
                seed=streams.split_search(3, split, side + 1),
            )  # fmt: skip
            better = max(signs, key=lambda x: best_score(paths[side], x, refs[side]))
            weights = (tuned, DATA / "start.json", None, better)
            for of_name, vector in zip(chosen.values(), weights, strict=True):
                best = portmert.rerank(paths[other], vector).lines
                for n, line in zip(parts[other], best, strict=True):
                    of_name[n] = line
        for name, of_name in chosen.items():
            scores[name].append(portmert.score(of_name, [lines], metric="bleu").score)
    unseen = {row["system"]: row["score"] for row in document["scores"]}
    for name, of_splits in scores.items():
        assert unseen[name] == pytest.approx(np.mean(of_splits), abs=1e-12)
    values = [f"{name}[{n}]" if size > 1 else name
              for name, size in nbest.feature_names for n in range(size)]  # fmt: skip
    assert unseen.keys() == {*scores, "equal weights", "best single"} | {
        f"only {name}" for name in values
    }
    assert document["kind"] == "crossval"
    assert document["learnt_from"] == 20
    assert document["seen"]["bleu"]["first"] == pytest.approx(unseen["first"], abs=1e-12)


def best_score(path, weights, refs):
    best = portmert.rerank(path, weights)
    return portmert.score(best.lines, refs, metric="bleu").score


def of_segments(nbest, segments):
    rows = np.concatenate([np.arange(nbest.offsets[s], nbest.offsets[s + 1]) for s in segments])
    lengths = np.diff(nbest.offsets)[segments]
    return replace(
        nbest, texts=nbest.texts.take(rows), features=nbest.features[rows],
        offsets=np.concatenate([[0], np.cumsum(lengths)]), model_scores=nbest.model_scores[rows],
    )  # fmt: skip


def test_every_metric_judges_every_choice(tmp_path):
    page = tmp_path / "page.html"
    shown = crossval(
        *QUICK, "--metric", "ter", "--optimizer", "kbmira:epochs=2",
        "--without", "LM0,Distortion0", "--html", page,
    ).stdout  # fmt: skip
    names = [
        f"{by} on {metric}{without}"
        for metric in ("bleu", "ter")
        for without in ("", ", without LM0, Distortion0")
        for by in ("mert:searches_per_feature=5,restarts=1", "kbmira:epochs=2")
    ]
    rows = [line.split("  ") for line in shown.splitlines()]
    labels = [row[0] for row in rows if len(row) > 4]
    assert labels[2:10] == names
    assert shown.count("\nequal weights ") == 2
    assert "ter ↓" in shown
    assert "Learnt from 20 segments, chosen on the others; 2 splits, 1 seed" in shown
    text = page.read_text()
    for name in names:
        assert name in text
    assert "chart-differences" in text
    assert "<title>Cross-validation" in text


def test_a_prior_is_a_choice():
    shown = crossval(*QUICK, "--prior", 0, "--prior", 100, "--json").stdout
    document = json.loads(shown)
    free, held = (system["name"] for system in document["systems"][:2])
    assert free.endswith(", prior 0")
    assert held.endswith(", prior 100")
    scores = {row["system"]: row["score"] for row in document["scores"]}
    # Pulled so strongly it stays where it began.
    assert scores[held] == pytest.approx(scores["start"], abs=0.02)
    assert document["seen"]["bleu"][free] > document["seen"]["bleu"][held]


def test_threads_and_earlier_work_change_no_byte(tmp_path):
    def files(name, threads, *more):
        page, out = tmp_path / f"{name}.html", tmp_path / f"{name}.json"
        shown = crossval(
            *QUICK, "--optimizer", "bagged", "--html", page, "--json", out,
            "--threads", threads, *more,
        ).stdout  # fmt: skip
        return shown, page.read_bytes(), out.read_bytes()

    first = files("one", 1, "--out-dir", tmp_path / "work")
    kept = cells(tmp_path / "work")
    assert len(kept) == 8
    assert first == files("three", 3, "--out-dir", tmp_path / "other")
    assert kept == cells(tmp_path / "other")
    assert first == files("again", 2, "--out-dir", tmp_path / "work")
    assert first == files("without", 2)


def cells(folder):
    files = (folder / "cells").iterdir()
    return {path.name: path.read_bytes() for path in files if path.name != DIGESTS}


def test_killed_after_every_file_it_ends_as_one_left_alone(tmp_path):
    options = [*map(str, QUICK), "--threads", "1"]
    folder = tmp_path / "killed"
    searched = set()
    with forks() as process:
        alone = process.alone("crossval", *options, "--out-dir", tmp_path / "alone").stdout
        while (
            ended := process.killed("crossval", *options, "--out-dir", folder)
        ).status == -signal.SIGKILL:
            searched.add(len(cells(folder)))
    assert ended.status == 0, ended.stderr
    assert searched >= {1, 2, 3, 4}
    assert crossval(*options, "--out-dir", folder).stdout == alone
    assert cells(folder) == cells(tmp_path / "alone")


def test_more_is_tried_later_without_searching_again(tmp_path):
    crossval(*QUICK, "--out-dir", tmp_path)
    first = cells(tmp_path)
    crossval(*QUICK, "--splits", 3, "--without", "LM0", "--out-dir", tmp_path)
    assert first.items() <= cells(tmp_path).items()
    assert len(cells(tmp_path)) == 2 * (3 + 3)  # 3 splits, with LM0 and without


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--without", "LM1"],
            "--without LM1: the lists have no such feature; did you mean 'LM0'",
        ),
        (["--size", 21], "21 segments to learn from, but half of the 40 segments are 20"),
        (
            ["--optimizer", "mert:searches_per_featur=5"],
            "optimizer mert has no option 'searches_per_featur'",
        ),
        (["--optimizer", "mrt"], "did you mean 'mert'"),
        (["--metric", "port"], "links of the references"),
        (["--metric", "tre"], "unknown metric 'tre'"),
    ],
)
def test_faults_are_one_line(options, message):
    assert message in fault("crossval", *QUICK, *options)


def test_an_optimizer_is_written_with_options_everywhere(tmp_path):
    options = ["optimize", *GIVEN, "--metric", "bleu", "--out"]
    run(*options, tmp_path / "a", "--optimizer", "mert", "--set", "searches_per_feature=7")
    run(*options, tmp_path / "b", "--optimizer", "mert:searches_per_feature=7")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    both = fault(
        *options,
        tmp_path / "c",
        "--optimizer",
        "mert:searches_per_feature=7",
        "--set",
        "searches_per_feature=7",
    )
    assert (
        "optimizer 'mert:searches_per_feature=7': option 'searches_per_feature' is given twice"
        in both
    )


def test_links_serve_metrics_of_word_order():
    shown = crossval(*QUICK, "--metric", "port", "--source", DATA / "dev.src", "--ref-links",
                     DATA / "dev.links").stdout  # fmt: skip
    assert " port " in shown


def test_one_split_has_no_error_and_says_so():
    shown = crossval(*QUICK, "--splits", 1).stdout
    assert "1 split, 1 seed" in shown
    assert "note: one search on each half: how much tuning varies is not tested" in shown
    assert "±" not in shown.split("seen: score on")[0]


def test_groups_are_halved_and_tested(tmp_path):
    groups = tmp_path / "groups"
    groups.write_text("".join(f"g{n // 4}\n" for n in range(40)))
    result = crossval(*QUICK, "--groups", groups, "--json")
    assert "10 groups only" in result.stderr
    assert json.loads(result.stdout)["groups"]["count"] == 10
