"""Makes sheets for human judges, and reads what they answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from portmert.tuner.api.judging import Report
from portmert.tuner.api.texts import Notice, log_notice, pipeline_of
from portmert.tuner.evaluation.comparison.systems import find_systems, find_test_set
from portmert.tuner.evaluation.humaneval import answers, evaluation, folder, report, results
from portmert.tuner.evaluation.humaneval.evaluation import Evaluation, read_key
from portmert.tuner.evaluation.humaneval.selection import Filters, read_and_select
from portmert.tuner.ground.errors import InputError, suggest
from portmert.tuner.ground.files import read_lines
from portmert.tuner.ground.tables import as_text
from portmert.tuner.texts.corpus import check_lines


def make_sheets(
    first: str,
    second: str,
    out: Path,
    *,
    judges: Sequence[str],
    refs: Sequence[Path] = (),
    source: Path | None = None,
    items: int = 50,
    common: int = 20,
    min_length: int = 10,
    max_length: int = 50,
    equal_outputs: bool = False,
    top_share: float = 0.5,
    condition: str | None = None,
    text: str = "",
    text_model: Path | None = None,
    seed: int = 1,
    notice: Notice = log_notice,
) -> None:
    """Make a folder of sheets on which judges compare the outputs of two systems.

    Parameters
    ----------
    first, second
        Folders of runs, or `name=FILE`.
    out
        The folder to make.
    items, common
        Of each judge, and how many of them every judge sees.
    min_length, max_length, equal_outputs, top_share
        As of `portmert.tuner.evaluation.humaneval.selection.Filters`.
    condition
        What tables call this comparison.
    """
    folder.check_absent(out)
    systems = find_systems([first, second])
    for system in systems:
        if len(system.outputs) > 1:
            notice(f"{system.name} has {len(system.outputs)} replicas; the first one is judged")
    test = find_test_set(systems, source, tuple(refs))
    outputs = [system.outputs[0].text for system in systems]
    pipeline = pipeline_of(text, text_model)
    filters = Filters(min_length, max_length, not equal_outputs, top_share)
    shown = {path: read_lines(path) for path in (test.references[0], *outputs)}
    selection = read_and_select(
        outputs, test.references, pipeline, [shown[path] for path in outputs], filters
    )
    notice(", ".join(f"{name}: {left}" for name, left in selection.left.items()))
    texts = {"reference": shown[test.references[0]]}
    if source is not None:
        texts["source"] = read_lines(source)
        check_lines(source, len(texts["source"]), test.references[0], len(texts["reference"]))
    made = evaluation.make(
        selection.segments,
        texts=texts,
        outputs=(shown[outputs[0]], shown[outputs[1]]),
        systems=(systems[0].name, systems[1].name),
        judges=judges,
        per_judge=items,
        common=common,
        condition=condition or f"{systems[0].name} against {systems[1].name}",
        filters={
            "min_length": min_length,
            "max_length": max_length,
            "differ": not equal_outputs,
            "top_share": top_share,
            "text": pipeline.signature,
            "left": selection.left,
        },
        seed=seed,
    )
    folder.write(made, out)


def read_sheets(
    sheets: Sequence[Path],
    *,
    keys: Sequence[Path] = (),
    without: Sequence[str] = (),
    drop: int = 0,
    literal: bool = False,
) -> Report:
    """Count preferences and agreement in the sheets that judges sent back.

    Parameters
    ----------
    keys
        key.json of each evaluation. Default: those beside the sheets or above.
    without
        Judges whose sheets never came.
    drop
        Leave out so many judges: those who disagree most with the others on common items.
    literal
        Leave out by the expression that the PORT paper prints, which is the other way round.
    """
    evaluations = [read_key(path) for path in keys or folder.find_keys(sheets)]
    _check_known(without, evaluations)
    given = [answers.read_answers(path, evaluations) for path in sheets]
    answers.check_left_out(given, without)
    asked = {one.id: answers.without(one, without) for one in evaluations}
    given = [replace(one, evaluation=asked[one.evaluation.id]) for one in given]
    answers.check_complete(given, list(asked.values()))
    found = results.evaluate(given, drop=drop, literal=literal)
    listed = report.tables(found)
    return Report(as_text(listed), listed, report.as_json(found))


def _check_known(judges: Sequence[str], evaluations: Sequence[Evaluation]) -> None:
    known = {judge for one in evaluations for judge in one.sheets}
    for judge in judges:
        if judge not in known:
            raise InputError(f"--without {judge}: there is no such judge{suggest(judge, known)}")
