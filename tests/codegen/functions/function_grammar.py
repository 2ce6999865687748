"""Functions made at random from the grammar that becomes columns, and what Python gives for them row by row.

Run `python tests/codegen/functions/function_grammar.py 20000 [SEED]` for the long run: it prints the first function on
which columns and rows differ, and what share of all functions became columns.
"""

from __future__ import annotations

import linecache
import random
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

sys.path[:0] = map(str, Path(__file__).parents[:2])

from function_parts import LEAVES, TREES  # noqa: E402
from pes import inner_pe, plan_of  # noqa: E402

from penstock import App  # noqa: E402
from penstock.api.rows import conformer, row_maker  # noqa: E402
from penstock.codegen.functions.compiled import Compiled, compile_function  # noqa: E402
from penstock.codegen.functions.row_calls import filter_rows, flat_map_rows, map_rows  # noqa: E402
from penstock.codegen.rows.frames import Frame  # noqa: E402
from penstock.codegen.rows.places import Places  # noqa: E402
from penstock.codegen.run.loaded_module import LoadedModule, OperatorError  # noqa: E402
from penstock.codegen.write.generate import Module, generate  # noqa: E402
from penstock.expr.environment import Environment  # noqa: E402
from penstock.expr.values import batch_from_rows, rows_from_batch  # noqa: E402
from penstock.expr.vector.frame import to_column  # noqa: E402
from penstock.ir.types import parse_schema  # noqa: E402
from penstock.testing import feed  # noqa: E402

Pick = Callable[[Sequence[Any]], Any]

INPUTS = (
    "int64 n, int64 m, int32 i, int8 j, uint64 u, uint8 k, timestamp ts, float64 x, float64 z, float32 y, boolean b, "
    "rstring s, ustring w, optional<int64> on, optional<rstring> os, optional<float64> ox, optional<boolean> ob, "
    "list<int32> l, rstring[4] q"
)
OUTPUTS = {
    "int64 a": "int",
    "int32 b": "int",
    "uint8 c": "int",
    "float64 d": "float",
    "float32 e": "float",
    "boolean f": "bool",
    "rstring g": "str",
    "rstring[3] h": "str",
    "optional<int64> o": "int?",
    "optional<int8> p": "int?",
    "optional<rstring> r": "str?",
    "optional<float32> v": "float?",
}
BIG = (2**63 - 1, -(2**63), 2**62, 2**53 + 1, -(2**53) - 1, 3037000500, 2**31, -1, 0, 1, 2, 3, 7, -7, 10, 100)
FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 1e308, -1e308, 5e-324, 1e16, 9007199254740993.0, 9.3e18, 3.4e38, 0.1,
    float("nan"), float("inf"), float("-inf"), -7.25, 2.675,
)  # fmt: skip
TEXTS = (
    "", "a", "A", "ab c", " x ", "é", "ß", "\U0001f600z", "12", "-3", "1.5", "nan", "EUR", "x-12", "a,b,c", "\x1c", "İ",
    "1_0", "٣", "ǆ", "ﬁ", "a\nb", "inf", "\t7 ",
)  # fmt: skip

HEADER = """
import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from function_tables import NAMES, PATTERN, RATES, SIZES, STEPS, WATCHED

from penstock import KeyedOperator, Operator

LIMIT = 5
FACTOR = -2.5


class Point(NamedTuple):
    x: int
    y: int = 3


@dataclass(frozen=True)
class Spot:
    x: int
    y: int = 3


def clamp(v, low=-3, high=10):
    if v < low:
        return low
    return high if v > high else v


def half(v):
    assert v != 7, "seven"
    return v / 2


def pair(v, text):
    return v, text + "!"
"""


