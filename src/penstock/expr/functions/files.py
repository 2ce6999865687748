"""Functions that read and write files.

A file is a number that `fopen` gives. What goes wrong is told as an `errno` value in the last argument: 0 for nothing,
-1 for the end of the file. A relative name means a file in the data folder if it is read, in the output folder if it is
written.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from penstock.expr.environment import Environment
from penstock.expr.functions.file_errors import END_OF_FILE
from penstock.expr.functions.registry import function
from penstock.expr.values.binary import Decode, Truncated, decoder, encoder
from penstock.expr.values.default import default_value
from penstock.expr.values.parsing import parse_literal_form
from penstock.expr.values.text import literal_form
from penstock.ir.types import TIMESTAMP, Type

T = TypeVar("T")

_FIRST_READ = 4096


class OpenFile:
    """A file that the application has opened; it is at its end when a read has found it."""

    __slots__ = ("at_end", "stream")

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.at_end = False

    def read_line(self) -> tuple[str, int]:
        """The next line without its end, and 0, or the end of the file."""
        line = self.stream.readline()
        self.at_end = not line.endswith(b"\n")
        return line.removesuffix(b"\n").decode(errors="replace"), 0 if line else END_OF_FILE

    def read_token(self) -> tuple[str, int]:
        """The next characters without blanks, and 0, or the end of the file."""
        token = b""
        while character := self.stream.read(1):
            if not character.isspace():
                token += character
            elif token:
                self.stream.seek(-1, os.SEEK_CUR)
                break
        self.at_end = not character
        return token.decode(errors="replace"), 0 if token else END_OF_FILE


def _attempt(action: Callable[[], T], otherwise: T) -> tuple[T, int]:
    """The result of an action and 0, or `otherwise` and the number of the error."""
    try:
        return action(), 0
    except OSError as error:
        return otherwise, error.errno or errno.EIO
    except ValueError:
        return otherwise, errno.EINVAL


def _file(environment: Environment, number: int) -> OpenFile:
    found = environment.open_files.get(number)
    if not isinstance(found, OpenFile):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return found


def _open(environment: Environment, name: str, mode: str) -> int:
    path = environment.data_directory / name if mode.startswith("r") else environment.output_path(name)
    stream = open(path, mode.replace("b", "") + "b")  # noqa: SIM115 (fclose closes it)
    number = max(environment.open_files, default=2) + 1
    environment.open_files[number] = OpenFile(cast(BinaryIO, stream))
    return number


@function("<string T> stateful uint64 fopen(T name, T mode, mutable int32 error)", needs_environment=True)
def open_file(environment: Environment, name: str, mode: str, error: int) -> tuple[int, int]:
    """Open a file in a mode of C's `fopen`; gives its number, or 0."""
    return _attempt(lambda: _open(environment, name, mode), 0)


@function("stateful int32 fclose(uint64 file, mutable int32 error)", needs_environment=True)
def close_file(environment: Environment, number: int, error: int) -> tuple[int, int]:
    """Close a file; gives 0, or -1 if that failed."""

    def close() -> int:
        _file(environment, number).stream.close()
        del environment.open_files[number]
        return 0

    return _attempt(close, -1)


@function("stateful int32 fflush(uint64 file, mutable int32 error)", needs_environment=True)
def flush_file(environment: Environment, number: int, error: int) -> tuple[int, int]:
    """Hand what was written to the operating system; gives 0, or -1 if that failed."""
    return _attempt(lambda: _file(environment, number).stream.flush() or 0, -1)


@function("stateful boolean feof(uint64 file)", needs_environment=True)
def at_end_of_file(environment: Environment, number: int) -> bool:
    """Whether a read has found the end of a file."""
    return _attempt(lambda: _file(environment, number).at_end, True)[0]


@function("stateful rstring freadLine(uint64 file, mutable int32 error)", needs_environment=True)
def read_line(environment: Environment, number: int, error: int) -> tuple[str, int]:
    """The next line of a file, without its end."""
    (line, at_end), failed = _attempt(lambda: _file(environment, number).read_line(), ("", 0))
    return line, failed or at_end


@function("stateful rstring freadToken(uint64 file, mutable int32 error)", needs_environment=True)
def read_token(environment: Environment, number: int, error: int) -> tuple[str, int]:
    """The next word of a file: what stands between blanks."""
    (token, at_end), failed = _attempt(lambda: _file(environment, number).read_token(), ("", 0))
    return token, failed or at_end


@function("stateful rstring freadString(uint64 file, mutable int32 error)", needs_environment=True)
def read_rest(environment: Environment, number: int, error: int) -> tuple[str, int]:
    """All that is left of a file."""
    return _attempt(lambda: _read(environment, number, -1).decode(errors="replace"), "")


