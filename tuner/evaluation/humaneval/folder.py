"""Writes the folder of an evaluation: the key, and the judges' sheets in all forms."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from portmert.tuner.evaluation.humaneval.evaluation import Evaluation
from portmert.tuner.evaluation.humaneval.form import as_html
from portmert.tuner.evaluation.humaneval.sheets import as_csv, as_xlsx
from portmert.tuner.ground.errors import InputError, PortmertError
from portmert.tuner.ground.files import write_text, writing

KEY = "key.json"
JUDGES = "judges"


def check_absent(out: Path) -> None:
    """Raise PortmertError if there is something at `out`: answers may be in it."""
    if out.exists():
        raise PortmertError(f"{out}: is there already; name another folder, or take it away")
    if not out.resolve().parent.is_dir():
        raise PortmertError(f"{out}: there is no folder {out.parent}; make it")


def write(evaluation: Evaluation, out: Path) -> None:
    """Write the whole folder, or nothing."""
    check_absent(out)
    aside = out.with_name(f".{out.name}.{secrets.token_hex(4)}.part")
    try:
        aside.mkdir()
        (aside / JUDGES).mkdir()
        for judge in evaluation.sheets:
            for suffix, make in ((".csv", as_csv), (".xlsx", as_xlsx), (".html", as_html)):
                with writing(aside / JUDGES / f"{judge}{suffix}") as file:
                    file.write(make(evaluation, judge))
        write_text(aside / KEY, json.dumps(evaluation.as_json(), indent=1) + "\n")
        aside.rename(out)
    except OSError as error:
        raise PortmertError(f"{out}: cannot write: {error.strerror or error}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def find_keys(sheets: Sequence[Path]) -> list[Path]:
    """Return the keys beside the sheets or one folder above, each once.

    Raises
    ------
    InputError
        A sheet has no key near it.
    """
    found: dict[Path, Path] = {}
    for sheet in sheets:
        if sheet.is_dir():
            raise InputError(f"{sheet}: is a folder; name the judges' sheets, as kit/judges/*.csv")
        if not sheet.is_file():
            raise InputError(f"{sheet}: there is no such file; expected a judge's sheet")
        near = [folder / KEY for folder in (sheet.parent, sheet.parent / "..")]
        key = next((path for path in near if path.is_file()), None)
        if key is None:
            raise InputError(
                f"{sheet}: no {KEY} beside it or in the folder above; name the key (--key)"
            )
        found.setdefault(key.resolve(), key)
    return list(found.values())
