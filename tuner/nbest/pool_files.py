"""Keep features and statistics of hypotheses in a folder of columns, which are mapped.

A pool is a folder of numpy's own files and a description. `features.npy` is (F, H) float64, a
feature's column contiguous; `stats.npy` is (H, K), the smallest of uint8, uint16, uint32 and
float64 that holds all of them exactly; `offsets.npy` is (S + 1,) int64, where the hypotheses of
each segment begin. A pool that lists are added to also has `keys.npy`, (H,) int64, hashes of
texts and links (see `text_keys`). `pool.json` says what they were made from, and the
check sum of each of them; it is written last, so that without it there is no pool.
"""

import io
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Texts

from ..base import documents, errors, files, mapped
from ..weights.feature_weights import FeatureNames

VERSION = 1
"""Version of the format; a pool of another version is made anew."""

DESCRIPTION = "pool.json"
FILES = ("features.npy", "stats.npy", "offsets.npy")
KEYS = "keys.npy"
LOCK = ".pool.lock"

_COPIED = 1 << 22
"""Bytes, a multiple of 8, that are copied at once."""
_TYPES = (np.uint8, np.uint16, np.uint32)

_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class Pool:
    """An open pool.

    Parameters
    ----------
    features : (F, H) float64
        Mapped from its file.
    stats : (H, K)
        Mapped from its file.
    offsets : (S + 1,) int64
    feature_names : FeatureNames
    notices : tuple of str
        The notices of when the pool was made.
    keys : (H,) int64 or None
        Mapped from its file, where there is one.
    linked : bool
        Whether the lists have word alignments.
    warnings : tuple of str
        The warnings of when the pool was made.
    """

    features: FloatArray
    stats: NDArray[Any]
    offsets: IntArray
    feature_names: FeatureNames
    notices: tuple[str, ...] = ()
    keys: IntArray | None = None
    linked: bool = False
    warnings: tuple[str, ...] = ()


def open_pool(folder: Path, inputs: dict[str, object]) -> Pool | str | None:
    """Return the pool of a folder, None where there is none, or why it must be made anew.

    Parameters
    ----------
    inputs
        The sources that it must have been made from, as JSON.

    Raises
    ------
    InputError
        The folder holds something else, or the pool is damaged.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        _check_free(folder)
        return None
    try:
        content = documents.parse_json(files.read_bytes(path))
        version, made_from = content["version"], dict(content["inputs"])
        names = tuple((str(name), int(size)) for name, size in content["features"])
        notices = tuple(map(str, content["notices"]))
        warnings = tuple(map(str, content.get("warnings", ())))
        sums = {str(name): int(found) for name, found in content["crc32"].items()}
        with_keys = {*FILES, KEYS} == sums.keys()
        if not with_keys and {*FILES} != sums.keys():
            raise ValueError  # noqa: TRY301  said below
    except (ValueError, LookupError, TypeError, AttributeError):
        raise errors.InputError(
            f"{path}: not what portmert writes; name another folder, or remove this one"
        ) from None
    if version != VERSION:
        return f"it is of version {version} of the format, this is {VERSION}"
    if made_from != inputs:
        different = [key for key in inputs if made_from.get(key) != inputs[key]]
        return f"it was made with other {', '.join(different)}"
    features, stats, offsets = (_mapped(folder / name, sums[name]) for name in FILES)
    kinds = (features.dtype == np.float64, stats.dtype in (*_TYPES, np.float64))
    if not all(kinds) or offsets.dtype != np.int64 or offsets.ndim != 1 or not len(offsets):
        raise _damaged(path, f"its numbers are {features.dtype}, {stats.dtype}, {offsets.dtype}")
    width, size = sum(count for _, count in names), int(offsets[-1])
    if features.shape != (width, size) or stats.shape[:1] != (size,):
        raise _damaged(path, f"its files are of {features.shape} features and {stats.shape} stats")
    keys = _mapped(folder / KEYS, sums[KEYS]) if with_keys else None
    if keys is not None and (keys.dtype != np.int64 or keys.shape != (size,)):
        raise _damaged(path, f"its keys are {keys.shape} of {keys.dtype}")
    return Pool(
        features, stats, np.array(offsets), names, notices, keys, content.get("linked") is True,
        warnings,
    )  # fmt: skip


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make a folder that no other process makes a pool in meanwhile.

    Raises
    ------
    PortmertError
        It cannot be made, or another process is at work in it.
    """
    with errors.faults_at(f"{folder}: cannot write", OSError, errors.PortmertError):
        folder.mkdir(parents=True, exist_ok=True)
    fault = errors.PortmertError(
        f"{folder}: another process is making or reading this pool; wait for it, or name another "
        f"folder"
    )
    with files.alone(folder, fault, lock=LOCK):
        yield


