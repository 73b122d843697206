"""One optimization over given lists."""

import re
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portmert
from portmert.extensions.mert_moses.dat_files import with_statistics
from portmert.metrics._base import Metric, Vocabulary
from portmert.tuner import families
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import notices_to
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import best_hypotheses, featured
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.search.constraints import Constraints
from portmert.tuner.search.list_statistics import statistics_in, statistics_table
from portmert.tuner.search.oracle import oracle
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.weight_search import (
    Setup,
    equal_weights,
    find_weights,
)
from portmert.tuner.texts.corpus import make_batch, read_references
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.statistics import needs_of
from portmert.tuner.texts.text_pipeline import TextPipeline
from portmert.tuner.weights.feature_weights import FeatureWeights
from tests.support.examples import examples
from tests.support.fake_annotator import FakeAnnotator
from tests.tuner.search.test_line_search import Share

QUICK = registry.optimizer("mert", {"searches_per_feature": 60})
QUICKER = registry.optimizer("mert", {"searches_per_feature": 20, "restarts": 1})

LIST = """\
0 ||| the cat sat ||| LM0= -3 -1 WP0= -3 ||| 0 ||| 0-0 1-1 2-2
0 ||| cat the sat ||| LM0= -2 -2 WP0= -3 ||| 0 ||| 1-0 0-1 2-2
0 ||| the cat ||| LM0= -1 -4 WP0= -2 ||| 0 ||| 0-0 1-1
1 ||| a dog ran home ||| LM0= -4 -1 WP0= -4 ||| 0 ||| 0-0 1-1 2-2
1 ||| dog ran home a ||| LM0= -3 -2 WP0= -4 ||| 0 ||| 1-0 2-1 0-3
1 ||| a dog ||| LM0= -1 -6 WP0= -2 ||| 0 ||| 0-0 1-1
"""


def read(tmp_path, text=LIST):
    (tmp_path / "list").write_text(text)
    (tmp_path / "ref").write_text("the cat sat\na dog ran home\n")
    (tmp_path / "src").write_text("x y z\nx y z\n")
    (tmp_path / "links").write_text("0-0 1-1 2-2\n0-0 1-1 2-2 2-3\n")
    vocabulary = Vocabulary()
    references = read_references(
        [tmp_path / "ref"],
        vocabulary=vocabulary,
        source=tmp_path / "src",
        links=[tmp_path / "links"],
    )
    return read_nbest([tmp_path / "list"], vocabulary, segments=2), references


def parsed(nbest, references, metric):
    """References with what the metric needs of syntax, and what gives it of hypotheses."""
    needs = needs_of([metric])
    if not needs:
        return references, None
    ready = Preparation(TextPipeline(), FakeAnnotator(), needs)
    return ready.references(references), ready.lazily(nbest.texts)[1]


def optimize_lists(nbest, references, metric, setup, *, annotate=None, segments=None):
    stats = statistics_table(nbest, references, metric, annotate=annotate)
    return find_weights(nbest, stats, metric, setup, segments=segments)


def optimize(tmp_path, metric="port", text=LIST, said=None, **setup):
    nbest, references = read(tmp_path, text)
    notices = [] if said is None else said
    metric = registry.metric(metric)
    references, annotate = parsed(nbest, references, metric)
    with notices_to(notices.append):
        return optimize_lists(
            nbest,
            references,
            metric,
            Setup(**{"optimizer": QUICK, **setup}),
            annotate=annotate,
        ), nbest


# Under the first weights the reordered hypotheses win: -2.1 against -2.2 and -2.3, -2.7 against
# -2.8 and -3.1. Under the second the short ones: -2.3 against -3.5 and -4.3, -2.5 against -4.9
# and -5.7. Not every metric sees both faults.
STARTS = [
    (FeatureWeights({"LM0": (0.5, 0.4), "WP0": (0.1,)}), [1, 4]),
    (FeatureWeights({"LM0": (0.9, 0.1), "WP0": (0.5,)}), [2, 5]),
]


