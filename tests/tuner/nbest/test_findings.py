"""What looks wrong about lists is told, and clean lists are let be."""

from pathlib import Path

import numpy as np
import pytest

import portmert
from portmert.extensions.mert_moses.dat_files import read_dat
from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.components.external import Outcome
from portmert.tuner.nbest.feature_files import read_numbers
from portmert.tuner.nbest.findings import (
    column_findings,
    concordance,
    direction_finding,
    feature_ranges,
    overlap_finding,
    range_findings,
)
from portmert.tuner.nbest.model import featured, segments_taken
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.search.doubtful_gains import negative_finding
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.weight_search import Setup
from portmert.tuner.weights.feature_weights import FeatureWeights
from tests.support.places import CONFIGS

DATA = Path(__file__).parents[4] / "shared/data"
SEGMENTS, SIZE = 60, 5
OFFSETS = np.arange(SEGMENTS + 1) * SIZE


def lists_of(columns):
    names = tuple((name, 1) for name in columns)
    return featured(np.asfortranarray(np.stack([*columns.values()], axis=1)), OFFSETS, names)


@pytest.fixture
def columns():
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal(SEGMENTS * SIZE) for name in ("judge", "length")}


def test_clean_columns_are_let_be(columns):
    right = (columns["judge"] > 0).astype(float)
    right[::3] = 1 - right[::3]
    assert column_findings(lists_of(columns), {"right": right.__getitem__}) == []


def test_constants_and_copies_are_told(columns):
    of_segments = np.repeat(np.arange(SEGMENTS), SIZE)
    columns |= {"flat": of_segments * 1.5, "copy": 7 * of_segments - 2e-5 * columns["judge"]}
    found = column_findings(lists_of(columns), {})
    assert [line.partition(":")[0] for line in found] == [
        "feature flat is equal for all hypotheses of a segment",
        "feature copy is a copy of judge, but for its scale",
    ]


@pytest.mark.parametrize("leak", [lambda x: x, lambda x: 2 * x + 1, lambda x: -np.exp(3 * x)])
@pytest.mark.parametrize("binary", [True, False])
def test_features_that_know_the_outcome_are_told(columns, leak, binary):
    outcome = np.random.default_rng(4).standard_normal(SEGMENTS * SIZE)
    outcome = (outcome > 0).astype(float) if binary else outcome
    columns["leak"] = leak(outcome)
    (line,) = column_findings(lists_of(columns), {"right": outcome.__getitem__})
    assert line.startswith("feature leak orders 100.0 % of pairs of hypotheses as right does")


def test_concordance_by_hand():
    # Of pairs (0, 1), (0, 2) and (1, 2) two are of different outcomes in each segment: the feature
    # orders (1, 0) right and ties (2, 0).
    outcome = np.tile([0.0, 1.0, 1.0], 50)
    column = np.tile([1.0, 2.0, 1.0], 50)[:, None]
    offsets = np.arange(51) * 3
    assert concordance(column, outcome, offsets).tolist() == [0.75]
    assert concordance(column[:30], outcome[:30], offsets[:11]).tolist() == [0.5]  # too few


@pytest.mark.parametrize(
    ("name", "is_asked"),
    [("err", True), ("scores:d.jsonl#err", True), ("scores:d.jsonl#x.wer:id:index", True),
     ("char_loss", True), ("correct", False), ("scores:err", True), ("scores:a#better", False),
     ("terrible", False), ("paper", False)],
)  # fmt: skip
def test_directions_are_asked_for(name, is_asked):
    assert bool(direction_finding(name)) == is_asked


def as_text(records):
    return portmert.Lists.from_records(records).nbest


def records_of(rng, segments, *, values=None):
    return [
        {"id": f"s{n}", "text": f"{text} {k} word", "features": {"F": x, "G": 2.5}}
        for n, text in zip(range(segments), rng.integers(10**6, size=segments), strict=True)
        for k, x in enumerate(rng.standard_normal(4) if values is None else rng.choice(values, 4))
    ]


