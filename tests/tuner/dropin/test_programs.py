"""The stand-ins for Moses' programs, called as mert-moses.pl calls them."""

import gzip
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import InputError, StateError
from portmert.tuner.components import registry
from portmert.tuner.dropin import _scorer, evaluator, extractor, kbmira, megam, mert, pro
from portmert.tuner.dropin._mert_folder import StepFolder
from portmert.tuner.dropin._program import number
from portmert.tuner.nbest.moses_dat import read_dat
from portmert.tuner.nbest.read import read_nbest
from tests.support.bracketed import write_trees
from tests.support.cli import run
from tests.support.places import INVENTED, MOSES, needs

RECORDED = INVENTED / "recorded"
LIST = RECORDED / "1.nbest.gz"
REFERENCE = RECORDED / "dev.tgt"
PORT = f"source:{RECORDED / 'dev.src'},reflinks:{RECORDED / 'dev.links'}"
QUICK = ["--set", "searches_per_feature=20", "--set", "restarts=1"]

# What mert-moses.pl makes of these: copied from its expressions by meaning.
BEST = re.compile(r"Best point:\s*([\s\d\.\-e]+?)\s*=> ([\-\d\.]+)")
WEIGHT = re.compile(r"F(\d+) ([\-\.\de]+)")
SPARSE = re.compile(r"(.+_.+) ([\-\.\de]+)")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """mert-moses.pl works in the folder of its run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def extract(sctype="BLEU", scconfig="case:true", *more, nbest=LIST, reference=REFERENCE):
    return extractor.main(
        ["--sctype", sctype, "--scconfig", scconfig, "--scfile", "s.dat", "--ffile", "f.dat",
         "-r", str(reference), "-n", str(nbest), *more]
    )  # fmt: skip


def write_init(width, start=None, low=0, high=1, path="init.opt"):
    start = [0.1] * width if start is None else start
    rows = [start, [low] * width, [high] * width]
    Path(path).write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))


def run_mert(*more, width=8):
    return mert.main(
        ["-d", str(width), "--ffile", "f.dat", "--scfile", "s.dat", "--ifile", "init.opt", *more]
    )


def score_of(weights, metric="bleu"):
    """Score the best hypotheses of the files under weights."""
    lists = read_dat(["f.dat"], ["s.dat"])
    scores = lists.features @ np.array(weights)
    best = [int(begin + np.argmax(scores[begin:end])) for begin, end in pairwise(lists.offsets)]
    return float(registry.metric(metric).score(lists.stats[best].sum(axis=0)))


def best_point(shown):
    match = BEST.search(shown)
    return [float(text) for text in match[1].split()], float(match[2])


def test_statistics_are_those_of_portmert_and_read_back_exactly(capsys):
    assert extract("PORT", f"case:true,alpha:0.5,{PORT}") == 0
    assert "Scorer type: port:alpha=0.5" in capsys.readouterr().err
    lists = read_dat(["f.dat"], ["s.dat"])
    vocabulary = Vocabulary()
    from portmert.tuner.nbest.moses_dat import DatLists, merge_dat
    from portmert.tuner.texts.corpus import make_batch, read_references
    from portmert.tuner.texts.statistics import compute_stats

    references = read_references(
        [REFERENCE], vocabulary=vocabulary, source=RECORDED / "dev.src",
        links=[RECORDED / "dev.links"],
    )  # fmt: skip
    nbest = read_nbest([LIST], vocabulary)
    stats = compute_stats(
        registry.metric("port:alpha=0.5"), make_batch(nbest.texts, nbest.offsets, references)
    )
    expected = merge_dat([DatLists.of(nbest, stats, "PORT")])
    assert lists.score_name == "PORT"
    assert np.array_equal(lists.stats, expected.stats)
    assert np.array_equal(lists.features, expected.features)
    assert (lists.stats != np.round(lists.stats)).any()  # the order is no whole number


def test_statistics_of_syntax_come_from_an_annotator(capsys, folder, monkeypatch):
    monkeypatch.setenv("PORTMERT_CACHE", str(folder / "cache"))
    assert extract("DPM") == 1
    assert "metric dpm compares syntax and needs an annotator; add it" in capsys.readouterr().err
    with gzip.open(LIST, "rt", encoding="utf-8") as lines:
        sentences = [line.split(" ||| ")[1] for line in lines]
    sentences += REFERENCE.read_text(encoding="utf-8").splitlines()
    annotator = write_trees(folder / "trees", sentences)
    assert extract("DPM", f"of:dl+1g,annotator:{annotator};log_base=10") == 0
    lists = read_dat(["f.dat"], ["s.dat"])
    assert lists.score_name == "DPM"
    match, hyp, ref = lists.stats[:, :3].T  # of links
    assert (match <= np.minimum(hyp, ref)).all()
    assert (hyp == lists.stats[:, 4]).all()  # as many links as words
    assert 0 < match.sum() < lists.stats[:, 3].sum()


@needs(MOSES)
def test_bleu_statistics_are_those_of_moses():
    assert (
        extract(nbest=MOSES / "mert-bleu" / "run1.best100.out.gz", reference=MOSES / "dev.en") == 0
    )
    ours = read_dat(["f.dat"], ["s.dat"])
    theirs = read_dat(
        [MOSES / "mert-bleu" / "run1.features.dat.gz"],
        [MOSES / "mert-bleu" / "run1.scores.dat.gz"],
    )
    assert ours.feature_names == theirs.feature_names
    for segment in range(len(theirs)):
        rows = [
            {
                (tuple(f), tuple(s))
                for f, s in zip(
                    lists.features[slice(*lists.offsets[segment : segment + 2])].tolist(),
                    lists.stats[slice(*lists.offsets[segment : segment + 2])].tolist(),
                    strict=True,
                )
            }
            for lists in (ours, theirs)
        ]
        assert rows[0] == rows[1]


def test_binary_files_hold_the_numbers_of_the_text_in_32_bits(capsys):
    assert extract() == 0
    text = read_dat(["f.dat"], ["s.dat"])
    assert extract("BLEU", "case:true", "--bin") == 0
    assert Path("f.dat").read_bytes().startswith(b"FEATURES_BIN_BEGIN_0 0 ")
    assert Path("s.dat").read_bytes().startswith(b"SCORES_BIN_BEGIN_0 0 ")
    found = read_dat(["f.dat"], ["s.dat"])
    assert np.array_equal(found.features.astype(np.float32), text.features.astype(np.float32))
    assert np.array_equal(found.stats, text.stats)
    Path("sparse").write_text("0 ||| a ||| F= 1 A_b= 2 ||| 0\n0 ||| b ||| F= 1 ||| 0\n")
    Path("one").write_text("a\n")
    assert extract("BLEU", "case:true", "--bin", nbest="sparse", reference="one") == 1
    assert "f.dat: Moses' binary form has no sparse features; leave out --binary" in (
        capsys.readouterr().err
    )


def test_previous_data_in_the_binary_form_merge_with_a_text():
    lines = ("0 ||| a b ||| F= -3.30693 G= 0.1 ||| 0", "0 ||| b ||| F= 7 G= 1e-07 ||| 0")
    Path("list").write_text("\n".join(lines) + "\n")
    Path("ref").write_text("a b c\n")
    words = ["--sctype=BLEU", "--reference=ref", "--nbest=list", "-F", "f.dat", "-S", "s.dat"]
    assert extractor.main([*words, "--binary"]) == 0
    words += ["--prev-ffile=f.dat", "--prev-scfile=s.dat"]
    assert extractor.main(words) == 0
    assert Path("f.dat").read_text().splitlines()[1:-1] == ["-3.30693 0.1 ", "7 1e-07 "]


def test_abbreviated_options_and_previous_data(capsys):
    assert extract() == 0
    once = Path("f.dat").read_bytes()
    shutil.copy("f.dat", "f0.dat")
    shutil.copy("s.dat", "s0.dat")
    arguments = ["--scty=BLEU", "--ref", str(REFERENCE), "-n", str(LIST), "--prev-f=f0.dat",
                 "--prev-s", "s0.dat", "-F", "f.dat", "-S", "s.dat", "--verb=1"]  # fmt: skip
    assert extractor.main(arguments) == 0
    assert Path("f.dat").read_bytes() == once  # all of it was there before
    assert extractor.main([*arguments, "-d"]) == 0
    assert len(read_dat(["f.dat"], ["s.dat"]).features) < len(
        Path("f.dat").read_bytes().split(b"\n")
    )
    capsys.readouterr()
    assert extractor.main(["--scx", "1"]) == 1
    assert "extractor: option --scx not recognized" in capsys.readouterr().err
    assert extractor.main(["--help"]) == 1
    assert capsys.readouterr().err.startswith("usage: extractor [options]")


@pytest.mark.parametrize(
    ("sctype", "scconfig", "message"),
    [
        (
            "PORT",
            "case:true",
            "extractor: error: metric port compares word orders: it needs the s",
        ),
        ("PORTT", "", "extractor: error: unknown metric 'portt'; did you mean 'port'?"),
        ("BLEU", "alpha:1", "extractor: error: --scconfig: metric bleu has no option 'alpha'"),
        ("BLEU", "reflen", "extractor: error: --scconfig reflen: 'reflen' is not key:value"),
        ("BLEU", "case:maybe", "extractor: error: --scconfig: case:maybe, expected true or false"),
    ],
)
def test_wrong_scorers_are_one_line(capsys, sctype, scconfig, message):
    assert extract(sctype, scconfig) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)
    assert not Path("s.dat").exists()


def test_a_reference_length_that_a_metric_has_no_choice_of_is_ignored_with_a_note(capsys):
    assert extract("TER", "reflen:average,case:true") == 0
    assert "reflen:average is ignored: metric ter has no choice of it" in capsys.readouterr().err
    assert extract("BLEU", "reflen:average") == 0
    shown = capsys.readouterr().err
    assert "Scorer type: bleu:max_order=4,reflen=average" in shown
    assert "ignored" not in shown


def changed_list(change):
    """Write a list of the first lines, changed."""
    lines = gzip.decompress(LIST.read_bytes()).decode().splitlines()
    Path("changed").write_text("".join(f"{change(line)}\n" for line in lines))
    return "changed"


def test_missing_alignments_are_an_error_not_a_perfect_order(capsys):
    nbest = changed_list(lambda line: " ||| ".join(line.split(" ||| ")[:4]))
    assert extract("PORT", PORT, nbest=nbest) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "extractor: error: changed: no word alignment in the list, and metric port compares word "
        "orders; let Moses print it: -print-alignment-info-in-n-best true (in --decoder-flags)"
    )


def test_links_as_large_as_the_source_are_an_error(capsys):
    length = len((RECORDED / "dev.src").read_text().splitlines()[0].split())
    nbest = changed_list(
        lambda line: re.sub(r" \S+$", f" {length}-0", line) if line.startswith("0 ") else line
    )
    assert extract("PORT", PORT, nbest=nbest) == 1
    assert (
        f"link {length}-0 is out of range, the source has {length} tok" in capsys.readouterr().err
    )


def test_a_filter_that_buffers_and_some_that_do_wrong(capsys, monkeypatch):
    assert extract() == 0
    plain = Path("s.dat").read_bytes()
    assert extract("BLEU", "case:true", "--filter", "tail -n +1") == 0
    assert Path("s.dat").read_bytes() == plain
    assert extract("BLEU", "case:true", "--filter", "head -n 3") == 1
    assert "lines in, 3 lines out; it must write a line for each" in capsys.readouterr().err
    assert extract("BLEU", "case:true", "--filter", "nowhere") == 1
    assert "--filter nowhere: cannot be started" in capsys.readouterr().err
    assert extract("BLEU", "case:true", "--filter", "yes") == 1
    flooded = re.compile(r"--filter yes wrote more than [0-9]+ bytes to out: no message")
    assert flooded.search(capsys.readouterr().err)
    monkeypatch.setattr(_scorer, "FILTER_SECONDS", 1)
    assert extract("BLEU", "case:true", "--filter", "sleep 1000") == 1
    assert "--filter sleep 1000 wrote nothing for 1 s (" in capsys.readouterr().err
    assert extract("PORT", PORT, "--filter", "sed s/^/x\\ /") == 1
    assert "another number of tokens: links would point to other words" in capsys.readouterr().err


def test_case_and_factors(capsys):
    upper = changed_list(
        lambda line: " ||| ".join(
            text.upper() if k == 1 else text for k, text in enumerate(line.split(" ||| "))
        )
    )
    assert extract() == 0
    plain = Path("s.dat").read_bytes()
    assert extract(nbest=upper) == 0
    assert Path("s.dat").read_bytes() != plain
    assert extract("BLEU", "case:false", nbest=upper) == 0
    lower = Path("s.dat").read_bytes()
    assert extract("BLEU", "case:false") == 0
    assert Path("s.dat").read_bytes() == lower
    factored = changed_list(
        lambda line: " ||| ".join(
            " ".join(f"{w}|X" for w in text.split()) if k == 1 else text
            for k, text in enumerate(line.split(" ||| "))
        )
    )
    Path("ref").write_text(
        "".join(" ".join(f"{w}|Y" for w in line.split()) + "\n" for line in
                REFERENCE.read_text().splitlines())
    )  # fmt: skip
    assert extract("BLEU", "case:true", "--factors", "0", nbest=factored, reference="ref") == 0
    assert Path("s.dat").read_bytes() == plain
    assert extract("BLEU", "case:true", "--factors", "2", nbest=factored, reference="ref") == 1
    assert "has 2 factors, --factors asks for number 2" in capsys.readouterr().err
    assert (
        extract("BLEU", "case:true", "--factors", "9" * 5000, nbest=factored, reference="ref") == 1
    )
    assert "expected numbers with | between them, as 0|2" in capsys.readouterr().err


def test_mert_prints_what_mert_moses_looks_for(capsys):
    extract()
    write_init(8)
    assert run_mert("-n", "20", "-r", "1000", "--sctype", "BLEU", *QUICK) == 0
    shown = capsys.readouterr().err
    weights, score = best_point(shown)
    assert len(weights) == 8
    assert sum(map(abs, weights)) == pytest.approx(1, abs=1e-12)
    assert Path("weights.txt").read_text().split() == BEST.search(shown)[1].split()
    assert "mert: note: --ntry 20 is not used: our search restarts by itself" in shown
    assert score_of(weights) == pytest.approx(score, abs=1e-6)
    again = run_mert("-n", "20", "-r", "1000", "--sctype", "BLEU", "--threads", "2", *QUICK)
    assert again == 0
    assert BEST.search(capsys.readouterr().err)[0] == BEST.search(shown)[0]


def test_mert_searches_some_features_and_keeps_the_others(capsys):
    extract("PORT", PORT)
    start = [-1.0, 1.0, 0.2, 0.1, 0.1, 1.0, 1.0, 0.1]
    write_init(8, start)
    assert run_mert("-o", "LM0_0,PhraseTS0_0", "-P", "LM0_0", *QUICK) == 0
    weights, _ = best_point(capsys.readouterr().err)
    changed = [k for k in range(8) if weights[k] != start[k]]
    assert changed
    assert set(changed) <= {1, 5}
    assert weights[1] >= 0
    assert run_mert("-o", "LM1_0", *QUICK) == 1
    assert "there is no feature LM1_0; did you mean 'LM0_0'?" in capsys.readouterr().err


def test_mert_starts_from_the_best_of_earlier_points_and_from_ranges(capsys):
    extract()
    write_init(8)
    write_init(8, [-1.0, 1.0, 0.2, 0.1, 0.1, 1.0, 1.0, 0.1], path="init2.opt")
    options = ["--set", "searches_per_feature=1", "--set", "restarts=2"]
    assert run_mert("--ifile", "init.opt,init2.opt", *options) == 0
    _, with_both = best_point(capsys.readouterr().err)
    assert with_both >= score_of([-1.0, 1.0, 0.2, 0.1, 0.1, 1.0, 1.0, 0.1])
    write_init(8, low=-1, high=3)
    assert run_mert(*options) == 0
    assert best_point(capsys.readouterr().err)[1] > 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 1, "mert: -d is missing: the number of weights"),
        (["-d", "x"], 1, "mert: --pdim x: expected a whole number"),
        (["-d", "8", "--ifile", "gone"], 3, "mert: error: gone: No such file or directory"),
        (["-d", "9"], 3, "mert: error: init.opt: 24 numbers, expected 27: weights, lowest and h"),
        (
            ["-d", "7"],
            1,
            "mert: error: -d 7, but the feature files have 8 features: WordPenalty0_0",
        ),
        (["-d", "8", "--sctype", "PER"], 1, "mert: error: --sctype PER, but the score files hold"),
        (["-d", "8", "--shard-count", "3"], 1, "mert: --shard-count: averages of shards are not"),
        (["-d", "8", "-t", "random"], 1, "mert: error: --type random: unknown optimizer 'r"),
        (
            ["-d", "8", "--set", "searches_per_feature"],
            1,
            "mert: error: --set: 'searches_per_feature' is not option=value",
        ),
    ],
)
def test_mert_faults_are_one_line_and_a_status(capsys, arguments, status, message):
    extract()
    write_init(8)
    capsys.readouterr()
    files = ["--ffile", "f.dat", "--scfile", "s.dat"]
    assert mert.main([*files, *arguments]) == status
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize("more", ["", "0.1 0.2\n"])
def test_starting_points_of_mert_are_within_their_ranges(capsys, more):
    extract()
    write_init(8, low=1, high=0)
    with Path("init.opt").open("a") as file:
        file.write(more)
    capsys.readouterr()
    assert run_mert() == mert.NO_STARTS
    said = capsys.readouterr().err
    assert said == "mert: error: init.opt: a lowest weight is above the highest one\n"


def test_files_of_different_sizes_are_an_error(capsys):
    extract()
    write_init(8)
    text = Path("s.dat").read_text().split("\n")
    del text[1]
    Path("s.dat").write_text("\n".join([text[0].replace(" 0 60 ", " 0 59 "), *text[1:]]))
    capsys.readouterr()
    assert run_mert() == 1
    assert re.search(
        r"s.dat: segment 0 has \d+ hypotheses, in f.dat it has", capsys.readouterr().err
    )


def test_the_metric_that_mertmertargs_swallow_is_that_of_the_score_files(capsys):
    extract("PORT", PORT)
    write_init(8)
    # mert-moses.pl puts no space between --mertmertargs and its own --sctype.
    assert run_mert("-v", "3--sctype", "PORT", "--scconfig", "case:true", *QUICK) == 0
    assert best_point(capsys.readouterr().err)[1] > 0.5


WORSE = """SCORES_TXT_BEGIN_0 0 2 9 BLEU
0 4 0 3 0 2 0 1 4
0 3 0 2 0 1 0 0 4
SCORES_TXT_END_0
"""
TIED = """FEATURES_TXT_BEGIN_0 0 2 2 A0_0 B0_0
1 5
1 5
FEATURES_TXT_END_0
"""


def test_tied_hypotheses_constant_features_and_a_score_of_zero_keep_the_start(capsys):
    Path("f.dat").write_text(TIED)
    Path("s.dat").write_text(WORSE)
    write_init(2, [0.5, -0.25])
    assert run_mert(width=2) == 0
    weights, score = best_point(capsys.readouterr().err)
    assert score == 0
    assert weights == pytest.approx([2 / 3, -1 / 3])


def test_numbers_are_printed_without_e_plus():
    assert number(1e22) == "10000000000000000000000.0"
    assert number(-0.0) == "0.0"
    assert number(1e-9) == "1e-09"
    for value in (0.1, 1e-9, 1e22, 123456789.125, -1e17):
        assert float(number(value)) == value
        assert re.fullmatch(r"[\d.\-e]+", number(value))


SPARSE_LIST = """0 ||| a b ||| LM0= -1 TM0= -2 -3 wt_a~b= 1 ||| 0
0 ||| b c d ||| LM0= -1.5 TM0= -1 -1 wt_c= 1 ||| 0
0 ||| a b c d ||| LM0= -1.7 TM0= -2 -1 wt_a~b= 1 wt_c= 2 ||| 0
1 ||| c d ||| LM0= -2 TM0= -1 -2 ||| 0
1 ||| e f ||| LM0= -1 TM0= -2 -2 wt_c= -1 ||| 0
"""


def sparse_lists():
    Path("list").write_text(SPARSE_LIST)
    Path("ref").write_text("a b c d\ne f g h\n")
    assert extract("TER", "", nbest="list", reference="ref") == 0


def test_sparse_features_are_written_and_merged_into_one(capsys):
    sparse_lists()
    assert read_dat(["f.dat"], ["s.dat"]).sparse.names == ("wt_a~b", "wt_c")
    Path("weights").write_text("wt_c 2\nwt_a~b -1\n")
    write_init(4)
    assert run_mert("--sparse-weights", "weights", *QUICK, width=3) == 0
    weights, score = best_point(capsys.readouterr().err)
    assert len(weights) == 4
    assert score == pytest.approx(0.75)  # 1 - the error rate: no edit in 4, two insertions in 4
    Path("weights").write_text("wt_c\n")
    assert run_mert("--sparse-weights", "weights", *QUICK, width=3) == 1
    assert "weights:1: 'wt_c' is not a sparse weight, expected `name value`" in (
        capsys.readouterr().err
    )
    Path("weights").write_text("wt_c nan\n")
    assert run_mert("--sparse-weights", "weights", *QUICK, width=3) == 1
    assert "weights:1: weight nan of feature wt_c is not finite" in capsys.readouterr().err


def test_kbmira_writes_weights_that_mert_moses_reads(capsys):
    extract("PORT", PORT)
    Path("run1.dense").write_text("".join(
        f"{name}= 0.1\n" for name in ("WordPenalty0", "LM0", "PhrasePenalty0", "Distortion0",
                                      "SegLenDiff0", "PhraseTS0", "PhraseST0", "SentenceLength0")
    ))  # fmt: skip
    arguments = ["--sctype", "PORT", "--dense-init", "run1.dense", "-r", "1000", "--ffile",
                 "f.dat", "--scfile", "s.dat", "-J", "3", "-o", "mert.out"]  # fmt: skip
    assert kbmira.main(arguments) == 0
    shown = capsys.readouterr().err
    assert float(re.search(r"Best BLEU = ([\-\d\.]+)", shown)[1]) > 0.5
    lines = Path("mert.out").read_text().splitlines()
    assert [int(WEIGHT.match(line)[1]) for line in lines] == list(range(8))
    first = Path("mert.out").read_bytes()
    write_init(8)
    assert kbmira.main([*arguments, "--dense-init", "init.opt"]) == 0
    assert Path("mert.out").read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "kbmira: no data to process: give --ffile and --scfile"),
        (["--type", "hypergraph"], "kbmira: --type hypergraph: hypergraphs are not read, only n-"),
        (["--model-bg"], "kbmira: --model-bg: the background corpus is made of hope hypotheses"),
    ],
)
def test_kbmira_refuses_what_it_cannot_do(capsys, arguments, message):
    assert kbmira.main(arguments) == 1
    assert capsys.readouterr().err.startswith(message)


def test_sparse_weights_come_out_of_kbmira_and_pro(capsys):
    sparse_lists()
    files = ["--ffile", "f.dat", "--scfile", "s.dat"]
    assert kbmira.main([*files, "-o", "mert.out"]) == 0
    sparse = [SPARSE.match(line) for line in Path("mert.out").read_text().splitlines()]
    assert {match[1] for match in sparse if match} <= {"wt_a~b", "wt_c"}
    assert pro.main([*files, "-o", "pairs", "--set", "least=0"]) == 0
    assert "wt_c" in Path("pairs").read_text()
    capsys.readouterr()
    assert megam.main(["-fvals", "-maxi", "30", "-nobias", "binary", "pairs"]) == 0
    shown = capsys.readouterr().out.splitlines()
    names = {line.split()[0] for line in shown}
    assert {"F0", "F1", "F2", "wt_c"} <= names <= {"F0", "F1", "F2", "wt_a~b", "wt_c"}


def test_pro_and_the_classifier_find_better_weights(capsys):
    extract("PORT", PORT)
    arguments = ["-r", "1000", "--ffile", "f.dat", "--scfile", "s.dat", "-o", "pairs"]
    assert pro.main([*arguments, "--set", "samples=500"]) == 0
    lines = Path("pairs").read_text().splitlines()
    # Each pair stands there twice, the second time the other way round.
    assert [line[0] for line in lines[:4]] == ["1", "0", "1", "0"]
    first, opposite = (re.findall(r"(F\d) (\S+)", line) for line in lines[:2])
    assert [(n, -float(v)) for n, v in first] == [(n, float(v)) for n, v in opposite]
    capsys.readouterr()
    assert megam.main(["-fvals", "-maxi", "30", "-nobias", "binary", "pairs"]) == 0
    found = dict(WEIGHT.match(line).groups() for line in capsys.readouterr().out.splitlines())
    weights = np.array([float(found[str(k)]) for k in range(8)])
    assert score_of(weights, "port") > score_of(np.full(8, 0.1), "port") + 0.02
    assert megam.main(["binary", "gone"]) == 1
    assert "megam: error: gone: No such file" in capsys.readouterr().err
    Path("pairs").write_text("1 F0\n")
    assert megam.main(["binary", "pairs"]) == 1
    assert "pairs:1: expected 0 or 1, then names with values" in capsys.readouterr().err


def test_evaluator_prints_scores(capsys):
    reference = ["--reference", str(REFERENCE)]
    assert evaluator.main([*reference, "--candidate", str(REFERENCE)]) == 0
    assert capsys.readouterr().out == "1.0000\n"
    port = ["--sctype", "PORT", "--scconfig", PORT]
    assert evaluator.main([*reference, *port, "--nbest", str(LIST)]) == 0
    port_score = float(capsys.readouterr().out)
    arguments = [*reference, "--sctype", "BLEU", *port, "--sctype", "TER", "--nbest",
                 f"{LIST},{RECORDED / '2.nbest.gz'}"]  # fmt: skip
    assert evaluator.main(arguments) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows[:3]] == [[str(LIST), name] for name in ("BLEU", "PORT", "TER")]
    assert float(rows[1][2]) == port_score
    assert all(0 < float(row[2]) < 1 for row in rows)
    arguments = [*reference, "--sctype", "BLEU", "--nbest", str(LIST), "--bootstrap", "100"]
    assert evaluator.main([*arguments, "--rseed", "7"]) == 0
    mean, interval = capsys.readouterr().out.split("\t")
    low, high = (float(text) for text in interval.strip()[1:-1].split(","))
    assert low < float(mean) < high
    assert evaluator.main(reference) == 1
    assert "specify candidate files or n-best files" in capsys.readouterr().err
    assert evaluator.main(["--scconfig", "case:true", *arguments]) == 1
    assert "--scconfig must follow the --sctype it belongs to" in capsys.readouterr().err


def test_several_metrics_are_interpolated_as_moses_does(capsys):
    scores = {}
    for sctype, scconfig in (
        ("BLEU", "max_order:2"),
        ("TER", ""),
        ("BLEU,TER", "weights:3+1,max_order:2,case:true"),
        ("BLEU,TER", "max_order:2"),
    ):
        arguments = ["--sctype", sctype, "--scconfig", scconfig, "-R", str(REFERENCE), "-n",
                     str(LIST)]  # fmt: skip
        assert evaluator.main(arguments) == 0
        scores[sctype, scconfig[:7]] = float(capsys.readouterr().out)
    bleu, ter = scores["BLEU", "max_ord"], scores["TER", ""]  # TER is printed as 1 - rate
    assert scores["BLEU,TER", "weights"] == pytest.approx(0.75 * bleu + 0.25 * ter, abs=1e-4)
    assert scores["BLEU,TER", "max_ord"] == pytest.approx((bleu + ter) / 2, abs=1e-4)
    assert extract("BLEU,TER", "weights:3+1") == 0
    assert " BLEU,TER\n" in Path("s.dat").read_text()
    write_init(8)
    capsys.readouterr()
    assert run_mert("--scconfig", "weights:3+1", *QUICK) == 0
    assert 0 < best_point(capsys.readouterr().err)[1] < 1
    assert extract("BLEU,TER", "weights:3") == 1
    assert "weights:3, expected 2 numbers with + between them" in capsys.readouterr().err
    assert extract("BLEU,TER", "alpha:3") == 1
    assert "--scconfig: none of bleu,ter has an option 'alpha'" in capsys.readouterr().err


def test_plain_text_with_links_scores_as_portmert_score_does(capsys):
    arguments = ["--reference", str(REFERENCE), "--sctype", "PORT", "--scconfig",
                 f"{PORT},hyplinks:{RECORDED / 'dev.links'}", "-C", str(REFERENCE)]  # fmt: skip
    assert evaluator.main(arguments) == 0
    assert capsys.readouterr().out == "1.0000\n"


def test_shims_run_anywhere_and_replace_no_other_program(folder):
    result = run("shims", "bin")
    assert result.stdout == f"mert-moses.pl ... --mertdir {folder / 'bin'}\n"
    assert sorted(path.name for path in Path("bin").iterdir()) == [
        "evaluator", "extractor", "kbmira", "megam_i686.opt", "mert", "pro",
    ]  # fmt: skip
    Path("tuner.py").write_text("raise SystemExit('a file of the user')")
    command = [folder / "bin" / "evaluator", "-R", REFERENCE, "-C", REFERENCE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1.0000\n")
    run("shims", "bin")  # again
    Path("bin/mert").write_text("another mert")
    result = run("shims", "bin", status=1)
    assert "bin/mert: is there already and no shim of portmert" in result.stderr
    assert Path("bin/mert").read_text() == "another mert"


def test_starts_need_numbers():
    Path("init").write_text("1 2\n0 0\n1 inf\n")
    with pytest.raises(InputError, match="init: 'inf' is not a number"):
        mert.read_starts(["init"], 2)


@pytest.mark.parametrize("text", ["", "x\n", f"{'1' * 5000}\n", "²\n"])
def test_a_step_that_is_no_number_is_told(tmp_path, text):
    (tmp_path / "finished_step.txt").write_text(text)
    with pytest.raises(StateError, match=r"finished_step\.txt: holds no number of a step"):
        StepFolder(tmp_path, names=None, scorer=None).last_finished()
