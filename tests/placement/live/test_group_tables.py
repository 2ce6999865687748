"""Tables of key groups: groups that talk meet, channels have their shares, and what does not pay is not done."""

from __future__ import annotations

import random
from dataclasses import replace

from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.lang import compile_text
from penstock.parallel.key_groups import check_table, spread_evenly
from penstock.placement.live.group_tables import GroupTraffic, choose_tables, places_of
from penstock.placement.live.table_choice import TableChoice
from penstock.runtime.pes.traffic import TaskTraffic

GROUPS, CHANNELS = 720, 4
EVEN = spread_evenly(GROUPS, CHANNELS)
TABLES = dict.fromkeys("abc", EVEN)
WIDTHS = dict.fromkeys("abc", CHANNELS)
ENDS = {0: ("a", "b"), 1: ("b", "c")}

PROGRAM = """composite Main { graph
    stream<int32 k, int32 j, int32 x> A = FileSource() { param file: "in.csv"; }
    stream<A> B = Aggregate(A) { window A: sliding, count(2), count(1), partitioned;
      param partitionBy: k; aggregateIncompleteWindows: true; }
    stream<A> C = Aggregate(B) { window B: sliding, count(2), count(1), partitioned;
      param partitionBy: j; aggregateIncompleteWindows: true; }
    () as Sink = FileSink(C) { param file: "out.csv"; }
}"""


def draw_traffic(rng: random.Random, ways: int) -> GroupTraffic:
    """Some ways through three regions, each from one group to one group."""
    flows: dict[tuple[int, int, int], float] = {}
    tuples: dict[str, dict[int, float]] = {name: {} for name in "abc"}
    for _ in range(ways):
        groups, size = [rng.randrange(GROUPS) for _ in "abc"], rng.random() * 1000
        for edge in (0, 1):
            way = (edge, groups[edge], groups[edge + 1])
            flows[way] = flows.get(way, 0.0) + size
        for name, group in zip("abc", groups, strict=True):
            tuples[name][group] = tuples[name].get(group, 0.0) + size
    return GroupTraffic(ends=ENDS, flows=flows, tuples=tuples)


def test_groups_that_talk_to_few_meet_and_channels_have_their_shares() -> None:
    traffic = draw_traffic(random.Random(1), 200)
    found = choose_tables(traffic, TABLES, WIDTHS, 4)
    assert traffic.cut(places_of(TABLES, 4)) > 0.7 * sum(traffic.flows.values())
    assert traffic.cut(places_of(found, 4)) == 0.0
    for name, table in found.items():
        loads = [0.0] * CHANNELS
        for group, count in traffic.tuples[name].items():
            loads[table[group]] += count
        assert max(loads) <= 1.15 * sum(loads) / CHANNELS


def test_tables_are_right_and_what_was_not_seen_stays() -> None:
    rng = random.Random(4)
    for executors in (1, 2, 3, 7):
        traffic = draw_traffic(rng, rng.choice([1, 3, 5000]))
        widths = {name: rng.randint(1, 6) for name in "abc"}
        tables = {name: spread_evenly(GROUPS, width) for name, width in widths.items()}
        found = choose_tables(traffic, tables, widths, executors)
        for name, table in found.items():
            check_table(table, GROUPS, widths[name])
            unseen = [group for group in range(GROUPS) if group not in traffic.tuples[name]]
            assert [table[group] for group in unseen] == [tables[name][group] for group in unseen]


def test_nothing_seen_changes_nothing() -> None:
    assert choose_tables(GroupTraffic(), TABLES, WIDTHS, 4) == TABLES


def made_plan() -> PhysicalPlan:
    return physical_plan(compile_text(PROGRAM).application, [("A",), ("B",), ("C",), ("Sink",)], 2)


def told(plan: PhysicalPlan, size: int) -> list[TaskTraffic]:
    """Two ways, each from a group of one channel to one of the other."""
    (edge,) = (edge for edge in plan.edges if plan.pes[edge.producer].operators == ("B",))
    groups = [edge.table.index(0), edge.table.index(1)]
    return [
        TaskTraffic(
            pe=edge.producer,
            channel=channel,
            arrived={groups[channel]: 10},
            between=[[edge.index, groups[channel], groups[1 - channel], 10, size]],
        )
        for channel in (0, 1)
    ] + [TaskTraffic(pe=edge.consumer, channel=c, arrived={groups[c]: 10}) for c in (0, 1)]


def test_a_change_is_made_if_it_pays() -> None:
    plan = made_plan()
    hosts = {(pe.index, channel): f"h{channel}" for pe in plan.pes for channel in range(2)}
    choice = TableChoice(plan, link_bytes=1e6)
    for _ in range(3):
        choice.add(told(plan, 100_000))
    found = choice.choose(hosts)
    assert found is not None
    assert found.remote_bytes == (200_000.0, 0.0)
    assert set(found.tables) == set(plan.tables)
    little = TableChoice(plan, link_bytes=1e9)
    little.add(told(plan, 100_000))
    assert little.choose(hosts) is None


def test_where_all_is_on_one_host_already_nothing_is_changed() -> None:
    plan = made_plan()
    choice = TableChoice(plan, link_bytes=1.0)
    choice.add(told(plan, 100_000))
    assert choice.choose({(pe.index, channel): "h" for pe in plan.pes for channel in range(2)}) is None
    swapped = {(pe.index, c): f"h{c if pe.operators == ('B',) else 1 - c}" for pe in plan.pes for c in range(2)}
    assert choice.choose(swapped) is None


def test_a_plan_without_keyed_regions_has_no_tables() -> None:
    plan = replace(made_plan(), tables={})
    choice = TableChoice(plan, link_bytes=1.0)
    choice.add(told(plan, 100_000))
    assert choice.choose({(1, 0): "a", (2, 0): "b"}) is None
