"""A generated PE as Spark's workers use it: in the place of a container, and with its words where it fails."""

from __future__ import annotations

import pytest
from pes import inner_pe, plan_of, tuples

from feeding import feed, program
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.pieces import pieces_of
from penstock.codegen.transport.batches import REPORT, TUPLE, Item, decode, encode
from penstock.expr.environment import Environment
from penstock.reference.failure import OperatorFailed
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import process_batch
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.pe_module import load_module
from penstock.runtime.pes.reports import decode_report

SINK = '() as Sink = FileSink(O) { param file: "o"; }'


class Setting:
    """A program of one PE, as a worker finds it."""

    def __init__(self, graph: str) -> None:
        self.program = program(f"{graph}\n{SINK}", A=feed("int32 n", []))
        self.plan = plan_of(self.program)
        self.pe = inner_pe(self.plan)
        self.module = load_module(self.program, pieces_of(self.program, self.plan, self.pe), Environment())
        assert self.module.modules

    def instance(self) -> PEInstance:
        return PEInstance(
            self.module,
            lambda values: process_batch(Container(self.program, self.plan, self.pe, Environment()), values),
        )

    def values(self, *numbers: int) -> list[tuple[int, bytes]]:
        (edge,) = self.plan.into(self.pe)
        schema = self.plan.application.streams[edge.stream].schema
        return [(edge.index, value) for value in encode(tuples([(n,) for n in numbers]), schema)]


def rows_of(left) -> list[tuple[int, bytes]]:
    return [(edge, value) for edge, values in left for value in values]


def test_a_batch_gives_a_report_and_what_leaves():
    setting = Setting("stream<A> O = Filter(A) { param filter: n > 1; }")
    found = rows_of(setting.instance().process_batch(setting.values(1, 2, 3)))
    assert [edge for edge, _ in found] == [REPORT, 1]
    report = decode_report(found[0][1])
    assert (report.received, report.submitted) == ({"O": [3]}, {"O": [2]})
    schema = setting.plan.application.streams["O"].schema
    assert [i.tuple_ for i in decode(found[1][1], schema) if i.kind == TUPLE] == [(2,), (3,)]


def test_a_batch_that_is_tried_again_finds_the_time_and_the_random_numbers_of_before():
    drawn = "mutable float64 began = getTimestampInSecs(); mutable float64 first = random();"
    setting = Setting(f"""stream<A> O = Custom(A as I) {{ logic state: {{ {drawn} }}
        onTuple I: {{ if (getTimestampInSecs() > began && random() != first) submit(I, O); }} }}""")
    (edge,) = setting.plan.into(setting.pe)
    schema = setting.plan.application.streams[edge.stream].schema
    batch = [(edge.index, v) for v in encode([Item(5 * 10**9, n, b"", TUPLE, (n,)) for n in range(3)], schema)]
    tries = [rows_of(setting.instance().process_batch(batch)) for _ in range(2)]
    assert decode_report(tries[0][0][1]).submitted == {"O": [3]}
    assert tries[0] == tries[1]


def test_state_goes_from_one_instance_to_the_next():
    setting = Setting("stream<A> O = Aggregate(A) { window A: tumbling, count(2); output O: n = Sum(n); }")
    first, second = setting.instance(), setting.instance()
    rows_of(first.process_batch(setting.values(1)))
    second.restore(first.snapshot())
    found = rows_of(second.process_batch(setting.values(5)))
    schema = setting.plan.application.streams["O"].schema
    assert [i.tuple_ for i in decode(found[1][1], schema) if i.kind == TUPLE] == [(6,)]


def test_a_failure_is_told_as_the_reference_tells_it():
    setting = Setting("stream<A> O = Functor(A) { output O: n = 6 / n; }")
    with pytest.raises(OperatorFailed, match=r"operator `O` \(Functor\) failed on \{n=0\}: division by zero"):
        rows_of(setting.instance().process_batch(setting.values(3, 0)))


def test_a_failure_in_a_window_names_the_tuple_that_came():
    setting = Setting(
        "stream<A> O = Aggregate(A) { window A: sliding, count(2); output O: n = 6 / (First(n) - Last(n)); }"
    )
    first, second = setting.instance(), setting.instance()
    rows_of(first.process_batch(setting.values(3)))
    second.restore(first.snapshot())
    with pytest.raises(OperatorFailed, match=r"operator `O` \(Aggregate\) failed on \{n=4\}: division by zero"):
        rows_of(second.process_batch(setting.values(1, 4, 4, 4)))


def test_a_failure_behind_a_window_names_the_tuple_that_the_window_made():
    setting = Setting(
        """stream<int32 n> S = Aggregate(A) { window A: tumbling, count(2); output S: n = Sum(n); }
           stream<int32 n> O = Functor(S) { output O: n = 6 / (n - 7); }"""
    )
    first, second = setting.instance(), setting.instance()
    rows_of(first.process_batch(setting.values(3)))
    second.restore(first.snapshot())
    with pytest.raises(OperatorFailed, match=r"operator `O` \(Functor\) failed on \{n=7\}: division by zero"):
        rows_of(second.process_batch(setting.values(5, 3, 4, 1, 2)))


def test_a_failure_in_a_loop_names_the_operator_and_its_tuple():
    setting = Setting(
        """stream<A> C = Custom(A) {
             logic state: mutable int32 seen = 0; onTuple A: { seen += n; submit({n = seen}, C); } }
           stream<A> O = Custom(C) { logic state: mutable int32 last = 5; onTuple C: {
             submit({n = 100 / (n - 10)}, O); last = n; } }"""
    )
    first, second = setting.instance(), setting.instance()
    rows_of(first.process_batch(setting.values(1, 2)))
    second.restore(first.snapshot())
    with pytest.raises(OperatorFailed, match=r"operator `O` \(Custom\) failed on \{n=10\}: division by zero") as failed:
        rows_of(second.process_batch(setting.values(5, 2, 7)))
    assert failed.value.diagnostics[0].span is not None


def test_the_state_of_a_container_is_refused():
    setting = Setting("stream<A> O = Filter(A) {}")
    with pytest.raises(UserError, match="has version 3, found that of a container"):
        setting.instance().restore({"time_ns": 0, "nodes": {}})


def test_a_module_without_functions_may_serve_batch_after_batch():
    assert Setting("stream<A> O = Filter(A) {}").module.may_be_kept
