"""What is known of Python itself: which builtins, modules and methods have no effect and no memory."""

from __future__ import annotations

import enum
import re
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import is_dataclass
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

PURE_BUILTINS = frozenset(
    "abs all any ascii bin bool bytearray bytes chr complex dict divmod enumerate filter float format frozenset "
    "hex int isinstance issubclass len list map max min oct ord pow range repr reversed round set slice sorted "
    "str sum tuple zip".split()
)

FRESH_BUILTINS = frozenset(
    "abs all any ascii bin bool bytes chr complex divmod float format frozenset hex int isinstance issubclass len oct "
    "ord pow range repr round str sum".split()
)
"""Those whose result is no part of their arguments; `sum` of numbers, as tuples hold them."""

PURE_MODULES = frozenset(
    "base64 binascii cmath datetime decimal fractions hashlib html ipaddress json math operator re statistics string "
    "struct textwrap unicodedata urllib.parse zlib".split()
)

CLOCK_FUNCTIONS = frozenset("now today utcnow".split())
"""Functions of otherwise pure modules whose result is not a function of their arguments."""

MUTATING_METHODS = frozenset(
    "add append appendleft clear difference_update discard extend insert intersection_update pop popitem popleft "
    "remove reverse setdefault sort symmetric_difference_update update".split()
)

EFFECT_METHODS = frozenset("close flush send write writelines".split())
"""Methods of objects that stand for something outside."""

READING_METHODS = frozenset(
    "casefold center copy count decode encode endswith find findall finditer fullmatch format get group groupdict "
    "groups index isalnum isalpha isdecimal isdigit islower isnumeric isspace isupper items join keys ljust lower "
    "lstrip match partition replace rfind rindex rjust rpartition rsplit rstrip search split splitlines startswith "
    "strip sub subn swapcase title translate upper values zfill".split()
)

FRESH_METHODS = READING_METHODS - frozenset("copy get items keys values".split())
"""Methods whose result is no part of the object or of their arguments."""

CONTAINER_CLASSES = frozenset({Counter, OrderedDict, defaultdict, deque})
"""Classes beside the builtin ones whose objects only hold what they are given."""

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
