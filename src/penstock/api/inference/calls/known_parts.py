"""The known parts of Python: classes, methods and functions whose results depend on their arguments alone.

Nothing is here because of its name: functions are listed as the objects they are, and methods count only for an object
of exactly the listed class. Everything else is unknown.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import cmath
import datetime
import decimal
import fractions
import hashlib
import html
import ipaddress
import json
import math
import operator
import re
import statistics
import string
import struct
import textwrap
import types
import unicodedata
import urllib.parse
import zlib
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from penstock.api.inference.values import Value

_CLASSES: tuple[Any, ...] = (
    bool, int, float, complex, str, bytes, type(None), range, slice, type(...), type(NotImplemented),
    decimal.Decimal, fractions.Fraction, re.Pattern, re.Match,
    datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone, zoneinfo.ZoneInfo,
    ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network,
    urllib.parse.ParseResult, urllib.parse.SplitResult, BaseException, types.GenericAlias,
)  # fmt: skip

SCALARS: Value = frozenset(_CLASSES)
"""Classes whose objects never change and whose every public method is pure, but for those in `IMPURE`."""

DATA: Value = SCALARS - {BaseException, types.GenericAlias}
"""The classes that a function which returns plain data may return."""

ERROR = BaseException
"""Stands for every exception of Python's own."""

NUMBERS: Value = frozenset({bool, int, float, complex, decimal.Decimal, fractions.Fraction})
EXACT_NUMBERS: Value = frozenset({bool, int, fractions.Fraction})
"""Numbers that can be added up in any order."""
ORDERED: Value = frozenset({bool, int, str, bytes, type(None), datetime.date, datetime.timedelta})
"""Classes whose equal objects cannot be told apart: the least, or one of several, is the same in whatever order."""

CONTAINERS: frozenset[type] = frozenset(
    {list, dict, set, frozenset, tuple, deque, bytearray, defaultdict, Counter, OrderedDict}
)
DICTS: frozenset[type] = frozenset({dict, defaultdict, Counter, OrderedDict})
SEQUENCES: frozenset[type] = frozenset({list, tuple, deque, OrderedDict})
"""Containers that are equal only in the same order."""
SETS: frozenset[type] = frozenset({set, frozenset})
DIGEST = type(hashlib.sha256())

IMPURE: dict[Any, frozenset[str]] = {
    datetime.datetime: frozenset("now today utcnow timetuple utctimetuple ctime".split()),
    datetime.date: frozenset("today timetuple ctime fromtimestamp".split()),
    decimal.Decimal: frozenset({"as_tuple"}),
    re.Pattern: frozenset({"scanner", "groupindex"}),
    re.Match: frozenset({"regs"}),
    BaseException: frozenset({"with_traceback", "add_note"}),
    zoneinfo.ZoneInfo: frozenset("clear_cache no_cache from_file".split()),
    ipaddress.IPv4Network: frozenset("hosts subnets address_exclude".split()),
    ipaddress.IPv6Network: frozenset("hosts subnets address_exclude".split()),
}
"""Public methods that read a clock, or whose result is not one of the classes here."""

RESULTS: dict[tuple[Any, str], Any] = {
    **{(str, n): int for n in "count find rfind index rindex __len__".split()},
    **{(str, n): bool for n in dir(str) if n.startswith(("is", "startswith", "endswith"))},
    (str, "encode"): bytes,
    **{(t, n): [t] for t in (str, bytes) for n in "split rsplit splitlines".split()},
    **{(t, n): (t, t, t) for t in (str, bytes) for n in "partition rpartition".split()},
    (str, "maketrans"): {"any": 0},
    **{(t, "as_integer_ratio"): (int, int) for t in (int, float, bool, decimal.Decimal, fractions.Fraction)},
    **{(re.Match, n): (int, int) for n in ("span",)},
    (re.Match, "groups"): "strings",
    (re.Match, "groupdict"): {"any": 0},
    (datetime.datetime, "isocalendar"): (int, int, int),
    (datetime.date, "isocalendar"): (int, int, int),
    **{(re.Pattern, n): "match" for n in "match search fullmatch".split()},
    (re.Pattern, "findall"): "found",
    (re.Pattern, "finditer"): "matches",
    (re.Pattern, "split"): "pieces",
    (re.Pattern, "subn"): (frozenset({str, bytes}), int),
    (re.Pattern, "sub"): frozenset({str, bytes}),
}
"""The results of methods that differ from `default_result`: a class, a list `[t]`, a tuple, a dict, or a named form."""

_OWN = {str: frozenset({str}), bytes: frozenset({bytes, int, bool, str})}


def default_result(cls: Any) -> Value:
    """The result of a method that `RESULTS` does not list, by the class of its object."""
    return _OWN.get(cls, DATA)


def _functions(module: Any, names: str) -> dict[Any, str]:
    return {getattr(module, name): name for name in names.split()}


def _all_of(module: Any) -> list[Any]:
    return [f for n, f in vars(module).items() if not n.startswith("_") and isinstance(f, types.BuiltinFunctionType)]


