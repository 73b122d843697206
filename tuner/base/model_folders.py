"""Folders of trained models: written whole or not at all, with a record of their origin."""

import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .errors import StateError
from .files import clear_parts

RECORD = "model.json"
"""In every folder: its `fingerprint` (the settings and texts), `notes` (counts) and `files`.

Programs and libraries that load a damaged model crash, or align by it in silence; so `files` has
the digests of all files.
"""


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of a folder, None where there is no trained model.

    Raises
    ------
    StateError
        The folder exists but holds something else, or is damaged.
    """
    if not folder.exists():
        return None
    path = folder / RECORD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if folder.is_dir() and not any(folder.iterdir()):
            return None
        raise StateError(
            f"{folder}: holds no {RECORD}, so it is not a trained model; give another folder"
        ) from None
    except (OSError, ValueError) as error:
        raise StateError(f"{path}: not readable ({error}); remove {folder}") from None
    if not isinstance(record, dict) or not isinstance(record.get("fingerprint"), dict):
        raise StateError(f"{path}: has no fingerprint; remove {folder}")
    _check_files(folder, record.get("files", {}))
    return record


def _check_files(folder: Path, digests: object) -> None:
    """Compare the files of a folder with what its record says of them."""
    if not isinstance(digests, dict):
        raise StateError(f"{folder / RECORD}: `files` is no table; remove {folder}")
    files = _files_of(folder)  # and none else: a record may name a device, which never ends
    for name, expected in digests.items():
        try:
            digest = _digest(files[name])
        except (KeyError, OSError):
            digest = None
        if digest != expected:
            fault = "is not there or not readable" if digest is None else "is damaged"
            raise StateError(
                f"{folder / name}: {fault}, its digest is not that in {RECORD}; remove {folder} "
                f"and train again"
            )


def _files_of(folder: Path) -> dict[str, Path]:
    """Return the files in a folder, by their names from there on."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path for path in paths}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _check_room(folder: Path) -> None:
    """Raise `OSError` where the files just written may be cut off: libraries do not tell.

    Where the disk got full it still is, or where no file may grow as large as the largest one.
    64 KiB of room must be left behind a model; libraries write in smaller pieces.
    """
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    with tempfile.TemporaryFile(dir=folder) as probe:
        try:
            os.posix_fallocate(probe.fileno(), 0, max(sizes, default=0) + (1 << 16))
        except (AttributeError, OSError) as error:  # not every system or disk can tell
            full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            if isinstance(error, OSError) and error.errno in full:
                raise


def _locked_part(folder: Path) -> tuple[Path, int]:
    """Make the folder in which a model is written; return it and its lock.

    The lock ends with this process, however it ends. Until it is held, another process may take
    the new folder for a dead one and clear it: then the next one is made.
    """
    while True:
        aside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
        aside.mkdir(parents=True)
        with suppress(FileNotFoundError):
            lock = os.open(aside, os.O_RDONLY)
            with suppress(OSError):  # a disk without locks: then nothing is ever cleared there
                fcntl.flock(lock, fcntl.LOCK_EX)
            if aside.exists():
                return aside, lock
            os.close(lock)


def make_folder(
    folder: Path, fingerprint: Mapping[str, Any], make: Callable[[Path], Mapping[str, Any]]
) -> dict[str, Any]:
    """Make a folder of this fingerprint unless it is there already; return its record.

    It is made aside and renamed when complete: whatever kills the process, `folder` is whole or
    absent.

    Parameters
    ----------
    make
        Fills the folder it is given and returns the notes for the record.

    Raises
    ------
    StateError
        The folder holds a model of another fingerprint, or cannot be written.
    """
    record = read_record(folder)
    if record is not None:
        expected = json.loads(json.dumps(fingerprint))
        if record["fingerprint"] == expected:
            return record
        changed = sorted(
            key
            for key in {*expected, *record["fingerprint"]}
            if expected.get(key) != record["fingerprint"].get(key)
        )
        raise StateError(
            f"{folder}: was trained with another {', '.join(changed)}; remove it, or give "
            f"another folder"
        )
    clear_parts(folder.parent, folder.name)
    aside, lock = folder, -1
    try:
        aside, lock = _locked_part(folder)
        notes = make(aside)
        _check_room(aside)
        digests = {name: _digest(path) for name, path in _files_of(aside).items()}
        record = {"fingerprint": dict(fingerprint), "notes": dict(notes), "files": digests}
        (aside / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        try:
            aside.rename(folder)  # an empty folder may be there
        except OSError:
            # Another process made the same model meanwhile: take that one.
            if read_record(folder) is None:
                raise
    except OSError as error:
        raise StateError(f"{folder}: cannot write: {error.strerror or error}") from None
    finally:
        if lock >= 0:
            shutil.rmtree(aside, ignore_errors=True)
            os.close(lock)
    finished = read_record(folder)
    if finished is None:
        raise StateError(f"{folder}: vanished while it was being written")
    return finished
