"""Functions over blobs: raw bytes."""

from __future__ import annotations

import pyarrow.compute as pc

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function


@function("int32 size(blob values)")
def size(values: bytes) -> int:
    """The number of bytes."""
    return len(values)


@function("uint64 blobSize(blob values)")
def blob_size(values: bytes) -> int:
    """The number of bytes."""
    return len(values)


@function("<string T> blob convertToBlob(T str)", vector=lambda text: pc.cast(text, "binary"))
def convert_to_blob(text: str) -> bytes:
    """The bytes of a string in UTF-8."""
    return text.encode()


@function("rstring convertFromBlob(blob values)")
def convert_from_blob(values: bytes) -> str:
    """The string that bytes in UTF-8 mean; what is not UTF-8 becomes U+FFFD."""
    return values.decode(errors="replace")


@function("rstring convertToUtf8(list<uint8> values, rstring encoding)")
def convert_to_utf8(values: list[int], encoding: str) -> str:
    """The string that bytes in an encoding mean."""
    try:
        return bytes(values).decode(encoding)
    except (LookupError, UnicodeDecodeError) as error:
        raise EvaluationError(f"convertToUtf8: {error}") from error


@function("rstring convertToUtf8(rstring str, rstring encoding)")
def convert_text_to_utf8(text: str, encoding: str) -> str:
    """The string that the bytes of a string mean in an encoding; its bytes are those of UTF-8."""
    return convert_to_utf8(list(text.encode()), encoding)


@function("rstring convertFromUtf8ToString(rstring str, rstring encoding)")
def convert_from_utf8_to_string(text: str, encoding: str) -> str:
    """The bytes of a string in an encoding, as a string; they must be UTF-8, as those of ASCII are."""
    try:
        return bytes(convert_from_utf8(text, encoding)).decode()
    except UnicodeDecodeError as error:
        hint = "convertFromUtf8 gives the bytes as a list"
        raise EvaluationError(f"convertFromUtf8ToString: the bytes in {encoding} are no string; {hint}") from error


@function("list<uint8> convertFromUtf8(rstring str, rstring encoding)")
def convert_from_utf8(text: str, encoding: str) -> list[int]:
    """The bytes of a string in an encoding."""
    try:
        return list(text.encode(encoding))
    except (LookupError, UnicodeEncodeError) as error:
        raise EvaluationError(f"convertFromUtf8: {error}") from error


@function("void appendM(mutable blob values, uint8 byte)")
def append_byte(values: bytes, byte: int) -> tuple[None, bytes]:
    """Add a byte to the end of a blob."""
    return None, values + bytes((byte,))


@function("void appendM(mutable blob values, list<uint8> bytes)")
def append_bytes(values: bytes, more: list[int]) -> tuple[None, bytes]:
    """Add bytes to the end of a blob."""
    return None, values + bytes(more)


@function("void clearM(mutable blob values)")
def clear(values: bytes) -> tuple[None, bytes]:
    """Remove all bytes."""
    return None, b""


@function("blob concat(blob first, blob second)")
def concat(first: bytes, second: bytes) -> bytes:
    """One blob after the other."""
    return first + second