class Grammar:
    """Makes the text of functions."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self.locals: dict[str, list[str]] = {}

    def expression(self, kind: str, depth: int) -> str:
        kind = kind.rstrip("?")
        leaves = [*LEAVES[kind], *self.locals.get(kind, ())]
        if depth <= 0 or self.pick(range(5)) == 0:
            return self.pick(leaves)
        return self.filled(self.pick(TREES[kind]), depth - 1)

    def filled(self, template: str, depth: int) -> str:
        parts = template.split("@")
        text = parts[0]
        for part in parts[1:]:
            kind = {"I": "int", "F": "float", "B": "bool", "S": "str"}[part[0]]
            text += self.expression(kind, depth) + part[1:]
        return text

    def function(self, outputs: Sequence[str], depth: int) -> str:
        lines: list[str] = []
        self.locals = {}
        for _ in range(self.pick((0, 0, 1, 2, 3))):
            lines += self.statement(depth)
        if self.pick(range(3)) == 0:
            lines += [f"if {self.expression('bool', depth)}:", *_indent(self.result(outputs, depth))]
        lines += self.result(outputs, depth)
        return "\n".join(["def f(t):", *_indent(lines)])

    def statement(self, depth: int) -> list[str]:
        kind = self.pick(("int", "float", "bool", "str"))
        name = f"{kind[0]}{len(self.locals.get(kind, ()))}v"
        match self.pick(("plain", "plain", "if", "assert", "augmented", "pair", "raise", "chain", "typed", "early")):
            case "if":
                test = self.expression("bool", depth)
                then, otherwise = self.expression(kind, depth), self.expression(kind, depth)
                made = [f"if {test}:", f"    {name} = {then}", "else:", f"    {name} = {otherwise}"]
            case "assert":
                return [f"assert {self.expression('bool', 1)} or t.j < 90, 'assertion of ' + t.s"]
            case "raise":
                return [f"if {self.expression('bool', 1)} and t.j > 90:", "    raise ValueError(t.s)"]
            case "augmented" if self.locals.get("int"):
                name, symbol = self.pick(self.locals["int"]), self.pick(("+=", "-=", "*=", "//="))
                return [f"{name} {symbol} {self.expression('int', 1)}"]
            case "pair":
                made = [f"i9v, s9v = pair({self.expression('int', 1)}, {self.expression('str', 1)})"]
                self.locals.setdefault("int", []).append("i9v")
                return made
            case "chain":
                first, second, third = (self.expression(kind, depth) for _ in range(3))
                made = [f"if {self.expression('bool', 1)}:", f"    {name} = {first}"]
                made += [f"elif {self.expression('bool', 1)}:", f"    {name} = {second}"]
                made += ["else:", "    pass", f"    {name} = {third}"]
            case "typed":
                made = [f"{name}: object = {self.expression(kind, depth)}", f"{name} = other = {name}"]
            case "early":
                test, value = self.expression("bool", 1), self.expression(kind, depth)
                made = [f"{name} = {value}", f"if {test}:", f"    {name}, other = {self.expression(kind, 1)}, t.n"]
            case _:
                made = [f"{name} = {self.expression(kind, depth)}"]
        self.locals.setdefault(kind, []).append(name)
        return made

    def result(self, outputs: Sequence[str], depth: int) -> list[str]:
        if not outputs:
            return [f"return {self.expression('bool', depth)}"]
        values = {o.split()[1]: self.value(OUTPUTS[o], depth) for o in outputs}
        if self.pick((0, 1)):
            return [f"return {{{', '.join(f'{name!r}: {text}' for name, text in values.items())}}}"]
        return [f"return ({', '.join(values.values())},)"]

    def value(self, kind: str, depth: int) -> str:
        text = self.expression(kind, depth)
        if not kind.endswith("?"):
            return text
        maybe = {"int?": "t.on", "str?": "t.os", "float?": "t.ox"}[kind]
        return self.pick(
            (text, maybe, "None", f"({text} if {self.expression('bool', 1)} else None)", f"({maybe} or {text})")
        )


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


_numbers = count()


def load(text: str) -> Any:
    """The function of a text, with a source that can be read."""
    name = f"<function {next(_numbers)}>"
    whole = f"{HEADER}\n\n{text}\n"
    linecache.cache[name] = (len(whole), None, whole.splitlines(True), name)
    namespace: dict[str, Any] = {"__name__": "made_at_random"}
    # Not by `exec`: the inference trusts no table that a module with it could reach.
    FunctionType(compile(whole, name, "exec", dont_inherit=True), namespace)()
    return namespace["f"]


def row_values(pick: Pick) -> tuple[Any, ...]:
    """A tuple of the input, with what is nasty more often than not."""
    small = pick(BIG[6:])

    def within(low: int, high: int) -> int:
        return pick([v for v in (*BIG, 127, 255, -128) if low <= v <= high])

    return (
        pick(BIG), pick((*BIG, small)), within(-(2**31), 2**31 - 1), within(-128, 127),
        pick((0, 1, 5, 2**64 - 1, 2**63)), within(0, 255), pick((0, 10**18)), pick(FLOATS), pick(FLOATS),
        pick((0.0, 0.5, -2.0, float("nan"), float("inf"))),
        pick((True, False)), pick(TEXTS), pick(TEXTS), pick((None, *BIG)), pick((None, *TEXTS)), pick((None, *FLOATS)),
        pick((None, True, False)), [1, 2], pick(("", "ab", "abcd")),
    )  # fmt: skip


def by_rows(function: Any, role: str, rows: Sequence[tuple[Any, ...]], outputs: str) -> list[Any]:
    """What Python gives for each row: tuples, or the exception."""
    make, conform = row_maker(parse_schema(INPUTS)), conformer(parse_schema(outputs))
    return [_one(function, role, make(row), row, conform) for row in rows]


def _one(function: Any, role: str, row: Any, tuple_: tuple[Any, ...], conform: Any) -> Any:
    try:
        if role == "map":
            return [conform(function(row))]
        if role == "filter":
            return [tuple_] if function(row) else []
        return [conform(value) for value in function(row) or ()]
    except Exception as error:
        return error


class Columns:
    """A function in a generated PE."""

    def __init__(self, function: Any, role: str, outputs: str) -> None:
        app = App("Test")
        source = app.source(feed([]), INPUTS, name="A")
        apply = {"map": source.map, "flat map": source.flat_map}
        made = source.filter(function, name="F") if role == "filter" else apply[role](function, outputs, name="F")
        made.write_file("out.csv", name="Sink")
        self.program = app.program()
        self.outputs = parse_schema(outputs)
        plan = plan_of(self.program)
        found = generate(self.program, plan, inner_pe(plan))
        assert isinstance(found, Module), found
        self.text = found.text
        self.module = LoadedModule(found, self.program, Environment())

    def run(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, Any]]:
        """The tuples that leave, each with the number of the row that it was made of."""
        pe = _Batch(_framed(rows))
        with np.errstate(all="ignore"):
            self.module.process(pe)
        left = pe.left
        return list(
            zip(left.places.item.tolist(), rows_from_batch(left.batch(self.outputs), self.outputs), strict=True)
        )


def _framed(rows: Sequence[tuple[Any, ...]]) -> Frame:
    schema = parse_schema(INPUTS)
    batch = batch_from_rows(rows, schema)
    columns = {a.name: to_column(batch.column(i), a.type) for i, a in enumerate(schema.attributes)}
    return Frame(Places(np.arange(len(rows))), columns)


class _Batch:
    """What a generated function sees of a batch."""

    def __init__(self, frame: Frame) -> None:
        self.frames = {0: frame}
        self.left: Any = None
        self.received: Any = None
        self.submitted: Any = None

    def leave(self, edge: int, frame: Frame) -> None:
        self.left = frame


class Calls:
    """A function that is called, as one that is not understood."""

    text = "called"

    def __init__(self, function: Any, role: str, outputs: str) -> None:
        self.call, self.role, self.outputs = function, role, parse_schema(outputs)

    def run(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, Any]]:
        """The tuples that leave, each with the number of the row that it was made of."""
        inputs, frame = parse_schema(INPUTS), _framed(rows)
        if self.role == "filter":
            made = filter_rows(frame, self.call, inputs)
        else:
            work = map_rows if self.role == "map" else flat_map_rows
            made = work(frame, self.call, inputs, self.outputs)
        return list(
            zip(made.places.item.tolist(), rows_from_batch(made.batch(self.outputs), self.outputs), strict=True)
        )


def differences(text: str, role: str, rows: Sequence[tuple[Any, ...]], outputs: str) -> tuple[bool, str]:
    """Whether a function became columns, and how what it then gives differs from what Python gives, if it does.

    Whether it did or not, it is also called as one that did not.
    """
    function = load(text)
    form = compile_function(function, role, parse_schema(INPUTS), parse_schema(outputs))
    expected = by_rows(function, role, rows, outputs)
    difference = _difference(text, Calls(function, role, outputs), rows, expected)
    if difference or not isinstance(form, Compiled):
        return isinstance(form, Compiled), difference
    return True, _difference(text, Columns(function, role, outputs), rows, expected)


def _difference(text: str, side: Calls | Columns, rows: Sequence[tuple[Any, ...]], expected: list[Any]) -> str:
    errors = [e for e in expected if isinstance(e, Exception)]
    told = f"{text}\n\n{side.text}"
    raised: Exception | None = None
    try:
        side.run(rows)
    except OperatorError as error:
        raised = error.error
    except Exception as error:
        raised = error
    if (raised is None) != (not errors):
        return f"{told}\nexpected {errors[:1]}, got {raised!r}"
    if errors and (type(raised), str(raised)) != (type(errors[0]), str(errors[0])):
        return f"{told}\nexpected {errors[0]!r}, got {raised!r}"
    assert not side.run([])
    good = [row for row, found in zip(rows, expected, strict=True) if not isinstance(found, Exception)]
    wanted = [found for found in expected if not isinstance(found, Exception)]
    pairs = [repr((i, t)) for i, found in enumerate(wanted) for t in found]
    actual = list(map(repr, side.run(good)))
    if pairs != actual:
        at = next((i for i, (a, b) in enumerate(zip(pairs, actual, strict=False)) if a != b), -1)
        return f"{told}\nexpected {pairs[at]}\ngot      {actual[at] if actual else actual}"
    return ""


def functions(pick: Pick, depth: int = 3) -> tuple[str, str, str]:
    """The text of a function, its role, and the schema of what it gives."""
    grammar = Grammar(pick)
    role = pick(("map", "map", "map", "filter", "flat map"))
    chosen = sorted({pick(list(OUTPUTS)) for _ in range(3)})
    if role == "filter":
        return grammar.function((), depth), role, INPUTS
    text = grammar.function(chosen, depth)
    if role == "flat map":
        lines = [line.replace("return ", "yield ", 1) for line in text.splitlines()]
        return "\n".join(lines), role, ", ".join(chosen)
    return text, role, ", ".join(chosen)


def main(total: int, seed: int) -> None:
    """The long run."""
    compiled = 0
    for number in range(total):
        rng = random.Random(seed * 1_000_003 + number)
        text, role, outputs = functions(rng.choice)
        rows = [row_values(rng.choice) for _ in range(60)]
        is_compiled, difference = differences(text, role, rows, outputs)
        compiled += is_compiled
        if difference:
            print(f"number {number}, seed {seed}, {role} to {outputs}\n{difference}")
            raise SystemExit(1)
        if number % 1000 == 999:
            print(f"{number + 1} functions, {compiled} of them as columns", flush=True)
    print(f"{total} functions, {compiled} of them as columns, no difference")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
