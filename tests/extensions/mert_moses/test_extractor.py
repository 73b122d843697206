"""What Moses' extractor counts, with any metric, as --sctype and --scconfig ask for."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from portmert.extensions.mert_moses import _scorer
from portmert.extensions.mert_moses._scorer import read_scorer
from portmert.extensions.mert_moses.dat_files import read_dat, with_statistics, write_scores
from portmert.extensions.mert_moses.extractor import extract
from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import InputError, PortmertError
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import merge, read_nbest
from portmert.tuner.texts.corpus import make_batch, read_references
from portmert.tuner.texts.statistics import compute_stats
from tests.support.bracketed import write_trees
from tests.support.places import INVENTED, MOSES, SHARED, needs

RECORDED = INVENTED / "recorded"
LIST = RECORDED / "1.nbest.gz"
REFERENCE = RECORDED / "dev.tgt"
PORT = f"source:{RECORDED / 'dev.src'},reflinks:{RECORDED / 'dev.links'}"


def lists_of(sctype="BLEU", scconfig="", *, nbest=LIST, reference=REFERENCE, **more):
    return extract([nbest], [reference], read_scorer(sctype, scconfig, **more))[0]


def fault(*arguments, **options):
    with pytest.raises(PortmertError) as error:
        lists_of(*arguments, **options)
    return str(error.value)


@pytest.fixture
def changed_list(tmp_path):
    """Return a function that writes the list, each of its fields (text, links ...) changed."""

    def changed(change):
        lines = gzip.decompress(LIST.read_bytes()).decode().splitlines()
        rows = (" ||| ".join(change(line.split(" ||| "))) for line in lines)
        (tmp_path / "changed").write_text("".join(f"{row}\n" for row in rows))
        return tmp_path / "changed"

    return changed


def test_statistics_are_those_of_portmert():
    lists = lists_of("PORT", f"case:true,alpha:0.5,{PORT}")
    vocabulary = Vocabulary()
    references = read_references(
        [REFERENCE], vocabulary=vocabulary, source=RECORDED / "dev.src",
        links=[RECORDED / "dev.links"],
    )  # fmt: skip
    nbest = read_nbest([LIST], vocabulary)
    batch = make_batch(nbest.texts, nbest.offsets, references)
    stats = compute_stats(registry.metric("port:alpha=0.5"), batch)
    expected = with_statistics(nbest, stats, "PORT")
    assert lists.counted.metric == "PORT"
    assert np.array_equal(lists.counted.rows, expected.counted.rows)
    assert np.array_equal(lists.features, expected.features)
    stats = lists.counted.rows
    assert (stats != np.round(stats)).any()  # the order is no whole number


def test_statistics_of_syntax_come_from_an_annotator(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path / "cache"))
    assert "metric dpm compares syntax and needs an annotator; add it" in fault("DPM")
    with gzip.open(LIST, "rt", encoding="utf-8") as lines:
        sentences = [line.split(" ||| ")[1] for line in lines]
    sentences += REFERENCE.read_text(encoding="utf-8").splitlines()
    annotator = write_trees(tmp_path / "trees", sentences)
    lists = lists_of("DPM", f"of:dl+1g,annotator:{annotator};log_base=10")
    assert lists.counted.metric == "DPM"
    match, hyp, ref = lists.counted.rows[:, :3].T  # of links
    assert (match <= np.minimum(hyp, ref)).all()
    assert (hyp == lists.counted.rows[:, 4]).all()  # as many links as words
    assert 0 < match.sum() < lists.counted.rows[:, 3].sum()


def rows_of(lists):
    """Return the set of (features, statistics) of each segment."""
    rows = list(zip(lists.features.tolist(), lists.counted.rows.tolist(), strict=True))
    begins, ends = lists.offsets[:-1], lists.offsets[1:]
    return [
        {(tuple(features), tuple(stats)) for features, stats in rows[begin:end]}
        for begin, end in zip(begins, ends, strict=True)
    ]


@needs(MOSES)
def test_bleu_statistics_are_those_of_moses():
    folder = MOSES / "mert-bleu"
    ours = lists_of(nbest=folder / "run1.best100.out.gz", reference=MOSES / "dev.en")
    theirs = read_dat([folder / "run1.features.dat.gz"], [folder / "run1.scores.dat.gz"])
    assert ours.feature_names == theirs.feature_names
    assert rows_of(ours) == rows_of(theirs)


PEER = SHARED / "data" / "peers" / "moses-mert" / "mert.extractor-txt"


@needs(PEER)
def test_five_runs_merged_are_the_lines_that_moses_writes(tmp_path):
    """Moses' own regression test; its order of equal hypotheses is its own."""
    truth = gzip.decompress((PEER / "truth" / "results.txt.gz").read_bytes()).decode().splitlines()
    theirs = [line.partition("=")[2] for line in truth if line.startswith("STDOUT_")]
    data = PEER / "data"
    parts = [
        lists_of(nbest=data / f"nbest.{run}.gz", reference=data / "reference")
        for run in range(1, 6)
    ]
    begin = max(k for k, line in enumerate(theirs) if line.startswith("SCORES_TXT_BEGIN_0 0 "))
    write_scores(merge(parts), tmp_path / "scores")
    assert sorted((tmp_path / "scores").read_text().splitlines()) == sorted(theirs[begin:])


