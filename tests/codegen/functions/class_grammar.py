"""Keyed classes made at random from the grammar that becomes columns, and what the loop gives for them.

Run `python tests/codegen/functions/class_grammar.py 5000 [SEED]` for the long run: it prints the first class for which
columns and the loop differ, and what share of all classes became columns.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = map(str, Path(__file__).parents[:2])

import numpy as np  # noqa: E402
from function_grammar import BIG, FLOATS, load  # noqa: E402

from penstock import App  # noqa: E402
from penstock.codegen.functions import class_rounds, class_scans  # noqa: E402
from penstock.codegen.functions.class_calls import ClassCalls  # noqa: E402
from penstock.codegen.functions.class_columns import CompiledClass  # noqa: E402
from penstock.codegen.functions.instance_table import memory_of  # noqa: E402
from penstock.codegen.functions.scan_kinds import scan_kinds  # noqa: E402
from penstock.codegen.plan.python_classes import class_calls, compile_python_class, python_class  # noqa: E402
from penstock.codegen.rows.frames import Frame  # noqa: E402
from penstock.codegen.rows.places import Places  # noqa: E402
from penstock.codegen.write.builder import Builder  # noqa: E402
from penstock.codegen.write.module_imports import imports_of  # noqa: E402
from penstock.expr.environment import Environment  # noqa: E402
from penstock.expr.values import batch_from_rows, rows_from_batch  # noqa: E402
from penstock.expr.vector.frame import to_column  # noqa: E402
from penstock.ir.types import parse_schema  # noqa: E402
from penstock.testing import feed  # noqa: E402

Pick = Callable[[Sequence[Any]], Any]

INPUTS = "int64 n, int32 i, float64 x, boolean b, rstring s, optional<int64> on, optional<float64> ox"
OUTPUTS = {
    "int64 a": "int",
    "int8 c": "int",
    "float64 d": "float",
    "boolean f": "bool",
    "rstring g": "str",
    "optional<float64> o": "float?",
    "optional<int64> p": "int?",
}
KEYS = ("i", "s", "b", "on", ("i", "s"), ("s", "on", "b"))

ATTRIBUTES = {"int": ("count", "last"), "float": ("total", "best"), "bool": ("seen",), "str": ("text",)}
FIRST = {
    "int": ("0", "1", "-5", "2**62", str(2**63 - 1), "step"),
    "float": ("0.0", "-0.0", "1e308", "float_", "0"),
    "bool": ("False", "True"),
    "str": ("''", "'a'"),
}
MAYBE = ("mlast", "mbest")
"""Attributes that begin as None: an integer and a float."""

_LEAVES = {
    "int": "t.n t.i 1 -3 self.count self.last self.step",
    "float": "t.x 0.5 -0.0 self.total self.best",
    "bool": "t.b self.seen True",
    "str": "t.s 'k' self.text",
}
_TREES = {
    "int": "(@I + @I);(@I - @I);(@I * @I);(@I // @I);(@I % 7);min(@I, @I);max(@I, @I);abs(@I);-@I;(@I if @B else @I);"
    "len(@S);int(t.b);(self.mlast if self.mlast is not None else @I);(t.on or @I);"
    "(t.i ** 2);(@I & @I);(@I | t.n);(t.n >> 3);round(t.x);int(t.x);(1 // t.i if t.i else @I);(y := @I) + y;(@B + @I);"
    "SIZES.get(@I, 5);clamp(t.n, high=self.step);(self.count and @I)",
    "float": "(@F + @F);(@F - @F);(@F * @F);(@F / @F);min(@F, @F);max(@F, @F);abs(@F);(@F if @B else @F);(@F + @I);"
    "(@I / @I);float(@I);(@F if self.mbest is None else self.mbest);(t.ox or @F);"
    "(@F // t.x);(@F % t.x);round(t.x, 2);math.sqrt(t.x);math.floor(t.x) / 2;(t.x ** 2);half(t.x);RATES.get(t.s, @F)",
    "bool": "@I > @I;@F < @F;@F == @F;@I != @I;@B and @B;@B or @B;not @B;@S == @S;self.mlast is None;self.mlast == @I;"
    "(self.mbest is None or self.mbest < @F);t.ox is None;0 < @I < @I;t.n in STEPS;'z' in t.s;@S < @S;"
    "math.isnan(t.x);(self.mlast is not None and self.mlast > @I);bool(t.s);t.s.startswith('s')",
    "str": "(@S + 'z');t.s[:2];t.s.upper();(@S if @B else @S);str(@I);"
    "f'{t.n}|{t.x:.2f}';f'{self.mlast}';t.s[-3:];t.s[::-1];(t.s or @S)",
}
LEAVES = {kind: text.split(" ") for kind, text in _LEAVES.items()}
TREES = {kind: text.split(";") for kind, text in _TREES.items()}


class Grammar:
    """Makes the text of classes."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick

    def expression(self, kind: str, depth: int) -> str:
        if depth <= 0 or self.pick(range(4)) == 0:
            return self.pick(LEAVES[kind])
        parts = self.pick(TREES[kind]).split("@")
        kinds = {"I": "int", "F": "float", "B": "bool", "S": "str"}
        return parts[0] + "".join(self.expression(kinds[p[0]], depth - 1) + p[1:] for p in parts[1:])

    def made(self) -> tuple[str, str]:
        """The text of a class, and the schema of what it gives."""
        outputs = sorted({self.pick(list(OUTPUTS)) for _ in range(3)})
        lines = ["def __init__(self, step: int = 2):", *indent(self.constructor())]
        body = [line for _ in range(self.pick((1, 2, 3, 4))) for line in self.statement(2)]
        body += self.gives(outputs)
        if self.pick(range(4)) == 0:
            body += self.statement(1)
        lines += ["", "def process(self, t):", *indent(body)]
        lines += ["", "def grown(self, v):", *indent(["self.count += v", "return self.count"])]
        key = self.pick(KEYS)
        text = "\n".join(["class f(KeyedOperator):", f"    partition_by = {key!r}", *indent(lines)])
        return text, ", ".join(outputs)

    def constructor(self) -> list[str]:
        found = ["float_ = -2.5", "self.step = step"]
        for kind, names in ATTRIBUTES.items():
            found += [f"self.{name} = {self.pick(FIRST[kind])}" for name in names]
        return [*found, *(f"self.{name} = None" for name in MAYBE)]

    def statement(self, depth: int) -> list[str]:
        match self.pick(range(9)):
            case 0:
                return [f"self.count += {self.pick(('1', 't.n', 'self.step', '2**61'))}"]
            case 1:
                return [f"self.total += {self.pick(('t.x', 't.i', 't.x * 0.5'))}"]
            case 2:
                return [f"if t.x {self.pick('<>')} self.best:", "    self.best = t.x"]
            case 3:
                return ["self.mlast = t.on"] if self.pick((0, 1)) else ["self.mlast, self.last = t.n, t.i"]
            case 4:
                return ["if self.mbest is None or self.mbest < t.x:", "    self.mbest = t.x"]
            case 5:
                return [f"if {self.expression('bool', depth)}:", *indent(self.statement(depth - 1))]
            case 6:
                return [f"if {self.expression('bool', 1)} and t.i > 2**30:", "    raise ValueError(t.s)"]
            case 7:
                return [f"self.last = self.grown({self.expression('int', 1)})"]
        kind = self.pick(list(ATTRIBUTES))
        return [f"self.{self.pick(ATTRIBUTES[kind])} = {self.expression(kind, depth)}"]

    def gives(self, outputs: Sequence[str]) -> list[str]:
        shape = self.pick(("one", "one", "some", "two", "list", "submit", "mixed"))
        if shape == "mixed":
            return [f"self.submit({self.tuple_(outputs)})", f"yield {self.tuple_(outputs)}"]
        if shape == "some":
            return [f"if {self.expression('bool', 2)}:", f"    yield {self.tuple_(outputs)}"]
        if shape == "two":
            return [f"yield {self.tuple_(outputs)}", "self.count += 1", f"yield {self.tuple_(outputs)}"]
        if shape == "list":
            two = f"return [{self.tuple_(outputs)}, {self.tuple_(outputs)}]"
            return ["if t.b:", f"    return [{self.tuple_(outputs)}]", two]
        return [f"self.submit({self.tuple_(outputs)})" if shape == "submit" else f"yield {self.tuple_(outputs)}"]

    def tuple_(self, outputs: Sequence[str]) -> str:
        values = {o.split()[1]: self.value(OUTPUTS[o]) for o in outputs}
        if self.pick((0, 1)):
            return "{" + ", ".join(f"{name!r}: {text}" for name, text in values.items()) + "}"
        return f"({', '.join(values.values())},)"

    def value(self, kind: str) -> str:
        maybe = {"int?": ("self.mlast", "t.on"), "float?": ("self.mbest", "t.ox")}
        return self.pick((*maybe.get(kind, ()), self.expression(kind.rstrip("?"), 2)))