@pytest.mark.parametrize("metric", families.names("metric"))
def test_every_metric_tunes_to_the_best_of_this_list(tmp_path, metric):
    scorer = registry.metric(metric)
    references, _ = parsed(*read(tmp_path), scorer)
    perfect = make_batch(references.texts, references.offsets, references)
    best = float(scorer.score(scorer.stats(perfect).sum(axis=0)))
    losses = []
    for start, winners in STARTS:
        found, nbest = optimize(tmp_path, metric, starts=(start,), optimizer=QUICKER)
        assert best_hypotheses(nbest, start).tolist() == winners
        assert found.score == pytest.approx(best)
        assert found.oracle_score == pytest.approx(best)
        assert found.hypotheses == 6
        losses.append(best - found.start_score)
    assert max(losses if scorer.higher_is_better else [-loss for loss in losses]) > 0.1


def test_weights_are_as_long_as_the_start(tmp_path):
    start = FeatureWeights({"LM0": (0.5, -0.1), "WP0": (0.2,)})
    found, _ = optimize(tmp_path, starts=(start,))
    numbers = [abs(n) for values in found.weights.values.values() for n in values]
    assert sum(numbers) == pytest.approx(0.8)
    assert all(numbers)


def test_absent_start_is_equal_weights(tmp_path):
    assert equal_weights((("A", 1), ("B", 3))).values == {"A": (0.25,), "B": (0.25,) * 3}
    found, nbest = optimize(tmp_path)
    # The values of each segment's hypotheses add to the same, so all tie and the first wins.
    equal = equal_weights(nbest.feature_names)
    assert best_hypotheses(nbest, equal).tolist() == [0, 3]
    assert found.start_score == pytest.approx(1.0)


def test_fixed_features_keep_their_weight_and_their_effect(tmp_path):
    start = FeatureWeights({"LM0": (0.5, -0.1), "WP0": (0.2,)})
    found, nbest = optimize(
        tmp_path, starts=(start,), constraints=Constraints(fixed=("LM0_0", "WP0"))
    )
    assert found.weights.values["LM0"][0] == 0.5
    assert found.weights.values["WP0"] == (0.2,)
    best = best_hypotheses(nbest, found.weights)
    assert best.tolist() == [0, 3]


def test_start_outside_of_bounds_is_moved_and_said(tmp_path):
    start = FeatureWeights({"LM0": (0.5, -0.1), "WP0": (0.2,)})
    constraints = Constraints(bounds={"LM0_1": (0.1, 3.0)})
    found, _ = optimize(tmp_path, starts=(start,), constraints=constraints)
    assert 0.1 <= found.weights.values["LM0"][1] <= 3.0
    assert any("start weights outside of their bounds" in line for line in found.warnings)


def test_constant_features_are_left_and_said(tmp_path):
    said = []
    text = (
        LIST.replace("WP0= -3", "WP0= -9")
        .replace("WP0= -2", "WP0= -9")
        .replace("-4 |||", "-9 |||")
    )
    start = FeatureWeights({"LM0": (0.5, -0.1), "WP0": (0.2,)})
    found, _ = optimize(tmp_path, text=text, starts=(start,), said=said)
    assert found.weights.values["WP0"] == (0.2,)
    assert "left at their start value: WP0" in said[0]
    assert found.score == pytest.approx(1.0)


def test_nothing_to_search_returns_the_start_and_says_so(tmp_path):
    one_each = "".join(LIST.splitlines(keepends=True)[i] for i in (1, 4))
    found, _ = optimize(tmp_path, text=one_each)
    assert found.start_score == found.score
    assert any("no feature is left to search" in line for line in found.warnings)


def test_a_metric_that_is_zero_everywhere_returns_the_start_and_says_so(tmp_path):
    text = LIST.replace("cat", "x").replace("dog", "y").replace("ran", "z").replace("the", "w")
    found, nbest = optimize(tmp_path, "bleu", text=text)
    assert found.score == 0.0
    assert found.weights == equal_weights(nbest.feature_names)
    assert any("nothing better than the start weights choose (bleu 0.00)" in line
               for line in found.warnings)  # fmt: skip


