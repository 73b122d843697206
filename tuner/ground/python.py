"""Starts processes of our own: with this one's modules, none of the current folder's.

Whatever lies where the user works, a `json.py` say, must not be run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import portmert

_OURS = Path(portmert.__file__).resolve().parent.parent


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module, never one that lies in the current folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_path() -> str:
    """Return PYTHONPATH for a process that finds what this one does.

    Without the current folder, which `python -m` and an empty entry of PYTHONPATH put there,
    unless it is where we are.
    """
    here = Path.cwd().resolve()
    return os.pathsep.join(
        entry for entry in sys.path if entry and (Path(entry).resolve() != here or here == _OURS)
    )
