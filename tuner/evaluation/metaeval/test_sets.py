"""Reads which test sets to evaluate metrics on, as a TOML file lists them.

Each is a table `[[set]]` with the keys of `TestSet`; paths are taken from where the file is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from portmert.tuner.evaluation.human_scores import Several
from portmert.tuner.families import reason
from portmert.tuner.ground.documents import parse_toml
from portmert.tuner.ground.errors import InputError, faults_at, suggest
from portmert.tuner.ground.files import read_lines

Name = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class TestSet:
    """Says where human scores and outputs of one test set are.

    Parameters
    ----------
    name
        What tables call it.
    human, outputs, refs, source, links, ref_links, penalties, judgments, systems
        As the options of `portmert metaeval`.
    group
        Its data points are taken together with those of others of the group.
    scenario
        Scenarios follow each other in the order of the file.
    """

    __test__ = False  # pytest takes it for a test

    human: Path
    outputs: Path
    refs: Annotated[tuple[Path, ...], Field(min_length=1)]
    name: str = ""
    group: str = ""
    scenario: str = ""
    source: Path | None = None
    links: Path | None = None
    ref_links: tuple[Path, ...] = ()
    penalties: bool = False
    judgments: Several = "refuse"
    systems: tuple[Name, ...] = ()


def read_test_sets(path: Path) -> tuple[TestSet, ...]:
    """Read the test sets of a file.

    Raises
    ------
    InputError
        It is not TOML, lists nothing, has another key or a value of another kind, or names two
        test sets alike.
    """
    text = "\n".join(read_lines(path))
    with faults_at(f"{path}: not TOML", ValueError, InputError):
        content = parse_toml(text)
    listed = content.get("set")
    if set(content) != {"set"} or not isinstance(listed, list) or not listed:
        raise InputError(f"{path}: expected tables [[set]], one of each test set, nothing else")
    found: list[TestSet] = []
    known = [key.name for key in fields(TestSet)]
    for number, table in enumerate(listed, 1):
        for key in table if isinstance(table, dict) else ():
            if key not in known:
                near = suggest(key, known)
                raise InputError(f"{path}: test set {number}: no key '{key}'{near}")
        try:
            one = TypeAdapter(TestSet).validate_python(table)
        except ValidationError as error:
            raise InputError(f"{path}: test set {number}: {reason(error)}") from None
        if not one.name:
            raise InputError(f'{path}: test set {number} has no name; add name = "..."')
        if one.name in (other.name for other in found):
            raise InputError(f"{path}: two test sets are named '{one.name}'")
        found.append(_from(path.parent, one))
    return tuple(found)


def _from(folder: Path, one: TestSet) -> TestSet:
    """Return a test set whose paths are taken from a folder."""

    def moved(paths: Iterable[Path]) -> tuple[Path, ...]:
        return tuple(folder / path for path in paths)

    return replace(
        one,
        human=folder / one.human,
        outputs=folder / one.outputs,
        refs=moved(one.refs),
        source=one.source and folder / one.source,
        links=one.links and folder / one.links,
        ref_links=moved(one.ref_links),
    )
