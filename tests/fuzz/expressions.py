"""Random SPL: values of a type, and expressions over the attributes of a port."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .program import Attributes

BASE: Attributes = (("n", "int32"), ("x", "float64"), ("s", "rstring"))
"""What every stream has, so that operators can be combined freely."""

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
DECIMALS = ("decimal32", "decimal64", "decimal128")
COMPOSITE = (
    "list<int32>",
    "list<rstring>",
    "list<float64>",
    "list<list<int32>>",
    "set<int32>",
    "set<rstring>",
    "map<rstring, int32>",
    "map<int32, float64>",
    "optional<int32>",
    "optional<rstring>",
    "optional<float64>",
    "tuple<int32 a, rstring b>",
)
EXTRAS = ("boolean", *INTEGERS, *FLOATS, *DECIMALS, "rstring", "ustring", "timestamp", "blob", "Color", *COMPOSITE)
ORDERED = frozenset({"boolean", *INTEGERS, *FLOATS, *DECIMALS, "rstring", "ustring", "timestamp", "blob", "Color"})
NUMERIC = frozenset({*INTEGERS, *FLOATS, *DECIMALS})

STRINGS = ('""', '"a"', '"b"', '"c"', '"é"', '"Trade"', '"a,b"', '"a\\"b"', '" "', '"0"', '"line\\nfeed"', '"NaN"')


def range_of(type_: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type.

    Example:
        >>> range_of("int8"), range_of("uint8")
        ((-128, 127), (0, 255))
    """
    bits = int(type_.lstrip("uint"))
    return (0, 2**bits - 1) if type_.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class Grower:
    """Draws values and expressions.

    Args:
        rng: Where they come from.
        risky: Whether an expression may fail.
    """

    def __init__(self, rng: Random, *, risky: bool = False) -> None:
        self.rng = rng
        self.risky = risky

    def value(self, type_: str) -> str:
        """A constant."""
        rng = self.rng
        if type_ in INTEGERS:
            low, high = range_of(type_)
            drawn = rng.choice([0, 1, 2, 3, 4, 5, 7, -1, -2, 1, 2, 3])
            drawn = rng.choice([low, high, low + 1]) if rng.random() < 0.06 else max(low, drawn)
            if drawn == low and type_ == "int64":
                return "(-9223372036854775807l - 1l)"
            return str(drawn) if type_ == "int32" else f"({type_}){drawn}" if drawn >= 0 else f"({type_})({drawn})"
        if type_ in FLOATS:
            return self._float(type_)
        if type_ in DECIMALS:
            drawn_text = rng.choice(["0", "1.50", "-2.25", "7", "1e3", "NaN", "-0", "Infinity", "0.1", "12345678.9"])
            return f'({type_})"{drawn_text}"'
        return self._other(type_)

    def _float(self, type_: str) -> str:
        common = ["0.0", "0.1", "0.7", "1.5", "2.0", "-2.25", "3.0", "1.0"]
        rare = ["-0.0", "(0.0 / 0.0)", "(1.0 / 0.0)", "(-1.0 / 0.0)", "1e16", "-1e16", "1e300", "1e-320"]
        drawn = self.rng.choice(rare if self.rng.random() < 0.15 else common)
        return drawn if type_ == "float64" else f"(float32){drawn}" if drawn[0] != "-" else f"(float32)({drawn})"

    def _other(self, type_: str) -> str:
        rng = self.rng
        if type_ in ("rstring", "ustring"):
            drawn = rng.choice(STRINGS[:4] if rng.random() < 0.8 else STRINGS)
            return drawn if type_ == "rstring" else f"(ustring){drawn}"
        if type_.startswith(("list<", "set<")):
            element = type_.partition("<")[2][:-1]
            size = rng.choice([0, 1, 2, 3])
            drawn_parts = [self.value(element) for _ in range(size)]
            inside = ", ".join(drawn_parts if type_.startswith("list") else dict.fromkeys(drawn_parts))
            brackets = "[]" if type_.startswith("list") else "{}"
            return f"({type_}){brackets[0]}{inside}{brackets[1]}"
        if type_.startswith("map<"):
            key, _, value = type_[4:-1].partition(", ")
            keys = dict.fromkeys(self.value(key) for _ in range(rng.choice([0, 1, 2])))
            return f"({type_}){{{', '.join(f'{k}: {self.value(value)}' for k in keys)}}}"
        if type_.startswith("optional<"):
            return f"({type_})null" if rng.random() < 0.4 else f"({type_})({self.value(type_[9:-1])})"
        if type_.startswith("tuple<"):
            return f"{{a = {self.value('int32')}, b = {self.value('rstring')}}}"
        return {
            "boolean": rng.choice(["true", "false"]),
            "timestamp": rng.choice(
                ["createTimestamp(10l, 5u)", "createTimestamp(0l, 0u)", "createTimestamp(11l, 0u)"]
            ),
            "blob": rng.choice(['convertToBlob("")', 'convertToBlob("Hi")', "(blob)[255ub, 0ub]"]),
            "Color": f"Color.{rng.choice(['red', 'green', 'blue'])}",
        }[type_]

    def expression(self, type_: str, schema: Attributes, port: str = "I0", depth: int = 2) -> str:
        """An expression of a type over the attributes of a port."""
        rng = self.rng
        mine = [f"{port}.{name}" for name, t in schema if t == type_]
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(mine) if mine and rng.random() < 0.8 else self.value(type_)

        def some(t: str) -> str:
            return self.expression(t, schema, port, depth - 1)

        return rng.choice(self._forms(type_))(some)

    def condition(self, schema: Attributes, port: str = "I0") -> str:
        """A condition that holds now and then."""
        rng = self.rng
        simple = [
            f"{port}.n > {rng.randint(-1, 4)}",
            f"{port}.n % {rng.choice([2, 3])} == {rng.choice([0, 1])}",
            f"{port}.s != {rng.choice(STRINGS)}",
            f"{port}.x < {rng.choice(['1.0', '2.0', '0.0'])}",
            f'{port}.s == "a" || {port}.n > 2',
        ]
        return rng.choice(simple) if rng.random() < 0.6 else self.expression("boolean", schema, port, 2)

    def key(self, schema: Attributes, port: str = "I0") -> str:
        """What tuples are told apart by."""
        rng = self.rng
        names = [f"{port}.{name}" for name, type_ in schema if type_ in ORDERED]
        usual = [f"{port}.s", f"{port}.s", f"{port}.n", f"{port}.n % 2", f"{port}.s, {port}.n", f"{port}.x"]
        return rng.choice(usual) if rng.random() < 0.8 else rng.choice(names)

    def record(self, wanted: Attributes, schema: Attributes, port: str = "I0") -> str:
        """A tuple literal."""
        forwarded = {name for name, type_ in schema if (name, type_) in wanted}
        parts = (
            f"{name} = {port}.{name}"
            if name in forwarded and self.rng.random() < 0.7
            else f"{name} = {self.expression(type_, schema, port, 1)}"
            for name, type_ in wanted
        )
        return "{" + ", ".join(parts) + "}"

    def _forms(self, type_: str) -> list[Callable[[Callable[[str], str]], str]]:
        """The ways to make a value of a type of smaller ones."""
        forms: list[Callable[[Callable[[str], str]], str]] = [
            lambda some: f"({some('boolean')} ? {some(type_)} : {some(type_)})"
        ]
        if type_ in NUMERIC:
            forms += [lambda some: f"({some(type_)} {self.rng.choice('+-*')} {some(type_)})"] * 3
            forms.append(lambda some: f"({type_})({some(self.rng.choice(['int32', 'int64', 'uint8']))})")
            forms.append(self._division(type_))
        if type_ in INTEGERS or type_ in FLOATS:
            forms.append(lambda some: f"{self.rng.choice(['min', 'max'])}({some(type_)}, {some(type_)})")
        if type_ in INTEGERS:
            forms.append(lambda some: f"({some(type_)} {self.rng.choice('&|^')} {some(type_)})")
        return forms + self._by_kind(type_)

    def _division(self, type_: str) -> Callable[[Callable[[str], str]], str]:
        operator = self.rng.choice("/%")
        if type_ not in INTEGERS or self.risky:
            return lambda some: f"({some(type_)} {operator} {some(type_)})"
        return lambda some: f"({some(type_)} {operator} ({some(type_)} | ({type_})1))"

    def _by_kind(self, type_: str) -> list[Callable[[Callable[[str], str]], str]]:
        rng = self.rng
        if type_ == "boolean":
            compared = rng.choice(sorted(ORDERED - {"boolean"}))
            equal = rng.choice([*EXTRAS])
            return [
                lambda some: f"({some(compared)} {rng.choice(['<', '<=', '>', '>='])} {some(compared)})",
                lambda some: f"({some('int32')} {rng.choice(['<', '>', '==', '!='])} {some('int32')})",
                lambda some: f"({some(equal)} {rng.choice(['==', '!='])} {some(equal)})",
                lambda some: f"({some('boolean')} {rng.choice(['&&', '||'])} {some('boolean')})",
                lambda some: (
                    f"!{some('boolean')}" if rng.random() < 0.5 else f"({some('int32')} in {some('list<int32>')})"
                ),
                lambda some: f"isPresent({some('optional<int32>')})",
            ]
        if type_ == "rstring":
            return [
                lambda some: f"({some('rstring')} + {some('rstring')})",
                lambda some: f"{rng.choice(['lower', 'upper'])}({some('rstring')})",
                lambda some: f"(rstring)({some(rng.choice(sorted(ORDERED)))})",
                lambda some: f"({some('optional<rstring>')} ?: {some('rstring')})",
            ]
        if type_ == "int32":
            return [
                lambda some: f"length({some('rstring')})",
                lambda some: f"size({some(rng.choice(['list<int32>', 'set<int32>', 'map<rstring, int32>']))})",
                lambda some: f"({some('optional<int32>')} ?: {some('int32')})",
                *([lambda some: f"({some('list<int32>')})[{some('int32')}]"] if self.risky else []),
            ]
        if type_ == "float64":
            return [
                lambda some: f"{rng.choice(['abs', 'floor', 'ceil'])}({some('float64')})",
                lambda some: f"sum({some('list<float64>')})",
            ]
        if type_.startswith("list<"):
            element = type_[5:-1]
            return [lambda some: f"({some(type_)} + {some(type_)})", lambda some: f"[{some(element)}]"]
        if type_.startswith("optional<"):
            return [lambda some: f"({type_})({some(type_[9:-1])})"]
        return []