def test_shared_segments_are_told_whatever_their_ids_and_order():
    rng = np.random.default_rng(5)
    dev, test = records_of(rng, 80), records_of(rng, 40)
    assert overlap_finding(as_text(dev), as_text(test)) == ""
    renamed = [{**record, "id": f"r{record['id']}"} for record in dev[::-1][:80]]
    line = overlap_finding(as_text(dev), as_text([*test, *renamed]))
    assert line.startswith("20 of 60 segments of the test set (33 %) have the features of")
    judged = [{**record, "features": {"F": 1.0, "G": k}} for k, record in enumerate(renamed)]
    line = overlap_finding(as_text(dev), as_text([*test, *judged]))
    assert line.startswith("20 of 60 segments of the test set (33 %) have the texts of")
    reworded = [{**record, "text": f"{record['text']} more"} for record in renamed]
    assert "(all) have the features of" in overlap_finding(as_text(dev), as_text(reworded))


def test_equal_segments_by_chance_are_let_be():
    """Two judges that give one of three marks make many segments equal."""
    rng = np.random.default_rng(6)
    dev, test = (as_text(records_of(rng, 100, values=[1.0, 2.0, 3.0])) for _ in range(2))
    assert overlap_finding(dev, test) == ""


@pytest.fixture(scope="module")
def moses():
    folder = DATA / "moses-ja-en/mert-bleu"
    if not folder.is_dir():
        pytest.skip("../shared/data/moses-ja-en is not there")
    return folder


@pytest.mark.slow
def test_slices_of_real_lists_are_let_be(moses):
    """300 slices of Moses' lists with BLEU: at most 1 % false alarms of each check."""
    bleu, rng = (
        portmert.tuner.components.registry.metric("bleu:smooth=add1"),
        np.random.default_rng(1),
    )
    alarms = 0
    for run in range(1, 5):
        dat = read_dat([moses / f"run{run}.features.dat.gz"], [moses / f"run{run}.scores.dat.gz"])
        scores = bleu.score(dat.counted.rows)
        assert np.ptp(scores) > 0.1
        for _ in range(75):
            part = rng.permutation(len(dat))[:100]
            taken = segments_taken(dat, part)
            rows = np.concatenate([np.arange(*dat.offsets[k : k + 2]) for k in part])
            alarms += bool(column_findings(taken, {"bleu": scores[rows].__getitem__}))
    assert alarms <= 3


@pytest.mark.slow
def test_disjoint_slices_of_real_lists_share_nothing(moses):
    nbest = read_nbest([moses / "run4.best100.out.gz"], Vocabulary())
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(300):
        order = rng.permutation(len(nbest))
        halves = order[:100], order[100:200]
        alarms += bool(overlap_finding(*(segments_taken(nbest, half) for half in halves)))
        mixed = np.concatenate([halves[1], order[:4]])
        assert overlap_finding(segments_taken(nbest, halves[0]), segments_taken(nbest, mixed))
    assert alarms <= 3


def test_other_signs_and_scales_are_told(columns):
    columns["cost"] = np.abs(columns["judge"])
    ranges = feature_ranges(lists_of(columns))
    assert range_findings(ranges, lists_of(columns), where="here") == []
    other = {**columns, "cost": -columns["cost"], "length": columns["length"] / np.log(10)}
    sign, scale = sorted(range_findings(ranges, lists_of(other), where="here"))
    assert sign.startswith("here: feature cost has another sign than in tuning (")
    assert scale.startswith("here: feature length varies 0.434 times as much as in tuning")
    flat = {**columns, "cost": np.zeros(len(columns["cost"]))}
    assert range_findings(ranges, lists_of(flat), where="here") == []


def test_spreads_by_hand():
    values = np.tile([1.0, 3.0], 20)
    nbest = featured(values[:, None], np.arange(21) * 2, (("F", 1),))
    assert feature_ranges(nbest)["F"] == (1.0, 3.0, 1.0)


@pytest.mark.slow
def test_slices_of_real_lists_are_of_one_scale(moses):
    rng, alarms = np.random.default_rng(3), 0
    for run in range(1, 5):
        dat = read_dat([moses / f"run{run}.features.dat.gz"], [moses / f"run{run}.scores.dat.gz"])
        for _ in range(75):
            order = rng.permutation(len(dat))
            dev, test = (segments_taken(dat, part) for part in (order[:100], order[100:200]))
            alarms += bool(range_findings(feature_ranges(dev), test, where="the test set"))
    assert alarms <= 3


