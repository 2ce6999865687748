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
    vertex to the PE of a neighbour; if none of these helps, it splits a PE: a beginning of its topological order, or
    one of its heaviest vertices, becomes a PE. Merges and moves are asked of a `WhatIf`, O(V + E) of them; the few best
    are worked out anew, since what a PE is (with state or without) and where it stands in the line change with its
    operators, and that a `WhatIf` does not know. Splits are O(V), each worked out anew.

Preserves:
    Validity: `may_share_pe` before each merge and move; a fusion whose PEs form a cycle has scale 0.

Reference:
    Ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import nlargest
from itertools import chain
from operator import itemgetter

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import UserError
from penstock.base.topological_order import sort_topologically
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.model import ThroughputModel, WhatIf
from penstock.optimizer.prediction import model_plan
from penstock.optimizer.spark_problem import Groups, Setting

_BETTER = 1.0 + 1e-9
_FEW_PES = 24
_TRIED_MOVES = 6
_HEAVIEST = 6

Move = Mapping[int, int]
"""From vertex to the PE that it moves to; -1 is a new one."""


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
        self.order = sort_topologically(dict(enumerate(graph.successors)))
        self.near = [sorted({*graph.successors[v], *graph.predecessors[v]}) for v in range(graph.vertices)]
        self._start_from(start)

    def _start_from(self, groups: Groups) -> None:
        plan = model_plan(self.setting, groups)
        self.what_if = WhatIf(self.model, self.model.state(plan))
        home = {id_: number for number, pe in enumerate(plan.pes) for id_ in pe.operators}
        self.pe_of = [home[names[0]] for names in self.names]

    def step(self, deadline: Deadline) -> bool:
        """Make the best change; tells whether there was one."""
        for changes in (self._best_moves, self._best_splits):
            for groups in changes(deadline):
                if self._scale(groups) > self.what_if.scale * _BETTER:
                    self._start_from(groups)
                    return True
        return False

    def _best_moves(self, deadline: Deadline) -> list[Groups]:
        """The fusions after each of the most promising merges and moves."""
        best = nlargest(_TRIED_MOVES, self._gains(deadline), key=itemgetter(0))
        return [self._after(move) for _, move in best]

    def _gains(self, deadline: Deadline) -> Iterator[tuple[float, Move]]:
        for move in self._moves():
            if deadline.has_passed():
                return
            gain = self.what_if.delta(self._of_operators(move))
            if gain > 0:
                yield gain, move

    def _best_splits(self, deadline: Deadline) -> list[Groups]:
        """The fusion after the best of all splits; none where no split raises the throughput."""
        best, scale = [], self.what_if.scale
        for groups in self._splits():
            if deadline.has_passed():
                break
            found = self._scale(groups)
            if found > scale:
                best, scale = [groups], found
        return best

    def _splits(self) -> Iterator[Groups]:
        in_order: dict[int, list[int]] = {}
        for v in self.order:
            in_order.setdefault(self.pe_of[v], []).append(v)
        for pe, members in self._members().items():
            if len(members) == 1:
                continue
            ordered = in_order.get(pe, [])
            heavy = nlargest(_HEAVIEST, members, key=self.graph.costs.__getitem__)
            # One part at a time: all beginnings of a long order together take the square of its length.
            for part in chain(([v] for v in heavy), (ordered[:end] for end in range(1, len(ordered)))):
                yield self._after(dict.fromkeys(part, -1))

    def _scale(self, groups: Groups) -> float:
        """The scale of a fusion; 0 where its PEs form a cycle."""
        try:
            return self.model.scale(self.model.state(model_plan(self.setting, groups)))
        except UserError:
            return 0.0

    def _after(self, move: Move) -> Groups:
        kept = list(self.pe_of)
        for vertex, pe in move.items():
            self.pe_of[vertex] = pe
        groups = self.groups()
        self.pe_of = kept
        return groups

    def groups(self) -> Groups:
        """The PEs as they stand."""
        return tuple(tuple(n for v in members for n in self.names[v]) for members in self._members().values())

    def _moves(self) -> Iterator[Move]:
        members = self._members()
        for one, other in self._pairs(members):
            if self.graph.may_share_pe([*members[one], *members[other]]):
                # In the line one place may be possible and the other not.
                yield dict.fromkeys(members[other], one)
                yield dict.fromkeys(members[one], other)
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
