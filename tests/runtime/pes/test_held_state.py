"""State is measured by operator, and too much of it is refused by the name of who holds it."""

from __future__ import annotations

import pytest

from compiling import compile_fused
from penstock import App, agg, col, count, tumbling
from penstock.base.diagnostics import UserError
from penstock.codegen.transport.batches import TUPLE, Item, encode
from penstock.runtime.pes.held_state import check_limit, measure_state, too_large
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.pe_module import load_module


def instance_with(keys: int) -> PEInstance:
    rows = App("Held").from_rows([(0, 0)], "int32 k, int64 v", name="Rows")
    sums = rows.aggregate(tumbling(count(3)), by="k", s=agg.sum(col.v), name="Sums")
    sums.filter(col.s > 0, name="Some").write_file("out", name="Out")
    program = sums.app.program()
    job = compile_fused(program, [["Sums", "Some"]])
    pe = next(pe.index for pe in job.plan.pes if pe.role == "stateful")
    module = load_module(program, job.build.pieces[pe], job.options.environment)
    instance = PEInstance(module, lambda values: iter(()))
    (edge,) = job.plan.into(pe)
    schema = program.application.streams[edge.stream].schema
    items = [Item(0, i, b"\0\0\0\0", TUPLE, (i, i)) for i in range(keys)]
    list(instance.process_batch([(edge.index, value) for value in encode(items, schema)]))
    return instance


def test_keys_and_bytes_are_those_of_each_operator_that_holds_something():
    few, many = (measure_state(instance_with(n), 500) for n in (10, 1000))
    assert list(few) == ["Sums"]
    assert (few["Sums"][0], many["Sums"][0]) == (10, 1000)
    assert many["Sums"][1] == 100 * few["Sums"][1] > 0


def test_more_than_the_limit_is_refused_and_the_largest_named():
    held = {"Small": [7, 10], "Large": [1234, 5000]}
    check_limit(held, 5010, 0)
    check_limit(held, None, 0)
    with pytest.raises(UserError) as caught:
        check_limit(held, 5009, 2)
    text = str(caught.value)
    assert "the state of channel 2 has come to 5,010 bytes, above its limit of 5,009" in text
    assert "operator `Large` alone holds 5,000 bytes of 1,234 keys; nothing of this batch was written" in text
    assert "resume it with more --channels" in text


def test_too_little_memory_is_no_failure_of_a_tuple(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("penstock.codegen.kernels.tumbling_windows.TumblingCounts.fire", fail)
    with pytest.raises(MemoryError):
        instance_with(10)


def test_without_memory_nothing_may_be_known():
    assert "more than there is memory for; nothing" in str(too_large({}, 0, "more than there is memory for"))
