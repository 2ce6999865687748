"""A tuple is the receiver's own: whoever changes what is in it changes nothing for anybody else, in any engine."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from penstock import App, Operator, agg, col, count, filter_, flat_map, map_, sink, sliding
from penstock.api.operators import definition_of
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.reference import run
from penstock.testing import feed
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Punctuation
from plan_runner import run_plan

SCHEMA = (
    "int32 n, list<int32> items, map<rstring, list<int32>> groups, set<int32> seen, "
    "tuple<list<int32> inner, rstring s> nested, optional<list<list<int32>>> maybe"
)


def given(n: int) -> dict[str, Any]:
    maybe = None if n % 2 else [[n], []]
    return {"n": n, "items": [n], "groups": {"g": [n]}, "seen": {n}, "nested": ([n], "s"), "maybe": maybe}


def spoil(t: Any) -> Any:
    """Change everything in a row that can be changed."""
    t.items.append(99)
    t.groups["g"].append(99)
    t.groups["h"] = []
    t.seen.add(99)
    t.nested.inner.append(99)
    if t.maybe is not None:
        t.maybe[0].append(99)
        t.maybe.append([99])
    return t


@map_
def spoiling_map(t):
    return spoil(t)


@filter_
def spoiling_filter(t):
    return bool(spoil(t))


@flat_map
def spoiling_twice(t):
    """Gives one object twice, changed in between."""
    yield t
    yield spoil(t)


@sink
def spoiling_sink(t):
    spoil(t)


class Spoiling(Operator):
    """Keeps tuples, and changes those that it has sent and those that it was given."""

    def __init__(self):
        self.kept = []

    def process(self, t):
        self.kept.append(t)
        self.submit(t)
        for kept in self.kept:
            spoil(kept)


def python_program() -> Program:
    app = App("Ownership")
    source = app.source(feed([given(n) for n in range(5)]), SCHEMA, name="A")
    receivers = [
        source.map(spoiling_map, name="Map"),
        source.filter(spoiling_filter, name="Filter"),
        source.flat_map(spoiling_twice, name="Twice"),
        source.apply(Spoiling, name="Class"),
        source.aggregate(sliding(count(3)), items=agg.Collect(col.items), nested=agg.last(col.nested), name="Window"),
        source.filter(col.n >= 0, name="Last"),
    ]
    source.for_each(spoiling_sink, name="Called")
    source.write_file("source.csv", name="Sink")
    for i, stream in enumerate(receivers):
        stream.write_file(f"{i}.csv", name=f"Sink{i}")
    return app.program()


def spl_program() -> Program:
    text = f"""composite Main {{ graph
        stream<{SCHEMA}> A = Custom() {{ logic onProcess: {{
            mutable int32 i = 0;
            while (i < 5) {{
                mutable tuple<{SCHEMA}> t = {{}};
                t.n = i; t.items = [i]; t.groups = {{"g" : [i]}}; t.seen = {{i}}; t.nested = {{inner = [i], s = "s"}};
                submit(t, A);
                appendM(t.items, 77); appendM(t.groups["g"], 77);
                i++;
            }} }} }}
        stream<A> C = Custom(A as I) {{
            logic state: {{ mutable list<tuple<{SCHEMA}>> kept = []; }}
            onTuple I: {{
                appendM(kept, I);
                appendM(I.items, 99);
                insertM(I.seen, 99);
                I.nested.inner[0] = 99;
                appendM(kept[0].items, 55);
                submit(I, C);
                submit(kept[0], C);
            }} }}
        stream<A> P = Spoiling(A) {{}}
        stream<A> F = Filter(A) {{ param filter: n >= 0; }}
        stream<A> G = spoiling_twice(C, P) {{}}
        () as S0 = FileSink(A) {{ param file: "a.csv"; }}
        () as S1 = FileSink(C) {{ param file: "c.csv"; }}
        () as S2 = FileSink(P) {{ param file: "p.csv"; }}
        () as S3 = FileSink(F) {{ param file: "f.csv"; }}
        () as S4 = FileSink(G) {{ param file: "g.csv"; }}
    }}"""
    own = [definition_of(operator) for operator in (Spoiling, spoiling_twice)]
    return compile_text(text, registry=standard().extended(own))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def ran(program: Program, out: Path) -> tuple[dict[str, bytes], list[tuple[str, Any, Any]]]:
    """What a reference run writes, and every tuple of every stream with what it was when it was submitted."""
    seen: list[tuple[str, Any, Any]] = []
    out.mkdir()

    def note(stream: str, item: Any) -> None:
        if not isinstance(item, Punctuation):
            seen.append((stream, item, copy.deepcopy(item)))

    run(program, environment=Environment(data_directory=out, output_directory=out), on_tuple=note)
    return files(out), seen


@pytest.mark.parametrize("make", [python_program, spl_program])
def test_no_receiver_sees_what_another_has_changed(make, tmp_path):
    program = make()
    wanted, seen = ran(program, tmp_path / "whole")
    assert [(stream, item) for stream, item, was in seen if item != was] == []
    application = program.application
    for i, fusion in enumerate(([[o.id for o in application.operators]], [[o.id] for o in application.operators])):
        for turns in (2, 100):
            out = tmp_path / f"{i}-{turns}"
            out.mkdir()
            surroundings = Environment(data_directory=out, output_directory=out)
            run_plan(program, physical_plan(application, fusion), surroundings, turns_per_batch=turns)
            assert files(out) == wanted


def test_what_a_submitter_changes_afterwards_stays_with_it(tmp_path):
    seen = ran(python_program(), tmp_path / "out")[1]
    first = next(item for stream, item, _ in seen if stream == "Class")
    assert first[1:5] == ([0], {"g": [0]}, {0}, ([0], "s"))


def test_a_row_without_collections_is_not_copied():
    from penstock.api.rows import row_class, row_maker
    from penstock.ir.types import parse_schema

    schema = parse_schema("int32 x, rstring s")
    assert row_maker(schema) == row_class(schema)._make
