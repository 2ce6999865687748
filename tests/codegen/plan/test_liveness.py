"""Attributes that nobody reads do not travel, and nobody can tell."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pes import take_encoded

from penstock.codegen.plan.liveness import dead_attributes
from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.run.loaded_module import LoadedModule
from penstock.codegen.run.piece_instance import PieceInstance
from penstock.codegen.transport.batches import PULSE, PULSE_NUMBER, TUPLE, Item, decode, encode, read_batches
from penstock.codegen.write.generate import Module, generate
from penstock.expr.environment import Environment
from penstock.lang import compile_text

WIDE = "stream<int32 key, int32 x, rstring text, list<int32> many> In = Beacon() {}"
COUNTS = """stream<int32 key, int32 n> Counts = Aggregate(Kept) {
  window Kept: tumbling, count(2), partitioned; param partitionBy: key; output Counts: key = Any(key), n = Count(); }
() as Sink = FileSink(Counts) { param file: "counts"; }"""


def program(*invocations: str):
    return compile_text(f"composite Main {{ graph {WIDE} {' '.join(invocations)} }}")


def dead(*invocations: str) -> dict[str, list[str]]:
    return {stream: sorted(names) for stream, names in dead_attributes(program(*invocations).application).items()}


def test_what_a_filter_reads_lives_before_it_and_not_behind():
    found = dead("stream<In> Kept = Filter(In) { param filter: x > 3; }", COUNTS)
    assert found == {"In": ["many", "text"], "Kept": ["many", "text", "x"], "Counts": []}


def test_a_functor_reads_what_its_live_attributes_are_made_of():
    functor = "stream<int32 key, int32 y, int32 z> Kept = Functor(In) { output Kept: key = key + x, y = x, z = key; }"
    assert dead(functor, COUNTS)["In"] == ["many", "text"]
    assert dead(functor, COUNTS)["Kept"] == ["y", "z"]


@pytest.mark.parametrize(
    "invocation",
    [
        "stream<In> Kept = Filter(In) { param filter: x / key > 3; }",
        "stream<In> Kept = Filter(In) { param filter: many[0] > 3; }",
        "stream<In> Kept = Filter(In) { param filter: length(text) > 3; }",
        "stream<In> Kept = Filter(In) { param filter: (int32) ((float64) x * 2.0) > 3; }",
        "stream<In> Kept = Custom(In as I) { logic onTuple I: { if (x > 3) submit(I, Kept); } }",
    ],
)
def test_an_operator_that_may_fail_or_has_code_reads_all(invocation):
    assert dead(invocation, COUNTS)["In"] == []


def test_what_unwraps_an_optional_may_fail_so_it_reads_all():
    made = compile_text(f"""composite Main {{ graph
        stream<int32 key, optional<int32> x, rstring text> In = Beacon() {{}}
        stream<In> Kept = Filter(In) {{ param filter: x! > 3; }}
        {COUNTS} }}""")
    assert dead_attributes(made.application)["In"] == frozenset()


def test_a_stream_with_a_sink_among_others_lives_as_a_whole():
    sink = '() as Copy = FileSink(In) { param file: "copy"; }'
    assert dead("stream<In> Kept = Filter(In) { param filter: x > 3; }", COUNTS, sink)["In"] == []


def test_the_key_of_a_route_travels_though_nobody_behind_it_reads_it():
    made = program("stream<In> Kept = Filter(In) { param filter: x > 3; }", COUNTS)
    plan = physical_plan(made.application, [["Kept"], ["Counts"]], 2)
    (edge,) = [e for e in plan.edges if e.stream == "Kept"]
    assert not plan.dead["Kept"] & set(edge.key)


def test_a_pe_sends_nothing_of_what_is_dead_and_defaults_arrive():
    made = program("stream<In> Kept = Filter(In) { param filter: x > 3; }", COUNTS)
    plan = physical_plan(made.application, [["Kept"], ["Counts"]])
    pe = next(pe.index for pe in plan.pes if pe.operators == ("Kept",))
    generated = generate(made, plan, pe)
    assert isinstance(generated, Module)
    (entering,), (leaving,) = plan.into(pe), plan.out_of(pe)
    schema = made.application.streams["In"].schema
    items = [Item(0, i, b"0000", TUPLE, (i, 2 * i, "text", [i])) for i in range(4)]
    values = list(encode([*items, Item(0, PULSE_NUMBER, b"", PULSE)], schema))
    instance = PieceInstance(LoadedModule(generated, made, Environment()))
    left = take_encoded(instance, generated, [(entering.index, value) for value in values])
    (value,) = left[leaving.index]
    sent = read_batches(value)[1]
    assert [pa.types.is_null(column.type) for column in sent.columns] == [False, True, True, True]
    assert [i.tuple_ for i in decode(value, schema) if i.kind == TUPLE] == [(2, 0, "", []), (3, 0, "", [])]
