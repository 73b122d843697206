"""Where things lie, and tests that need what is not everywhere.

The site is built with this module too, without pytest. The reason of a skip is `GROUP: what`;
tests/conftest.py counts the skips by group.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
CONFIGS = ROOT / "configs"
INVENTED = TESTS / "data" / "invented"
"""Small lists in the invented languages of tests, laid out as in configs/."""
SHARED = ROOT.parent / "shared"
"""Real data and programs; tests that need them skip where the folder is absent."""
MOSES = SHARED / "data" / "moses-ja-en"
"""A real tuning of Moses: texts, lists, weights, links."""
SERVED = TESTS / "support" / "served_metric.py"
"""A program that answers METEOR's protocol with a metric of ours."""
PROGRAMS = SHARED / "tools" / "moses" / "bin"


def needs(*paths):
    """Mark tests that need these files or folders of the shared data."""
    import pytest

    missing = [str(path.relative_to(SHARED)) for path in paths if not path.exists()]
    return pytest.mark.skipif(bool(missing), reason=f"shared data: {', '.join(missing)}")


def programs(*names):
    """Return where these programs are, on PATH or in the shared folder; else skip the test."""
    import pytest

    path = os.pathsep.join((os.environ.get("PATH", os.defpath), str(PROGRAMS)))
    paths = [shutil.which(name, path=path) for name in names]
    missing = [name for name, place in zip(names, paths, strict=True) if place is None]
    if missing:
        pytest.skip(f"programs: {', '.join(missing)} not on PATH")
    if faults := [fault for place in paths for fault in _libraries_missing(place)]:
        pytest.skip(f"programs: {', '.join(names)}: no {', '.join(faults)}")
    return [Path(place) for place in paths]


@functools.cache
def _libraries_missing(program):
    """List the shared libraries without which a program of the shared folder cannot start."""
    if Path(program).parent != PROGRAMS:
        return []
    # The loader then lists the libraries and runs nothing.
    listing = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    process = subprocess.run([program], env=listing, capture_output=True, text=True, check=True)
    return [line.split()[0] for line in process.stdout.splitlines() if "not found" in line]