def indent(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def row_values(pick: Pick, keys: int) -> tuple[Any, ...]:
    small = pick(range(keys))
    return (
        pick((*BIG, 1, 2, 3)),
        pick((*range(keys), 2**31 - 1)) if pick(range(40)) == 0 else small,
        pick((*FLOATS, 1.0, 2.0, 3.0)),
        pick((True, False)),
        f"s{pick(range(keys))}",
        pick((None, 1, 2, 2**62)),
        pick((None, *FLOATS)),
    )


@contextmanager
def fewest(keys: int, rows: int = 10**9) -> Iterator[None]:
    """Rounds of at least so many keys a line, and scans of so many rows a key, in batches of any size."""
    changed = (class_rounds, "KEYS_PER_LINE", keys), (class_scans, "ROWS_PER_KEY", rows)
    changed += ((class_scans, "KEYS_PER_LINE", 10**6),)
    changed += (class_rounds, "LEAST_ROWS", 1), (class_scans, "LEAST_ROWS", 1)
    before = [getattr(module, name) for module, name, _ in changed]
    for module, name, value in changed:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(changed, before, strict=True):
            setattr(module, name, value)


@dataclass
class Setting:
    """A class as the only operator of a program."""

    text: str
    outputs: str

    def __post_init__(self) -> None:
        app = App("Test")
        source = app.source(feed([]), INPUTS, name="A")
        source.apply(load(self.text), self.outputs, name="C").write_file("out.csv", name="Sink")
        self.program = app.program()
        self.operator = self.program.application.operator["C"]
        owner = python_class(self.program, self.operator)
        assert owner is not None
        self.form = compile_python_class(self.program, self.operator, owner)
        self.scans = None if isinstance(self.form, str) else scan_kinds(self.form)

    def step(self) -> tuple[Any, Any, str]:
        """The function of a round, loaded, and the text that it was loaded from."""
        assert isinstance(self.form, CompiledClass)
        from pes import inner_pe, plan_of

        from penstock.codegen.plan.part import part_of
        from penstock.codegen.plan.python_classes import write_step

        plan = plan_of(self.program)
        builder = Builder(part_of(plan, inner_pe(plan)))
        step, attributes = write_step(builder, self.operator, self.form)
        text = builder.module.body()
        names: dict[str, Any] = {}
        exec(f"{imports_of(text)}\nfrom math import inf, nan\n{text}", names)
        return names[step], names[attributes], text


class Runner:
    """The class in a program, its state stored and restored between batches."""

    def __init__(self, setting: Setting, step: Any, attributes: Any) -> None:
        self.setting, self.step, self.attributes = setting, step, attributes
        self.state: Any = None
        self.schema, self.outputs = parse_schema(INPUTS), parse_schema(setting.outputs)
        self.calls = self.fresh()

    def fresh(self) -> ClassCalls:
        return class_calls(self.setting.program, self.setting.operator, Environment(), self.attributes)

    def restore(self) -> None:
        """Go on with another instance."""
        state = self.calls.snapshot()
        self.calls = self.fresh()
        if state is not None:
            self.calls.restore(state)

    def take(self, rows: Sequence[tuple[Any, ...]], time_ns: int) -> list[Any]:
        batch = batch_from_rows(rows, self.schema)
        columns = {a.name: to_column(batch.column(i), a.type) for i, a in enumerate(self.schema.attributes)}
        frame = Frame(Places(np.arange(len(rows))), columns)

        def times(frame: Frame) -> Any:
            return time_ns + frame.places.item

        with np.errstate(all="ignore"):
            if self.step is None:
                made = self.calls.process(times, [frame])[0]
            else:
                made = self.calls.process_by_key(times, frame, self.step, self.setting.scans)
        given = rows_from_batch(made.batch(self.outputs), self.outputs)
        return [repr(pair) for pair in zip(made.places.item.tolist(), given, strict=True)]

    def snapshot(self) -> str:
        return repr(memory_of(self.calls.snapshot()))


def differences(text: str, outputs: str, pick: Pick) -> tuple[bool, str]:
    """Whether a class became columns, and how what it then does differs from the loop, if it does."""
    setting = Setting(text, outputs)
    if isinstance(setting.form, str):
        return False, setting.form
    step, attributes, code = setting.step()
    loop, columns = Runner(setting, None, attributes), Runner(setting, step, attributes)
    for number in range(pick((1, 2, 3))):
        keys = pick((1, 2, 5, 30))
        rows = [row_values(pick, keys) for _ in range(pick((1, 2, 10, 60, 200)))]
        rows = rows if pick(range(4)) == 0 else without_failing(loop, rows)
        with fewest(pick((0, 0, 0, 1)), pick((0, 3, 10**6))):
            found, expected = (attempt(runner, rows, number * 1000) for runner in (columns, loop))
        if found != expected:
            return True, f"{text}\n\n{code}\n{rows}\n{first_difference(expected, found)}"
        if isinstance(expected, str):
            return True, ""
        if loop.snapshot() != columns.snapshot():
            return True, f"{text}\n\n{code}\n{rows}\nexpected {loop.snapshot()}\ngot      {columns.snapshot()}"
        if pick((0, 1)):
            loop.restore()
            columns.restore()
        elif pick((0, 1)):
            loop.step, columns.step = columns.step, loop.step
    return True, ""


def without_failing(runner: Runner, rows: list[Any]) -> list[Any]:
    """Rows without those that fail, as far as the first failures tell."""
    kept: list[Any] = []
    probe = runner.fresh()
    state = memory_of(runner.calls.snapshot())
    if state is not None:
        probe.restore(state)
    runtime: Any = probe._runtime
    for row in rows:
        key = runtime.key_of[0](row)
        seat = runtime._live(key)
        before = None if seat is None else dict(vars(seat.instance))
        try:
            probe._check(row)
            kept.append(row)
        except Exception:
            if before is None:
                runtime.entries.pop(key, None)
            else:
                vars(seat.instance).clear()
                vars(seat.instance).update(before)
    return kept


def attempt(runner: Runner, rows: Sequence[tuple[Any, ...]], time_ns: int) -> Any:
    try:
        return runner.take(rows, time_ns)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def first_difference(expected: Any, found: Any) -> str:
    if isinstance(expected, list) and isinstance(found, list):
        for a, b in zip(expected, found, strict=False):
            if a != b:
                return f"expected {a}\ngot      {b}"
    return f"expected {expected}\ngot      {found}"


def classes(pick: Pick) -> tuple[str, str]:
    """The text of a class, and the schema of what it gives."""
    return Grammar(pick).made()


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    understood, why = 0, {}
    for number in range(seed, seed + count):
        rng = random.Random(number)
        text, outputs = classes(rng.choice)
        is_columns, difference = differences(text, outputs, rng.choice)
        understood += is_columns
        if is_columns and difference:
            sys.exit(f"seed {number}\n{difference}")
        if not is_columns:
            reason = difference.split(": ", 1)[-1]
            why[reason] = why.get(reason, 0) + 1
    print(f"{count} classes, {understood / count:.0%} of them columns")
    for reason, number in sorted(why.items(), key=lambda item: -item[1])[:8]:
        print(f"  {number:5} {reason}")


if __name__ == "__main__":
    main()
