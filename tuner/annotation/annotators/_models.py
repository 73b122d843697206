"""Fingerprints of backends: the version of the library and the hash of the model."""

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

from ...base.errors import AnnotatorError, faults_at


def fingerprint(
    library: str, version: str, options: Mapping[str, object], *models: Path | str
) -> str:
    """Return one line on which answers depend; models count by their content."""
    hashes = "+".join(model if isinstance(model, str) else digest(model) for model in models)
    written = " ".join(f"{key}={value}" for key, value in sorted(options.items()))
    return f"{library} {version} {hashes} {written}".rstrip()


def digest(model: Path) -> str:
    """Return the hash of a file, or of all files in a folder and their names.

    Raises
    ------
    AnnotatorError
        It cannot be read.
    """
    with faults_at(model, OSError, AnnotatorError):
        files = sorted(path for path in model.rglob("*") if path.is_file()) or [model]
        states = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
        return _digest(model, tuple(files), states)


@functools.lru_cache(maxsize=16)
def _digest(model: Path, files: tuple[Path, ...], states: tuple[object, ...]) -> str:
    """Hash files, once for each state of them."""
    del states
    whole = hashlib.blake2b(digest_size=16)
    for path in files:
        name = path.relative_to(model).as_posix()
        with path.open("rb") as file:
            part = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
        whole.update(f"{name}\0{part.hexdigest()}\n".encode())
    return whole.hexdigest()


def text_digest(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