def _read(environment: Environment, number: int, count: int) -> bytes:
    file = _file(environment, number)
    data = file.stream.read(count)
    file.at_end = count < 0 or len(data) < count
    return data


@function("stateful void freadfile(mutable blob result, uint64 file, mutable int32 error)", needs_environment=True)
def read_blob(environment: Environment, result: bytes, number: int, error: int) -> tuple[None, bytes, int]:
    """Read all that is left of a file."""
    data, failed = _attempt(lambda: _read(environment, number, -1), b"")
    return None, data, failed


@function(
    "stateful uint64 fread(mutable list<uint8> result, uint64 file, uint64 length, mutable int32 error)",
    needs_environment=True,
)
def read_bytes(environment: Environment, result: list[int], number: int, count: int, error: int) -> tuple[int, int]:
    """Read so many bytes of a file; gives how many there were."""
    data, failed = _attempt(lambda: _read(environment, number, count), b"")
    result[:] = data
    return len(data), failed


@function(
    "<any T> stateful void freadTxt(mutable T result, uint64 file, mutable int32 error)",
    needs_environment=True,
    needs_types=True,
)
def read_text(type_: Type, _: Type, __: Type) -> Callable[..., Any]:
    """Read a value from the next line, as `fwriteTxt` wrote it."""
    parse = parse_literal_form(type_)

    def read(environment: Environment, result: Any, number: int, error: int) -> Any:
        line, failed = read_line(environment, number, error)
        value, invalid = _attempt(lambda: parse(line), default_value(type_)) if not failed else (result, 0)
        return _give(result, value, failed or invalid)

    return read


@function(
    "<any T> stateful void freadBin(mutable T result, uint64 file, mutable int32 error)",
    needs_environment=True,
    needs_types=True,
)
def read_binary(type_: Type, _: Type, __: Type) -> Callable[..., Any]:
    """Read a value as `fwriteBin` wrote it."""
    decode = decoder(type_)

    def read(environment: Environment, result: Any, number: int, error: int) -> Any:
        found, failed = _attempt(lambda: _decode_next(_file(environment, number), decode), None)
        if failed or found is None:
            return _give(result, result, failed or END_OF_FILE)
        return _give(result, found[0], 0)

    return read


def _decode_next(file: OpenFile, decode: Decode) -> tuple[Any] | None:
    """The value at the position of a file, which then is behind it; nothing at the end.

    Raises:
        ValueError: The file ends within the value, or what it holds is none.
    """
    start, data, wanted = file.stream.tell(), b"", _FIRST_READ
    while True:
        more = file.stream.read(wanted)
        data, wanted = data + more, 2 * wanted
        try:
            value, end = decode(data, 0)
        except Truncated:
            if more:
                continue
            file.at_end = True
            if data:
                raise ValueError("the file ends within a value") from None
            return None
        file.stream.seek(start + end)
        return (value,)


def _give(result: Any, value: Any, failed: int) -> Any:
    """What a function returns that has a mutable result: a collection is changed, anything else is given back."""
    if isinstance(result, list | set | dict):
        return None, _replace(result, value) or failed
    return None, value, failed


def _replace(target: Any, value: Any) -> int:
    kept = value.copy()
    target.clear()
    target.extend(kept) if isinstance(target, list) else target.update(kept)
    return 0


@function(
    "<any T> stateful void fwriteTxt(T value, uint64 file, mutable int32 error)",
    needs_environment=True,
    needs_types=True,
)
def write_text(type_: Type, _: Type, __: Type) -> Callable[..., tuple[None, int]]:
    """Write a value as `println` prints it."""
    form = literal_form(type_)
    return lambda environment, value, number, error: _write(environment, number, form(value).encode())


@function(
    "<any T> stateful void fwriteBin(T value, uint64 file, mutable int32 error)",
    needs_environment=True,
    needs_types=True,
)
def write_binary(type_: Type, _: Type, __: Type) -> Callable[..., tuple[None, int]]:
    """Write a value in the binary format of files."""
    encode = encoder(type_)
    return lambda environment, value, number, error: _write(environment, number, encode(value))


def _write(environment: Environment, number: int, data: bytes) -> tuple[None, int]:
    return None, _attempt(lambda: _file(environment, number).stream.write(data), 0)[1]


@function("<string T> stateful void fwriteString(T value, uint64 file, mutable int32 error)", needs_environment=True)
def write_string(environment: Environment, text: str, number: int, error: int) -> tuple[None, int]:
    """Write a string as it is."""
    return _write(environment, number, text.encode())


@function("stateful void fwriteblob(blob value, uint64 file, mutable int32 error)", needs_environment=True)
def write_blob(environment: Environment, data: bytes, number: int, error: int) -> tuple[None, int]:
    """Write bytes."""
    return _write(environment, number, data)


