"""Files as chunks of bytes, compressed or not."""

from __future__ import annotations

import bz2
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

# A window of 31 bits is how zlib is told to write and read gzip's header and trailer; it leaves name and time empty, so
# that equal tuples give equal files.
_COMPRESSORS: dict[str, Callable[[], Any]] = {
    "zlib": zlib.compressobj,
    "gzip": lambda: zlib.compressobj(wbits=31),
    "bzip2": bz2.BZ2Compressor,
}
_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "zlib": zlib.decompressobj,
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "bzip2": bz2.BZ2Decompressor,
}
COMPRESSIONS = tuple(_COMPRESSORS)
"""The names of the ways to compress a file."""

_CHUNK = 1 << 16


def read_chunks(path: Path, compression: str = "") -> Iterator[bytes]:
    """The content of a file, decompressed, chunk by chunk.

    Raises:
        OSError: It cannot be opened, which shows at once; or what it holds is not compressed so.
    """
    file = path.open("rb")
    return _decompressed(file, compression) if compression else _plain(file)


def _plain(file: BinaryIO) -> Iterator[bytes]:
    with file:
        yield from iter(lambda: file.read(_CHUNK), b"")


def _decompressed(file: BinaryIO, compression: str) -> Iterator[bytes]:
    """The content of compressed streams one after the other, as appending to a file leaves them."""
    new = _DECOMPRESSORS[compression]
    decompressor = new()
    with file:
        data = file.read(_CHUNK)
        while data:
            try:
                yield decompressor.decompress(data)
            except (OSError, zlib.error) as error:
                raise OSError(f"not a {compression} file: {error}") from error
            data = decompressor.unused_data or file.read(_CHUNK)
            if decompressor.eof and data:
                decompressor = new()
    if not decompressor.eof:
        raise OSError(f"not a whole {compression} file: the data end too early")


def open_for_writing(path: Path, *, append: bool = False, compression: str = "") -> BinaryIO:
    """A file to write to, compressed on the way."""
    file = path.open("ab" if append else "wb")
    return cast(BinaryIO, _Compressing(file, _COMPRESSORS[compression]())) if compression else file


class _Compressing(io.RawIOBase):
    """A file whose content is compressed."""

    def __init__(self, file: BinaryIO, compressor: Any) -> None:
        self._file = file
        self._compressor = compressor

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._file.write(self._compressor.compress(data))
        return len(data)

    def flush(self) -> None:
        if not self._file.closed:
            # What bzip2 has begun it can only end, so there only whole blocks reach the file early.
            if not isinstance(self._compressor, bz2.BZ2Compressor):
                self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if not self._file.closed:
            self._file.write(self._compressor.flush())
            self._file.close()
        super().close()
