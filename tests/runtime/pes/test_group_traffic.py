"""What goes from key group to key group is counted as it is, and tells of itself as plain data."""

from __future__ import annotations

from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.codegen.transport.batches import PULSE, TUPLE, Item, encode, values_as_rows
from penstock.lang import compile_text
from penstock.parallel.routing import group_of_values
from penstock.runtime.pes.group_traffic import GroupMeter
from penstock.runtime.pes.traffic import TrafficMeter, decode_traffic

PROGRAM = """composite Main { graph
    stream<int32 k, int32 j, int32 x> A = FileSource() { param file: "in.csv"; }
    stream<A> B = Aggregate(A) { window A: sliding, count(2), count(1), partitioned;
      param partitionBy: k; aggregateIncompleteWindows: true; }
    stream<A> C = Aggregate(B) { window B: sliding, count(2), count(1), partitioned;
      param partitionBy: j; aggregateIncompleteWindows: true; }
    () as Sink = FileSink(C) { param file: "out.csv"; }
}"""


def made_plan() -> PhysicalPlan:
    program = compile_text(PROGRAM)
    return physical_plan(program.application, [("A",), ("B",), ("C",), ("Sink",)], 4)


def test_tuples_are_traced_to_the_groups_that_they_descend_from() -> None:
    plan = made_plan()
    (pe,) = (pe.index for pe in plan.pes if pe.operators == ("B",))
    (coming,), (leaving,) = plan.into(pe), plan.out_of(pe)
    schema = plan.application.streams["A"].schema
    # Two items of one number at other times, one that nothing follows from, and one with two descendants.
    came = [(0, 1, (5, 0, 0)), (0, 2, (6, 0, 0)), (7, 1, (5, 0, 0)), (0, 9, (8, 0, 0))]
    left = [(0, 1, (0, 3, 0)), (0, 2, (0, 3, 0)), (0, 2, (0, 4, 0)), (7, 1, (0, 4, 0)), (0, -1, (0, 4, 0))]
    meter = GroupMeter(plan, pe)
    for part in (came[:2], came[2:]):
        items = [Item(t, n, b"", TUPLE, values) for t, n, values in part]
        meter.take_all([(coming.index, 0, value) for value in encode([*items, Item(9, 2**62, b"", PULSE)], schema)])
    traffic = TrafficMeter([leaving.index], meter)
    items = [Item(t, n, bytes([i]), TUPLE, values) for i, (t, n, values) in enumerate(left)]
    rows = values_as_rows(leaving.index, list(encode(items, schema)), 2)
    assert list(traffic.metered(iter([rows]))) == [rows]

    def group(value: int) -> int:
        return group_of_values((value,), plan.groups)

    assert meter.arrived == {group(5): 2, group(6): 1, group(8): 1}
    counted = {way[1:]: tuples for way, (tuples, _) in meter.sent.items()}
    # What a timer has made descends from nothing that came.
    assert counted == {
        (group(5), group(3)): 1,
        (group(6), group(3)): 1,
        (group(6), group(4)): 1,
        (group(5), group(4)): 1,
    }
    told = decode_traffic(traffic.row(pe, 0).column(2)[0].as_py())
    assert (told.arrived, told.between) == (meter.arrived, meter.rows())
    assert all(size > 0 for *_, size in told.between)