def test_a_start_that_no_weights_beat_is_said(tmp_path):
    """The weights' sign is right for one segment only, and more errors are in the first."""
    text = (
        "0 ||| the cat sat ||| F= 1 G= 3 ||| 0\n0 ||| x y z ||| F= 0 G= 3 ||| 0\n"
        "1 ||| a dog ran home ||| F= 0 G= 3 ||| 0\n1 ||| a dog ran x ||| F= 1 G= 3 ||| 0\n"
    )
    for weight, is_said in ((1.0, True), (-1.0, False)):
        said = []
        starts = (FeatureWeights({"F": (weight,), "G": (weight,)}),)
        optimize(tmp_path, "wer", text=text, said=said, starts=starts)
        lines = [line for line in said if "no weights were found under which it is better" in line]
        assert [line.startswith("wer ↓ is 14.29 under the start") for line in lines] == (
            [True] * is_said
        )
    optimize(tmp_path, "wer", text=re.sub(r"G= \d ", "", text), said=said)
    assert any("of its weight only the sign changes a choice" in line for line in said)


@pytest.mark.parametrize("optimizer", families.names("optimizer"))
def test_a_start_of_zeros_ends_in_finite_weights(tmp_path, optimizer):
    start = FeatureWeights({"LM0": (0.0, 0.0), "WP0": (0.0,)})
    text = LIST.replace("cat", "x").replace("dog", "y").replace("ran", "z").replace("the", "w")
    search = registry.optimizer(optimizer, {"restarts": 1})
    for lists in (LIST, text):  # where there is something to gain, and where there is nothing
        found, _ = optimize(tmp_path, "bleu", text=lists, starts=(start,), optimizer=search)
        assert np.isfinite(
            [number for row in found.weights.values.values() for number in row]
        ).all()
        assert found.score == found.oracle_score


def test_sparse_features_count_with_their_weight_and_stay(tmp_path):
    said = []
    lines = LIST.splitlines()
    lines[1] = lines[1].replace("WP0= -3", "WP0= -3 wt_cat= 1")
    start = FeatureWeights({"LM0": (0.5, -0.1), "WP0": (0.2,), "wt_cat": (-5.0,)})
    text = "\n".join(lines) + "\n"
    found, nbest = optimize(tmp_path, text=text, starts=(start,), said=said)
    assert found.weights.values["wt_cat"] == (-5.0,)
    assert any("the start weights of 1 sparse feature stay" in line for line in said)
    best = best_hypotheses(nbest, found.weights)
    assert best.tolist() == [0, 3]


SPARSE = LIST.replace("WP0= -2 |||", "WP0= -2 wt_short= 1 |||")


@pytest.mark.parametrize("name", ["pro", "kbmira", "min-risk"])
def test_sparse_features_are_searched_by_those_that_can(tmp_path, name):
    # The short hypotheses win at the start, -0.66 and -0.84 against -0.68 and -0.88 at best, and
    # only they have the sparse feature; all else is fixed, so that its weight alone can help.
    start = FeatureWeights({"LM0": (0.1, 0.09), "WP0": (0.1,)})
    found, nbest = optimize(
        tmp_path,
        "bleu:max_order=2",
        text=SPARSE,
        starts=(start,),
        constraints=Constraints(fixed=("LM0", "WP0")),
        optimizer=registry.optimizer(name, {}),
    )
    assert best_hypotheses(nbest, start).tolist() == [2, 5]
    assert found.weights.values["LM0"] == (0.1, 0.09)
    assert found.weights.values["wt_short"][0] < -0.02
    assert best_hypotheses(nbest, found.weights).tolist() != [2, 5]
    assert found.score > found.start_score


