"""The folder of a run: its lock, the fingerprint of its work, its files and its log."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..base import errors, files
from ..base.json_toml import parse_json, to_json
from ..base.warn import notice, notices_to

FINGERPRINT_FILE = "state.json"
"""What the work of a run depends on; the state of a run is which of its files exist."""
CONFIG_NAME = "decoder.config"
"""The decoder's tuned configuration, in the run's folder."""
ANNOTATION_NAME = "annotation.json"
"""How many sentences of an iteration came from the annotator's cache; in its folder."""

SEVERAL = "tune.replicas"
"""The key of a run's number of replicas. Each is a run of its own, so that it may change."""

OF_ONE = (
    "iteration-[0-9]*", "test", "test-start", "bootstrap", "history", "weights.json",
    "result.json", "digests.json", "decoder.*",
)  # fmt: skip
"""Names of what a tuning makes in its folder, or a replica in its own."""

PRODUCTS = (
    *OF_ONE, "annotations", "scratch", "texts", "replica-[0-9]*", "average",
    FINGERPRINT_FILE, "inputs.json", "log.txt",
)  # fmt: skip
"""Names of the files that a run makes in its folder; it never removes others."""


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run, locked, with work of one fingerprint.

    It has no state in memory: a file that exists under its final name is a finished step. Its
    properties are paths; the step that writes there makes the folder.
    """

    path: Path

    @property
    def annotations(self) -> Path:
        """The folder of links."""
        return self.path / "annotations"

    @property
    def scratch(self) -> Path:
        """The folder of the decoder's logs, and of what it must keep during a run."""
        return self.path / "scratch"

    def replica(self, number: int) -> Path:
        """Return the folder of replica `number`, counted from 1."""
        return self.path / f"replica-{number}"

    def iteration(self, number: int) -> Path:
        """Return the folder of iteration `number`, counted from 1."""
        return self.path / f"iteration-{number:02d}"

    def clear_scratch(self) -> None:
        """Remove the files that a killed decoder left; its logs stay."""
        for path in self.scratch.glob("*"):
            if path.suffix != ".log" and path.is_file():
                path.unlink()

    def log(self, line: str) -> None:
        """Append a line with the time to log.txt. No other file of a run contains a time."""
        with (self.path / "log.txt").open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z {line}\n")

    def logging(self) -> AbstractContextManager[None]:
        """Append the facts noticed inside to log.txt too."""

        def receive(line: str) -> None:
            self.log(line)
            notice(line)

        return notices_to(receive)


@dataclass(frozen=True)
class Shared:
    """Folder and seed that the replicas of one experiment share.

    Parameters
    ----------
    annotations
        Folder of links.
    split_seed
        Seed that chooses the segments held out.
    first
        Folder of the first iteration of another replica, or None. All begin with the same list.
    """

    annotations: Path
    split_seed: int
    first: Path | None = None


