"""A PE in pieces: they hand each other frames, and only what comes from outside or leaves is bytes."""

from __future__ import annotations

import pytest

from feeding import feed, program
from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.plan.pieces import pieces_of
from penstock.codegen.transport import placed_frames
from penstock.codegen.transport.batches import FINAL, PULSE, PULSE_NUMBER, REPORT, TUPLE, Item, decode, encode
from penstock.expr.environment import Environment
from penstock.reference.failure import OperatorFailed
from penstock.runtime.pes.instances import instance_maker, run_in_container

IN_PIECES = """
stream<A> F = Functor(A) { output F: n = n + 1; }
stream<A> S = Sort(F) { window F: tumbling, count(3); param sortBy: n; }
stream<A> G = Filter(S) { param filter: n % 2 == 0; }
stream<A> T = Sort(A) { window A: tumbling, count(2); param sortBy: n; }
stream<A> O = Functor(G, T) { output O: n = n * 2; }
() as Sink = FileSink(O) { param file: "o"; }
"""


class Setting:
    """A program whose inner operators are one PE."""

    def __init__(self, graph: str) -> None:
        self.program = program(graph, A=feed("int32 n, rstring text", []))
        self.plan = physical_plan(self.program.application, [[o.id for o in self.program.application.operators]])
        (self.pe,) = (pe.index for pe in self.plan.pes if pe.role not in ("source", "sink"))
        self.pieces = pieces_of(self.program, self.plan, self.pe)
        (self.edge,) = self.plan.into(self.pe)
        self.schema = self.plan.application.streams["A"].schema
        self.make = instance_maker(self.program, self.plan, self.pieces, Environment())

    def values(self, start: int, count: int, *, ends: bool = False) -> list[tuple[int, bytes]]:
        items = [Item(0, i, b"0000", TUPLE, (i * 7 % 5, f"t{i}")) for i in range(start, start + count)]
        items += [Item(0, start + count, b"0000", FINAL)] if ends else []
        items.append(Item(0, PULSE_NUMBER, b"", PULSE))
        return [(self.edge.index, value) for value in encode(items, self.schema)]

    def left(self, values) -> list[Item]:
        found = [(edge, value) for edge, values_ in values for value in values_ if edge != REPORT]
        return [item for _, value in found for item in decode(value, self.schema) if item.kind != PULSE]


def test_pieces_hand_each_other_frames(monkeypatch: pytest.MonkeyPatch):
    setting = Setting(IN_PIECES)
    calls: list[str] = []
    for name in ("read_batches", "encoded_batches"):
        real = getattr(placed_frames, name)
        monkeypatch.setattr(placed_frames, name, lambda *args, n=name, f=real: calls.append(n) or f(*args))
    assert len(setting.pieces.made) > 3
    list(setting.make().process_batch(setting.values(0, 10)))
    assert calls == ["read_batches", "encoded_batches"]


def test_pieces_give_what_one_container_gives_over_batches_values_and_restored_state():
    setting = Setting(IN_PIECES)
    batches = [setting.values(0, 7), setting.values(7, 45_000), setting.values(45_007, 4, ends=True)]
    whole = [value for batch in batches for value in batch]
    expected = setting.left(run_in_container(setting.program, setting.plan, setting.pe, Environment(), whole))
    state, found = None, []
    for batch in batches:
        instance = setting.make()
        if state is not None:
            instance.restore(state)
        found += setting.left(instance.process_batch(batch))
        state = instance.snapshot()
    assert [(i.kind, i.tuple_) for i in found] == [(i.kind, i.tuple_) for i in expected]
    assert [i[:3] for i in found] == sorted(i[:3] for i in found)


def test_a_failure_of_a_piece_without_state_names_its_tuple_also_in_a_later_batch():
    setting = Setting(
        """stream<A> S = Sort(A) { window A: tumbling, count(3); param sortBy: n; }
           stream<A> O = Functor(S) { output O: n = 6 / (n - 4); }
           () as Sink = FileSink(O) { param file: "o"; }"""
    )
    instance = setting.make()
    list(instance.process_batch(setting.values(0, 2)))
    with pytest.raises(OperatorFailed, match=r'failed on \{n=4,text="t2"\}: division by zero'):
        list(instance.process_batch(setting.values(2, 3)))
