"""CPU seconds of compiling kernels from nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from unittest.mock import patch

from tests.bench.measure import run

if TYPE_CHECKING:
    from pathlib import Path


def compiling(folder: Path) -> list[list[str]]:
    """Measure `portmert compile`, for tuning and for all, each into an empty folder."""
    rows = []
    for purpose, goal in (("tune", "<= 25 s"), ("all", "<= 40 s")):
        cache = str(folder / f"kernels-{purpose}")
        with patch.dict(os.environ, {"NUMBA_CACHE_DIR": cache}):
            process = run(["compile", "--for", purpose])
        rows.append([f"compile --for {purpose}: CPU seconds", f"{process.cpu:.1f}", goal])
    return rows
