"""What is known of Python itself: which builtins, modules and methods have no effect and no memory."""

from __future__ import annotations

import enum
import re
from dataclasses import is_dataclass
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

PURE_BUILTINS = frozenset(
    "abs all any ascii bin bool bytearray bytes chr complex dict divmod enumerate filter float format frozenset "
    "hash hex int isinstance issubclass len list map max min oct ord pow range repr reversed round set slice sorted "
    "str sum tuple zip".split()
)

PURE_MODULES = frozenset(
    "base64 binascii cmath datetime decimal fractions hashlib html ipaddress json math operator re statistics string "
    "struct textwrap unicodedata urllib.parse zlib".split()
)

CLOCK_FUNCTIONS = frozenset("now today utcnow".split())
"""Functions of otherwise pure modules whose result is not a function of their arguments."""

MUTATING_METHODS = frozenset(
    "add append appendleft clear difference_update discard extend insert intersection_update pop popitem popleft "
    "remove reverse setdefault sort symmetric_difference_update update write writelines send close".split()
)

READING_METHODS = frozenset(
    "casefold center copy count decode encode endswith find findall finditer fullmatch format get group groupdict "
    "groups index isalnum isalpha isdecimal isdigit islower isnumeric isspace isupper items join keys ljust lower "
    "lstrip match partition replace rfind rindex rjust rpartition rsplit rstrip search split splitlines startswith "
    "strip sub subn swapcase title translate upper values zfill".split()
)

_IMMUTABLE = (bool, int, float, complex, str, bytes, Decimal, Fraction, re.Pattern, enum.Enum, type(None), range)


def is_constant(value: Any) -> bool:
    """Whether an object can never change.

    Example:
        >>> is_constant(("a", frozenset({1})))
        True
        >>> is_constant(["a"])
        False
    """
    if isinstance(value, tuple | frozenset):
        return all(is_constant(v) for v in value)
    return isinstance(value, _IMMUTABLE)


def is_plain_record(value: Any) -> bool:
    """Whether a class only holds what its constructor is given: a named tuple or a simple dataclass."""
    if not isinstance(value, type):
        return False
    if issubclass(value, tuple) and hasattr(value, "_fields"):
        return True
    return is_dataclass(value) and not hasattr(value, "__post_init__")


def is_pure_module(value: Any) -> bool:
    """Whether every function of a module (its clocks apart) depends on its arguments alone."""
    return isinstance(value, ModuleType) and value.__name__ in PURE_MODULES
