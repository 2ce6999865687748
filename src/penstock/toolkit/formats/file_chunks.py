"""Files as chunks of bytes, compressed or not."""

from __future__ import annotations

import bz2
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from penstock.toolkit.files.file_records import ChecksummedFile, FileRecord, opened_descriptor

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

_CHUNK = _BUFFER = 1 << 16


def new_decompressor(compression: str) -> Any:
    """A decompressor of the stream that begins, with `decompress`, `eof` and `unused_data`."""
    return _DECOMPRESSORS[compression]()


def read_chunks(path: Path, compression: str = "") -> Iterator[bytes]:
    """The content of a file, decompressed, chunk by chunk.

    Raises:
        OSError: It cannot be opened, which shows at once; or what it holds is not compressed so.
    """
    file = path.open("rb")
    return _decompressed(file, compression) if compression else _plain(file)


def read_appended(path: Path) -> Iterator[bytes | None]:
    """The content of a file that grows, chunk by chunk; None where nothing has been appended.

    Raises:
        OSError: It cannot be opened, which shows at once.
    """
    return _growing(path.open("rb"))


def _growing(file: BinaryIO) -> Iterator[bytes | None]:
    with file:
        while True:
            yield file.read(_CHUNK) or None


def _plain(file: BinaryIO) -> Iterator[bytes]:
    with file:
        yield from iter(lambda: file.read(_CHUNK), b"")


def _decompressed(file: BinaryIO, compression: str) -> Iterator[bytes]:
    """The content of compressed streams one after the other, as appending to a file leaves them."""
    with file:
        chunks = iter(lambda: file.read(_CHUNK), b"")
        yield from (chunk for chunk in decompress(chunks, compression) if chunk is not None)


def decompress(
    chunks: Iterable[bytes | None], compression: str, *, may_break_off: bool = False
) -> Iterator[bytes | None]:
    """The content of compressed streams one after the other; None is passed on.

    Raises:
        OSError: The chunks are not compressed so, or end too early where they may not.

    Example:
        >>> list(decompress([zlib.compress(b"ab"), None, zlib.compress(b"c")], "zlib"))
        [b'ab', None, b'c']
    """
    new = _DECOMPRESSORS[compression]
    decompressor = new()
    for chunk in chunks:
        data = chunk
        if data is None:
            yield None
        while data:
            if decompressor.eof:
                decompressor = new()
            try:
                yield decompressor.decompress(data)
            except (OSError, zlib.error) as error:
                raise OSError(f"not a {compression} file: {error}") from error
            data = decompressor.unused_data
    if not (decompressor.eof or may_break_off):
        raise OSError(f"not a whole {compression} file: the data end too early")


class CompressedStream:
    """A stream of bytes that is compressed on its way to a reader who wants each part at once."""

    def __init__(self, compression: str) -> None:
        self._compressor = _COMPRESSORS[compression]()

    def compress(self, data: bytes) -> bytes:
        """The bytes to send for a part; those of bzip2 come when a block is full."""
        found: bytes = self._compressor.compress(data)
        return (
            found
            if isinstance(self._compressor, bz2.BZ2Compressor)
            else found + self._compressor.flush(zlib.Z_SYNC_FLUSH)
        )

    def end(self) -> bytes:
        """The bytes that end the stream."""
        return self._compressor.flush()  # type: ignore[no-any-return]


class OutputFile:
    """A file that is being written, compressed on the way.

    What the file held before is dropped, unless we append, when it is first written to, flushed or closed: until then
    `resume` can go on where another writer stood, and `abandon` leaves everything as it was.

    Attributes:
        is_new: Whether there was no such file before.
    """

    def __init__(self, path: Path, *, append: bool = False, compression: str = "") -> None:
        self.is_new = not path.exists()
        self._raw = ChecksummedFile(path)
        self._file = io.BufferedWriter(self._raw, _BUFFER)  # type: ignore[type-var]  # our `write` tells more of its argument
        # A pipe or a device such as /dev/null has no content to drop or to go back to, nor has /dev/stdout, though a
        # shell may have let it lead to a file.
        is_own = opened_descriptor(path) is None
        self._is_regular = is_own and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        self._new_compressor = _COMPRESSORS.get(compression)
        self._compressor: Any = None
        self._is_stale = not append
        self.write: Callable[[bytes], object] = self._first_write

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def inode(self) -> int:
        """The inode of the file, which stays the same when the file is moved."""
        return os.fstat(self._file.fileno()).st_ino

    def tell(self) -> int:
        """How many bytes the file holds, those that are not flushed included."""
        self._drop_old_content()
        return self._file.tell() if self._is_regular else 0

    def flush(self) -> None:
        """Let the file hold what was written, as far as the compression can."""
        self._drop_old_content()
        # What bzip2 has begun it can only end, so there only whole blocks reach the file early.
        if self._compressor is not None and not isinstance(self._compressor, bz2.BZ2Compressor):
            self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def settle(self) -> int:
        """Let the file hold all that was written, ending a compressed stream; the next byte goes where this tells."""
        self._drop_old_content()
        if self._compressor is not None:
            self._file.write(self._compressor.flush())
            self._compressor = None
        self._file.flush()
        return self.tell()

    def record(self) -> FileRecord | None:
        """The record of the file after it has settled; None for a pipe or a device."""
        return self._raw.record() if self._is_regular else None

    def resume(self, size: int, crc: int | None) -> None:
        """Cut the file to what it held when another writer settled, and go on there."""
        if self._is_regular:
            self._file.flush()
            self._raw.cut(size, crc)
            self._file.seek(0, os.SEEK_END)
        self._is_stale = False

    def abandon(self) -> None:
        """Close a file that nothing was written to, as it was."""
        self._file.close()

    def close(self) -> FileRecord | None:
        """Write everything and close the file; what it then holds, if that is known without reading it."""
        if self._file.closed:
            return None
        if self._new_compressor is not None and self._compressor is None and self.tell() == 0:
            self._compressor = self._new_compressor()
        self.settle()
        record = self.record() if self._raw.crc is not None else None
        self._file.close()
        return record

    def _first_write(self, data: bytes) -> None:
        self._drop_old_content()
        self.write = self._file.write if self._new_compressor is None else self._write_compressed
        self.write(data)

    def _write_compressed(self, data: bytes) -> None:
        if self._compressor is None:
            assert self._new_compressor is not None
            self._compressor = self._new_compressor()
        self._file.write(self._compressor.compress(data))

    def _drop_old_content(self) -> None:
        if self._is_stale:
            self.resume(0, 0)
