"""`portmert mert-moses`: mert-moses.pl's command line and files."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import portmert
from portmert.extensions.mert_moses._mert_moses_options import read_request
from portmert.extensions.mert_moses.dat_files import read_dat
from portmert.metrics._base import Vocabulary
from portmert.metrics.bleu import Bleu
from portmert.tuner.base.files import LOCK
from portmert.tuner.base.warn import collected_notices
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.runs import loop
from portmert.tuner.runs.folder import open_run
from portmert.tuner.search import steps
from portmert.tuner.weights.feature_weights import read_weights
from tests.support.cli import run
from tests.support.places import INVENTED, ROOT
from tests.support.run_folders import FEWER

RECORDED = INVENTED / "recorded"
PROGRAM = INVENTED / "recorded" / "recorded_moses"
PORT = f"source:{RECORDED / 'dev.src'},reflinks:{RECORDED / 'dev.links'}"
FOUR = [RECORDED / "dev.src", RECORDED / "dev.tgt", PROGRAM, RECORDED / "moses.ini"]
QUICK = ["--mertmertargs=--type powell --set searches_per_feature=20 --set restarts=1",
         "--decoder-flags=-v 0",
         "--no-filter-phrase-table", "--nbest=15", "--predictable-seeds"]  # fmt: skip
BAGGED = [f"--mertargs={FEWER}", "--decoder-flags=-v 0", "--no-filter-phrase-table"]
"""The default search, with less work."""
BEST = re.compile(r"Best point:\s*([\s\d\.\-e]+?)\s*=> ([\-\d\.]+)")
DATE = re.compile(r"(?m)^# finished .*$")


def tune(folder, *options, four=FOUR, quick=QUICK, status=0):
    arguments = ["mert-moses", *four, f"--working-dir={folder}", *quick, *options]
    return run(*arguments, status=status)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mert") / "work"
    result = tune(folder, "--maximum-iterations=3", "--sctype=PORT", f"--scconfig={PORT}")
    return folder, result


def test_the_files_are_those_of_mert_moses(finished):
    folder, result = finished
    names = {path.name for path in folder.iterdir()}
    for step in (1, 2, 3):
        assert {
            f"run{step}.moses.ini", f"run{step}.best15.out.gz", f"run{step}.out",
            f"run{step}.features.dat", f"run{step}.scores.dat", f"run{step}.dense",
            f"run{step}.init.opt", f"run{step}.mert.log", f"run{step}.mert.out",
            f"run{step}.weights.txt", f"run{step}.extract.err", f"run{step}.extract.out",
        } <= names  # fmt: skip
    assert {"moses.ini", "finished_step.txt", "features.list", "init.opt", "weights.txt"} <= names
    assert (folder / "finished_step.txt").read_text() == "3\n"
    assert "UnknownWordPenalty0 UNTUNEABLE\n" in (folder / "features.list").read_text()
    assert len((folder / "run1.out").read_text().splitlines()) == 40
    with gzip.open(folder / "run1.best15.out.gz", "rt") as lines:
        assert next(lines).count(" ||| ") == 5  # segmentation and word alignment for PORT
    assert f"tuned: {folder / 'moses.ini'}" in result.stdout
    assert "warning: 40 segments to tune on, fewer than 100" in result.stderr
    notes = re.findall(r"portmert: note: .*", result.stderr)
    assert all("kernels" in note for note in notes)


def test_the_log_has_the_weights_of_the_next_step_and_of_the_tuned_moses_ini(finished):
    folder, _ = finished
    for step in (1, 2):
        weights = BEST.search((folder / f"run{step}.mert.log").read_text())[1].split()
        following = (folder / f"run{step + 1}.init.opt").read_text().splitlines()[0].split()
        assert weights == following == (folder / f"run{step}.weights.txt").read_text().split()
    weights, score = BEST.search((folder / "run3.mert.log").read_text()).groups()
    read = read_weights(folder / "moses.ini").values
    assert [v for name, v in read.items() if name != "UnknownWordPenalty0"] == [
        (float(text),) for text in weights.split()
    ]
    first = (folder / "moses.ini").read_text().splitlines()
    assert first[0] == "# MERT optimized configuration"
    assert first[2] == f"# PORT {score} on dev {RECORDED / 'dev.src'}"
    assert (folder / "moses.ini").read_text().endswith("[verbose]\n0\n")


def without_dates(folder):
    return {
        path.name: DATE.sub("", path.read_text())
        for path in folder.iterdir()
        if path.suffix != ".gz" and path.is_file()
    }


def test_an_ended_run_goes_on_to_the_same_files(finished, tmp_path):
    whole, _ = finished
    folder = tmp_path / "work"
    options = ["--sctype=PORT", f"--scconfig={PORT}"]
    tune(folder, "--maximum-iterations=1", *options)
    result = tune(folder, "--maximum-iterations=3", "--continue", *options)
    assert "last finished step is 1" in result.stderr
    assert without_dates(folder) == without_dates(whole)
    # mert-moses.pl counts a step too many where --maximum-iterations ends it.
    (folder / "finished_step.txt").write_text("4\n")
    result = tune(folder, "--maximum-iterations=3", "--continue", *options)
    assert without_dates(folder) == without_dates(whole)


def test_a_decoder_that_fails_leaves_a_run_that_goes_on(finished, tmp_path, monkeypatch):
    whole, _ = finished
    folder = tmp_path / "work"
    options = ["--sctype=PORT", f"--scconfig={PORT}"]
    tune(folder, "--maximum-iterations=2", *options)
    monkeypatch.setenv("RECORDED_MOSES_FAULT", "exit")
    result = tune(folder, "--maximum-iterations=3", "--continue", *options, status=1)
    assert "ended with status 3: Loading table / Exception" in result.stderr
    assert (folder / "finished_step.txt").read_text() == "2\n"
    monkeypatch.delenv("RECORDED_MOSES_FAULT")
    tune(folder, "--maximum-iterations=3", "--continue", *options)
    assert without_dates(folder) == without_dates(whole)


def test_damaged_weights_of_a_run_that_goes_on_are_named(tmp_path):
    folder = tmp_path / "work"
    own = [*BAGGED, "--nbest=15"]  # it starts its second step from the first step's weights
    tune(folder, "--maximum-iterations=1", quick=own)
    dense = folder / "run1.dense"
    dense.write_text(dense.read_text().replace("LM0=", "LM7="))
    result = tune(folder, "--maximum-iterations=2", "--continue", quick=own, status=1)
    assert f"{dense}: no weight for feature LM0" in result.stderr


@pytest.mark.parametrize("option", ["--pairwise-ranked", "--batch-mira"])
def test_other_optimizers_run_and_go_on(tmp_path, option):
    folder = tmp_path / "work"
    options = [option, "--proargs=--set samples=300", "--batch-mira-args=-J 3"]
    tune(folder, "--maximum-iterations=1", *options)
    log = folder / "run1.mert.log"
    found = dict(line.split() for line in (folder / "run1.mert.out").read_text().splitlines())
    assert list(found) == [f"F{k}" for k in range(8)]
    # What Moses' programs would have left: weights by position, not normalised.
    log.write_text("Best BLEU = 0.4\n")
    (folder / "run1.mert.out").write_text("".join(f"F{k} {k - 3}\n" for k in range(8)))
    tune(folder, "--maximum-iterations=2", "--continue", *options)
    start = [float(t) for t in (folder / "run2.init.opt").read_text().splitlines()[0].split()]
    assert start == pytest.approx([(k - 3) / 16 for k in range(8)])


def test_a_damaged_weight_of_a_step_names_the_file(finished, tmp_path):
    folder = tmp_path / "work"
    shutil.copytree(finished[0], folder)
    log = folder / "run3.mert.log"
    log.write_text(re.sub(r"(Best point: \S+) \S+", r"\1 1e999", log.read_text()))
    result = tune(folder, "--continue", "--sctype=PORT", f"--scconfig={PORT}", status=1)
    assert result.stderr.splitlines()[-1].startswith(f"portmert: error: {log}: weight of ")


def test_return_best_dev_takes_the_step_of_the_best_own_output(tmp_path):
    folder = tmp_path / "work"
    options = ["--max=3", "--return-best", "-nocase", "--closest"]  # abbreviated, one dash
    result = tune(folder, *options)
    match = re.search(r"copying weights from best iteration \((\d), ([\d.]+)\)", result.stderr)
    dense = read_weights(folder / f"run{match[1]}.dense").values
    tuned = read_weights(folder / "moses.ini").values
    assert {name: tuned[name] for name in dense} == dense
    assert f"# BLEU {match[2]} on dev" in (folder / "moses.ini").read_text()


def test_return_best_dev_may_take_the_last_list(tmp_path):
    # The untuned weights give one list; what was found on it was never decoded.
    tune(tmp_path / "one", "--maximum-iterations=1", "--return-best-dev")
    dense = read_weights(tmp_path / "one" / "run1.dense").values
    tuned = read_weights(tmp_path / "one" / "moses.ini").values
    assert {name: tuned[name] for name in dense} == dense
    # The second list is the better one.
    result = tune(tmp_path / "two", "--maximum-iterations=2", "--return-best-dev")
    assert "copying weights from best iteration (2, " in result.stderr


@pytest.mark.parametrize(
    "chosen",
    [
        ["--activate-features=LM0_0,PhraseTS0_0"],
        ["--mertargs=-o LM0_0,PhraseTS0_0"],
        [
            (
                "--mertmertargs=--type mert --set searches_per_feature=20 "
                "--optimize 'LM0_0 PhraseTS0_0'"
            )
        ],
    ],
)
def test_features_that_are_not_active_keep_their_weights(tmp_path, chosen):
    folder = tmp_path / "work"
    tune(folder, "--maximum-iterations=1", *chosen)
    before = read_weights(RECORDED / "moses.ini").values
    after = read_weights(folder / "moses.ini").values
    assert {name for name in after if after[name] != before[name]} <= {"LM0", "PhraseTS0"}


def test_a_seed_changes_the_weights_and_repeats_itself(tmp_path):
    def found(name, *options):
        tune(tmp_path / name, "--maximum-iterations=1", *options)
        return (tmp_path / name / "weights.txt").read_text()

    seven = found("7", "--seed=7")
    assert found("7 again", "--mertargs=-r 7") == seven
    assert found("99", "--seed=99") != seven
    assert found("none") != seven


def test_arguments_for_programs_that_mean_nothing_here_are_named(tmp_path):
    more = ["--mertargs=-v 2 -n 5 --scfile x", "--extractorargs=--binary", "--proargs=-S a"]
    result = tune(tmp_path / "work", "--maximum-iterations=1", *more)
    for line in (
        "mert --ntry is ignored: the search restarts by itself",
        "mert --scfile is ignored: mert-moses gives it itself",
        "extractor --binary is ignored: text is written, and exact",
        "pro --scfile is ignored: mert-moses gives it itself",
        "mert --verbose is ignored: there is no more to say",
    ):
        assert f"portmert: note: {line}" in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--filtercmd=x"], ["--filtercmd is ignored: no phrase table is filtered"]),
        ([f"--filterfile={FOUR[0]}"], ["--filterfile is ignored: no phrase table is filtered"]),
        (["--rootdir=x"], ["--rootdir is ignored: no phrase table is filtered"]),
        (["--proargs=--set samples=9"], ["pro --set is ignored: it needs --pairwise-ranked or"]),
        (
            ["--activate-features=LM0_0", "--mertargs=-o LM0_0"],
            ["mert --optimize is ignored: --activate-features names them, as in mert-moses.pl"],
        ),
        (["--batch-mira-args=-J 3"], ["kbmira --iters is ignored: it needs --batch-mira"]),
        (["--extractorargs=-d"], ["extractor --allow-duplicates is ignored: equal hypotheses"]),
        (
            ["--batch-mira", "--range=LM0:0..1", "--historic-bests"],
            ["mert --type is ignored: --batch-mira asks for another search",
             "--range is ignored: --batch-mira asks", "--historic-bests is ignored: --batch-mira"],
        ),
        (["--historic-bests"], ["--historic-bests is ignored: the search has one start"]),
    ],
)  # fmt: skip
def test_options_that_the_search_asked_for_does_not_use_are_named(options, said):
    with collected_notices() as notes:
        read_request([*map(str, FOUR), *QUICK, *options])
    for line in said:
        assert any(note.startswith(line) for note in notes), notes


def test_the_options_of_pro_reach_the_search_for_a_start():
    words = [*map(str, FOUR), "--no-filter-phrase-table", "--pro-starting-point"]
    request = read_request([*words, "--proargs=--set samples=77"])
    assert request.from_pro.samples == 77
    assert request.optimizer.name() == "mert"


def test_replicas_share_the_first_decoding(tmp_path):
    folder = tmp_path / "work"
    options = ["--replicas=2", "--maximum-iterations=2"]
    result = tune(folder, *options)
    one, two = folder / "replica-1", folder / "replica-2"
    assert result.stdout.count("tuned: ") == 3
    document = json.loads((folder / "result.json").read_text())
    first, second, mean = (
        read_weights(path / "moses.ini").values for path in (one, two, folder)
    )  # of size 1, but for the mean: signs differ
    for name, spread in document["weights"].items():
        assert mean[name] == pytest.approx(spread["mean"], abs=1e-12)
        assert mean[name][0] == pytest.approx((first[name][0] + second[name][0]) / 2, abs=1e-12)
    assert [row["folder"] for row in document["replicas"]] == ["replica-1", "replica-2"]
    lists = read_nbest([folder / "average.best15.out.gz"], Vocabulary(), segments=40)
    outputs = [" ".join(lists.texts.words(row)) for row in lists.offsets[:-1]]
    score = portmert.score(outputs, [(RECORDED / "dev.tgt").read_text().splitlines()])
    assert document["average"]["dev_score"] == pytest.approx(score.score, abs=1e-12)
    header = (folder / "moses.ini").read_text()
    assert f"# BLEU {document['average']['dev_score']:.6f} on dev" in header
    assert "# This score is of the decoder's own best output\n" in header
    assert result.stderr.count("skipped decoder run 1") == 1
    assert (one / "run1.out").read_bytes() == (two / "run1.out").read_bytes()
    assert (one / "weights.txt").read_text() != (two / "weights.txt").read_text()
    # Ended in the second, and continued.
    before = without_dates(two)
    for path in two.glob("*"):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    tune(folder, *options, "--continue")
    assert without_dates(two) == before


def test_the_filter_of_moses_is_found_beside_its_programs(tmp_path):
    moses = tmp_path / "my moses"
    (moses / "bin").mkdir(parents=True)
    (moses / "scripts" / "training").mkdir(parents=True)
    shutil.copy(PROGRAM, moses / "bin" / "moses")
    script = moses / "scripts" / "training" / "filter-model-given-input.pl"
    script.write_text('#!/bin/sh\nmkdir -p "$1" && cp "$(dirname "$2")"/* "$1"\n')
    script.chmod(0o755)
    quick = [*BAGGED[:-1], "--nbest=5", "--max=1"]
    result = tune(tmp_path / "decoder", four=[*FOUR[:2], moses / "bin" / "moses", FOUR[3]],
                  quick=quick)  # fmt: skip
    assert f"filtering the phrase tables: '{script}' ./filtered" in result.stderr
    result = tune(tmp_path / "mertdir", quick=[*quick, f"--mertdir={moses / 'bin'}"])
    assert f"filtering the phrase tables: '{script}' ./filtered" in result.stderr


def test_the_tuning_step_of_ems(tmp_path):
    # As EMS writes it, with our tuning-script; on a cluster --queue-flags and --jobs are added.
    script = f"{sys.executable} -m portmert mert-moses"
    (tmp_path / "step.sh").write_text(
        f"""
