"""Computes whether judges agree and which system they prefer, and shows it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.tuner.base import errors
from portmert.tuner.base.tables import Table
from portmert.tuner.evaluation.formatting import decimals, p_or_dash

from .answers import Answers
from .evaluation import Evaluation

Common = Literal["majority", "agreement-only"]
"""How common items count among the preferences; the PORT paper throws them away."""
CATEGORIES = 3
"""The first system is better, the second is, neither is."""


def fleiss_kappa(counts: IntArray) -> float | None:
    """Return Fleiss' kappa; None if all judgments are of one category, for then it is 0 / 0.

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
    return None if np.count_nonzero(shares) == 1 else float((agreement - chance) / (1 - chance))


def outliers(kappa: float, without: FloatArray, *, count: int, literal: bool) -> list[int]:
    """Return the numbers of `count` judges to leave out, rising.

    Without a judge who disagrees with the rest, kappa is higher. So the judges with the highest
    kappa of the others are left out. The PORT paper says so in words, but prints the opposite
    difference; `literal` follows the print. Among equals the first are left out.
    """
    gain = kappa - without if literal else without - kappa
    return sorted(np.argsort(-np.round(gain, 12), kind="stable")[:count].tolist())


def sign_test(wins: int, losses: int) -> tuple[float | None, float | None]:
    """Return the exact one-sided p ("more wins") and the two-sided one; None without either."""
    from scipy.stats import binomtest  # noqa: PLC0415  start-up time

    if wins + losses == 0:
        return None, None
    one_sided, two_sided = (
        float(binomtest(wins, wins + losses, alternative=side).pvalue)
        for side in ("greater", "two-sided")
    )
    return one_sided, two_sided