def test_a_prior_pulls_to_the_weights_it_is_given(tmp_path):
    start = FeatureWeights({"LM0": (0.5, 0.4), "WP0": (0.1,)})
    toward = FeatureWeights({"LM0": (0.5, -0.1), "WP0": (0.2,)})
    found, _ = optimize(tmp_path, starts=(start,), prior=100.0, toward=toward)
    numbers = np.array([n for values in found.weights.values.values() for n in values])
    assert numbers / np.abs(numbers).sum() == pytest.approx(
        np.array([0.5, -0.1, 0.2]) / 0.8, abs=0.02
    )


def test_a_feature_without_weight_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no weight for feature WP0"):
        optimize(tmp_path, starts=(FeatureWeights({"LM0": (1.0, 1.0)}),))


def test_seconds_are_those_that_passed(tmp_path):
    begin = time.perf_counter()
    result, _ = optimize(tmp_path)
    passed = time.perf_counter() - begin
    assert result.seconds.keys() == {"search", "oracle"}
    assert min(result.seconds.values()) > 0
    assert sum(result.seconds.values()) < passed
    assert 0 < result.cpu_seconds < time.process_time()


def test_oracle_by_hand():
    # Precision 2/4 and 1/1 in segment 0, 0/1 and 3/6 in segment 1: 1/1 with 3/6 is 4/7, best.
    metric = registry.metric("bleu:max_order=1")
    stats = np.array([[2, 4, 0], [1, 1, 0], [0, 1, 0], [3, 6, 0]], dtype=float)
    score, chosen = oracle(stats, np.array([0, 2, 4]), metric, np.array([0, 2]))
    assert chosen.tolist() == [1, 3]
    assert score == pytest.approx(4 / 7)


@examples(200)
@given(st.integers(0, 2**32 - 1))
def test_oracle_is_never_worse_than_where_it_begins(seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, size=5))])
    total = rng.integers(4, 9, size=(offsets[-1], 1)) - np.arange(4)
    stats = np.empty((offsets[-1], 9))
    stats[:, 1:8:2] = np.maximum(total, 0)
    stats[:, 0:8:2] = rng.integers(0, stats[:, 1:8:2] + 1)
    stats[:, 8] = 6
    metric = registry.metric("bleu")
    start = offsets[:-1]
    score, chosen = oracle(stats, offsets, metric, start)
    assert score >= metric.score(stats[start].sum(axis=0))
    assert score == metric.score(stats[chosen].sum(axis=0))
    assert ((chosen >= offsets[:-1]) & (chosen < offsets[1:])).all()


def test_many_segments_choose_at_once_what_they_choose_alone(monkeypatch):
    rng = np.random.default_rng(1)
    hits, offsets = rng.integers(0, 7, 900), np.arange(0, 901, 3)
    stats, start = np.column_stack([hits, np.full(900, 7)]), offsets[:-1]
    alone = oracle(stats, offsets, Share(), start)
    monkeypatch.setattr("portmert.tuner.search.oracle.MANY", 7)
    together = oracle(stats, offsets, Share(), start)
    assert together[0] == alone[0] == hits.reshape(-1, 3).max(axis=1).sum() / 2100
    assert together[1].tolist() == alone[1].tolist()


def dat_lists(score_name="BLEU", columns=9):
    rng = np.random.default_rng(2)
    stats = np.zeros((6, columns))
    stats[:, :8] = [1, 4, 1, 3, 1, 2, 1, 1]
    stats[:, 0] = [4, 1, 1, 4, 1, 1]
    features = np.asfortranarray(rng.normal(size=(6, 2)))
    return with_statistics(
        featured(features, np.array([0, 3, 6]), (("LM0", 2),)), stats, score_name
    )


def test_dat_files_of_another_metric_are_refused():
    with pytest.raises(InputError, match=r"scores.dat: 9 statistics of PER, metric bleu has 9"):
        statistics_in(dat_lists("PER"), registry.metric("bleu"))


def test_impossible_statistics_of_dat_files_are_placed():
    lists = replace(dat_lists(), offsets=np.array([0, 2, 6]))
    for value, wrong in ((-1, "is negative"), (5, "is above total_1")):
        lists.counted.rows[5, 0] = value
        said = f"segment 1, hypothesis 4: matched_1 is {value}, which {wrong}"
        with pytest.raises(InputError, match=said):
            statistics_in(lists, registry.metric("bleu"))