mkdir -p {tmp_path}/tuning
{script} {FOUR[0]} {FOUR[1]} {FOUR[2]} {FOUR[3]} \\
  --nbest 15 --working-dir {tmp_path}/tuning/work.1 \\
  --decoder-flags " -v 0 " --rootdir /opt/moses/scripts -mertdir /opt/moses/bin \\
  --maximum-iterations 2 --no-filter-phrase-table \\
  --queue-flags="-q short" --jobs 2 "{BAGGED[0]}"
cp {tmp_path}/tuning/work.1/moses.ini {tmp_path}/tuning/moses.tuned.ini.1
"""
    )
    done = subprocess.run(
        ["bash", "-e", tmp_path / "step.sh"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--queue-flags is ignored: decoders run on this machine" in done.stderr
    assert "MERT optimized" in (tmp_path / "tuning" / "moses.tuned.ini.1").read_text()


def test_more_of_the_options(tmp_path):
    folder = tmp_path / "work"
    shutil.copy(RECORDED / "dev.tgt", tmp_path / "ref0")
    shutil.copy(RECORDED / "dev.src", tmp_path / "ref1")
    (tmp_path / "filter").write_text(
        '#!/bin/sh\nmkdir -p "$1" && cp "$(dirname "$2")"/* "$1" && echo filtered "$3"\n'
    )
    (tmp_path / "filter").chmod(0o755)
    options = [
        f"--filtercmd={tmp_path / 'filter'}", "--historic-bests", "--random-directions",
        "--range=LM0:0..2,0..9", "--prev-aggregate-nbestlist=0", "--historic-interpolation=0.5",
        "--use-config-weights-for-first-run", "--jobs=2", "--threads=2",
        "--minimum-required-change-in-weights=0", "--maximum-iterations=4", "--mertdir=/nowhere",
        "--random-restarts=3", "--mertmertargs=--set restarts=2",
    ]  # fmt: skip
    four = [RECORDED / "dev.src", tmp_path / "ref", PROGRAM, RECORDED / "moses.ini"]
    result = tune(folder, *options, four=four, quick=["--decoder-flags=-v 0", "--nbest=5"])
    assert "note: --mertdir is ignored: the programs in it are not needed" in result.stderr
    assert "note: --random-restarts is ignored: the search restarts by itself" in result.stderr
    assert "--range: 2 ranges for LM0, of which mert-moses.pl too uses 1" in result.stderr
    assert (folder / "filterphrases.out").read_text() == f"filtered {RECORDED / 'dev.src'}\n"
    assert (folder / "run1.init.opt").read_text().splitlines()[2].split() == [
        "1.0", "2.0", *["1.0"] * 6,
    ]  # fmt: skip
    # From the fourth step on, half of the weights is the step before's.
    found = BEST.search((folder / "run4.mert.log").read_text())[1].split()
    before = (folder / "run4.init.opt").read_text().splitlines()[0].split()
    mixed = [(float(a) + float(b)) / 2 for a, b in zip(found, before, strict=True)]
    written = [float(text) for text in (folder / "run4.weights.txt").read_text().split()]
    assert written == pytest.approx(mixed, abs=1e-12)
    assert len(read_dat([folder / "run1.features.dat"], [folder / "run1.scores.dat"])) == 40


def test_skipping_the_decoder_uses_the_list_that_is_there(tmp_path):
    folder = tmp_path / "work"
    tune(folder, "--maximum-iterations=1")
    before = without_dates(folder)
    for path in folder.glob("run1.[fims]*"):
        path.unlink()
    result = tune(folder, "--maximum-iterations=1", "--skip-decoder")
    assert without_dates(folder) == before
    result = tune(tmp_path / "other", "--skip-decoder", status=1)
    assert "run1.best15.out.gz: is not there; leave out --skip-decoder" in result.stderr


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--lattice-samples=-5"], 2, "--lattice-samples -5: expected 0 or more"),
        (["--lambdas=1 2"], 2, "--lambdas cannot be honoured: the start weights are those of"),
        (["--spe-symal=x"], 2, "--spe-symal cannot be honoured: simulated post-editing needs"),
        (["--closest", "--average"], 2, "--closest and --average contradict each other; give one"),
        (["--batch-mira", "--pairwise"], 2, "--pairwise-ranked and --batch-mira contradict"),
        (["--mert=x"], 2, "--mert may be --mertargs or --mertdir or --mertmertargs; write more"),
        (["--nbset=5"], 2, "mert-moses has no option --nbset; did you mean 'nbest'?"),
        ([f"--nbest={'1' * 5000}"], 2, "expected a whole number"),
        (["--historic-interpolation=1e999"], 2, "1e999: expected a number"),
        (["--historic-interpolation=2"], 2, "--historic-interpolation 2: expected a share"),
        (["--maximum-iterations=0"], 2, "--maximum-iterations 0: expected 1 or more"),
        (["--nocase=1"], 2, "--nocase is a switch and takes no value: --nocase=1"),
        (["--range=LM0:1..0"], 2, "--range LM0:1..0: expected NAME:LOW..HIGH,LOW..HIGH"),
        (["five"], 2, "5 words besides options"),
        (["--nbest"], 2, "--nbest needs a whole number"),
        (["--filter-phrase-table"], 2, "tables are to be filtered, but there is no filter-model"),
        (["--mertargs=-r x"], 2, "--rseed x: expected a whole number"),
        (["--sctype=SEMPOS"], 1, "--sctype SEMPOS: SEMPOS is not supported: it compares tecto"),
        (["--mertargs=--shard-count 3"], 2, "--shard-count: averages of shards are not made"),
        (["--decoder-flags=-f x.ini"], 1, "flags has -f, which is set by config; leave it out"),
        (["--sctype=PORT"], 1, "metric port compares word orders: it needs the source text and"),
        (["--mertmertargs=--type powel"], 1, "--type powel: unknown optimizer"),
        (["--batch-mira", "--batch-mira-args=-C x"], 1, "--batch-mira-args: optimizer kbmira: c"),
        (["--pairwise", "--proargs=--set x=1"], 1, "--proargs: optimizer pro has no option 'x'"),
        ([f"--scconfig=source:{'w' * 9999}"], 1, f"--scconfig: there is no file {'w' * 80}..."),
        (["--continue"], 1, "finished_step.txt: is not there, so there is nothing to --continue"),
        (["--mertargs=-o LM7_0"], 1, "there is no feature LM7_0; did you mean 'LM0_0'?"),
        (["--range=LM7:0..1"], 1, "--range: there is no feature LM7; did you mean 'LM0'?"),
        (["--filter-phrase-table", "--filtercmd= "], 2, "--filtercmd ' ': "),
        (["--filterfile=gone"], 1, "gone: there is no such file"),
        (["--inputtype=9"], 2, "--inputtype 9: expected 0 (text), 2 (lattices), 3 (trees)"),
        (["--inputtype=1"], 1, "a confusion network takes several lines"),
        (["--prev-aggregate-nbestlist=-2"], 2, "--prev-aggregate-nbestlist -2: expected -1 or"),
        (["--batch-mira-args=--type hypergraph"], 2, "--type hypergraph cannot be honoured"),
        (["--mertargs=gone"], 2, "arguments for mert, 'gone"),
        (["--input=gone"], 2, "--input beside "),
        (["--working-dir="], 2, "--working-dir is empty"),
        (["--scconfig=annotator:gone"], 1, "unknown annotator 'gone'"),
        (["--random-directions"], 2, "--random-directions and --type contradict each other"),
        (["--filter-phrase-table", "--filtercmd=gone"], 1, "--filtercmd gone: not executable"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_an_error_that_says_why(tmp_path, options, status, message):
    result = tune(tmp_path / "work", *options, status=status)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not list((tmp_path / "work").glob("run1.best*"))  # nothing is decoded before


def test_a_filter_is_one_of_the_current_folder_and_what_cannot_run_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick = [*BAGGED[:-1], "--nbest=5", "--maximum-iterations=1"]
    for name, text in (
        ("filter", '#!/bin/sh\nmkdir -p "$1" && cp "$(dirname "$2")"/* "$1"\n'),
        ("other", "no program\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    tune(tmp_path / "work", quick=[*quick, "--filtercmd=./filter"])
    assert (tmp_path / "work" / "filtered" / "moses.ini").is_file()
    result = tune(tmp_path / "second", quick=[*quick, "--filtercmd=./other"], status=1)
    assert result.stderr.endswith(f"{tmp_path}/other: cannot be started: Exec format error\n")


def test_missing_files_are_named(tmp_path):
    for position, message in (
        (0, "gone: there is no such file"),
        (1, "gone: there is no such file, nor gone0 or gone.ref0"),
        (2, "gone: not an executable file here or on PATH; the third argument is the decoder"),
        (3, "gone: there is no such file"),
    ):
        four = [*FOUR[:position], "gone", *FOUR[position + 1 :]]
        result = tune(tmp_path / "work", four=four, status=1)
        assert message in result.stderr


def test_a_decoder_on_path_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(PROGRAM.parent), prepend=os.pathsep)
    four = [*FOUR[:2], PROGRAM.name, FOUR[3]]
    tune(tmp_path / "work", "--maximum-iterations=1", four=four)
    four[2] = f"elsewhere/{PROGRAM.name}"
    result = tune(tmp_path / "other", four=four, status=1)
    assert f"{four[2]}: not an executable file; the third argument" in result.stderr


def test_work_of_another_metric_is_not_continued(finished, tmp_path):
    folder = tmp_path / "work"
    shutil.copytree(finished[0], folder)
    result = tune(folder, "--continue", "--sctype=BLEU", status=1)
    assert "run1.scores.dat: statistics of PORT, now BLEU is asked for" in result.stderr
    (folder / "run2.features.dat").unlink()
    result = tune(folder, "--continue", "--sctype=PORT", f"--scconfig={PORT}", status=1)
    assert "cannot go on behind step 3: run2.features.dat is not there" in result.stderr


def test_help_is_shown():
    for arguments in ([], ["--help"], ["-h"]):
        result = run("mert-moses", *arguments)
        assert result.stdout.startswith("Usage: portmert mert-moses SRC REF DECODER INI")
    assert os.linesep in result.stdout


def test_the_default_searches_from_the_first_weights_and_goes_on_to_the_same_files(
    tmp_path, monkeypatch
):
    from portmert.extensions.mert_moses import mert

    real, seen = mert.setup_as_mert, []

    def watched(lists, metric, optimizer, points, ranges, **more):
        seen.append((optimizer.name(), points[0].tolist(), more["seed"]))
        return real(lists, metric, optimizer, points, ranges, **more)

    monkeypatch.setattr(mert, "setup_as_mert", watched)
    quick = [*BAGGED, "--nbest=15"]
    tune(tmp_path / "whole", "--maximum-iterations=3", quick=quick)
    tune(tmp_path / "parts", "--maximum-iterations=1", quick=quick)
    tune(tmp_path / "parts", "--maximum-iterations=3", "--continue", quick=quick)
    assert without_dates(tmp_path / "parts") == without_dates(tmp_path / "whole")
    first = read_weights(tmp_path / "whole" / "run1.dense").values
    start = [value for values in first.values() for value in values]
    assert seen == [("bagged", start, 1)] * len(seen)
    assert len(seen) in {4, 6}  # or fewer where the weights stand still
    assert read_weights(tmp_path / "whole" / "run2.dense").values != first


def test_a_gain_that_is_too_small_ends_the_run(tmp_path, monkeypatch):
    quick = ["--decoder-flags=-v 0", "--no-filter-phrase-table", "--nbest=10", "--seed=5"]
    result = tune(tmp_path / "work", "--required-gain=1e9", quick=quick)
    said = r"stopped: the next weights gain (\d\.\d+) ± (\d\.\d+) on all lists"
    gain, error = map(float, re.search(said, result.stderr).groups())
    assert (tmp_path / "work" / "finished_step.txt").read_text() == "3\n"  # not sooner
    assert error > 0
    below = f"--required-gain={0.9 * gain / error}"
    result = tune(tmp_path / "below", below, "--maximum-iterations=3", quick=quick)
    assert "stopped: the limit of 3 decodings is reached" in result.stderr
    monkeypatch.setattr(steps, "FARTHEST", 0.05)  # a step that was cut short ends no run
    monkeypatch.setattr(loop, "is_by_chance", lambda *_, **__: False)
    cut = ("--required-gain=1e9", "--maximum-iterations=3")
    result = tune(tmp_path / "cut", *cut, quick=quick)
    assert "stopped: the limit of 3 decodings is reached" in result.stderr


def test_a_gain_needs_a_search_that_holds_segments_out(tmp_path):
    for value, said in (("0.5", "mert holds no segments out"), ("-1", "expected 0 or more")):
        result = tune(tmp_path / "work", f"--required-gain={value}", status=2)
        assert f"--required-gain{'' if value == '0.5' else ' -1'}: {said}" in result.stderr


@pytest.mark.parametrize(
    ("option", "name"),
    [("--mertargs=--type powell", "mert"), ("--historic-bests", "mert"),
     ("--range=LM0:0..2", "mert"), ("--random-directions", "random-directions"),
     ("--threads=1", "bagged")],
)  # fmt: skip
def test_who_asks_for_starts_or_a_type_gets_that_search(option, name):
    arguments = [*map(str, FOUR), "--no-filter-phrase-table", option]
    request = read_request(arguments)
    assert request.optimizer.name() == name


def test_a_decoder_and_a_filter_that_hang_are_one_line(tmp_path, monkeypatch):
    filters = [option for option in QUICK if option != "--no-filter-phrase-table"]
    late = ["--timeout-seconds=4", "--maximum-iterations=1"]
    (tmp_path / "filter").write_text("#!/bin/sh\nexec sleep 1000\n")
    (tmp_path / "filter").chmod(0o755)
    asked = f"--filtercmd={tmp_path / 'filter'}"
    result = tune(tmp_path / "work", *late, asked, quick=filters, status=1)
    assert (
        "filter wrote nothing for 4 s (timeout_seconds) and was ended: no message; its log is"
        in (result.stderr.splitlines()[-1])
    )
    monkeypatch.setenv("RECORDED_MOSES_FAULT", "hang")
    result = tune(tmp_path / "work", *late, status=1)
    assert "recorded_moses wrote nothing for 4 s (timeout_sec" in result.stderr.splitlines()[-1]
    for text, found in (("-1", "--timeout-seconds -1: expected 0 or more"), ("x", "a number")):
        result = tune(tmp_path / "work", f"--timeout-seconds={text}", status=2)
        assert found in result.stderr


@pytest.mark.parametrize(
    ("busy", "more"), [("", ()), ("replica-1", ["--replicas=2"]), ("replica-2", ["--replicas=2"])]
)
def test_a_second_run_in_a_folder_fails_at_once_with_one_line(tmp_path, busy, more):
    folder = tmp_path / "work" / busy
    with open_run(folder, {}, origin="x"):  # of any command: `optimize --out-dir`, `tune`
        result = tune(tmp_path / "work", *more, status=1)
    assert result.stderr.splitlines()[-1] == (
        f"portmert: error: {folder}: another run is at work there; wait for its end, or name "
        f"another --working-dir"
    )
    assert [path.name for path in folder.iterdir()] == [LOCK]


@pytest.fixture(scope="module")
def bagged(tmp_path_factory):
    """A run of the default search that ended by its limit."""
    folder = tmp_path_factory.mktemp("bagged") / "work"
    result = tune(folder, "--maximum-iterations=2", quick=[*BAGGED, "--nbest=15"])
    return folder, result


def test_each_run_says_what_the_lists_promised_and_what_was_decoded(bagged):
    folder, result = bagged
    promised = BEST.search((folder / "run1.mert.log").read_text())[2]
    lists = read_dat([folder / "run2.features.dat"], [folder / "run2.scores.dat"])
    total = lists.counted.rows[lists.offsets[:-1]].sum(axis=0)
    decoded = 100 * float(Bleu().score(total))
    said = rf"predicted {100 * float(promised):.2f}, decoded {decoded:.2f} ± \d\.\d\d"
    assert re.search(said, result.stderr)
    # The weights found last were not decoded.
    header = (folder / "moses.ini").read_text().splitlines()[:4]
    match = re.search(
        r"iteration 3: .* dev +([\d.]+), .*\(predicted, not decoded\)", result.stderr
    )
    assert f"{100 * float(header[2].split()[2]):.2f}" == match[1]
    assert (
        header[3]
        == "# This score is what the lists promise; nothing was decoded with these weights"
    )


def test_a_step_without_our_file_is_one_of_mert_moses(bagged, tmp_path):
    quick = [*BAGGED, "--nbest=15"]
    for gone in (["run1"], ["run1", "run2"]):
        folder = tmp_path / "-".join(gone)
        shutil.copytree(bagged[0], folder)
        for name in gone:
            (folder / f"{name}.portmert.json").unlink()
        result = tune(folder, "--maximum-iterations=3", "--continue", quick=quick)
        for step in (1, 2):
            said = f"step {step} is of mert-moses.pl: its weights have no estimate"
            assert (said in result.stderr) == (f"run{step}" in gone)
        assert (folder / "finished_step.txt").read_text() == "3\n"
        start = (folder / "run3.init.opt").read_text().splitlines()[0].split()
        assert start == BEST.search((folder / "run2.mert.log").read_text())[1].split()


def test_a_damaged_file_of_a_step_is_named(bagged, tmp_path):
    folder = tmp_path / "work"
    shutil.copytree(bagged[0], folder)
    damaged = folder / "run2.portmert.json"
    damaged.write_text(damaged.read_text()[:-40])
    quick = [*BAGGED, "--nbest=15"]
    result = tune(folder, "--maximum-iterations=3", "--continue", quick=quick, status=1)
    said = result.stderr.splitlines()[-1]
    assert said.startswith(f"portmert: error: {damaged}: ")
    assert said.endswith("without it the step counts as one of mert-moses.pl")


def test_a_run_that_has_ended_ends_again_for_the_same_reason(tmp_path):
    folder, quick = tmp_path / "work", [*BAGGED, "--nbest=15"]
    first = tune(folder, "--required-gain=1e9", "--maximum-iterations=9", quick=quick)
    before = without_dates(folder)
    again = tune(
        folder, "--required-gain=1e9", "--maximum-iterations=9", "--continue", quick=quick
    )
    reasons = [re.search(r"stopped: .*", one.stderr)[0] for one in (first, again)]
    assert reasons[0] == reasons[1]
    assert "run 1 start" not in again.stderr
    assert without_dates(folder) == before