def evaluate(
    answers: Sequence[Answers],
    *,
    drop: int = 0,
    literal: bool = False,
    common: Common = "majority",
) -> dict[str, Any]:
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
    common
        Whether common items count by the majority of their judges, or only for the agreement.

    Returns
    -------
    dict
        The JSON object of `portmert humaneval read --json`: `preferences` of each evaluation and
        in `total` (None with one evaluation), see `_tested`; `agreement` of each group of judges,
        see `_agreement`; and `filter`, which judges are left out.

    Raises
    ------
    InputError
        There are too few judges to leave out `drop` of them, or no common items.
    """
    evaluations = list({sheet.evaluation.id: sheet.evaluation for sheet in answers}.values())
    groups: dict[frozenset[str], list[Evaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault(frozenset(evaluation.sheets), []).append(evaluation)
    agreements = []
    dropped: dict[str, Sequence[str]] = {}
    for group in groups.values():
        agreement = _agreement(group, answers, drop=drop, literal=literal)
        agreements.append(agreement)
        dropped |= {evaluation.id: agreement["dropped"] for evaluation in group}
    preferences = []
    for evaluation in evaluations:
        answers_left = [sheet for sheet in answers if sheet.evaluation.id == evaluation.id]
        answers_left = [
            sheet for sheet in answers_left if sheet.judge not in dropped[evaluation.id]
        ]
        preferences += [
            _preference(evaluation, answers_left, common, condition)
            for condition in dict.fromkeys(x.condition for x in evaluation.items.values())
        ]
    total = None
    if len(preferences) > 1:
        systems = {preference["systems"] for preference in preferences}
        counts = [
            sum(preference[outcome] for preference in preferences)
            for outcome in ("wins", "losses", "ties")
        ]
        total = _tested("total", systems.pop() if len(systems) == 1 else None, *counts)
    return {
        "preferences": preferences,
        "total": total,
        "agreement": agreements,
        "filter": "literal" if literal else "wording",
        "common": common,
    }


def _agreement(
    group: Sequence[Evaluation], answers: Sequence[Answers], *, drop: int, literal: bool
) -> dict[str, Any]:
    """Return how far judges agree on the items that all of them saw.

    `conditions` are the names of the evaluations with these judges, `items` is the number of
    common items, `kappa` Fleiss' kappa (None with one judge or no common item, or if all judgments
    are of one category). `without` has for
    each judge the kappa of the others (None with two judges), `dropped` the judges left out of all
    counts, and `kappa_kept` is the kappa of the remaining judges.
    """
    judges = tuple(group[0].sheets)
    by = {(sheet.evaluation.id, sheet.judge): sheet.votes for sheet in answers}
    votes = np.array(
        [
            [by[evaluation.id, judge][item] for judge in judges]
            for evaluation in group
            for item, details in evaluation.items.items()
            if details.common
        ],
        dtype=np.int64,
    ).reshape(-1, len(judges))
    is_category = (votes[:, :, None] == np.arange(CATEGORIES)).astype(np.int64)  # (N, judges, C)
    counts = is_category.sum(axis=1)
    comparable = len(counts) > 0 and len(judges) > 1
    kappa = fleiss_kappa(counts) if comparable else None
    without = [
        fleiss_kappa(counts - is_category[:, number]) if comparable and len(judges) > 2 else None
        for number in range(len(judges))
    ]
    conditions = tuple(evaluation.condition for evaluation in group)
    left_out: list[int] = []
    if drop:
        if drop > len(judges) - 2 or not comparable:
            raise errors.InputError(
                f"{', '.join(conditions)}: {errors.counted(len(judges), 'judge')} and "
                f"{errors.counted(len(counts), 'common item')}; leaving out {drop} needs "
                f"{drop + 2} judges or more, and common items"
            )
        # Judges who all choose one category agree, though their kappa is 0 / 0.
        agreement, *without_each = (1.0 if value is None else value for value in (kappa, *without))
        left_out = outliers(agreement, np.array(without_each), count=drop, literal=literal)
    judges_left = [number for number in range(len(judges)) if number not in left_out]
    return {
        "conditions": conditions,
        "judges": judges,
        "items": len(counts),
        "kappa": kappa,
        "without": dict(zip(judges, without, strict=True)),
        "dropped": tuple(judges[number] for number in left_out),
        "kappa_kept": fleiss_kappa(is_category[:, judges_left].sum(axis=1))
        if comparable
        else None,
    }


def _preference(
    evaluation: Evaluation, answers: Sequence[Answers], common: Common, condition: str
) -> dict[str, Any]:
    """Count items of a condition. An item that several judges saw counts once, by their majority.

    Judgments of one item are not independent, and the sign test needs independent counts.
    """
    counts = [0] * CATEGORIES
    for item, details in evaluation.items.items():
        votes: list[int] = [sheet.votes[item] for sheet in answers if item in sheet.votes]
        is_counted = details.condition == condition and (
            common == "majority" or not details.common
        )
        if votes and is_counted:
            by_category = [votes.count(category) for category in range(CATEGORIES)]
            most = max(by_category)
            # Without a single largest category, neither system is preferred.
            undecided = by_category.count(most) > 1
            counts[CATEGORIES - 1 if undecided else by_category.index(most)] += 1
    name = condition or evaluation.condition
    if not any(counts):
        raise errors.InputError(f"{name}: all items are common, and --common {common} counts none")
    return _tested(name, evaluation.systems, *counts)


def _tested(
    condition: str, systems: tuple[str, str] | None, wins: int, losses: int, ties: int
) -> dict[str, Any]:
    """Return on how many items judges prefer the first system, the second, and neither.

    The p are of sign tests without ties: of "the first system is better", and of "they differ".
    `systems` is None in a total over different systems.
    """
    one_sided, two_sided = sign_test(wins, losses)
    return {
        "condition": condition,
        "systems": systems,
        "wins": wins,
        "losses": losses,
        "ties": ties,
        "p_one_sided": one_sided,
        "p_two_sided": two_sided,
    }


def tables(results: Mapping[str, Any]) -> list[Table]:
    """Return the preferences as in Table 5 of the PORT paper, and the judges' agreement."""
    preferences_and_total = [*results["preferences"], *filter(None, [results["total"]])]
    names = {row["systems"] for row in preferences_and_total}
    (same,) = names if len(names) == 1 else (None,)
    wins = [f"{name} wins" for name in same or ("first", "second")]
    rows = []
    for row in preferences_and_total:
        counts = [row[outcome] for outcome in ("wins", "losses", "ties")]
        rows.append(
            [
                row["condition"],
                *([] if same else [" / ".join(row["systems"] or ())]),
                *(f"{count} ({100 * count / sum(counts):.1f} %)" for count in counts),
                str(sum(counts)),
                *(p_or_dash(row[key]) for key in ("p_one_sided", "p_two_sided")),
            ]
        )
    preferences = Table(
        "Human preference; sign test without ties",
        ["condition", *([] if same else ["systems"]), *wins, "equal", "total", "p one-sided",
         "p two-sided"],
        rows,
        left=1 if same else 2,
    )  # fmt: skip
    rows = []
    for agreement in results["agreement"]:
        conditions = ", ".join(agreement["conditions"])
        rows.append(
            [conditions, "all", str(agreement["items"]), decimals(agreement["kappa"], 3), ""]
        )
        for judge, kappa in agreement["without"].items():
            left_out = "yes" if judge in agreement["dropped"] else ""
            rows.append(["", f"without {judge}", "", decimals(kappa, 3), left_out])
        if agreement["dropped"]:
            rows.append(
                ["", "all but those left out", "", decimals(agreement["kappa_kept"], 3), ""]
            )
    how = {
        "literal": "left out by the paper's printed expression: lowest kappa without",
        "wording": "left out by the paper's wording: highest kappa without",
    }
    title = "Agreement of the judges on the common items (Fleiss' kappa), all and without each; "
    headers = ["condition", "judge", "items", "kappa", "left out"]
    return [preferences, Table(title + how[results["filter"]], headers, rows, left=2)]
