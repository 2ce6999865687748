"""What the numbers of errors mean that the file functions give."""

from __future__ import annotations

import errno
import os

from penstock.expr.functions.registry import function

END_OF_FILE = -1
"""The number of the error that is none: a file has ended."""


@function("rstring strerror(int32 error)")
def error_text(number: int) -> str:
    """What the number of an error means."""
    return os.strerror(number)


@function("boolean isEOF(int32 error)")
def is_end_of_file(number: int) -> bool:
    """Whether the number of an error means the end of a file."""
    return number == END_OF_FILE


_ERRORS = (
    *("EACCES", "EAGAIN", "EBADF", "EFAULT", "EFBIG", "EINTR", "EINVAL", "EIO", "EISDIR", "ELOOP", "EMFILE"),
    *("ENAMETOOLONG", "ENFILE", "ENODEV", "ENOENT", "ENOMEM", "ENOSPC", "ENOTDIR", "ENXIO", "EOVERFLOW", "EPERM"),
    *("EPIPE", "EROFS", "ESPIPE", "ETXTBSY", "EWOULDBLOCK"),
)


def _declare_error(name: str) -> None:
    expected = getattr(errno, name)

    def is_error(number: int) -> bool:
        return bool(number == expected)

    is_error.__doc__ = f"Whether the number of an error is that of `{name}`."
    function(f"boolean is{name}(int32 error)")(is_error)


for _name in _ERRORS:
    _declare_error(_name)
