"""pro, kbmira and min-risk: their steps by hand, their guards, and real lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.pro.pro import Pro, background_of
from portmert.tuner.components import registry
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers import _mira_kernels, _risk_kernels
from portmert.tuner.search.optimizers._background_scores import background_scores
from portmert.tuner.search.optimizers._linear import Linear, best_between
from portmert.tuner.search.optimizers.kbmira import Mira, MiraLists
from portmert.tuner.search.optimizers.min_risk import Risk
from portmert.tuner.search.problem import Prior, TuningProblem
from portmert.tuner.search.stat_table import StatTable
from tests.oracles.learning import expected_statistics, mira
from tests.support.examples import examples
from tests.tuner.search.test_line_search import Misses, Share


def problem_of(features, offsets, stats, metric=None, **options):
    return TuningProblem(
        np.ascontiguousarray(np.array(features, dtype=float).T),
        np.array(offsets),
        StatTable(np.array(stats, dtype=float)),
        metric or Share(),
        **options,
    )


def random_problem(seed, *, fixed=False, sparse=False, prior=0.0):
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 7, size=5))])
    count = offsets[-1]
    features = rng.normal(size=(3, count)) * np.array([[1.0], [5.0], [0.2]])
    stats = np.column_stack([rng.integers(0, 6, count), rng.integers(6, 9, count)]).astype(float)
    problem = TuningProblem(features, offsets, StatTable(stats), Share())
    extra = {"fixed": rng.normal(size=count)} if fixed else {}
    if sparse:
        extra["sparse"] = csr_array((rng.random((count, 2)) < 0.4).astype(float))
    width = 5 if sparse else 3
    if prior:
        spread = np.concatenate([problem.spread, np.ones(width - 3)])
        extra["prior"] = Prior(prior, rng.normal(size=width), spread)
    return TuningProblem(features, offsets, problem.stats, Share(), **extra), rng.normal(
        size=width
    )


def linear_of(problem, start):
    return Linear(problem, start, Bounds.none(problem.width))


# Numbers and weights.


@pytest.mark.parametrize("spread", [0.25, 8.0])
def test_scaled_weights_have_the_spread_that_is_asked_for(spread):
    problem = problem_of([[0.0], [1.0], [2.0], [6.0]], [0, 2, 4], [[1, 2]] * 4)
    linear = linear_of(problem, np.ones(1))
    for size in (1e-3, 1.0, 1e3):
        low, high, least, most = linear.scores(linear.scaled(size * linear.start, spread))
        # Each is half a difference from its segment's mean.
        assert np.hypot(high - low, most - least) / np.sqrt(8) == pytest.approx(spread)


@examples(200)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_numbers_and_weights_rank_alike(seed, fixed, sparse):
    problem, start = random_problem(seed, fixed=fixed, sparse=sparse)
    linear = linear_of(problem, start)
    assert linear.scores(linear.start) == pytest.approx(problem.model_scores(start))
    assert linear.weights(linear.start) == pytest.approx(start)
    # Any multiple stands for the same weights.
    assert linear.weights(2.5 * linear.start) == pytest.approx(start)


def test_weights_of_0_are_the_start():
    problem, start = random_problem(3)
    assert linear_of(problem, start).weights(np.zeros(3)).tolist() == start.tolist()


def test_what_a_hypothesis_is_worth_by_hand():
    # Background 2 segments of 3 of 4 each; one more of 1 of 2: 7 of 10, times 3 segments.
    problem = problem_of([[1], [0]], [0, 2], [[3, 4], [1, 2]])
    background = background_of(problem, np.ones(1), 2.0)
    assert background.tolist() == [6, 8]
    worth = background_scores(problem, np.array([[1.0, 2.0]]), background, 2.0)
    assert worth.tolist() == pytest.approx([3 * 7 / 10])
    errors = problem_of([[1], [0]], [0, 2], [[3, 4], [1, 2]], Misses())
    assert background_scores(
        errors, np.array([[1.0, 2.0]]), background, 2.0
    ).tolist() == pytest.approx([-2.1])


# PRO.


def pairs_of(worth, optimizer):
    offsets = np.array([0, len(worth)])
    better, worse = optimizer.sample(np.array(worth), offsets, np.random.default_rng(1))
    return set(zip(better.tolist(), worse.tolist(), strict=True))


def test_pairs_are_of_the_better_and_the_worse():
    assert pairs_of([0.0, 1.0], Pro(least=0.5)) == {(1, 0)}


def test_pairs_that_differ_too_little_are_left_out():
    # Differences 1, 1, 2; their median is 1.
    assert pairs_of([0.0, 1.0, 2.0], Pro(least=1.5)) == {(2, 0)}
    largest = pairs_of([0.0, 1.0, 2.0], Pro(least=0.5, pairs=100, keep="largest"))
    assert largest == {(2, 0)}
    every = pairs_of([0.0, 1.0, 2.0], Pro(least=0.5))
    assert every == {(2, 0), (1, 0), (2, 1)}


def test_a_monster_is_left_out():
    worth = [0.0, 1.0, 2.0, 3.0, -1000.0]
    assert any(worse == 4 for _, worse in pairs_of(worth, Pro(most=1e9)))
    kept = pairs_of(worth, Pro())
    assert kept
    assert all(worse != 4 for _, worse in kept)


def test_nothing_to_choose_between_gives_no_pairs():
    assert pairs_of([0.5, 0.5, 0.5], Pro(least=0.0)) == set()


def test_a_monster_turns_pro_only_without_its_guard():
    # 40 segments: feature 0 tells good from bad. One in eight hypotheses is an overlong monster:
    # nothing right, high in feature 0, and of a length that only it has.
    rng = np.random.default_rng(7)
    features, stats = [], []
    for _ in range(40):
        for k in range(40):
            monster = k % 8 == 0
            good = rng.normal()
            features.append([10 + good if monster else good, rng.normal()])
            stats.append([0, 400] if monster else [np.clip(round(10 + 3 * good), 0, 20), 20])
    offsets = np.arange(41) * 40
    problem = problem_of(features, offsets, stats)
    start = np.array([-0.1, 1.0])
    guarded = linear_of(problem, start)
    weights = []
    for optimizer in (Pro(), Pro(most=1e9)):
        worth = background_scores(
            problem, problem.all_stats(), background_of(problem, start, 20.0), 20.0
        )
        better, worse = optimizer.sample(worth, offsets, np.random.default_rng(1))
        weights.append(optimizer._regress(guarded, better, worse))
    assert weights[0][0] > 0 > weights[1][0]


def lengths_under_pro(word_penalty, **options):
    """Return the length ratios before and after tuning from a start of such a word penalty."""
    # 60 segments of 40 hypotheses: n words of which a share is right; 10 would be the length.
    # The decoder prefers short ones (its score falls with each word).
    rng = np.random.default_rng(3)
    features, stats = [], []
    for _ in range(60):
        for _ in range(40):
            length = int(rng.integers(4, 17))
            quality = rng.normal()
            right = np.clip(round(length * (0.6 + 0.1 * quality)), 0, 10)
            features.append([quality - 0.5 * length + rng.normal(), -length])
            counts = [np.clip(right - n, 0, None) for n in range(4)]
            totals = [max(length - n, 0) for n in range(4)]
            stats.append([*(x for pair in zip(counts, totals, strict=True) for x in pair), 10])
    problem = problem_of(features, np.arange(61) * 40, stats, registry.metric("bleu"))
    start = np.array([1.0, word_penalty])
    optimizer = Pro(**options)
    found = optimizer.search(problem, start, Bounds.none(2), np.random.default_rng(1))

    def ratio(weights):
        total = problem.total(problem.winners(weights))
        return total[1] / total[-1]

    return ratio(start), ratio(found.weights)


@pytest.mark.parametrize("word_penalty", [2.0, 0.0, -0.6, -1.0, -3.0])
def test_pro_ends_at_the_length_of_the_reference_wherever_it_starts(word_penalty):
    before, after = lengths_under_pro(word_penalty)
    assert abs(before - 1) > 0.2
    assert after == pytest.approx(1, abs=0.05)


def test_a_round_of_pro_overshoots_and_the_next_swings_back():
    before, once = lengths_under_pro(-5.0, rounds=1)
    _, twice = lengths_under_pro(-5.0, rounds=2)
    assert before > 1.5
    assert abs(twice - 1) < abs(once - 1)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_best_between_two_is_no_worse_than_points_on_the_way(seed, fixed):
    problem, begin = random_problem(seed, fixed=fixed)
    end = np.random.default_rng(seed + 1).normal(size=problem.width)
    found = best_between(problem, begin, end)
    ways = [begin + step * (end - begin) for step in np.linspace(0.003, 0.997, 50)]
    assert problem.objective(found) >= max(problem.objective(way) for way in ways)
    shares = (found - begin) / (end - begin)
    assert shares == pytest.approx(np.full(len(shares), shares[0]))
    assert 0 <= shares[0] <= 1


def test_interpolation_by_hand():
    # (1, 3) / 4 and (-2, 2) / 4 at 1/4: (0.0625, 0.6875), as large as the start.
    mixed = Pro(interpolation=0.25)._interpolate(np.array([1.0, 3.0]), np.array([-2.0, 2.0]))
    assert mixed == pytest.approx(4 * np.array([0.75 * 0.25 - 0.25 * 0.5, 0.75 * 0.75 + 0.125]))


# k-best MIRA.


def mira_of(problem, start, **options):
    return Mira(MiraLists(linear_of(problem, start), start), np.arange(1), **options)


def test_steps_of_mira_by_hand():
    # Two hypotheses, features 0 and 1, model scores 0 and -0.1, spread of their worth 1: the
    # second is worth 1 - -1 = 2 more. Hope is the second, fear the first.
    problem = problem_of([[0.0], [1.0]], [0, 2], [[0, 2], [2, 2]], spread=np.ones(1))
    mira = mira_of(problem, np.array([-0.1]), c=0.3)
    mira.weights = np.array([-0.1])
    mira.learn(np.array([0]))
    # Loss 2 - -0.1 = 2.1, squared change 1: the step is c.
    assert mira.weights.tolist() == pytest.approx([0.2])
    mira.c = 5.0
    mira.learn(np.array([0]))
    assert mira.weights.tolist() == pytest.approx([2.0])  # loss 1.8: the margin is reached
    mira.learn(np.array([0]))
    assert mira.weights.tolist() == pytest.approx([2.0])  # hope and fear are one
    assert mira.mean.tolist() == pytest.approx([(0.2 + 2.0 + 2.0) / 3])


def test_the_background_is_the_decaying_sum_of_hopes():
    problem = problem_of([[0.0], [1.0]], [0, 2], [[0, 2], [2, 2]])
    mira = mira_of(problem, np.ones(1), decay=0.5)
    assert mira.background.tolist() == [2, 2]  # the start's best, one segment
    mira.learn(np.array([0]))
    assert mira.background.tolist() == [(2 + 2) / 2, (2 + 2) / 2]
    assert mira.size == 1.0


def test_where_all_are_worth_the_same_nothing_is_learnt():
    problem = problem_of([[0.0], [1.0]], [0, 2], [[2, 2], [2, 2]])
    mira = mira_of(problem, np.ones(1))
    mira.epoch(np.random.default_rng(1))
    assert mira.weights.tolist() == mira.lists.begin.tolist()


@pytest.mark.parametrize("is_sparse", [False, True])
@given(seed=st.integers(0, 2**32 - 1))
def test_steps_of_mira_are_those_of_their_twin(is_sparse, seed):
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, size=6))])
    size = int(offsets[-1])
    matrix = rng.integers(-2, 3, size=(size, 3)).astype(float)  # ties are common
    marks = csr_array(rng.integers(-1, 2, size=(size, 2 * is_sparse)).astype(float))
    features = np.hstack([matrix, marks.toarray()])
    segments = rng.permutation(6)[:4]
    ranges = [np.arange(offsets[s], offsets[s + 1]) for s in segments]
    worth = rng.integers(0, 3, size=size).astype(float)
    width = features.shape[1]
    numbers = rng.normal(size=width)
    lower = np.where(rng.random(width) < 0.3, 0.0, -np.inf)
    numbers, upper = np.maximum(numbers, lower), np.full(width, np.inf)
    parts = (marks.indptr, marks.indices) if is_sparse else (np.empty(0), np.empty(0))
    lists = _mira_kernels.FeatureRows(
        matrix, offsets, *(part.astype(np.int64) for part in parts), marks.data
    )
    late = rng.normal(size=width)
    before, at_first = late.copy(), numbers.copy()
    ways, hopes = mira(
        [features[rows] for rows in ranges],
        [worth[rows] for rows in ranges],
        at_first,
        lower=lower,
        upper=upper,
        c=0.4,
    )
    found = _mira_kernels.mira(
        lists, segments, worth[np.concatenate(ranges)], (lower, upper, 0.4), 7, numbers, late
    )
    firsts = [rows[0] for rows in ranges]
    wanted = [h if h < 0 else first + h for h, first in zip(hopes, firsts, strict=True)]
    assert found.tolist() == wanted
    assert numbers == pytest.approx(ways[-1])
    # After 7 steps at the first numbers, the mean is that of all eleven.
    mean = (7 * at_first + np.sum(ways, axis=0)) / 11
    assert numbers - (late - before) / 11 == pytest.approx(mean)


# Minimum risk.


@given(st.integers(0, 2**32 - 1))
def test_kernel_expects_what_its_twin_does(seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, size=5))])
    size = int(offsets[-1])
    matrix, stats = rng.normal(size=(size, 3)), rng.normal(size=(size, 2))
    numbers, extra = 3 * rng.normal(size=3), rng.normal(size=size)
    shares, expected = np.empty(size), np.zeros(2)
    for part in (offsets[:3], offsets[2:]):  # block by block
        _risk_kernels.expect(matrix, numbers, extra, part, stats, shares, expected)
    twin = expected_statistics(matrix @ numbers + extra, offsets, stats)
    assert shares == pytest.approx(twin[0], abs=1e-8)
    assert expected == pytest.approx(twin[1], abs=1e-7)


@pytest.mark.parametrize("all_of_them", [-1000.0, 1000.0])
def test_what_all_model_scores_have_in_common_changes_no_probability(all_of_them):
    shares = np.empty((2, 4))
    offsets, stats, none = np.array([0, 2, 4]), np.ones((4, 1)), (np.zeros((4, 1)), np.zeros(1))
    for row, more in enumerate((0.0, all_of_them)):
        extra = more + np.array([0.0, 1.0, -1.0, 2.0])
        _risk_kernels.expect(*none, extra, offsets, stats, shares[row], np.zeros(1))
    assert shares[0, 1] == pytest.approx(np.e / (1 + np.e))
    assert shares[1] == pytest.approx(shares[0])


def expected_share(problem, numbers):
    """The objective again, segment by segment."""
    scores = linear_of(problem, np.ones(problem.width)).scores(numbers)
    total = 0.0
    for a, b in zip(problem.offsets[:-1], problem.offsets[1:], strict=True):
        shares = np.exp(scores[a:b]) / np.exp(scores[a:b]).sum()
        total = total + shares @ problem.stats.rows[a:b]
    return total[0] / total[1]


def test_expected_score_by_hand():
    # Softmax of (0, log 3): a quarter of 0 of 2 and three quarters of 2 of 2.
    problem = problem_of([[0.0], [np.log(3)]], [0, 2], [[0, 2], [2, 2]], spread=np.ones(1))
    risk = Risk(linear_of(problem, np.ones(1)))
    value, gradient = risk.loss(np.ones(1))
    assert value == pytest.approx(-0.75)
    # d/dx of 3^x / (1 + 3^x) at 1 is log 3 * 3/16.
    assert gradient.tolist() == pytest.approx([-np.log(3) * 3 / 16])


@examples(200)
@given(
    st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 0.1]),
)  # fmt: skip
def test_gradient_is_the_slope_of_the_loss(seed, fixed, sparse, prior, l2):
    problem, start = random_problem(seed, fixed=fixed, sparse=sparse, prior=prior)
    linear = linear_of(problem, start)
    risk = Risk(linear, l2=l2)
    numbers = linear.start
    value, gradient = risk.loss(numbers)
    if not (prior or l2):
        assert -value == pytest.approx(expected_share(problem, numbers))
    for i in range(len(numbers)):
        step = np.zeros(len(numbers))
        step[i] = 1e-5
        slope = (risk.loss(numbers + step)[0] - risk.loss(numbers - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, abs=2e-6)


def test_the_derivative_suits_every_metric():
    rng = np.random.default_rng(3)
    for name in ("bleu", "port", "qmean"):
        metric = registry.metric(name)
        stats = 50 + 50 * rng.random((4, len(metric.stat_names)))
        problem = problem_of(np.zeros((4, 1)), [0, 4], stats, metric)
        risk = Risk(linear_of(problem, np.ones(1)))
        total = stats.sum(axis=0)
        change = 1e-4 * rng.normal(size=len(total)) * total
        rise = float(metric.score(total + change) - metric.score(total - change)) / 2
        assert risk._slopes_by_stat(total) @ change == pytest.approx(rise, rel=1e-3), name