def test_dat_lists_are_optimized():
    lists = dat_lists()
    found = find_weights(
        lists, StatTable(lists.counted.rows), registry.metric("bleu"), Setup(QUICK)
    )
    assert found.score == found.oracle_score > found.start_score
    assert found.weights.names == (("LM0", 2),)


class F1(Metric):
    """What a newcomer writes: 2 matches / (words + words), from precision and recall."""

    source = "a test"
    stat_names = ("matches", "hyp_len", "ref_len")

    def stats(self, batch):
        raise NotImplementedError

    def score(self, stats):
        with np.errstate(invalid="ignore"):
            precision, recall = stats[..., 0] / stats[..., 1], stats[..., 0] / stats[..., 2]
            return 2 * precision * recall / (precision + recall)

    def parts(self, stats):
        raise NotImplementedError


def test_each_weight_of_0_gets_the_sign_that_scores_better():
    """Many zeros cost one reading of each feature, not one of all features."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(400, 60))
    features[:, :3] = rng.integers(0, 2, size=(400, 3))  # so that there are ties
    stats = np.stack([rng.random(400), np.ones(400)], axis=1)
    weights = {"A": tuple(np.where(np.arange(60) < 3, 4.0, 0.0).tolist())}
    nbest = featured(np.asfortranarray(features), np.arange(0, 401, 8), (("A", 60),))
    search = registry.optimizer("coordinate", {"restarts": 1, "tolerance": 0.99})
    setup = Setup(search, (FeatureWeights(weights),))
    metric = registry.metric("hamming")
    outcome = find_weights(nbest, StatTable(stats), metric, setup)
    found = np.array(outcome.weights.values["A"])

    def score(numbers):
        best = (features @ numbers).reshape(-1, 8).argmax(axis=1) + np.arange(0, 400, 8)
        return metric.score(stats[best].sum(axis=0))

    assert (np.abs(found[3:]) > 0).all()
    assert np.abs(found[3:]).max() == pytest.approx(1e-9 * np.abs(found).max())
    for v in range(3, 60):
        other = np.where(np.arange(60) > v, 0.0, found)
        turned = np.where(np.arange(60) == v, -other, other)
        assert score(other) >= score(turned)


@pytest.mark.parametrize("prior", [0.0, 0.05])
@pytest.mark.parametrize("optimizer", families.names("optimizer"))
def test_a_metric_that_divides_0_by_0_is_tuned_on_and_said_once(optimizer, prior):
    # The start chooses hypotheses without a match: precision and recall are 0, F1 is 0 / 0.
    features = np.array([[3.0, 0.0], [1.0, 2.0], [0.0, 1.0]] * 6)
    stats = np.array([[0.0, 5.0, 5.0], [4.0, 5.0, 5.0], [1.0, 5.0, 5.0]] * 6)
    nbest = featured(np.asfortranarray(features), np.arange(0, 19, 3), (("LM0", 2),))
    search = registry.optimizer(optimizer, {"restarts": 1, "spread": 2.0})
    setup = Setup(search, (FeatureWeights({"LM0": (1.0, 0.1)}),), prior=prior)
    found = find_weights(nbest, StatTable(stats), F1(), setup)
    assert np.isnan(found.start_score)
    assert np.isfinite(found.weights.values["LM0"]).all()
    if optimizer not in ("pro", "kbmira"):  # they do not look for it
        assert found.score == pytest.approx(0.8 if prior == 0 else found.score)
    (line,) = [line for line in found.warnings if "is no finite number" in line]
    assert f"as of the sums {F1.stat_names[0]} 0, " in line


def test_the_default_takes_any_score_before_none():
    """One segment can match; where it is held out, the score is 0 / 0."""
    features = np.array([[3.0, 0.0], [1.0, 2.0], [0.0, 1.0]] * 8)
    stats = np.array([[0.0, 5.0, 5.0]] * 24)
    stats[1] = [4.0, 5.0, 5.0]
    nbest = featured(np.asfortranarray(features), np.arange(0, 25, 3), (("LM0", 2),))
    setup = Setup(registry.optimizer("bagged"), (FeatureWeights({"LM0": (1.0, 0.1)}),))
    found = find_weights(nbest, StatTable(stats), F1(), setup)
    assert np.isnan(found.start_score)
    assert found.score == pytest.approx(2 * 4 / (40 + 40))


class Even(F1):
    """F1 where the matches are even, else NaN: an average of weights may have no score."""

    def score(self, stats):
        return np.where(stats[..., 0] % 2 == 0, super().score(stats), np.nan)


def test_where_the_averages_have_no_score_the_default_takes_weights_that_have_one():
    starts = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        features = np.asfortranarray(rng.normal(size=(160, 3)))
        stats = np.stack([rng.integers(0, 6, 160), *[np.full(160, 6)] * 2], axis=1).astype(float)
        nbest = featured(features, np.arange(0, 161, 8), (("A", 3),))
        setup = Setup(registry.optimizer("bagged"), (FeatureWeights({"A": (1.0, 0.5, 0.2)}),))
        found = find_weights(nbest, StatTable(stats), Even(), setup)
        assert np.isfinite(found.score)
        starts.append(found.start_score)
    assert 3 <= np.isnan(starts).sum() <= 9


LAZY = ["mert", "coordinate", "powell", "random-directions", "pro", "kbmira", "min-risk"]


def random_lists(tmp_path, seed=5, segments=10, size=15):
    """Hypotheses of few words, so that some have the same text but other features."""
    rng = np.random.default_rng(seed)
    words = list("abcdefg")
    lines, references = [], []
    for segment in range(segments):
        reference = rng.choice(words, 6)
        references.append(" ".join(reference))
        for _ in range(size):
            kept = reference.copy()
            changed = rng.random(6) < 0.5
            kept[changed] = rng.choice(words, int(changed.sum()))
            links = " ".join(f"{i}-{i}" for i in range(6))
            values = " ".join(f"{value:.3f}" for value in rng.normal(size=3))
            lines.append(f"{segment} ||| {' '.join(kept)} ||| F0= {values} ||| 0 ||| {links}\n")
    for name, content in (("list", lines), ("ref", [f"{line}\n" for line in references])):
        (tmp_path / name).write_text("".join(content))
    (tmp_path / "links").write_text("0-0 1-1 2-2 3-3 4-4 5-5\n" * segments)
    vocabulary = Vocabulary()
    read = read_references(
        [tmp_path / "ref"],
        vocabulary=vocabulary,
        source=tmp_path / "ref",
        links=[tmp_path / "links"],
    )
    return read_nbest([tmp_path / "list"], vocabulary, segments=segments), read


@pytest.mark.parametrize(
    ("optimizer", "metric"), [*((name, "edpm") for name in LAZY), ("mert", "0.5*port + 0.5*dpm")]
)
def test_annotating_what_is_asked_for_ends_as_annotating_all(tmp_path, optimizer, metric):
    nbest, references = random_lists(tmp_path)
    scorer = registry.metric(metric)
    references, annotate = parsed(nbest, references, scorer)
    options = {"restarts": 2, **({"searches_per_feature": 30} if optimizer == "mert" else {})}
    start = FeatureWeights({"F0": (0.5, 0.3, 0.2)})

    def found(texts, annotate, threads):
        setup = Setup(registry.optimizer(optimizer, options), (start,), seed=3)
        said = []
        lists = replace(nbest, texts=texts)
        with using(threads=threads), notices_to(said.append):
            result = optimize_lists(lists, references, scorer, setup, annotate=annotate)
        return result, said

    eager, quiet = found(annotate(np.arange(len(nbest.texts))), None, 1)
    lazy, said = found(nbest.texts, annotate, 1)
    threads, _ = found(nbest.texts, annotate, 3)
    for one in (lazy, threads):
        assert one.weights == eager.weights
        assert one.start_score == eager.start_score
        assert one.score == eager.score
        assert one.restarts == eager.restarts
        assert one.known == lazy.known
    assert eager.known == eager.hypotheses == 150
    reads_all = families.component("optimizer", optimizer).reads_all
    assert (lazy.known == 150) == reads_all
    if reads_all:  # else it is chosen among fewer
        assert lazy.oracle_score == eager.oracle_score
    assert not quiet
    assert [line for line in said if "all 150 of the lists are annotated" in line] == (
        said if reads_all else []
    )


def test_segments_named_are_all_that_is_annotated(tmp_path):
    nbest, references = random_lists(tmp_path)
    metric = registry.metric("dpm")
    references, annotate = parsed(nbest, references, metric)
    asked = []

    def spied(hypotheses):
        asked.extend(hypotheses.tolist())
        return annotate(hypotheses)

    found = optimize_lists(
        nbest, references, metric, Setup(QUICK), annotate=spied,
        segments=np.array([2, 4]),
    )  # fmt: skip
    assert found.hypotheses == 30
    assert found.known == len(asked) == len(set(asked)) < 30
    assert {hypothesis // 15 for hypothesis in asked} == {2, 4}


def tied_lists(seed):
    """Return lists whose first hypothesis is best and, of three equal lengths, in the middle."""
    rng, records, references = np.random.default_rng(seed), [], []
    for segment in range(60):
        length = int(rng.integers(4, 9))
        reference = [f"w{rng.integers(30)}" for _ in range(length)]
        references.append(" ".join(reference))
        errors = [rng.integers(0, 2), *rng.integers(1, 4, size=2), 1, 1, 2]
        middle = rng.normal(-length, 1)
        above = [0, rng.random(), -rng.random(), *rng.normal(0, 1, 3)]
        for shorter, wrong, more in zip((0, 0, 0, 1, 2, 1), errors, above, strict=True):
            words = [f"z{wrong}"] * int(wrong) + reference[int(wrong) : length - shorter]
            features = {"score": round(middle + more, 4), "length": length - shorter}
            records.append({"id": segment, "text": " ".join(words), "features": features})
    return portmert.Lists.from_records(records, refs=[references])


@pytest.mark.parametrize("seed", [1, 2])
def test_no_search_ends_on_a_tie_that_the_order_of_the_list_decides(seed):
    # At score 0 all hypotheses of one length are equal, and the first of them are the best: that
    # is a point between two intervals, as wide as rounding.
    optimized = portmert.optimize(tied_lists(seed), "wer", optimizer="mert:restarts=1")
    assert abs(optimized.weights.plain()["score"]) > 1e-6
    assert not any("stand on a tie" in line for line in optimized.warnings)
    # They choose worse than the lists' own order.
    assert optimized.score < optimized.first_score
    assert any(
        "and" in line and "in the order of the lists" in line for line in optimized.warnings
    )


def test_weights_that_stand_on_a_tie_are_told():
    lists, fixed = tied_lists(1), {"fixed": ["score"]}
    start = {"score": 0.0, "length": 1.0}
    optimized = portmert.optimize(lists, "wer", weights=start, constraints=fixed)
    (line,) = [line for line in optimized.warnings if "stand on a tie" in line]
    assert re.search(r"in \d+ of 60 segments hypotheses have equal model scores", line)


def test_the_scores_of_a_tie_are_those_of_all_segments():
    records = [
        {"id": segment, "text": text, "features": {"score": score, "length": len(text.split())}}
        for segment, text, score in ((0, "a b", 1), (0, "a z", 2), (1, "c d", 1), (1, "c", 0))
    ]
    lists = portmert.Lists.from_records(records, refs=[["a b", "c d"]])
    start = {"score": 0.0, "length": 1.0}
    optimized = portmert.optimize(lists, "wer", weights=start, constraints={"fixed": ["score"]})
    (line,) = [line for line in optimized.warnings if "stand on a tie" in line]
    assert "in 1 of 2 segments" in line
    assert "the first in the list is taken (0.00; the last: 25.00)" in line  # 0 and 1 of 4 words
