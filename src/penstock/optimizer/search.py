"""The fusion with the highest throughput under the model of Spark: local search from the answers of the others.

Introduction:
    `penstock.fusion` measures fusions as the papers do: all PEs run at the same time. On Spark stages wait for each
    other, and each costs time however little it carries (`penstock.model`). So the answers of the algorithms are starts
    here, and what is maximized is the model's highest scale.

Formulation:
    Maximize scale(fusion) over all valid fusions, from a number of starts. Validity is that of the fusion problem:
    constraints, regions, no cycles (`super_graph`, whose vertices are what must stay together).

Example:
    Two light operators that an algorithm has left apart are merged, since that takes a stage away.

When it does not apply:
    It ends in a local optimum. The loop measures several fusions, so that the model need only be right about the order.

Algorithm:
    Steepest ascent. A step merges two PEs that are joined by a stream (or any two, where few are left), or moves one
    vertex to the PE of a neighbour; the best of all is taken until none is better or time is up. A step asks the model
    O(V + E) times by `WhatIf`, which takes a fraction of a millisecond to one, and then works out the new plan anew:
    what a PE is (with state or without) may change with its operators, and that a `WhatIf` does not know.

Preserves:
    Validity: `may_share_pe` before each merge and move; a fusion whose PEs form a cycle has scale 0.

Reference:
    Ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from penstock.fusion.deadline import Deadline
from penstock.fusion.super_graph import SuperGraph
from penstock.model import ThroughputModel, WhatIf
from penstock.optimizer.prediction import model_plan
from penstock.optimizer.spark_problem import Groups, Setting

_BETTER = 1.0 + 1e-9
_FEW_PES = 24

Move = Mapping[int, int]
"""From vertex to the PE that it moves to."""


def improve(graph: SuperGraph, model: ThroughputModel, setting: Setting, start: Groups, deadline: Deadline) -> Groups:
    """A fusion that is at least as good as the start, and to which no single step adds."""
    ascent = _Ascent(graph, model, setting, start)
    while not deadline.has_passed() and ascent.step(deadline):
        pass
    return ascent.groups()


class _Ascent:
    """A fusion on its way up."""

    def __init__(self, graph: SuperGraph, model: ThroughputModel, setting: Setting, start: Groups) -> None:
        self.graph = graph
        self.model = model
        self.setting = setting
        ids = graph.problem.ids
        self.names = [tuple(ids[operator] for operator in members) for members in graph.members]
        self.near = [sorted({*graph.successors[v], *graph.predecessors[v]}) for v in range(graph.vertices)]
        self._start_from(start)

    def _start_from(self, groups: Groups) -> None:
        plan = model_plan(self.setting, groups)
        self.what_if = WhatIf(self.model, self.model.state(plan))
        self.keyed = [pe.keyed for pe in plan.pes]
        home = {id_: number for number, pe in enumerate(plan.pes) for id_ in pe.operators}
        self.pe_of = [home[names[0]] for names in self.names]

    def step(self, deadline: Deadline) -> bool:
        """Make the best change; tells whether there was one."""
        before, scale = self.groups(), self.what_if.scale
        best, gain = None, (_BETTER - 1.0) * scale
        for move in self._moves():
            if deadline.has_passed():
                break
            found = self.what_if.delta(self._of_operators(move))
            if found > gain:
                best, gain = move, found
        if best is None:
            return False
        for vertex, pe in best.items():
            self.pe_of[vertex] = pe
        self._start_from(self.groups())
        if self.what_if.scale > scale * _BETTER:
            return True
        self._start_from(before)
        return False

    def groups(self) -> Groups:
        """The PEs as they stand."""
        return tuple(tuple(n for v in members for n in self.names[v]) for members in self._members().values())

    def _moves(self) -> Iterator[Move]:
        members = self._members()
        for one, other in self._pairs(members):
            if self.graph.may_share_pe([*members[one], *members[other]]):
                # A PE with state stays one when others join it.
                goal, leaving = (one, other) if self.keyed[one] else (other, one)
                yield dict.fromkeys(members[leaving], goal)
        for vertex, pe in enumerate(self.pe_of):
            for goal in sorted({self.pe_of[n] for n in self.near[vertex]} - {pe}):
                if self.graph.may_share_pe([*members[goal], vertex]):
                    yield {vertex: goal}

    def _pairs(self, members: dict[int, list[int]]) -> Iterable[tuple[int, int]]:
        if len(members) <= _FEW_PES:
            return ((a, b) for a in members for b in members if a < b)
        ends = {(self.pe_of[v], self.pe_of[n]) for v, near in enumerate(self.near) for n in near}
        return sorted((a, b) for a, b in ends if a < b)

    def _members(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for vertex, pe in enumerate(self.pe_of):
            found.setdefault(pe, []).append(vertex)
        return found

    def _of_operators(self, move: Move) -> dict[str, int]:
        return {name: pe for vertex, pe in move.items() for name in self.names[vertex]}
