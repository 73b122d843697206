"""Computes whether judges agree and which system they prefer, and shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.tuner.evaluation.humaneval.answers import Answers
from portmert.tuner.evaluation.humaneval.evaluation import Evaluation
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.ground.numbers import shown_p
from portmert.tuner.ground.tables import Table

CATEGORIES = 3
"""The first system is better, the second is, neither is."""


@dataclass(frozen=True)
class JudgeAgreement:
    """How far judges agree on the items that all of them saw.

    Parameters
    ----------
    conditions
        Names of the evaluations with these judges.
    judges
        All judges, in order.
    items
        Number of common items.
    kappa
        Fleiss' kappa. It and the kappas below are None with one judge or no common item.
    without
        Judge -> kappa of the others; None with two judges.
    dropped
        Judges left out of all counts.
    kappa_kept
        Kappa of the remaining judges.
    """

    conditions: tuple[str, ...]
    judges: tuple[str, ...]
    items: int
    kappa: float | None
    without: dict[str, float | None]
    dropped: tuple[str, ...]
    kappa_kept: float | None


@dataclass(frozen=True)
class Preference:
    """How often either system was preferred.

    Parameters
    ----------
    condition
    systems
        The first and the second; None in a total over different systems.
    wins, losses, ties
        Numbers of items on which judges prefer the first system, the second, and neither.
    p_one_sided
        Sign test without ties of "the first system is better".
    p_two_sided
        Sign test without ties of "they differ".
    """

    condition: str
    systems: tuple[str, str] | None
    wins: int
    losses: int
    ties: int
    p_one_sided: float
    p_two_sided: float


@dataclass(frozen=True)
class Results:
    """All results of one or more evaluations."""

    agreements: tuple[JudgeAgreement, ...]
    preferences: tuple[Preference, ...]
    total: Preference | None
    literal: bool


def fleiss_kappa(counts: IntArray) -> float:
    """Return Fleiss' kappa; 1 where all agree on one category.

    Parameters
    ----------
    counts : (N, C) int64
        Number of judges who chose each category for an item. All items have equally many judges,
        at least two.

    References
    ----------
    Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin, 1971.
    """
    judges = counts[0].sum()
    agreement = np.mean((np.sum(counts**2, axis=1) - judges) / (judges * (judges - 1)))
    shares = counts.sum(axis=0) / counts.sum()
    chance = np.sum(shares**2)
    # If all judges always chose one category, the quotient is 0 / 0.
    return 1.0 if np.count_nonzero(shares) == 1 else float((agreement - chance) / (1 - chance))


def outliers(kappa: float, without: FloatArray, *, count: int, literal: bool) -> list[int]:
    """Return the numbers of `count` judges to leave out, rising.

    Without a judge who disagrees with the rest, kappa is higher. So the judges with the highest
    kappa of the others are left out. The PORT paper says so in words, but prints the opposite
    difference; `literal` follows the print. Among equals the first are left out.
    """
    gain = kappa - without if literal else without - kappa
    return sorted(np.argsort(-np.round(gain, 12), kind="stable")[:count].tolist())


def sign_test(wins: int, losses: int) -> tuple[float, float]:
    """Return the exact one-sided p ("more wins") and the two-sided one; 1 without either."""
    from scipy.stats import binomtest  # noqa: PLC0415  start-up time

    if wins + losses == 0:
        return 1.0, 1.0
    one, two = (
        float(binomtest(wins, wins + losses, alternative=side).pvalue)
        for side in ("greater", "two-sided")
    )
    return one, two


def evaluate(answers: Sequence[Answers], *, drop: int = 0, literal: bool = False) -> Results:
    """Count agreement and preferences.

    Parameters
    ----------
    answers
        One sheet of every judge of every evaluation.
    drop
        How many judges to leave out: those who disagree most with the others on the common items.
        Evaluations with the same judges are taken together.
    literal
        See `outliers`.

    Raises
    ------
    InputError
        There are too few judges to leave out `drop` of them, or no common items.
    """
    evaluations = list({one.evaluation.id: one.evaluation for one in answers}.values())
    groups: dict[frozenset[str], list[Evaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault(frozenset(evaluation.sheets), []).append(evaluation)
    agreements = []
    dropped: dict[str, tuple[str, ...]] = {}
    for group in groups.values():
        agreement = _agreement(group, answers, drop=drop, literal=literal)
        agreements.append(agreement)
        dropped |= {evaluation.id: agreement.dropped for evaluation in group}
    preferences = [
        _preference(
            evaluation,
            [
                one
                for one in answers
                if one.evaluation.id == evaluation.id and one.judge not in dropped[evaluation.id]
            ],
        )
        for evaluation in evaluations
    ]
    total = None
    if len(preferences) > 1:
        systems = {one.systems for one in preferences}
        total = _tested(
            "total",
            next(iter(systems)) if len(systems) == 1 else None,
            sum(one.wins for one in preferences),
            sum(one.losses for one in preferences),
            sum(one.ties for one in preferences),
        )
    return Results(tuple(agreements), tuple(preferences), total, literal)


def _agreement(
    group: Sequence[Evaluation], answers: Sequence[Answers], *, drop: int, literal: bool
) -> JudgeAgreement:
    judges = tuple(group[0].sheets)
    by = {(one.evaluation.id, one.judge): one.votes for one in answers}
    votes = np.array(
        [
            [by[evaluation.id, judge][item] for judge in judges]
            for evaluation in group
            for item, what in evaluation.items.items()
            if what.common
        ],
        dtype=np.int64,
    ).reshape(-1, len(judges))
    chosen = (votes[:, :, None] == np.arange(CATEGORIES)).astype(np.int64)  # (N, judges, C)
    counts = chosen.sum(axis=1)
    kappa = fleiss_kappa(counts) if len(counts) and len(judges) > 1 else None
    known = kappa is not None and len(judges) > 2
    without = [
        fleiss_kappa(counts - chosen[:, number]) if known else None
        for number in range(len(judges))
    ]
    conditions = tuple(evaluation.condition for evaluation in group)
    left_out: list[int] = []
    if drop:
        if drop > len(judges) - 2 or kappa is None:
            raise InputError(
                f"{', '.join(conditions)}: {counted(len(judges), 'judge')} and "
                f"{counted(len(counts), 'common item')}; leaving out {drop} needs "
                f"{drop + 2} judges or more, and common items"
            )
        table = np.array([value for value in without if value is not None])
        left_out = outliers(kappa, table, count=drop, literal=literal)
    kept = [number for number in range(len(judges)) if number not in left_out]
    return JudgeAgreement(
        conditions,
        judges,
        len(counts),
        kappa,
        dict(zip(judges, without, strict=True)),
        tuple(judges[number] for number in left_out),
        None if kappa is None else fleiss_kappa(chosen[:, kept].sum(axis=1)),
    )


def _preference(evaluation: Evaluation, answers: Sequence[Answers]) -> Preference:
    """Count items. An item that several judges saw counts once, by their majority.

    Judgments of one item are not independent, and the sign test needs independent counts.
    """
    counts = [0] * CATEGORIES
    for item in evaluation.items:
        votes: list[int] = [one.votes[item] for one in answers if item in one.votes]
        if votes:
            by_category = [votes.count(category) for category in range(CATEGORIES)]
            most = max(by_category)
            # Without a single largest category, neither system is preferred.
            undecided = by_category.count(most) > 1
            counts[CATEGORIES - 1 if undecided else by_category.index(most)] += 1
    return _tested(evaluation.condition, evaluation.systems, counts[0], counts[1], counts[2])


def _tested(
    condition: str, systems: tuple[str, str] | None, wins: int, losses: int, ties: int
) -> Preference:
    return Preference(condition, systems, wins, losses, ties, *sign_test(wins, losses))


def tables(results: Results) -> list[Table]:
    """Return the preferences as in Table 5 of the PORT paper, and the judges' agreement."""
    listed = [*results.preferences, *([results.total] if results.total is not None else [])]
    names = {one.systems for one in listed}
    (same,) = names if len(names) == 1 else (None,)
    return [
        Table(
            "Human preference; sign test without ties",
            [
                "condition",
                *([] if same else ["systems"]),
                *([f"{name} wins" for name in same] if same else ["first wins", "second wins"]),
                "equal",
                "total",
                "p one-sided",
                "p two-sided",
            ],
            [_row(one, with_systems=same is None) for one in listed],
            left=1 if same else 2,
        ),
        Table(
            "Agreement of the judges on the common items (Fleiss' kappa), all and without each; "
            + (
                "left out by the paper's printed expression: lowest kappa without"
                if results.literal
                else "left out by the paper's wording: highest kappa without"
            ),
            ["condition", "judge", "items", "kappa", "left out"],
            [
                row
                for one in results.agreements
                for row in (
                    [", ".join(one.conditions), "all", str(one.items), _kappa(one.kappa), ""],
                    *(
                        [
                            "",
                            f"without {judge}",
                            "",
                            _kappa(kappa),
                            "yes" if judge in one.dropped else "",
                        ]
                        for judge, kappa in one.without.items()
                    ),
                    *(
                        [["", "all but those left out", "", _kappa(one.kappa_kept), ""]]
                        if one.dropped
                        else []
                    ),
                )
            ],
            left=2,
        ),
    ]


def as_json(results: Results) -> dict[str, Any]:
    """Return all as the JSON object of `portmert humaneval read --json`."""
    return {
        "preferences": [asdict(one) for one in results.preferences],
        "total": None if results.total is None else asdict(results.total),
        "agreement": [asdict(one) for one in results.agreements],
        "filter": "literal" if results.literal else "wording",
    }


def _row(one: Preference, *, with_systems: bool) -> list[str]:
    total = one.wins + one.losses + one.ties
    systems = [] if not with_systems else [" / ".join(one.systems) if one.systems else ""]
    return [
        one.condition,
        *systems,
        *(f"{count} ({100 * count / total:.1f} %)" for count in (one.wins, one.losses, one.ties)),
        str(total),
        shown_p(one.p_one_sided),
        shown_p(one.p_two_sided),
    ]


def _kappa(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
