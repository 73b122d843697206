"""Compares and scores systems by numbers that other programs computed, without texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from portmert.tuner.base import options
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.errors import counted as count_of
from portmert.tuner.base.json_toml import plain
from portmert.tuner.base.warn import notice
from portmert.tuner.evaluation.comparison.answers import margin_lines
from portmert.tuner.evaluation.comparison.questions import (
    Direction,
    Questions,
    answered,
    baseline_first,
)
from portmert.tuner.evaluation.comparison.scores import Counted
from portmert.tuner.evaluation.comparison.systems import (
    SystemFiles,
    TestSet,
    find_groups,
)
from portmert.tuner.evaluation.comparison.without_texts import compared_by_scores
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.texts import joining
from portmert.tuner.texts.groups import Groups, group_by_id, read_groups
from portmert.tuner.texts.scoring import Score

from .outcomes import (
    GROUP_KEYS,
    SegmentScores,
    outcome_metrics,
    read_outcomes,
    warn_of_repeats,
)

__all__ = ["compare_outcomes", "outcome_metrics", "read_outcomes", "score_outcomes"]


def compare_outcomes(
    systems: Sequence[SystemFiles],
    test: TestSet,
    kinds: Sequence[str],
    resampling: Resampling,
    questions: Questions,
) -> dict[str, Any]:
    """Compare systems by the scores in their files: a document as `compare_systems` makes it.

    Parameters
    ----------
    kinds
        What is taken of repeats: `mean` (the default), `pass@K`, `best@K`, `maj@K`.

    Raises
    ------
    PortmertError
        A file or an option is missing or wrong, or files are of different segments.
    """
    outputs = _read(systems, questions.answers)
    names = list(outputs)
    order = baseline_first(names, questions.baseline)
    outputs = {names[k]: outputs[names[k]] for k in order}
    outputs, ids = _in_one_order(outputs, drop=test.missing == "segment")
    every = [output for replicas in outputs.values() for output in replicas]
    for name, replicas in outputs.items():
        for output in replicas:
            warn_of_repeats(name, output)
    where, segments = every[0].where, len(every[0])
    groups = find_groups(test, (), segments, ids, where) or _groups_beside(every[0])
    subset = questions.subset
    subsets = None if subset is None else read_groups(subset, segments, ids, where, name="subsets")
    metrics = outcome_metrics(kinds or ("mean",), every, questions.better or "", questions.answers)
    counted = [
        Counted(
            metric.label,
            metric,
            [
                np.stack([metric.of_outcomes(output, questions.answers) for output in replicas])
                for replicas in outputs.values()
            ],
        )
        for metric in metrics
    ]
    document = compared_by_scores(
        counted,
        {name: len(replicas) for name, replicas in outputs.items()},
        resampling=resampling,
        groups=groups,
        notes=_notes(outputs),
    )
    document |= plain(answered(questions, document, counted, resampling, groups, subsets))
    return {**document, "headlines": [*document["headlines"], *margin_lines(document)]}


def _read(systems: Sequence[SystemFiles], answers: str) -> dict[str, list[SegmentScores]]:
    """Return the outputs of each system by its name; a file may have several systems."""
    outputs: dict[str, list[SegmentScores]] = {}

    def add(name: str, replicas: list[SegmentScores]) -> None:
        if name in outputs:
            raise InputError(f"two systems are called '{name}'; give them names: name=FILE#KEY")
        outputs[name] = replicas

    for system in systems:
        by_source = [read_outcomes(source, answers) for source in system.sources]
        if system.name is None:
            (by_name,) = by_source
            if "" in by_name:
                written = options.written_files(system.paths)
                raise InputError(
                    f"{written}: a file needs a name, or records with the key 'system'; write it "
                    f"as name={written}"
                )
            for name, output in by_name.items():
                add(name, [output])
            continue
        replicas = []
        for by_name in by_source:
            if len(by_name) > 1 and system.name not in by_name:
                there = ", ".join(list(by_name)[:5])
                raise InputError(
                    f"{next(iter(by_name.values())).where}: scores of several systems ({there}), "
                    f"none is called '{system.name}'; name one of them"
                )
            replicas.append(by_name.get(system.name) or next(iter(by_name.values())))
        add(system.name, replicas)
    return outputs


def _in_one_order(
    outputs: Mapping[str, Sequence[SegmentScores]], *, drop: bool
) -> tuple[dict[str, list[SegmentScores]], tuple[str, ...] | None]:
    """Return the outputs on the same segments in the order of the first, and their ids."""
    every = [output for replicas in outputs.values() for output in replicas]
    first = every[0]
    _check_same_kind(every)
    names = first.ids or tuple(str(k + 1) for k in range(len(first)))
    lacking = _lacking(every, names, drop=drop)
    ids = tuple(name for name in names if name not in lacking)
    if not ids:
        raise InputError(f"{first.where}: no segment has a score of every system")
    if lacking:
        joining.warn_left_out(list(lacking), "a file", lacking)

    def in_order(output: SegmentScores) -> SegmentScores:
        places = {name: place for place, name in enumerate(output.ids or names)}
        if drop:
            return output.of_segments([places[name] for name in ids])
        return output.of_segments(joining.positions(ids, places, first.where, output.where))

    joined = {name: list(map(in_order, replicas)) for name, replicas in outputs.items()}
    return joined, None if first.ids is None else ids


def _check_same_kind(every: Sequence[SegmentScores]) -> None:
    """Raise InputError if some outputs have ids and others none, or other numbers of segments."""
    first = every[0]
    if not len(first):
        raise InputError(f"{first.where}: there is no score")
    for output in every:
        if (output.ids is None) != (first.ids is None):
            without, other = (output, first) if output.ids is None else (first, output)
            ids = other.ids or ("",)
            raise InputError(
                f"{without.where} has no ids, {other.where} has ('{ids[0]}'); give both ids, or "
                f"name the key of the ids: FILE#KEY:ID"
            )
        if output.ids is None and len(output) != len(first):
            raise InputError(
                f"{output.where}: {count_of(len(output), 'score')}, {first.where} has "
                f"{len(first)}; both must be of the same segments, in the same order"
            )


def _lacking(
    every: Sequence[SegmentScores], names: Sequence[str], *, drop: bool
) -> dict[str, str]:
    """Return the segments that lack a score of an output, and why; `names` are of the first."""
    lacking: dict[str, str] = {}
    if drop:
        shared = frozenset.intersection(*(frozenset(x.ids or names) for x in every))
        all_names = dict.fromkeys(name for output in every for name in output.ids or names)
        lacking = {name: "nothing in a file" for name in all_names if name not in shared}
    for output in every:
        for row, text in output.lacking.items():
            if not drop:
                raise InputError(f"{text}; --drop-missing leaves such segments out")
            lacking.setdefault((output.ids or names)[int(output.segments[row])], text)
    return lacking


def _groups_beside(output: SegmentScores) -> Groups | None:
    """Return the groups that stand beside the scores, under one of the usual keys."""
    key = next((key for key in GROUP_KEYS if key in output.columns), None)
    if key is None:
        return None
    labels: Iterable[str] = output.columns[key]
    if output.ids is not None:
        ids = (output.ids[segment] for segment in output.segments)
        labels = group_by_id(ids, labels, output.where).values()
    groups = Groups.of(labels, f"{output.where}#{key}")
    if not 1 < len(groups) < len(output):
        return None
    notice(f"segments are in {len(groups)} groups, of {groups.where}: tests draw whole groups")
    return groups


def _notes(outputs: Mapping[str, Sequence[SegmentScores]]) -> list[str]:
    lines = []
    first_name, first = next(iter(outputs.items()))
    most = max(int(output.repeats.max()) for replicas in outputs.values() for output in replicas)
    if most > 1:
        lines.append(f"up to {most} repeats of each segment: they are part of it, as one unit")
    if len(first[0]) == 1:
        lines.append("one segment only: it cannot be resampled, so nothing is tested")
    for name, replicas in list(outputs.items())[1:]:
        if len(replicas) == len(first) and all(
            np.array_equal(a.values, b.values) and np.array_equal(a.segments, b.segments)
            for a, b in zip(first, replicas, strict=True)
        ):
            lines.append(f"{name} and {first_name} have the same scores")
    return lines


def score_outcomes(metrics: Sequence[str], better: Direction | None = None) -> list[Score]:
    """Score numbers that another program computed, one for each segment: `scores:FILE#KEY`.

    Parameters
    ----------
    better
        Whether higher or lower is better, where the key does not tell.
    """
    scores = []
    for text in metrics:
        by_name = read_outcomes(text.partition(":")[2])
        if len(by_name) > 1:
            raise InputError(
                f"{text}: scores of several systems ({', '.join([*by_name][:5])}); `portmert "
                f"compare` shows all"
            )
        (output,) = by_name.values()
        for lacking in output.lacking.values():
            raise InputError(f"{lacking}; every segment needs a score")
        (metric,) = outcome_metrics(["mean"], [output], better or "", "")
        stats = metric.of_outcomes(output, "")
        total = stats.sum(axis=0)
        scores.append(
            Score(
                metric, float(metric.score(total)), metric.signature, metric.parts(total),
                metric.score(stats), stats=stats, ids=output.ids,
            )
        )  # fmt: skip
    if len({len(item.stats) for item in scores}) > 1:
        raise InputError("the scores are of unequal numbers of segments; score each alone")
    return scores
