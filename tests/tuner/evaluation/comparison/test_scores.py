"""What is said of scores and their spread."""

from tuner.evaluation.comparison.model import SystemScore
from tuner.evaluation.comparison.scores import unsure_of_replicas


def score(system, replicas, s_opt, difference=None, metric="bleu"):
    mean = sum(replicas) / len(replicas)
    return SystemScore(
        metric, system, mean, replicas, mean, mean, 0.01, s_opt, difference=difference
    )


def test_a_difference_within_two_standard_errors_over_replicas_is_noted():
    first = score("a", (0.30, 0.32), 0.014142)  # standard error 0.01
    near = score("near", (0.32, 0.34), 0.014142, 0.02)  # 0.02 < 2 * sqrt(0.01 ** 2 + 0.01 ** 2)
    far = score("far", (0.33, 0.35), 0.014142, 0.03)  # 0.03 > 0.0283
    (note,) = unsure_of_replicas([first, near, far])
    assert note.startswith("near against a on bleu: the difference is less than twice")


def test_of_one_replica_or_no_difference_nothing_more_is_said():
    first = score("a", (0.30, 0.32), 0.014142)
    assert unsure_of_replicas([first, score("one", (0.31,), None, 0.001)]) == ()
    assert unsure_of_replicas([first, score("same", (0.30, 0.32), 0.014142, 0.0)]) == ()
    assert unsure_of_replicas([score("x", (0.1,), None), score("y", (0.2, 0.4), 0.1, 0.1)]) == ()
