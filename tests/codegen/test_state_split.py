"""The state of a generated PE, split by key and joined again: what follows is what would have followed."""

from __future__ import annotations

import pickle

import pytest
from pes import inner_pe, plan_of, tuples

from feeding import feed, program
from penstock.codegen.generate import Generated, generate
from penstock.codegen.generated_pe import GeneratedPE
from penstock.codegen.loaded_module import LoadedModule
from penstock.codegen.state_split import join_states, split_state
from penstock.codegen.transport import TUPLE, decode, encode
from penstock.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.parallel.routing import channel_of, channel_of_values

SCHEMA = "int32 n, rstring s"
KEYED = """
    stream<A> W = Aggregate(A) { window A: tumbling, count(3), partitioned; param partitionBy: s;
      output W: n = Sum(n), s = First(s); }
    stream<A> V = Aggregate(W) { window W: sliding, count(2), partitioned; param partitionBy: s;
      output V: n = Max(n); }
    stream<A> D = DeDuplicate(V) { param key: s, n; timeOut: 1000.0; }
    stream<A> O = Custom(D) { logic state: { mutable map<rstring, int32> seen = {}; int32 step = 2; }
      onTuple D: { if (!(s in seen)) seen[s] = 0; seen[s] += step; submit({n = seen[s] + n, s = s}, O); } }
    () as Sink = FileSink(O) { param file: "o"; }"""


class Setting:
    """A PE with keyed state, and its batches."""

    def __init__(self, graph: str) -> None:
        self.program = program(graph, A=feed(SCHEMA, []))
        self.plan = plan_of(self.program)
        made = generate(self.program, self.plan, inner_pe(self.plan))
        assert isinstance(made, Generated), made
        self.generated = made
        self.module = LoadedModule(made, self.program, Environment())

    def take(self, instance: GeneratedPE, rows: list[tuple[int, str]], start: int) -> list[object]:
        edge, schema = self.plan.edges[0].index, self.plan.application.streams["A"].schema
        out = self.plan.application.streams["O"].schema
        left = instance.take([(edge, value) for value in encode(tuples(rows, start=start), schema)])
        return [i.tuple_ for _, values in left for v in values for i in decode(v, out) if i.kind == TUPLE]

    def instance(self, state: object = None) -> GeneratedPE:
        made = GeneratedPE(self.module)
        if state is not None:
            made.recall(pickle.loads(pickle.dumps(state)))
        return made


def rows(start: int, count: int) -> list[tuple[int, str]]:
    return [(i % 7, f"key{i * i % 11}") for i in range(start, start + count)]


def test_channels_go_on_from_a_split_state_where_one_instance_would_have_gone_on():
    setting = Setting(KEYED)
    whole = setting.instance()
    setting.take(whole, rows(0, 100), 0)
    state = pickle.loads(pickle.dumps(whole.remember()))
    expected = setting.take(whole, rows(100, 60), 100)
    parts = split_state(setting.generated, state, lambda key: channel_of([key["s"]], 3))
    assert sorted(parts) == [0, 1, 2]
    found = []
    for channel, part in parts.items():
        mine = [row for row in rows(100, 60) if channel_of_values((row[1],), 3) == channel]
        found += setting.take(setting.instance(part), mine, 100)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert expected


def test_states_that_were_split_are_joined_again():
    setting = Setting(KEYED)
    whole = setting.instance()
    setting.take(whole, rows(0, 100), 0)
    state = pickle.loads(pickle.dumps(whole.remember()))
    parts = split_state(setting.generated, state, lambda key: channel_of([key["s"]], 4))
    together = setting.instance(join_states(setting.generated, list(parts.values())))
    assert setting.take(together, rows(100, 60), 100) == setting.take(whole, rows(100, 60), 100)


def test_state_without_a_key_is_not_split():
    setting = Setting(
        """stream<A> O = Aggregate(A) { window A: tumbling, count(3); }
           () as Sink = FileSink(O) { param file: "o"; }"""
    )
    instance = setting.instance()
    setting.take(instance, rows(0, 2), 0)
    with pytest.raises(UserError, match="belongs to no key"):
        split_state(setting.generated, instance.remember(), lambda key: channel_of([key["s"]], 3))
