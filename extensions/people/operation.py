"""Makes sheets for human judges, and reads their answers."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic.dataclasses
from pydantic import ConfigDict, Field, TypeAdapter

from portmert.metrics._base import IntArray
from portmert.tuner.api.texts import pipeline_of
from portmert.tuner.base import arguments, files
from portmert.tuner.base.errors import InputError, faults_at, suggest
from portmert.tuner.base.json_toml import read_toml
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
from portmert.tuner.texts.text_pipeline import TextPipeline

from . import answers, evaluation, results
from . import sheets as written
from .evaluation import read_key
from .selection import Filters, read_and_select

FILTERS = Filters()


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SheetCondition:
    """One of several comparisons that sheets mix: its outputs and texts.

    Parameters
    ----------
    name
        Its name in tables.
    first, second, refs, source
        As of `make_sheets`.
    top_share
        As of `Filters`; None: the share of the filters.
    """

    name: str
    first: str
    second: str
    refs: tuple[Path, ...] = ()
    source: Path | None = None
    top_share: Annotated[float, Field(gt=0, le=1)] | None = None


@arguments.checked
def make_sheets(
    first: str | Sequence[SheetCondition] | Path,
    second: str | None,
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
        Folders of runs, or `name=FILE`. Or, without `second`, several conditions to mix: a TOML
        file with a table [[condition]] for each (name, first, second, refs, source, top_share).
    out : FILE|DIR
        Folder to make: key.json, and judges/ with each judge's sheet.
    refs
        References. Judges see the first one; TER uses all. Default: as in the runs.
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

    Examples
    --------
    >>> import pathlib, tempfile, portmert
    >>> data, kit = pathlib.Path("configs/tanaka"), pathlib.Path(tempfile.mkdtemp(), "kit")
    >>> a, b = (f"{name}={data}/{name}.test.txt" for name in ("l2r", "r2l"))
    >>> portmert.make_sheets(a, b, kit, judges=["al"], refs=[data / "test.ref"], items=4, common=0)
    >>> sorted(path.name for path in (kit / "judges").iterdir())
    ['al.csv', 'al.html']
    """
    written.check_absent(out)
    if second is not None:
        conditions = [SheetCondition(condition or "", str(first), second, tuple(refs), source)]
    elif isinstance(first, str | Path):
        conditions = _conditions(Path(first))
    else:
        conditions = list(first)
    pipeline = pipeline_of(text, text_model)
    pools = [_pool(each, filters, pipeline) for each in conditions]
    if len({(pool.systems, len(pool.texts)) for pool in pools}) > 1:
        raise InputError(
            "conditions: all need the same two names of systems, and a source all or none"
        )

    def joined(several: Iterable[list[str]]) -> list[str]:
        return list(chain.from_iterable(several))

    sizes = [len(pool.texts["reference"]) for pool in pools]
    starts = np.cumsum([0, *sizes[:-1]])
    comparison = evaluation.make(
        np.concatenate([pool.segments + at for pool, at in zip(pools, starts, strict=True)]),
        texts={key: joined(pool.texts[key] for pool in pools) for key in pools[0].texts},
        outputs=(joined(x.outputs[0] for x in pools), joined(x.outputs[1] for x in pools)),
        systems=pools[0].systems,
        judges=judges,
        per_judge=items,
        common=common,
        condition=", ".join(pool.name for pool in pools),
        filters={
            **asdict(filters),
            "text": pipeline.signature,
            "left": pools[0].left if second else {pool.name: pool.left for pool in pools},
        },
        seed=seed,
        mixed=[] if second else joined([x.name] * n for x, n in zip(pools, sizes, strict=True)),
    )
    written.write(comparison, out)


class _Pool(NamedTuple):
    """The texts of a condition, and the segments to draw from."""

    name: str
    systems: tuple[str, str]
    segments: IntArray
    texts: dict[str, list[str]]
    outputs: tuple[list[str], list[str]]
    left: dict[str, Any]


def _pool(condition: SheetCondition, filters: Filters, pipeline: TextPipeline) -> _Pool:
    systems = find_systems(
        [SystemFiles.parse(condition.first), SystemFiles.parse(condition.second)]
    )
    source = condition.source
    for system in systems:
        if len(system.outputs) > 1:
            notice(f"{system.name} has {len(system.outputs)} replicas; the first one is judged")
    if condition.top_share is not None:
        filters = replace(filters, top_share=condition.top_share)
    with tempfile.TemporaryDirectory() as work:
        test_set = TestSet(condition.refs, source)
        systems, test_set, _ = in_one_order(systems, test_set, Path(work))
        test = find_test_files(systems, test_set)
        outputs = [system.outputs[0].text for system in systems]
        sources = [] if test_set.source is None else [test_set.source]
        in_order, _, _ = joining.joined([test.references[0], *outputs, *sources])
        reference, *raw_texts = map(files.read_lines, in_order)
        segments, left = read_and_select(
            outputs, test.references, pipeline, raw_texts[:2], filters
        )
    of_condition = f"{condition.name}: " if condition.name else ""
    notice(of_condition + ", ".join(f"{name}: {count}" for name, count in left.items()))
    texts = {"reference": reference}
    if source is not None:
        texts["source"] = raw_texts[2]
        check_lines(source, len(raw_texts[2]), test.references[0], len(reference))
    names = (systems[0].name, systems[1].name)
    name = condition.name or " against ".join(names)
    return _Pool(name, names, segments, texts, (raw_texts[0], raw_texts[1]), left)


def _conditions(path: Path) -> list[SheetCondition]:
    """Read the conditions of a file. Paths in it are taken from its folder."""
    tables = read_toml(path).get("condition")
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{path}: expected tables [[condition]], one of each comparison")
    with faults_at(path, ValueError, InputError):
        read = TypeAdapter(list[SheetCondition]).validate_python(tables)
    if len({condition.name for condition in read}) < len(read):
        raise InputError(f"{path}: two conditions have one name")

    def placed(system: str) -> str:
        name, equals, file = system.partition("=")
        return f"{name}={path.parent / file}" if equals else str(path.parent / system)

    return [
        replace(
            x, first=placed(x.first), second=placed(x.second),
            refs=tuple(path.parent / ref for ref in x.refs),
            source=x.source and path.parent / x.source,
        )
        for x in read
    ]  # fmt: skip


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

    Examples
    --------
    >>> import pathlib, tempfile, portmert
    >>> data, kit = pathlib.Path("configs/tanaka"), pathlib.Path(tempfile.mkdtemp(), "kit")
    >>> a, b = (f"{name}={data}/{name}.test.txt" for name in ("l2r", "r2l"))
    >>> portmert.make_sheets(a, b, kit, judges=["al"], refs=[data / "test.ref"], items=4, common=0)
    >>> sheet = kit / "judges" / "al.csv"
    >>> _ = sheet.write_text(sheet.read_text("utf-8").replace(",,al,", ",equal,al,"), "utf-8")
    >>> print(str(portmert.read_sheets([sheet])).splitlines()[0])
    Human preference; sign test without ties
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