def today() -> str:
    """Return the date for the header of a tuned configuration, UTC.

    Nothing else in the files of a run differs between two runs of the same input. Set
    SOURCE_DATE_EPOCH, as reproducible builds do, to fix the date too.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    is_valid = re.fullmatch("[0-9]{1,11}", epoch)
    moment = datetime.fromtimestamp(int(epoch), UTC) if is_valid else datetime.now(UTC)
    return f"{moment:%Y-%m-%d}"


@contextmanager
def open_run(
    path: Path,
    fingerprint: Mapping[str, str],
    *,
    origin: str,
    fresh: bool = False,
) -> Iterator[RunFolder]:
    """Lock the folder of a run, made if absent, and check that its work has this fingerprint.

    Parameters
    ----------
    fingerprint
        Key of the configuration -> value. Runs with equal fingerprints write equal bytes.
    origin
        Name of the configuration, for messages.
    fresh
        First remove the files of an earlier run.

    Raises
    ------
    StateError
        Another process works there; the fingerprint is another one (the message names the first
        key that differs); the folder has files of these names that no run made.
    """
    with errors.faults_at(f"{path}: cannot be the output folder", OSError, errors.StateError):
        files.resolved(path).mkdir(parents=True, exist_ok=True)
    fault = errors.StateError(
        f"{path}: another portmert is at work in this folder; wait for it or end it"
    )
    with files.locked(path, fault):
        _claim(path, fingerprint, origin=origin, fresh=fresh)
        yield RunFolder(path)


def _claim(path: Path, fingerprint: Mapping[str, str], *, origin: str, fresh: bool) -> None:
    """Check what is in a locked folder, clear what is to go, and write the fingerprint."""
    file = path / FINGERPRINT_FILE
    content = _read_fingerprint(file)
    if content is None and (products := _products(path)):
        raise errors.StateError(
            f"{path}: holds {products[0].name}, but no {FINGERPRINT_FILE} of a run; "
            f"name another output folder or move it away"
        )
    if content is not None and (fresh or content.get("removing")):
        _remove_work(path)
        content = None
    if content is None:
        content = {"fingerprint": {}}
    else:
        _compare(path, content["fingerprint"], fingerprint, origin)
        had_one = content["fingerprint"].get(SEVERAL) == "1"
        if had_one and fingerprint.get(SEVERAL) != "1":
            _begin_series(path, content)
    refuse_misplaced(path)
    if content["fingerprint"] != fingerprint:
        files.write_text(file, to_json({"fingerprint": dict(fingerprint)}) + "\n")
    for folder in (path, *filter(Path.is_dir, _products(path))):
        parts = folder.rglob(".*.part") if folder != path else folder.glob(".*.part")
        for part in list(parts):  # half a file, or half a model, of a killed process
            _remove(part)


def _read_fingerprint(file: Path) -> Any:
    try:
        content = parse_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        content = None
    prints = content.get("fingerprint") if isinstance(content, dict) else None
    if not isinstance(prints, dict) or not all(isinstance(p, str) for p in prints.values()):
        raise errors.StateError(
            f"{file}: is not what portmert writes; name another output folder, or remove this one"
        )
    return content


def _compare(path: Path, before: Mapping[str, str], after: Mapping[str, str], origin: str) -> None:
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if after.get(SEVERAL) != "1":  # replicas may be added to others
        changed = [key for key in changed if key != SEVERAL]
    if not changed:
        return
    key = changed[0]
    old_value, new_value = before.get(key, "absent"), after.get(key, "absent")
    if "sha256:" in old_value and "sha256:" in new_value:
        difference = f"the content of {key} changed"
    else:
        difference = f"{key} was {old_value}, is now {new_value}"
    further = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
    raise errors.StateError(
        f"{path}: holds work of another experiment than {origin}: {difference}{further}; "
        f"name another output folder, or give --fresh to start over"
    )


def _begin_series(path: Path, content: Mapping[str, Any]) -> None:
    """Make a tuning the first replica of a series. If this is killed, the next run goes on."""
    first = RunFolder(path).replica(1)
    first.mkdir(exist_ok=True)
    files.write_text(first / FINGERPRINT_FILE, to_json(content) + "\n")
    for item in [item for pattern in OF_ONE for item in path.glob(pattern)]:
        _remove(first / item.name)  # of a tuning that was begun anew in between
        item.rename(first / item.name)


def refuse_misplaced(path: Path) -> None:
    """Raise StateError if a file of a run is a folder, or the reverse; files have a suffix."""
    for item in [*_products(path), *path.glob("replica-[0-9]*/test")]:
        if item.is_dir() == bool(item.suffix):
            kind, expected = ("folder", "file") if item.suffix else ("file", "folder")
            raise errors.StateError(
                f"{item}: there is a {kind} in the place of the {expected}; remove it, and the "
                f"command that made the run makes the {expected} again"
            )


def _products(path: Path) -> list[Path]:
    return sorted(item for pattern in PRODUCTS for item in path.glob(pattern))


def _remove_work(path: Path) -> None:
    """Remove the files of a run. If this is killed, the next run goes on removing."""
    file = path / FINGERPRINT_FILE
    files.write_text(file, to_json({"fingerprint": {}, "removing": True}, indent=None) + "\n")
    for item in _products(path):
        if item == file:
            continue
        _remove(item)


def _remove(item: Path) -> None:
    if item.is_dir() and not item.is_symlink():
        shutil.rmtree(item)
    else:
        item.unlink(missing_ok=True)
