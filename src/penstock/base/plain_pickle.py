"""Reads pickles that may hold data alone: numbers, texts, times, containers, arrays, and our own records of these.

A pickle can name any function of any module and have it called. What sources, sinks and operators of ours leave in a
checkpoint or a savepoint needs none of that, so nothing but the classes below is found when it is read; a pickle that
names anything else is refused before it has done anything.

Example:
    >>> from collections import deque
    >>> from datetime import date
    >>> load_plain(pickle.dumps({"seen": deque([1, date(2026, 1, 2)])}), "the state of the sources")
    {'seen': deque([1, datetime.date(2026, 1, 2)])}
    >>> load_plain(pickle.dumps(print), "the state of the sources")
    Traceback (most recent call last):
    penstock.UserError: error: the state of the sources is not believed: it names `builtins.print`, ...
"""

from __future__ import annotations

import io
import pickle
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from penstock.base.diagnostics import UserError

_NAMES = """
    builtins: bool bytes complex dict float frozenset int list set str tuple
    collections: OrderedDict defaultdict deque Counter
    datetime: date datetime time timedelta timezone
    decimal: Decimal
    fractions: Fraction
    uuid: UUID
    random: Random
    pathlib: PosixPath PurePosixPath Path
    pathlib._local: PosixPath PurePosixPath Path
    numpy: dtype ndarray
    numpy._core.multiarray: _reconstruct scalar
    numpy.core.multiarray: _reconstruct scalar
    numpy._core.numeric: _frombuffer
    numpy.core.numeric: _frombuffer
    pyarrow.lib: _restore_array py_buffer type_for_alias _reconstruct_record_batch _reconstruct_table ChunkedArray
    pyarrow.lib: chunked_array schema field struct list_ large_list map_ dictionary decimal128 decimal256 binary
    pyarrow.lib: timestamp
    penstock.api.rows: _row
"""

_PLAIN: dict[str, set[str]] = {}
for _line in _NAMES.strip().splitlines():
    _module, _, _names = _line.partition(":")
    _PLAIN.setdefault(_module.strip(), set()).update(_names.split())

_OURS = "penstock."


def load_plain(data: bytes, what: str) -> Any:
    """The object that a pickle holds, if it is data.

    Args:
        data: The pickle.
        what: It is, for the message.

    Raises:
        UserError: It names something else, or is damaged.
    """
    try:
        return _Unpickler(io.BytesIO(data), what).load()
    except UserError:
        raise
    except Exception as error:
        # Whatever else is wrong with it: there is no list of what a damaged pickle may raise.
        raise UserError(f"{what} is damaged: {type(error).__name__}: {error}") from None


def _is_record(owner: type) -> bool:
    """Whether making an instance does no more than that."""
    return is_dataclass(owner) or issubclass(owner, (tuple, Enum))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, what: str) -> None:
        super().__init__(file)
        self._what = what

    def find_class(self, module: str, name: str) -> Any:
        """A class of data; nothing else is found."""
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        if module.startswith(_OURS) and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module and _is_record(found):
                return found
        raise UserError(
            f"{self._what} is not believed: it names `{module}.{name}`, which is no data",
            hint="it was not left by penstock; put the file back from a copy, or start without it",
        )