@pytest.mark.parametrize(
    ("sctype", "scconfig", "message"),
    [
        ("PORT", "case:true", "metric port compares word orders: it needs the source text and"),
        ("PORTT", "", "unknown metric 'portt'; did you mean 'port'?"),
        ("BLEU", "alpha:1", "--scconfig: metric bleu has no option 'alpha'"),
        ("BLEU", "reflen", "--scconfig reflen: 'reflen' is not key:value"),
        ("BLEU", "case:maybe", "--scconfig: case:maybe, expected true or false"),
        ("BLEU,TER", "weights:3", "--scconfig: weights:3, expected 2 numbers with + between them"),
        ("BLEU,TER", "alpha:3", "--scconfig: none of bleu,ter has an option 'alpha'"),
    ],
)
def test_wrong_scorers_are_one_line(sctype, scconfig, message):
    assert fault(sctype, scconfig).startswith(message)


def test_a_reference_length_that_a_metric_has_no_choice_of_is_ignored_with_a_note():
    note = "reflen:average is ignored: metric ter has no choice of it"
    assert read_scorer("TER", "reflen:average,case:true").notes == (note,)
    scorer = read_scorer("BLEU", "reflen:average")
    assert "bleu:max_order=4,reflen=average" in scorer.metric.signature
    assert not scorer.notes


def test_missing_alignments_are_an_error_not_a_perfect_order(changed_list):
    nbest = changed_list(lambda fields: fields[:4])
    assert fault("PORT", PORT, nbest=nbest) == (
        f"{nbest}: no word alignment in the list, and metric port compares word orders; let Moses "
        "print it: -print-alignment-info-in-n-best true (in --decoder-flags)"
    )


def test_links_as_large_as_the_source_are_an_error(changed_list):
    length = len((RECORDED / "dev.src").read_text().splitlines()[0].split())
    nbest = changed_list(lambda fields: [*fields[:-1], f"{length}-0"])
    said = fault("PORT", PORT, nbest=nbest)
    assert f"link {length}-0 is out of range, the source has {length} tok" in said


@pytest.mark.parametrize(
    ("sctype", "command", "message"),
    [
        ("BLEU", "head -n 3", "lines in, 3 lines out; it must write a line for each"),
        ("BLEU", "nowhere", "--filter nowhere: cannot be started"),
        ("BLEU", "yes", r"--filter yes wrote more than [0-9]+ bytes to out: no message"),
        ("BLEU", "sleep 1000", r"--filter sleep 1000 wrote nothing for 1 s \("),
        ("PORT", r"sed s/^/x\ /", "another number of tokens: links would point to other words"),
    ],
)
def test_filters_that_do_wrong(monkeypatch, sctype, command, message):
    monkeypatch.setattr(_scorer, "FILTER_SECONDS", 1)
    assert re.search(message, fault(sctype, PORT * (sctype == "PORT"), filter_command=command))


def test_a_filter_may_buffer():
    filtered = lists_of(filter_command="tail -n +1")
    assert np.array_equal(filtered.counted.rows, lists_of().counted.rows)


def test_case_and_factors(changed_list, tmp_path):
    plain = lists_of().counted.rows
    upper = changed_list(lambda fields: [fields[0], fields[1].upper(), *fields[2:]])
    assert not np.array_equal(lists_of(nbest=upper).counted.rows, plain)
    lower = lists_of("BLEU", "case:false", nbest=upper).counted.rows
    assert np.array_equal(lists_of("BLEU", "case:false").counted.rows, lower)

    def factored(text, factor):
        return " ".join(f"{word}|{factor}" for word in text.split())

    nbest = changed_list(lambda fields: [fields[0], factored(fields[1], "X"), *fields[2:]])
    lines = [factored(line, "Y") for line in REFERENCE.read_text().splitlines()]
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in lines))
    files = {"nbest": nbest, "reference": tmp_path / "ref"}
    assert np.array_equal(lists_of(**files, factors="0").counted.rows, plain)
    assert "has 2 factors, --factors asks for number 2" in fault(**files, factors="2")
    said = fault(**files, factors="9" * 5000)
    assert "expected numbers with | between them, as 0|2" in said


def test_several_metrics_are_interpolated_as_moses_does():
    def score(sctype, scconfig):
        lists, metric = lists_of(sctype, scconfig), read_scorer(sctype, scconfig).metric
        return float(metric.score(lists.counted.rows[lists.offsets[:-1]].sum(axis=0)))

    bleu, ter = score("BLEU", "max_order:2"), score("TER", "")
    mean = score("BLEU,TER", "weights:3+1,max_order:2,case:true")
    assert mean == pytest.approx(0.75 * bleu + 0.25 * (1 - ter), abs=1e-12)
    assert score("BLEU,TER", "max_order:2") == pytest.approx((bleu + 1 - ter) / 2, abs=1e-12)
    assert lists_of("BLEU,TER", "weights:3+1").counted.metric == "BLEU,TER"


def test_a_list_that_is_not_there_is_named():
    with pytest.raises(InputError, match="gone: No such file"):
        lists_of(nbest=Path("gone"))
