"""Expands compressed content (.gz, .xz, .zst): whole or not at all, and never without bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FREE = 1 << 26
"""So many bytes may come out of any file, however small it is."""
RATIO = 200
"""How often the size of larger content may be that of its file; of texts it rarely is 20."""

_PIECE = 1 << 11
"""Bytes expanded at once: what a hostile piece becomes must still be small."""


class DamagedError(ValueError):
    """Says what is wrong with a compressed file, as the rest of a sentence."""


def expand(data: bytes, suffix: str) -> bytes:
    """Return what a file holds, expanded as its suffix says; of another suffix as it is.

    Every part of the file counts: several streams one after the other are one content, and
    whatever is behind them must be a stream too.

    Raises
    ------
    DamagedError
        The content is damaged, cut off, or far larger than texts are.
    """
    kind = _KINDS.get(suffix)
    if kind is None or not data:
        return data
    start, faults, padding = kind()
    most = max(FREE, RATIO * len(data))
    whole = memoryview(data)
    parts: list[bytes] = []
    size, begin, stream = 0, 0, start()
    try:
        while begin < len(data):
            if stream.eof:
                if padding and not any(whole[begin:]):
                    break
                stream = start()
            piece = whole[begin : begin + _PIECE]
            parts.append(stream.decompress(piece))
            begin += len(piece) - len(stream.unused_data)
            size += len(parts[-1])
            if size > most:
                raise DamagedError(
                    f"the compressed content is more than {RATIO} times the file, which no text "
                    f"is; if you know what it is, decompress it first"
                )
    except faults:
        stream = None
    if stream is None or not stream.eof:
        raise DamagedError(
            "the compressed stream is damaged or cut off; copy or make the file again"
        )
    return b"".join(parts)


# Each library is imported only where it is needed: start-up time.


def _gzip() -> tuple[Callable[[], Any], tuple[type[Exception], ...], bool]:
    from isal import isal_zlib  # noqa: PLC0415

    fault: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stubs are wrong
    return lambda: isal_zlib.decompressobj(wbits=31), (fault, EOFError), True


def _xz() -> tuple[Callable[[], Any], tuple[type[Exception], ...], bool]:
    import lzma  # noqa: PLC0415

    return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), (lzma.LZMAError,), True


def _zst() -> tuple[Callable[[], Any], tuple[type[Exception], ...], bool]:
    import zstandard  # noqa: PLC0415

    reader = zstandard.ZstdDecompressor()
    return reader.decompressobj, (zstandard.ZstdError,), False


_KINDS = {".gz": _gzip, ".xz": _xz, ".zst": _zst}