class PoolWriter:
    """Write a pool segment after segment; at the end all of it takes its place.

    An unfinished pool has no name and is gone with the process.

    Parameters
    ----------
    folder : Path
        One that is `locked`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = ExitStack()
        self._parts: dict[str, list[IO[bytes]]] = {}
        self._type = self._kinds = self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add(self, features: FloatArray, stats: FloatArray, keys: IntArray | None = None) -> None:
        """Add n hypotheses: (n, F) features, (n, K) statistics and (n,) keys, always or never.

        Raises
        ------
        PortmertError
            The disk is full.
        """
        columns = {FILES[0]: list(features.T), FILES[1]: [stats]}
        if keys is not None:
            columns[KEYS] = [keys]
        with errors.faults_at(f"{self.folder}: cannot write", OSError, errors.PortmertError):
            if not self._parts:
                self._parts = {name: [self._spool() for _ in own] for name, own in columns.items()}
                self._kinds = stats.shape[1]
            for name, own in columns.items():
                for column, file in zip(own, self._parts[name], strict=True):
                    file.write(np.ascontiguousarray(column).data)
        self._type = max(self._type, _smallest(stats))
        self._size += len(features)

    def finish(
        self,
        offsets: IntArray,
        *,
        inputs: dict[str, object],
        feature_names: FeatureNames,
        notices: Iterable[str],
        warnings: Sequence[str] = (),
        linked: bool = False,
    ) -> None:
        """Write the files of the pool, and what describes it.

        Raises
        ------
        PortmertError
            The disk is full.
        """
        described: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
            FILES[0]: (np.float64, (len(self._parts[FILES[0]]), self._size)),
            FILES[1]: ((*_TYPES, np.float64)[self._type], (self._size, self._kinds)),
            FILES[2]: (np.int64, offsets.shape),
            KEYS: (np.int64, (self._size,)),
        }
        self._parts[FILES[2]] = [io.BytesIO(offsets.tobytes())]
        with errors.faults_at(f"{self.folder}: cannot write", OSError, errors.PortmertError):
            (self.folder / DESCRIPTION).unlink(missing_ok=True)
            sums = {
                name: self._write(name, *how, self._parts[name])
                for name, how in described.items()
                if name in self._parts
            }
        content = {
            "version": VERSION,
            "inputs": inputs,
            "features": feature_names,
            "linked": linked,
            "crc32": sums,
            "notices": list(notices),
            **({"warnings": list(warnings)} if warnings else {}),
        }
        files.write_text(self.folder / DESCRIPTION, documents.to_json(content, indent=1) + "\n")

    def _spool(self) -> IO[bytes]:
        return self._open.enter_context(tempfile.TemporaryFile(dir=self.folder))

    def _write(
        self, name: str, kind: type[np.generic], shape: tuple[int, ...], parts: list[IO[bytes]]
    ) -> int:
        """Write what stands in the parts, one after the other; return its check sum."""
        source = np.int64 if kind is np.int64 else np.float64
        head = io.BytesIO()
        described = {"descr": np.dtype(kind).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(head, described)
        found = zlib.crc32(head.getbuffer())
        with files.writing(self.folder / name) as out:
            out.write(head.getbuffer())
            for part in parts:
                part.seek(0)
                while data := part.read(_COPIED):
                    written = np.frombuffer(data, dtype=source).astype(kind, copy=False).data
                    found = zlib.crc32(written, found)
                    out.write(written)
                part.close()
        return found


def _smallest(stats: FloatArray) -> int:
    """Return which of `_TYPES` holds all of these exactly, behind the last where none does."""
    if np.signbit(stats).any() or (stats != np.floor(stats)).any():
        return len(_TYPES)
    most = float(stats.max(initial=0.0))
    return sum(most > np.iinfo(kind).max for kind in _TYPES)


def _mapped(path: Path, expected: int) -> NDArray[Any]:
    """Map a file of a pool, of which every byte is read once."""
    found = 0
    try:
        with path.open("rb") as file:
            while data := file.read(_COPIED):
                found = zlib.crc32(data, found)
            if found != expected:
                raise _damaged(path, "its check sum is another")
            size = file.tell()
            file.seek(0)
            np.lib.format.read_magic(file)
            shape, _, kind = np.lib.format.read_array_header_1_0(file)
            begin = file.tell()
    except OSError as error:
        raise _damaged(path, error.strerror or "it cannot be read") from None
    except (ValueError, TypeError, TokenError):  # a head that nobody wrote, and a sum that fits
        raise _damaged(path, "its head is none") from None
    if size - begin != kind.itemsize * int(np.prod(shape)) or kind.hasobject:
        raise _damaged(path, f"{size - begin} bytes for {shape} numbers of type {kind}")
    return mapped.map_array(path, kind, shape, begin=begin)


def _check_free(folder: Path) -> None:
    """Raise InputError if a folder without a pool is not free for one."""
    try:
        others = sorted(
            path.name
            for path in folder.iterdir()
            if path.name not in (*FILES, KEYS, LOCK) and not path.name.endswith(".part")
        )
    except FileNotFoundError:
        return
    except OSError as error:
        raise errors.InputError(f"{folder}: {error.strerror or error}") from None
    if others:
        raise errors.InputError(
            f"{folder}: holds {others[0]} and no pool ({DESCRIPTION}); name a new folder"
        )


def _damaged(path: Path, what: str) -> errors.InputError:
    return errors.InputError(
        f"{path}: the pool is damaged: {what}; remove {path.parent}, it is then made anew"
    )


def word_hashes(words: list[str]) -> NDArray[np.uint64]:
    """Return a hash of each word; the same word has the same in every process."""
    digests = (blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8) for word in words)
    return np.frombuffer(b"".join(digest.digest() for digest in digests), dtype=np.uint64)


def text_keys(texts: Texts, hashes: NDArray[np.uint64]) -> IntArray:
    """Return (n,) int64: equal tokens and links have equal keys, others another but by chance.

    The chance is 1 in 2^64 for any two texts.

    Parameters
    ----------
    hashes : (V,) uint64
        The hashes of the words of the vocabulary.
    """
    tokens = texts.tokens.alone()
    keys = _sums(hashes[tokens.values], tokens.offsets)
    if texts.links is not None:
        links = texts.links.alone()
        pairs = links.values.astype(np.uint64)
        keys ^= _mixed(_sums(_mixed((pairs[:, 0] << np.uint64(32)) | pairs[:, 1]), links.offsets))
    return keys.view(np.int64)


def _sums(values: NDArray[np.uint64], offsets: IntArray) -> NDArray[np.uint64]:
    """Return the sum of each row's values, each mixed with its place in the row."""
    places = np.arange(1, len(values) + 1, dtype=np.uint64)
    places -= np.repeat(offsets[:-1].astype(np.uint64), np.diff(offsets))
    ends = np.concatenate(
        [
            np.zeros(1, dtype=np.uint64),
            np.cumsum(_mixed(values + places * np.uint64(0x9E3779B97F4A7C15))),
        ]
    )
    return np.diff(ends[offsets])


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return values whose bits all depend on all bits (the finish of splitmix64)."""
    mixed = values ^ (values >> np.uint64(30))
    mixed *= _FACTORS[0]
    mixed ^= mixed >> np.uint64(27)
    mixed *= _FACTORS[1]
    mixed ^= mixed >> np.uint64(31)
    return mixed
