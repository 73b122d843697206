"""Finds packages of others that stand in the way of ours, whose names are common words."""

from __future__ import annotations

import importlib.util
from pathlib import Path

OURS = ("tuner", "metrics", "aligners")


def shadowed() -> str:
    """Return in one line what stands in the way of a package of ours; '' where nothing does.

    Ours lie beside this one, in a source tree as where a wheel is installed.
    """
    home = Path(__file__).resolve().parents[1]
    for name in OURS:
        spec = importlib.util.find_spec(name)
        if spec is None:
            return f"{home / name} is missing; install portmert again"
        if spec.origin is None or Path(spec.origin).resolve() != home / name / "__init__.py":
            places = [spec.origin] if spec.origin else [*(spec.submodule_search_locations or ())]
            found = Path(str(places[0]).removesuffix("/__init__.py"))
            return (
                f"{found.absolute()} shadows portmert's own package {name} ({home / name}); "
                f"rename it, or take {found.absolute().parent} out of PYTHONPATH and start "
                f"portmert in another folder"
            )
    return ""
