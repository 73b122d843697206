"""Write the inputs of a run into its folder, and read them: data files, aligner, annotator.

Paths are relative to the folder, so that folder and data can be moved together. The run itself
does not read this file; `report` and `compare` do.
"""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..base import errors, files, json_toml
from ..components import registry
from ..texts.annotator import Annotator
from .config import Data, Experiment, ListsData

NAME = "inputs.json"
CALLED = Path("portmert.tune")
"""Stands for the configuration of a run that was called in Python."""
FAMILIES = ("aligner", "annotator")
"""The components that a comparison needs too."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of a run.

    Parameters
    ----------
    config
        The configuration, which may have changed since; None for a tuning on given lists.
    data
        Paths on this machine; a `ListsData` for a tuning on given lists.
    components
        Family (`aligner`, `annotator`) -> component, where the run has one.
    """

    config: Path | None
    data: Data
    components: dict[str, Any]


def write_inputs(
    folder: Path, experiment_or_data: Experiment | ListsData, annotator: Annotator | None = None
) -> None:
    """Write the inputs of a run, or of a tuning on given lists with an annotator."""
    run = experiment_or_data if isinstance(experiment_or_data, Experiment) else None
    content: dict[str, Any] = {
        "config": None if run is None else _as_json(run.path, folder),
        "data": _fields(experiment_or_data if run is None else run.data, folder),
    }
    components = {"annotator": annotator} if run is None else vars(run)
    for family in FAMILIES:
        component = components.get(family)
        if component is not None:
            content[family] = {"name": component.name(), "options": _fields(component, folder)}
    files.write_text(folder / NAME, json_toml.to_json(content) + "\n")


def read_inputs(folder: Path) -> Inputs | None:
    """Return the inputs of a run; None if its folder has no such file.

    Raises
    ------
    StateError
        The file is not what portmert writes.
    ConfigError
        It names a component that is not installed.
    """
    path = folder / NAME
    if not path.exists():
        return None
    with errors.faults_at(path, OSError, errors.StateError):
        text = path.read_bytes()
    try:
        content = _from_json(json_toml.parse_json(text), folder)
        components = {
            family: registry.build(
                family, content[family]["name"], content[family]["options"], where=str(path)
            )
            for family in FAMILIES
            if family in content
        }
        config = content["config"]
        kind = ListsData if config is None else Data
        whole = vars(kind(**content["data"]))  # no other keys: one of ours would be missed
        data = TypeAdapter(kind).validate_python(whole)
        return Inputs(None if config is None else Path(config), data, components)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise errors.StateError(
            f"{path}: not what portmert writes ({reason}); delete it, and start the run again: it "
            f"goes on where it was and writes the file anew"
        ) from None


def _fields(content: Any, folder: Path) -> dict[str, Any]:
    return {
        field.name: _as_json(getattr(content, field.name), folder)
        for field in dataclasses.fields(content)
    }


def _as_json(value: object, folder: Path) -> Any:
    if isinstance(value, Path):
        whole = value.parent.resolve() / value.name  # a link stays one: it has the name known
        try:
            return {"path": os.path.relpath(whole, folder.resolve())}
        except ValueError:  # on another drive
            return {"path": str(whole)}
    if isinstance(value, tuple | list):
        return [_as_json(item, folder) for item in value]
    if isinstance(value, dict):
        return {str(key): _as_json(item, folder) for key, item in value.items()}
    return value


def _from_json(value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        if set(value) == {"path"}:
            return os.path.normpath(folder.resolve() / value["path"])
        return {key: _from_json(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [_from_json(item, folder) for item in value]
    return value