def test_weights_know_lists_on_another_scale(tmp_path, columns):
    def records(scale):
        return [
            {"id": f"s{k // SIZE}", "text": f"t{k}", "features": {"F": scale * value}}
            for k, value in enumerate(columns["judge"].tolist())
        ]

    lists = portmert.Lists.from_records(records(1.0), refs=[["t0"] * SEGMENTS])
    weights = tmp_path / "weights.json"
    weights.write_text(portmert.optimize(lists, "chrf", optimizer="mert:restarts=1").to_json())
    assert not portmert.rerank(portmert.Lists.from_records(records(1.0)), weights).warnings
    (line,) = portmert.rerank(portmert.Lists.from_records(records(0.434)), weights).warnings
    assert line.startswith("the lists: feature F varies 0.434 times as much as in tuning")


def test_a_score_of_0_or_1_is_on_one_scale_however_it_spreads():
    rare = np.tile([1.0, *[0.0] * 19], 40)
    often = np.tile([1.0] * 10 + [0.0] * 10, 40)
    offsets = np.arange(0, 801, 20)
    of_rare, of_often = (
        featured(values[:, None], offsets, (("judge", 1),)) for values in (rare, often)
    )
    assert not range_findings(feature_ranges(of_rare), of_often, where="here")
    scaled = featured(often[:, None] / 100, offsets, (("judge", 1),))
    assert "another scale" in range_findings(feature_ranges(of_often), scaled, where="here")[0]


@pytest.fixture(scope="module")
def answers():
    """Answers to 600 word problems, with the marks of seven judges and whether they are right."""
    lists = [
        portmert.Lists.read(CONFIGS / "best-of-n" / f"{name}.jsonl.xz").nbest
        for name in ("candidates", "test")
    ]
    right = [
        read_numbers(f"{CONFIGS / 'best-of-n' / name}.jsonl.xz#correct")[nbest.lines]
        for name, nbest in zip(("candidates", "test"), lists, strict=True)
    ]
    return lists, right


@pytest.mark.slow
def test_slices_of_answers_and_their_judges_are_let_be(answers):
    """300 slices of other data than Moses' lists: at most 1 % false alarms of each check."""
    rng, alarms = np.random.default_rng(4), np.zeros(3, dtype=int)
    for run in range(300):
        nbest, right = answers[0][run % 2], answers[1][run % 2]
        order = rng.permutation(len(nbest))
        dev, test = (segments_taken(nbest, part) for part in (order[:100], order[100:200]))
        rows = np.concatenate([np.arange(*nbest.offsets[k : k + 2]) for k in order[:100]])
        alarms += [
            bool(column_findings(dev, {"right": right[rows].__getitem__})),
            bool(range_findings(feature_ranges(dev), test, where="the test set")),
            bool(overlap_finding(dev, test)),
        ]
    assert (alarms <= 3).all(), alarms


@pytest.mark.slow
def test_slices_of_answers_have_no_gain_by_negative_weights(answers):
    """Weights of least squares in place of a search: negative ones where judges overlap."""
    rng, alarms = np.random.default_rng(5), 0
    metric = Outcome("mean")
    for run in range(300):
        nbest, right = answers[0][run % 2], answers[1][run % 2]
        part = rng.permutation(len(nbest))[:100]
        dev = segments_taken(nbest, part)
        rows = np.concatenate([np.arange(*nbest.offsets[k : k + 2]) for k in part])
        spread = dev.features - np.repeat(
            np.add.reduceat(dev.features, dev.offsets[:-1]) / np.diff(dev.offsets)[:, None],
            np.diff(dev.offsets), axis=0,
        )  # fmt: skip
        vector = np.linalg.lstsq(spread, right[rows] - right[rows].mean(), rcond=None)[0]
        weights = FeatureWeights.from_vector(dev.feature_names, vector)
        stats = StatTable(np.column_stack([right[rows], np.ones(len(rows))]))
        setup = Setup(registry.optimizer("coordinate"))
        alarms += bool(negative_finding(dev, stats, metric, setup, weights))
    assert alarms <= 3, alarms
