"""Compiling ends: programs of random operators and expressions, each with a time limit.

What is compiled is everything that `run` compiles before the first tuple: the graph, parallel regions, the plan,
sources by columns, generated code.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from penstock.base.diagnostics import UserError
from penstock.codegen.build import build
from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.expr.environment import Environment
from penstock.ir.pretty import pretty
from penstock.lang import compile_text
from penstock.runtime.sources.by_columns import is_read_by_columns
from penstock.toolkit.core.program import Program

PROGRAMS = int(os.environ.get("PENSTOCK_COMPILES", "150"))
SECONDS = 20


@contextmanager
def time_limit(what: str) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"still compiling after {SECONDS} s:\n{what}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def compile_all(text: str, channels: int) -> bool:
    """Compile everything that is compiled before the first tuple; tells whether the program was right."""
    try:
        program = compile_text(text)
    except UserError:
        return False
    application = program.application
    pretty(application)
    regions = choose_channels(application, channels)
    for groups in ([[o.id for o in application.operators]], [[o.id] for o in application.operators]):
        # A loop that would be cut is refused.
        with suppress(UserError):
            _compile_plan(program, physical_plan(application, groups, regions))
    return True


def _compile_plan(program: Program, plan: PhysicalPlan) -> None:
    build(program, plan)
    for pe in plan.pes:
        if pe.role == "source":
            is_read_by_columns(program, plan, pe.index, Environment(), follows=False)


class Writer:
    """Writes random programs; names are such as trouble generated code."""

    NAMES = (
        "k",
        "x",
        "rows",
        "state",
        "list",
        "k_2",
        "k_column",
        "lambda_",
        "v_2",
        "np",
        "pe",
        "at",
        "len",
        "environment",
    )

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def integer(self, names: list[str], depth: int = 3) -> str:
        choose, inner = self.rng.choice, lambda: self.integer(names, depth - 1)
        if depth == 0:
            return choose([*names, str(self.rng.randrange(10))]) if names else str(self.rng.randrange(10))
        return choose(
            [
                lambda: inner(),
                lambda: f"({inner()} {choose('+ - * & |'.split())} {inner()})",
                lambda: f"({inner()} {choose(['/', '%'])} {self.rng.randrange(1, 9)})",
                lambda: f"[{inner()}, {inner()}][{inner()} % 2]",
                lambda: f"({inner()} {choose('< > == !='.split())} {inner()} ? {inner()} : {inner()})",
                lambda: f"size([{inner()}, {inner()}])",
                lambda: f"abs({inner()})",
                lambda: f"length((rstring) {inner()})",
                lambda: f"({inner()} in [{inner()}] ? {inner()} : {inner()})",
                lambda: f"own({inner()})",
                lambda: f"({{ {inner()} : {inner()} }})[{inner()}]",
                lambda: f"(int32) exp((float64) {inner()})",
            ]
        )()

    def program(self) -> str:
        rng = self.rng
        names = rng.sample(self.NAMES, rng.randint(1, 4))
        schema = ", ".join(f"int32 {name}" for name in names)
        streams = ["S0"]
        counted = ["(int32) IterationCount()"]
        lines = [
            f"stream<{schema}> S0 = Beacon() {{ param iterations: 3u; output S0: "
            + ", ".join(f"{name} = {self.integer(counted)}" for name in names)
            + "; }"
        ]
        for number in range(1, rng.randint(2, 6)):
            lines.append(self.operator(f"S{number}", names, schema, streams, number))
            streams.append(f"S{number}")
        lines += [f'() as Sink{s} = FileSink({s}) {{ param file: "{s}"; }}' for s in rng.sample(streams, 1)]
        own = "int32 own(int32 n) { return n <= 0 ? n : own(n - 1); }"
        return f"{own}\ncomposite Main {{ graph\n" + "\n".join(lines) + "\n}"

    def operator(self, to: str, names: list[str], schema: str, streams: list[str], number: int) -> str:
        rng = self.rng
        of, key = rng.choice(streams), rng.choice(names)
        # Now and then an operator reads what comes behind it: a loop.
        more = f", S{number + 1}" if rng.random() < 0.15 else ""
        annotation = rng.choice(["", "", "@parallel(width=2) "])
        output = ", ".join(f"{name} = {self.integer(names, 2)}" for name in names)
        last = ", ".join(f"{name} = Last({name})" for name in names)
        logic = f"{{ mutable int32 y = {self.integer(names, 2)}; while (y < 3) y = y + 1; submit({of}, {to}); }}"
        body = rng.choice(
            [
                f"Functor({of}{more}) {{ param filter: {self.integer(names, 2)} > 1; output {to}: {output}; }}",
                f"Filter({of}{more}) {{ param filter: {self.integer(names)} > {self.integer(names, 1)}; }}",
                f"Custom({of}{more}) {{ logic onTuple {of}: {logic} }}",
                f"Aggregate({of}) {{ window {of}: tumbling, count(2), partitioned; param partitionBy: {key};"
                f" output {to}: {last}; }}",
                f"Sort({of}) {{ window {of}: tumbling, count(3); param sortBy: {key}; }}",
                f"DeDuplicate({of}) {{ param key: {key}; }}",
                f"Union({of}; {rng.choice(streams)}) {{ }}",
            ]
        )
        return f"{annotation}stream<{schema}> {to} = {body}"


@pytest.mark.parametrize("seed", range(5))
def test_compiling_random_programs_ends(seed):
    right = 0
    for number in range(PROGRAMS // 5):
        text = Writer(1_000_000 * seed + number).program()
        with time_limit(text):
            right += compile_all(text, channels=1 + number % 3)
    assert right > PROGRAMS // 20


@pytest.mark.parametrize(
    "text",
    [
        "composite Main { graph stream<int32 k> A = Beacon() { param iterations: 4u;"
        ' output A: k = [6,5][(int32)IterationCount()%2]; } () as S = FileSink(A) { param file: "a"; } }',
        "type A = list<A>; composite Main { graph stream<A a> S = Beacon() {} }",
        "type A = B; type B = A; composite Main { graph stream<A a> S = Beacon() {} }",
        "composite Main { graph stream<int32 n> S = Main() {} }",
        "composite C(output O) { graph stream<int32 n> O = D() {} } composite D(output O) { graph stream<int32 n> O"
        " = C() {} } composite Main { graph stream<int32 n> S = C() {} }",
        "composite C(output O) { param expression<int32> $x: $x; graph stream<int32 n> O = Beacon() { param"
        " iterations: $x; } } composite Main { graph stream<int32 n> S = C() {} }",
        "composite Main { param expression<int32> $a: $b; expression<int32> $b: $a;"
        " graph stream<int32 n> S = Beacon() { param iterations: $a; } }",
        "composite Main { graph stream<int32 n> A = Filter(B) {} stream<int32 n> B = Filter(A) {} }",
        "composite Main { type T = tuple<T t>; graph stream<T> A = Beacon() {} }",
        "use a::*; use a::*; namespace a; composite Main { graph }",
        "composite Main { graph @parallel(width=2) stream<int32 n> A = Functor(A) {} }",
    ],
)
def test_compiling_what_goes_in_circles_ends(text):
    with time_limit(text):
        compile_all(text, channels=2)