@function(
    "stateful void fwrite(list<uint8> value, uint64 file, uint64 offset, uint64 length, mutable int32 error)",
    needs_environment=True,
)
def write_bytes(
    environment: Environment, values: list[int], number: int, offset: int, count: int, error: int
) -> tuple[None, int]:
    """Write some of the bytes of a list."""
    return _write(environment, number, bytes(values[offset : offset + count]))


@function("stateful int64 ftell(uint64 file, mutable int32 error)", needs_environment=True)
def tell(environment: Environment, number: int, error: int) -> tuple[int, int]:
    """The position in a file, in bytes."""
    return _attempt(lambda: _file(environment, number).stream.tell(), -1)


@function("stateful void fseek(uint64 file, int64 offset, int32 whence, mutable int32 error)", needs_environment=True)
def seek(environment: Environment, number: int, offset: int, whence: int, error: int) -> tuple[None, int]:
    """Go to a position in a file."""

    def go() -> None:
        file = _file(environment, number)
        file.stream.seek(offset, whence)
        file.at_end = False

    return None, _attempt(go, None)[1]


@function("stateful void rewind(uint64 file)", needs_environment=True)
def rewind(environment: Environment, number: int) -> None:
    """Go to the start of a file."""
    seek(environment, number, 0, os.SEEK_SET, 0)


@function("stateful void clearerr(uint64 file)", needs_environment=True)
def clear_error(environment: Environment, number: int) -> None:
    """Forget that the end of a file was found."""
    found = environment.open_files.get(number)
    if isinstance(found, OpenFile):
        found.at_end = False


@function("int32 optSEEK_SET()")
def seek_from_start() -> int:
    """For `fseek`: positions count from the start."""
    return os.SEEK_SET


@function("int32 optSEEK_CUR()")
def seek_from_here() -> int:
    """For `fseek`: positions count from the current one."""
    return os.SEEK_CUR


@function("int32 optSEEK_END()")
def seek_from_end() -> int:
    """For `fseek`: positions count from the end."""
    return os.SEEK_END


@function("<string T> stateful void remove(T name, mutable int32 error)", needs_environment=True)
def remove(environment: Environment, name: str, error: int) -> tuple[None, int]:
    """Remove a file or an empty folder."""
    path = environment.output_path(name)
    return None, _attempt(path.rmdir if path.is_dir() else path.unlink, None)[1]


@function("<string T> stateful void mkdir(T name, uint32 mode, mutable int32 error)", needs_environment=True)
def make_directory(environment: Environment, name: str, mode: int, error: int) -> tuple[None, int]:
    """Make a folder."""
    return None, _attempt(lambda: environment.output_path(name).mkdir(mode), None)[1]


@function(
    "<string T, string U> stateful void fstat(T name, U what, mutable uint64 result, mutable int32 error)",
    needs_environment=True,
)
def file_number(environment: Environment, name: str, what: str, result: int, error: int) -> tuple[None, int, int]:
    """A number that describes a file: `size`, `mode`, `ino`, `nlink` ..."""
    found, failed = _attempt(lambda: _stat(environment.data_directory / name, what, result), result)
    return None, found, failed


@function(
    "<string T, string U> stateful void fstat(T name, U what, mutable timestamp result, mutable int32 error)",
    needs_environment=True,
)
def file_time(environment: Environment, name: str, what: str, result: int, error: int) -> tuple[None, int, int]:
    """A time of a file: `mtime`, `atime` or `ctime`."""
    found, failed = _attempt(lambda: _stat(environment.data_directory / name, f"{what}_ns", result), result)
    return None, found, failed


@function(
    "<string U> stateful void fstat(uint64 file, U what, mutable uint64 result, mutable int32 error)",
    "<string U> stateful void fstat(uint64 file, U what, mutable timestamp result, mutable int32 error)",
    needs_environment=True,
    needs_types=True,
)
def open_file_fact(_: Type, __: Type, type_: Type, ___: Type) -> Callable[..., tuple[None, int, int]]:
    """A number or a time that describes an open file, by the names of the other `fstat`."""
    suffix = "_ns" if type_ == TIMESTAMP else ""

    def describe(environment: Environment, number: int, what: str, result: int, error: int) -> tuple[None, int, int]:
        found, failed = _attempt(
            lambda: _stat(Path(_file(environment, number).stream.name), f"{what}{suffix}", result), result
        )
        return None, found, failed

    return describe


def _stat(path: Path, what: str, otherwise: int) -> int:
    found = getattr(path.stat(), f"st_{what}", None)
    if not isinstance(found, int):
        raise ValueError(f"a file has no `{what}`")
    return found
