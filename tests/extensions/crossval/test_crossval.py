"""`portmert crossval`, as users call it."""

import json
import signal
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import portmert
from portmert.tuner.base import streams
from portmert.tuner.nbest.model import write_nbest
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
    """Lists of one half are written and tuned on; those of the other reranked and scored."""
    out = tmp_path / "out.json"
    crossval(*GIVEN, "--metric", "bleu", "--optimizer", "mert:searches_per_feature=20",
             "--seed", 3,
             "--splits", 2, "--seeds", 2, "--out-dir", tmp_path / "cells",
             "--json", out)  # fmt: skip
    document = json.loads(out.read_text())
    assert json.loads((tmp_path / "cells" / "result.json").read_text()) == document
    tuned, *alone, untuned = document["choices"]
    nbest = portmert.Lists.read([DATA / "1.nbest.gz", DATA / "2.nbest.gz"]).nbest
    lines = (DATA / "dev.tgt").read_text().splitlines()
    seen, unseen, start, firsts, lm = [], [], [], [], []
    for split in (1, 2):
        order = streams.split(3, split).permutation(40)
        parts = [np.sort(order[:20]), np.sort(order[20:])]
        paths = [tmp_path / f"{split}-{n}.nbest" for n in range(2)]
        for part, path in zip(parts, paths, strict=True):
            write_nbest(of_segments(nbest, part), path)
        refs = [[[lines[n] for n in part]] for part in parts]
        start.append(best_score(paths[1], DATA / "start.json", refs[1]))
        firsts.append(best_score(paths[1], None, refs[1]))
        zero = {name: (0.0,) * size for name, size in nbest.feature_names}
        signs = [zero | {"LM0": sign} for sign in (1.0, -1.0)]
        better = max(signs, key=lambda one: best_score(paths[0], one, refs[0]))
        lm.append(best_score(paths[1], better, refs[1]))
        for repeat in (1, 2):
            found = portmert.optimize(
                portmert.Lists.read(paths[0], refs=refs[0]), "bleu", weights=DATA / "start.json",
                optimizer="mert:searches_per_feature=20",
                seed=streams.split_search(3, split, repeat),
            )  # fmt: skip
            for scores, path, ref in zip((seen, unseen), paths, refs, strict=True):
                scores.append(best_score(path, found, ref))
    assert tuned["judged"]["bleu"]["seen"] == pytest.approx(np.mean(seen), abs=1e-12)
    assert tuned["judged"]["bleu"]["unseen"] == pytest.approx(np.mean(unseen), abs=1e-12)
    assert untuned["judged"]["bleu"]["unseen"] == pytest.approx(np.mean(start), abs=1e-12)
    names = [f"{name}_{n}" if size > 1 else name
             for name, size in nbest.feature_names for n in range(size)]  # fmt: skip
    assert [one["name"] for one in alone] == ["first", *(f"only {name}" for name in names)]
    found = {one["name"]: one["judged"]["bleu"]["unseen"] for one in alone}
    assert found["first"] == pytest.approx(np.mean(firsts), abs=1e-12)
    assert found["only LM0"] == pytest.approx(np.mean(lm), abs=1e-12)
    assert (document["segments"], document["learnt_from"], document["judged_on"]) == (40, 20, 20)


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
    assert shown.count("start weights") == 2
    names = [
        f"{by} on {metric}{without}"
        for metric in ("bleu", "ter")
        for without in ("", ", without LM0, Distortion0")
        for by in ("mert:searches_per_feature=5,restarts=1", "kbmira:epochs=2")
    ]
    rows = [line.split("  ")[0] for line in shown.split("; 2 splits, 1 seed")[1].splitlines()]
    assert rows[4:12] == names
    assert "ter ↓: learnt from 20 segments, judged on 20; 2 splits, 1 seed" in shown
    text = page.read_text()
    for name in names:
        assert name in text
    assert "chart-gains" in text
    assert "<title>Cross-validation" in text


def test_a_prior_is_a_choice():
    shown = crossval(*QUICK, "--prior", 0, "--prior", 100, "--json").stdout
    free, held, *_, untuned = json.loads(shown)["choices"]
    assert free["name"].endswith(", prior 0")
    assert held["name"].endswith(", prior 100")
    # Pulled so strongly it stays where it began.
    assert held["judged"]["bleu"]["unseen"] == pytest.approx(
        untuned["judged"]["bleu"]["unseen"], abs=0.02
    )
    assert free["judged"]["bleu"]["seen"] > held["judged"]["bleu"]["seen"]


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
    assert len(kept) == 4
    assert first == files("three", 3, "--out-dir", tmp_path / "other")
    assert kept == cells(tmp_path / "other")
    assert first == files("again", 2, "--out-dir", tmp_path / "work")
    assert first == files("without", 2)


def cells(folder):
    return {path.name: path.read_bytes() for path in (folder / "cells").iterdir()}


def test_killed_after_every_file_it_ends_as_one_left_alone(tmp_path):
    options = [*map(str, QUICK), "--threads", "1"]
    folder = tmp_path / "killed"
    before = []
    with forks() as process:
        alone = process.alone("crossval", *options, "--out-dir", tmp_path / "alone").stdout
        while len(before) < 3:  # two searches and the result
            ended = process.killed("crossval", *options, "--out-dir", folder)
            assert ended.status == -signal.SIGKILL, ended.stderr
            before.append({path: path.stat().st_mtime_ns for path in folder.rglob("*.json")})
    assert [len(found) for found in before] == [1, 2, 3]
    for earlier, later in pairwise(before):
        assert earlier.items() <= later.items()  # nothing is made again
    assert crossval(*options, "--out-dir", folder).stdout == alone
    assert cells(folder) == cells(tmp_path / "alone")


def test_more_is_tried_later_without_searching_again(tmp_path):
    crossval(*QUICK, "--out-dir", tmp_path)
    first = cells(tmp_path)
    crossval(*QUICK, "--splits", 3, "--without", "LM0", "--out-dir", tmp_path)
    assert first.items() <= cells(tmp_path).items()
    assert len(cells(tmp_path)) == 2 + 4  # 3 splits, with LM0 and without


def test_a_damaged_cell_is_named(tmp_path):
    crossval(*QUICK, "--out-dir", tmp_path)
    cell = min((tmp_path / "cells").iterdir())
    cell.write_text(cell.read_text().replace('"weights": ', '"weights": "x",\n"then": '))
    assert f"{cell}: not what portmert writes; delete it" in fault(
        *("crossval", *QUICK), "--out-dir", tmp_path
    )
    cell.write_text(cell.read_text()[:30])
    assert f"{cell}:" in fault("crossval", *QUICK, "--out-dir", tmp_path)
    cell.write_text("[1, 2]")
    assert f"{cell}: not what portmert" in fault("crossval", *QUICK, "--out-dir", tmp_path)
    cell.unlink()
    crossval(*QUICK, "--out-dir", tmp_path)


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
    assert "port: learnt from 20 segments" in shown


def test_one_split_has_no_error_and_says_so_little():
    shown = crossval(*QUICK, "--splits", 1).stdout
    assert "1 splits" not in shown
    assert "1 split, 1 seed" in shown
    assert "±" not in shown.split("seen: score on")[0]
