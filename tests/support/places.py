"""Where things lie: this repository, its tests, and the shared folder beside it, if any."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
CONFIGS = ROOT / "configs"
SHARED = ROOT.parent / "shared"
"""Real data and programs; tests that need them skip where the folder is absent."""