_ANY: list[Any] = [
    abs, ascii, bin, callable, chr, divmod, format, hex, oct, ord, pow, repr, round,
    *_all_of(math), *_all_of(cmath),
    *_functions(statistics, "mean fmean median median_low median_high mode pstdev pvariance stdev variance"),
    *_functions(statistics, "geometric_mean harmonic_mean"),
    *_functions(base64, "b64encode b64decode urlsafe_b64encode urlsafe_b64decode b32encode b32decode"),
    *_functions(base64, "b16encode b16decode"),
    *_functions(binascii, "hexlify unhexlify crc32"),
    *_functions(zlib, "crc32 adler32 compress decompress"),
    *_functions(html, "escape unescape"),
    *_functions(struct, "pack calcsize"),
    *_functions(textwrap, "dedent indent fill shorten"),
    *_functions(string, "capwords"),
    *_all_of(unicodedata),
    *_functions(urllib.parse, "quote quote_plus unquote unquote_plus urlencode urljoin urlparse urlsplit urlunparse"),
    *_functions(bisect, "bisect bisect_left bisect_right"),
    *_functions(ipaddress, "ip_address ip_network"),
    re.escape, json.dumps,
]  # fmt: skip

PURE: dict[Any, Any] = {
    **dict.fromkeys(_ANY, DATA),
    struct.unpack: "pieces_of_any",
    textwrap.wrap: [str],
    statistics.multimode: "elements",
    statistics.quantiles: [float],
    urllib.parse.parse_qs: "lists",
    urllib.parse.parse_qsl: "pairs",
    json.loads: "json",
    **{getattr(re, n): "match" for n in "match search fullmatch".split()},
    re.findall: "found",
    re.finditer: "matches",
    re.split: "pieces",
    re.sub: frozenset({str, bytes}),
    re.subn: (frozenset({str, bytes}), int),
    re.compile: frozenset({re.Pattern}),
}
"""Pure functions, by what they give; their arguments must be plain data."""

KEYWORDS: dict[Any, frozenset[str]] = {
    json.dumps: frozenset("indent sort_keys separators ensure_ascii allow_nan skipkeys".split()),
    json.loads: frozenset(),
}
"""The keywords that a function may be given, where others call back."""

CONSTRUCTORS: frozenset[Any] = SCALARS - {type(None), range, re.Match, re.Pattern, BaseException, types.GenericAlias}

DIGESTS: frozenset[Any] = frozenset(
    getattr(hashlib, n) for n in "md5 sha1 sha224 sha256 sha384 sha512 sha3_224 sha3_256 sha3_384 sha3_512".split()
)

OPERATIONS: dict[Any, str] = {
    operator.add: "Add", operator.sub: "Sub", operator.mul: "Mult", operator.truediv: "Div", operator.mod: "Mod",
    operator.floordiv: "FloorDiv", operator.pow: "Pow", operator.and_: "BitAnd", operator.or_: "BitOr",
    operator.xor: "BitXor", operator.lshift: "LShift", operator.rshift: "RShift",
    operator.eq: "Eq", operator.ne: "NotEq", operator.lt: "Lt", operator.le: "LtE", operator.gt: "Gt",
    operator.ge: "GtE", operator.contains: "In", operator.getitem: "Item",
    operator.neg: "USub", operator.pos: "UAdd", operator.invert: "Invert", operator.not_: "Not", operator.truth: "Not",
    operator.abs: "USub", operator.index: "USub",
}  # fmt: skip
"""Functions that stand for an operator of Python, by the name of its node."""

SAMPLES: dict[Any, tuple[Any, ...]] = {
    bool: (True, False), int: (7, -2, 0, 1), float: (2.5, -0.5, 2.0), complex: (1 + 2j,), str: ("ab", "%s", "%d"),
    bytes: (b"ab", b"%d"), type(None): (None,), decimal.Decimal: (decimal.Decimal("1.5"), decimal.Decimal(-2)),
    fractions.Fraction: (fractions.Fraction(1, 3), fractions.Fraction(-2)),
    datetime.datetime: (datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)),
    datetime.date: (datetime.date(2020, 1, 2),), datetime.time: (datetime.time(1),),
    datetime.timedelta: (datetime.timedelta(1), datetime.timedelta(-1)), range: (range(2),), slice: (slice(1),),
    ipaddress.IPv4Address: (ipaddress.IPv4Address("1.2.3.4"),), ipaddress.IPv6Address: (ipaddress.IPv6Address("::1"),),
}  # fmt: skip
"""A few objects of each class, to see of which class the result of an operation on two of them is."""

_PARTS: dict[Any, frozenset[Any]] = {range: frozenset({int}), str: frozenset({str}), bytes: frozenset({int})}


def parts_of(cls: Any) -> Value:
    """The classes of the elements of an immutable object, as iteration or a subscript gives them."""
    if cls in (ipaddress.IPv4Network, ipaddress.IPv6Network):
        return frozenset({ipaddress.IPv4Address, ipaddress.IPv6Address})
    if cls in (urllib.parse.ParseResult, urllib.parse.SplitResult):
        return frozenset({str})
    return _PARTS.get(cls, frozenset())
