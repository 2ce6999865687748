"""Files as chunks of bytes, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

COMPRESSIONS = ("zlib", "gzip", "bzip2")

_CHUNK = 1 << 16


def read_chunks(path: Path, compression: str = "") -> Iterator[bytes]:
    """The content of a file, decompressed, chunk by chunk; `OSError` if it cannot be opened, at once.

    Raises:
        OSError: It cannot be opened, or what it holds is not compressed so.
    """
    file = path.open("rb")
    return _chunks(file, compression)


def _chunks(file: BinaryIO, compression: str) -> Iterator[bytes]:
    with file:
        if compression == "zlib":
            yield from _inflate(file)
            return
        opened = {"gzip": gzip.GzipFile, "bzip2": bz2.BZ2File}.get(compression)
        source = cast(BinaryIO, opened(file)) if opened else file
        try:
            yield from iter(lambda: source.read(_CHUNK), b"")
        except (EOFError, zlib.error) as error:
            raise OSError(f"not a whole {compression} file: {error}") from error


def _inflate(file: BinaryIO) -> Iterator[bytes]:
    """The content of zlib streams one after the other, as appending to a file leaves them."""
    inflater = zlib.decompressobj()
    data = file.read(_CHUNK)
    try:
        while data:
            if inflated := inflater.decompress(data):
                yield inflated
            data = inflater.unused_data or file.read(_CHUNK)
            if inflater.eof and data:
                inflater = zlib.decompressobj()
    except zlib.error as error:
        raise OSError(f"not a zlib file: {error}") from error
    if not inflater.eof:
        raise OSError("not a whole zlib file: the data end too early")


def open_for_writing(path: Path, *, append: bool = False, compression: str = "") -> BinaryIO:
    """A file to write to, compressed on the way."""
    file = path.open("ab" if append else "wb")
    match compression:
        case "gzip":
            # No name and no time in the file: equal tuples give equal files.
            return cast(BinaryIO, _Closing(gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0), file))
        case "bzip2":
            return cast(BinaryIO, _Closing(bz2.BZ2File(file, "wb"), file))
        case "zlib":
            return cast(BinaryIO, _Deflating(file))
    return file


class _Closing:
    """A compressed file that closes the file under it."""

    def __init__(self, compressed: gzip.GzipFile | bz2.BZ2File, file: BinaryIO) -> None:
        self._compressed = compressed
        self._file = file
        self.write = compressed.write

    def flush(self) -> None:
        if isinstance(self._compressed, gzip.GzipFile):
            self._compressed.flush()
        self._file.flush()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._compressed.close()
        self._file.close()


class _Deflating(io.RawIOBase):
    """A file whose content is compressed by zlib."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._deflater = zlib.compressobj()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._file.write(self._deflater.compress(data))
        return len(data)

    def flush(self) -> None:
        if not self._file.closed:
            self._file.write(self._deflater.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if not self._file.closed:
            self._file.write(self._deflater.flush())
            self._file.close()
        super().close()
