"""The search of mert-moses with starts, and what its steps leave."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from portmert.extensions.mert_moses import mert
from portmert.extensions.mert_moses._mert_folder import StepFolder
from portmert.extensions.mert_moses._program import number
from portmert.extensions.mert_moses._scorer import read_scorer
from portmert.extensions.mert_moses.dat_files import read_dat
from portmert.extensions.mert_moses.extractor import extract
from portmert.tuner.base.errors import InputError, StateError
from portmert.tuner.components import registry
from portmert.tuner.search.list_statistics import statistics_in
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.weight_search import find_weights
from tests.support.places import INVENTED, SHARED, needs

RECORDED = INVENTED / "recorded"
PORT = f"source:{RECORDED / 'dev.src'},reflinks:{RECORDED / 'dev.links'}"
START = [-1.0, 1.0, 0.2, 0.1, 0.1, 1.0, 1.0, 0.1]
QUICK = {"searches_per_feature": "20", "restarts": "1"}


def lists_of(sctype="BLEU", scconfig=""):
    scorer = read_scorer(sctype, scconfig)
    lists, _ = extract([RECORDED / "1.nbest.gz"], [RECORDED / "dev.tgt"], scorer)
    return lists, scorer.metric


def starts_of(*points, low=0.0, high=1.0):
    width = len(points[0])
    return [np.array(point) for point in points], (np.full(width, low), np.full(width, high))


def search(lists, metric, starts, options=QUICK, active=(), positive=(), **more):
    optimizer = registry.optimizer("mert", options)
    lists = replace(lists, statistics=lists.counted._replace(metric=metric.name()))
    limits = mert.constraints_of(lists.feature_names, active, positive)
    setup = mert.setup_as_mert(lists, metric, optimizer, *starts, limits=limits, **more)
    found = find_weights(lists, StatTable(statistics_in(lists, metric)), metric, setup)
    weights = found.weights if active else mert.sized(found.weights, lists.feature_names)
    return weights.vector(lists.feature_names), found.score


def score_of(lists, metric, weights):
    """Score the best hypotheses under weights."""
    scores = lists.features @ np.array(weights)
    best = [int(begin + np.argmax(scores[begin:end])) for begin, end in pairwise(lists.offsets)]
    return float(metric.score(lists.counted.rows[best].sum(axis=0)))


def test_the_score_is_that_of_the_weights_and_the_same_for_any_threads():
    lists, metric = lists_of()
    weights, score = search(lists, metric, starts_of([0.1] * 8))
    assert np.abs(weights).sum() == pytest.approx(1, abs=1e-12)
    assert score_of(lists, metric, weights) == pytest.approx(score, abs=1e-12)
    assert search(lists, metric, starts_of([0.1] * 8))[0].tolist() == weights.tolist()


def test_some_features_are_searched_and_the_others_kept():
    lists, metric = lists_of("PORT", PORT)
    limits = {"active": ("LM0_0", "PhraseTS0_0"), "positive": ("LM0_0",)}
    weights, _ = search(lists, metric, starts_of(START), **limits)
    changed = [k for k in range(8) if weights[k] != START[k]]
    assert changed
    assert set(changed) <= {1, 5}
    assert weights[1] >= 0
    with pytest.raises(InputError, match="there is no feature LM1_0; did you mean 'LM0_0'"):
        search(lists, metric, starts_of(START), active=("LM1_0",))


def test_the_best_of_earlier_points_and_ranges_are_starts():
    lists, metric = lists_of()
    options = {"searches_per_feature": "1", "restarts": "2"}
    _, with_both = search(lists, metric, starts_of([0.1] * 8, START), options)
    assert with_both >= score_of(lists, metric, START)
    ranged = starts_of([0.1] * 8, low=-1.0, high=3.0)
    assert search(lists, metric, ranged, options)[1] > 0


def test_tied_hypotheses_constant_features_and_a_score_of_zero_keep_the_start(tmp_path):
    (tmp_path / "f").write_text("FEATURES_TXT_BEGIN_0 0 2 2 A0_0 B0_0\n1 5\n1 5\n"
                                "FEATURES_TXT_END_0\n")  # fmt: skip
    (tmp_path / "s").write_text("SCORES_TXT_BEGIN_0 0 2 9 BLEU\n0 4 0 3 0 2 0 1 4\n"
                                "0 3 0 2 0 1 0 0 4\nSCORES_TXT_END_0\n")  # fmt: skip
    lists = read_dat([tmp_path / "f"], [tmp_path / "s"])
    weights, score = search(lists, registry.metric("bleu"), starts_of([0.5, -0.25]))
    assert score == 0
    assert weights == pytest.approx([2 / 3, -1 / 3])


BASIC = SHARED / "data" / "peers" / "moses-mert" / "mert.basic" / "data"
MOSES_SCORE, BEST_KNOWN = 0.304339, 0.304563


@needs(BASIC)
@pytest.mark.parametrize(
    ("seed", "restarts"),
    [
        (1000, 8),
        *(pytest.param(seed, 16, marks=pytest.mark.slow) for seed in (*range(9), 1000)),
    ],
)
def test_the_best_known_weights_of_a_test_of_moses(seed, restarts):
    lists = read_dat([BASIC / "FEATSTAT.txt"], [BASIC / "SCORESTAT.txt"])
    point, *ranges = np.loadtxt(BASIC / "INIT")
    starts = [point], ranges
    options = {"restarts": f"{restarts}"}
    _, score = search(lists, registry.metric("bleu"), starts, options, seed=seed)
    assert round(score, 6) >= BEST_KNOWN > MOSES_SCORE


def test_numbers_are_printed_without_e_plus():
    assert number(1e22) == "10000000000000000000000.0"
    assert number(-0.0) == "0.0"
    assert number(1e-9) == "1e-09"
    for value in (0.1, 1e-9, 1e22, 123456789.125, -1e17):
        assert float(number(value)) == value
        assert re.fullmatch(r"[\d.\-e]+", number(value))


@pytest.mark.parametrize("text", ["", "x\n", f"{'1' * 5000}\n", "²\n"])
def test_a_step_that_is_no_number_is_told(tmp_path, text):
    (tmp_path / "finished_step.txt").write_text(text)
    with pytest.raises(StateError, match=r"finished_step\.txt: holds no number of a step"):
        StepFolder(tmp_path, names=None, scorer=None).last_finished()
