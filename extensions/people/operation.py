"""Makes sheets for human judges, and reads their answers."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from portmert.tuner.api.texts import pipeline_of
from portmert.tuner.base import arguments, files
from portmert.tuner.base.errors import InputError, suggest
from portmert.tuner.base.numbers import Natural, Positive
from portmert.tuner.base.warn import notice
from portmert.tuner.evaluation.comparison.systems import (
    SystemFiles,
    TestSet,
    find_systems,
    find_test_files,
    in_one_order,
)
from portmert.tuner.evaluation.document import Document
from portmert.tuner.evaluation.report import Report
from portmert.tuner.texts import joining
from portmert.tuner.texts.joining import check_lines

from . import answers, evaluation, results
from . import sheets as written
from .evaluation import read_key
from .selection import Filters, read_and_select

FILTERS = Filters()


@arguments.checked
def make_sheets(
    first: str,
    second: str,
    out: Path,
    *,
    judges: Sequence[str],
    refs: Sequence[Path] = (),
    source: Path | None = None,
    items: Positive = 50,
    common: Natural = 20,
    filters: Filters = FILTERS,
    condition: str | None = None,
    text: str = "",
    text_model: Path | None = None,
    seed: int = 1,
) -> None:
    """Make a folder of sheets on which judges compare the outputs of two systems.

    Parameters
    ----------
    first, second
        Folders of runs, or `name=FILE`.
    out : FILE|DIR
        Folder to make: key.json, and judges/ with each judge's sheet.
    refs
        References. Judges see the first one; TER uses all. Default: those of the runs.
    source
        Source text, shown to the judges too.
    items
        Number of items for each judge.
    common
        Number of items that all judges see, to measure how well they agree.
    filters
        Which segments to show.
    condition
        Name of this comparison in tables. Default: A against B.
    """
    written.check_absent(out)
    systems = find_systems([SystemFiles.parse(first), SystemFiles.parse(second)])
    for system in systems:
        if len(system.outputs) > 1:
            notice(f"{system.name} has {len(system.outputs)} replicas; the first one is judged")
    pipeline = pipeline_of(text, text_model)
    with tempfile.TemporaryDirectory() as work:
        systems, test_set = in_one_order(systems, TestSet(tuple(refs), source), Path(work))
        test = find_test_files(systems, test_set)
        outputs = [system.outputs[0].text for system in systems]
        sources = [] if test_set.source is None else [test_set.source]
        in_order, _, _ = joining.joined([test.references[0], *outputs, *sources])
        reference, *raw_texts = map(files.read_lines, in_order)
        segments, left = read_and_select(
            outputs, test.references, pipeline, raw_texts[:2], filters
        )
    notice(", ".join(f"{name}: {count}" for name, count in left.items()))
    texts = {"reference": reference}
    if source is not None:
        texts["source"] = raw_texts[2]
        check_lines(source, len(raw_texts[2]), test.references[0], len(reference))
    comparison = evaluation.make(
        segments,
        texts=texts,
        outputs=(raw_texts[0], raw_texts[1]),
        systems=(systems[0].name, systems[1].name),
        judges=judges,
        per_judge=items,
        common=common,
        condition=condition or f"{systems[0].name} against {systems[1].name}",
        filters={**asdict(filters), "text": pipeline.signature, "left": left},
        seed=seed,
    )
    written.write(comparison, out)


@arguments.checked
def read_sheets(
    sheets: Sequence[Path],
    *,
    keys: Sequence[Path] = (),
    without: Sequence[str] = (),
    drop: Natural = 0,
    literal: bool = False,
    common: results.Common = "majority",
) -> Report:
    """Count preferences and agreement in the sheets that judges sent back.

    Parameters
    ----------
    keys
        File key.json of an evaluation. Default: the one in the folder of the sheets or above it.
    without : JUDGE
        Name of a judge whose sheet is missing.
    drop
        Leave out this many judges, those who agree least with the others on the common items.
    literal
        With `drop`: use the formula as the PORT paper prints it. Its sign is reversed, so it
        leaves out the judges who agree most.
    common
        Count a common item once, by the majority of its judges; or not at all, as the PORT paper,
        which uses common items to measure agreement.
    """
    evaluations = [read_key(path) for path in keys or written.find_keys(sheets)]
    judges = {judge for judging in evaluations for judge in judging.sheets}
    for judge in without:
        if judge not in judges:
            raise InputError(f"--without {judge}: there is no such judge{suggest(judge, judges)}")
    answer_sheets = [answers.read_answers(path, evaluations) for path in sheets]
    agreement = results.evaluate(
        answers.complete(answer_sheets, evaluations, without),
        drop=drop, literal=literal, common=common,
    )  # fmt: skip
    return Report(Document("Human evaluation", results.tables(agreement)), agreement)
