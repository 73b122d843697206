"""Compressed content (.gz, .bz2, .xz, .zst), expanded within a bound."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

FREE = 1 << 22
"""Bytes that any file may expand to, however small it is: a text of 100,000 equal lines."""
RATIO = 200
"""Larger content may be at most so many times the size of its file. Of real lists and statistics
.gz reaches 11 times, .bz2, .xz and .zst 14."""

_PIECE = 1 << 11
"""Bytes expanded at once: what a hostile piece becomes must still be small."""
_MOST = 1 << 20
"""Bytes that bz2 and lzma give at once: of .bz2, 2 KiB may hold 1.8 GB."""

_DAMAGED = "the compressed stream is damaged or cut off; copy or make the file again"


class DamagedError(ValueError):
    """A compressed file is faulty; the message is the rest of a sentence."""


def expanding(blocks: Iterable[bytes], suffix: str, size: int) -> Iterator[bytes]:
    """Yield what a file of `size` bytes holds, read in blocks.

    Every part of the file counts: several streams one after the other are one content, and
    whatever is behind them must be a stream too.

    Raises
    ------
    DamagedError
        The content is damaged, cut off, or far larger than texts are.
    """
    start, faults, padding = _KINDS[suffix]()
    most, count = max(FREE, RATIO * size), 0
    stream, padded = start(), False
    for block in blocks:
        whole, begin = memoryview(block), 0
        while begin < len(block):
            piece = whole[begin : begin + _PIECE]
            if stream.eof and padding and not any(piece):
                padded = True
                begin += len(piece)
                continue
            if padded:
                raise DamagedError(_DAMAGED)
            if stream.eof:
                stream = start()
            for expanded in _expanded(stream, piece, faults):
                count += len(expanded)
                if count > most:
                    raise DamagedError(
                        f"the compressed content is more than {RATIO} times the file, which no "
                        f"text is; if you know what it is, decompress it first"
                    )
                yield expanded
            begin += len(piece) - len(stream.unused_data)
    if not stream.eof:
        raise DamagedError(_DAMAGED)


def _expanded(
    stream: Any, piece: memoryview, faults: tuple[type[Exception], ...]
) -> Iterator[bytes]:
    """Yield what a piece becomes; little by little where the library can."""
    try:
        if not hasattr(stream, "needs_input"):
            yield stream.decompress(piece)
            return
        yield stream.decompress(piece, _MOST)
        while not (stream.eof or stream.needs_input):
            yield stream.decompress(b"", _MOST)
    except faults:
        raise DamagedError(_DAMAGED) from None


def suffix_of(data: bytes) -> str:
    """Return the suffix that compressed content should have; no text begins like it."""
    return next((suffix for suffix, begin in _BEGINS.items() if re.match(begin, data)), "")


class _Library(NamedTuple):
    """What expands a stream, what it raises of a faulty one, and whether zeros may follow one."""

    start: Callable[[], Any]
    faults: tuple[type[Exception], ...]
    padding: bool


# Each library is imported only where it is needed: start-up time.


def _gzip() -> _Library:
    from isal import isal_zlib  # noqa: PLC0415

    fault: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stubs are wrong
    return _Library(lambda: isal_zlib.decompressobj(wbits=31), (fault, EOFError), padding=True)


def _bz2() -> _Library:
    import bz2  # noqa: PLC0415

    return _Library(bz2.BZ2Decompressor, (OSError, EOFError), padding=False)


def _xz() -> _Library:
    import lzma  # noqa: PLC0415

    start = functools.partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)
    return _Library(start, (lzma.LZMAError,), padding=True)


def _zst() -> _Library:
    import zstandard  # noqa: PLC0415

    reader = zstandard.ZstdDecompressor()
    return _Library(reader.decompressobj, (zstandard.ZstdError,), padding=False)


_KINDS = {".gz": _gzip, ".bz2": _bz2, ".xz": _xz, ".zst": _zst}
_BEGINS = {
    ".gz": rb"\x1f\x8b",
    ".bz2": rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)",
    ".xz": rb"\xfd7zXZ\0",
    ".zst": rb"\x28\xb5\x2f\xfd",
}
COMPRESSED = frozenset(_KINDS)
"""Suffixes of files that are expanded."""
