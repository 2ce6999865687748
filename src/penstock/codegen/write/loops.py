"""One loop for adjacent operators that are worked tuple by tuple.

Introduction:
    A segment (`segments`) is a tree of operators. Its loop runs over the rows of the head's frame, and its body is the
    code of all of them, one inside the other: submitting is not a call but the next lines.

Example:
    A Custom that submits what passes a test, followed by a Functor, becomes

        for at, n in enumerate(values(a["n"], _type_1)):
            if n > 2:
                out = (n * 2,)
                y = out[0] + 1
                b_rows.append((y,))
                b_at.append(at)

Formulation:
    What leaves the segment is collected by stream: the rows, for each the row of the head it descends from, and, where
    a row can give several, its turn, counted over all that leaves the segment.

Preserves:
    The depth-first order of the operators' code within the segment, effects included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from penstock.codegen.plan.segments import PerTuple, Segment
from penstock.codegen.write.builder import Builder, Given, branch, listed
from penstock.codegen.write.forms import LOOPS
from penstock.codegen.write.loop_operators import Inliner, Row
from penstock.codegen.write.submit_signals import SignalledBody, marked, plain, renamed, seen, signalled, timed
from penstock.expr.emit.statement_text import indent
from penstock.ir.graph import Operator
from penstock.profiler.loop_signals import CPU


@dataclass(slots=True)
class Collected:
    """The variables that collect a stream that leaves a segment.

    Attributes:
        rows: The variable of the rows.
        at: The variable of the positions in the head's frame.
        ways: By target outside of the segment, which of all the ways out of the segment leads to it.
    """

    rows: str
    at: str
    ways: dict[int, int] = field(default_factory=dict)

    def turns(self, target: int) -> str:
        """The variable of the turns at which the rows went to a target."""
        return f"{self.at}_turns_{target}"


class LoopWriter:
    """Writes the loop of a segment."""

    def __init__(self, builder: Builder, per_tuple: PerTuple, segment: Segment) -> None:
        self.builder = builder
        self.per_tuple = per_tuple
        self.segment = segment
        self.inside = {o.id for o in segment.operators}
        self.is_static = all(per_tuple.gives_one_at_most(o) for o in segment.operators)
        self.collected: dict[str, Collected] = {}
        self.counted: dict[str, str] = {}
        self.ways = 0
        self.inliner = Inliner(builder, per_tuple.functions, LOOPS, self.deliver)

    def write(self) -> None:
        """Write the loop and the frames that it fills."""
        body, head = self.builder.body, self.segment.head
        given = self.builder.input(head, 0)
        self._name_streams()
        columns = {a.name: body.name(a.name) for a in given.schema.attributes}
        lines = self._inlined(head, Row(columns))
        text = plain([*lines, *self.inliner.functions])
        used = [a for a in given.schema.attributes if _is_used(columns[a.name], text)]
        self._start(given)
        body.add(*self.inliner.before, *plain(self.inliner.functions))
        if self.builder.signals is not None:
            lines = self._with_signals(self.builder.signals, given, lines)
        body.add(self._for(given, {a.name: columns[a.name] for a in used}))
        body.add(*indent(self._with_clock(lines) or ["pass"]))
        body.add(*self.inliner.after)
        self._finish(given)

    def _name_streams(self) -> None:
        body = self.builder.body
        for operator in self.segment.operators:
            for port in operator.outputs:
                if any(not self._is_inside(t) for t in self.builder.part.targets[port.stream]):
                    rows, at = (body.name(f"{port.stream}_{what}") for what in ("rows", "at"))
                    self.collected[port.stream] = Collected(rows, at)
                else:
                    self.counted[port.stream] = body.name(f"{port.stream}_count")

    def _is_inside(self, target: object) -> bool:
        return isinstance(target, tuple) and target[0] in self.inside

    def deliver(self, operator: Operator, port: int, row: Row) -> list[str]:
        """The lines that send a tuple to the targets of a stream, in their order."""
        stream = operator.outputs[port].stream
        lines: list[str] = []
        if stream in self.counted:
            lines.append(f"{self.counted[stream]}.append(at)")
        else:
            found = self.collected[stream]
            lines += [f"{found.rows}.append({row.tuple_of(operator.outputs[port].schema)})", f"{found.at}.append(at)"]
        following: list[str] = []
        for rank, target in enumerate(self.builder.part.targets[stream]):
            if self._is_inside(target):
                assert isinstance(target, tuple)
                following += self._inlined(self.builder.part.plan.application.operator[target[0]], row)
            else:
                following += self._turn(stream, rank)
        if self.builder.signals is not None and stream in self.counted:
            lines.append(seen(stream, row.tuple_of(operator.outputs[port].schema)))
        return [*lines, *following]

    def _inlined(self, operator: Operator, row: Row) -> list[str]:
        """The lines of an operator and of all that follows it inside the segment."""
        lines = self.inliner.inline(operator, row)
        return lines if self.builder.signals is None else timed(self.segment.operators.index(operator), lines)

    def _turn(self, stream: str, rank: int) -> list[str]:
        found = self.collected[stream]
        found.ways.setdefault(rank, self.ways)
        self.ways += 1
        return [] if self.is_static else [f"{found.turns(rank)}.append(turn())"]

    def _start(self, given: Given) -> None:
        body = self.builder.body
        for found in self.collected.values():
            body.add(f"{found.rows}, {found.at} = [], []")
        for name in self.counted.values():
            body.add(f"{name} = []")
        if not self.is_static:
            for found in self.collected.values():
                body.add(*(f"{found.turns(rank)} = []" for rank in found.ways))
            body.add("turn = count().__next__")
        if self._has_effects():
            body.add(f"times = pe.times({given.frame}).tolist()")

    def _has_effects(self) -> bool:
        return any(self.per_tuple.has_effects(o) for o in self.segment.operators)

    def _with_clock(self, lines: list[str]) -> list[str]:
        return ["environment.clock.advance_to(times[at])", *lines] if self._has_effects() else lines

    def _with_signals(self, body: SignalledBody, given: Given, lines: list[str]) -> list[str]:
        """The lines of the loop with a branch for sampled tuples; writes what stands before the loop."""
        signals, sampled = body.name("signals"), body.name("sampled")
        sites = [self._site(o) for o in self.segment.operators]
        body.add(f"{signals} = pe.signals.loop({body.current}, {listed(sites)}, len({given.frame}))")
        body.add(f"{sampled} = {signals}.positions.pop()")
        names = ("mark", "clock", "cpu")
        body.add(f"{', '.join(f'{signals}_{n}' for n in names)} = {', '.join(f'{signals}.{n}' for n in names)}")
        functions = self.inliner.functions
        body.add(*renamed(signalled(functions, signals), functions))
        outer, sampled_lines = marked(str(CPU), signals, "cpu"), renamed(signalled(lines, signals), functions)
        return [
            f"if at != {sampled}:",
            *indent(plain(lines) or ["pass"]),
            "else:",
            *indent([f"{sampled} = {signals}.positions.pop()", outer, *sampled_lines, outer]),
        ]

    def _site(self, operator: Operator) -> tuple[str, str | None, int]:
        """An operator, and the one in the loop that submits to it, by which port."""
        if operator is self.segment.head:
            return operator.id, None, 0
        ((stream,),) = self.builder.part.inputs[operator.id]
        made = self.builder.part.plan.application.streams[stream]
        return operator.id, made.operator, made.port

    def _for(self, given: Given, columns: dict[str, str]) -> str:
        body = self.builder.body
        lists = [f'values({given.frame}["{name}"], {body.type(given.schema.attribute(name).type)})' for name in columns]
        if not lists:
            return f"for at in range(len({given.frame})):"
        if len(lists) == 1:
            return f"for at, {next(iter(columns.values()))} in enumerate({lists[0]}):"
        return f"for at, ({', '.join(columns.values())}) in enumerate(zip({', '.join(lists)}, strict=True)):"

    def _finish(self, given: Given) -> None:
        for operator in self.segment.operators:
            marks = self._passes_marks(operator)
            for port, output in enumerate(operator.outputs):
                if output.stream in self.counted:
                    self.builder.frames[output.stream] = self.counted[output.stream]
                else:
                    self._frame(given, operator, port, marks)
        for operator in self.segment.operators:
            (stream,) = self.builder.part.inputs[operator.id][0] if operator is not self.segment.head else ("",)
            self.builder.count(operator, given.frame if not stream else self.builder.frames[stream])

    def _frame(self, given: Given, operator: Operator, port: int, marks: bool) -> None:
        """Make the frame of a stream; each of its targets finds it on the way that it has in the loop."""
        output = operator.outputs[port]
        found = self.collected[output.stream]
        schema = self.builder.body.type(output.schema)
        frame = f"picked({given.frame}, {found.at}, {found.rows}, {schema}){branch(given.levels)}"
        if not marks:
            frame += ".marked(None)"
        self.builder.put(operator, port, frame)
        self.builder.ways[output.stream] = {rank: self._way(found, rank) for rank in found.ways}

    def _way(self, found: Collected, rank: int) -> str:
        way = found.ways[rank]
        if not self.is_static:
            return f".turned({found.turns(rank)}, {way})"
        return branch((way,)) if self.ways > 1 else ""

    def _passes_marks(self, operator: Operator) -> bool:
        """Whether the markers that come to the head come through to what an operator makes."""
        while self.per_tuple.passes_markers(operator):
            if operator is self.segment.head:
                return True
            ((stream,),) = self.builder.part.inputs[operator.id]
            maker = self.builder.part.plan.application.streams[stream].operator
            operator = self.builder.part.plan.application.operator[maker]
        return False


def _is_used(name: str, lines: list[str]) -> bool:
    return any(re.search(rf"\b{name}\b", line) for line in lines)
