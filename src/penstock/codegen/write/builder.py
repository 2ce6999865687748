"""The builder of a module, in which each family of operators writes its part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.codegen.plan.part import Part, Target
from penstock.codegen.write.body import Body
from penstock.codegen.write.folding import conjuncts, fold
from penstock.codegen.write.submit_signals import SignalledBody
from penstock.codegen.write.vector_text import Sight, VectorText, sight
from penstock.expr.emit.scope import Module
from penstock.ir.expressions import Attribute, Expression
from penstock.ir.graph import Assignment, Operator
from penstock.ir.models import Markers
from penstock.ir.types import Schema


@dataclass(frozen=True, slots=True)
class Given:
    """A frame as an operator finds it.

    Attributes:
        frame: Its variable.
        levels: What the operator adds to the places of what it makes of it.
        schema: Of its rows.
    """

    frame: str
    levels: tuple[int, ...]
    schema: Schema


class Builder:
    """A module in the making.

    Attributes:
        part: What the PE holds.
        signals: Writes submit signals between the lines of `process`, if it is to be profiled.
        body: The lines of `process`.
        vectors: Writes expressions into the body.
        frames: The variable of each stream.
        received: For each operator, the text of the number of tuples that came in by each port.
        given: What the loader has to provide for each operator, by the name that the module uses.
        states: The state of operators: the text that makes a fresh one, by the operator's id; `logic` for variables of
            a logic clause.
        ways: For streams that a loop makes, the text that takes their frame to each target.
        inputs: For each operator the variables of the frames that it takes, by port.
        loops: For the first operator of each loop, all that share it.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.module = Module(part.plan.application.functions)
        self.signals = None if part.plan.signals is None else SignalledBody(self.module)
        self.body: Body = self.signals or Body(self.module)
        self.vectors = VectorText(self.body)
        self.frames: dict[str, str] = {}
        self.received: dict[str, list[str]] = {}
        self.given: dict[str, tuple[str, str]] = {}
        self.states: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.ways: dict[str, dict[int, str]] = {}
        self.inputs: dict[str, list[str]] = {}
        self.loops: dict[str, tuple[str, ...]] = {}
        self._marked = streams_with_marks(part)

    def input(self, operator: Operator, port: int) -> Given:
        """The frame of a port; several streams are merged in the sequential order."""
        given = self._input(operator, port)
        self.inputs.setdefault(operator.id, []).append(given.frame)
        return given

    def _input(self, operator: Operator, port: int) -> Given:
        streams, schema = self.part.inputs[operator.id][port], operator.inputs[port].schema
        if len(streams) == 1 and streams[0] in self.ways:
            text = self.branched(streams[0], (operator.id, port))
            if text != self.frames[streams[0]]:
                text = self.body.shared(("way", text), f"{operator.id}_in", text)
            return Given(text, (), schema)
        if len(streams) == 1:
            return Given(self.frames[streams[0]], self.part.level(streams[0], (operator.id, port)), schema)
        return Given(self.merged(operator.id, self.subscribed(operator, port), schema.names), (), schema)

    def subscribed(self, operator: Operator, port: int) -> list[str]:
        """The texts of the frames that a port takes, each on its own way."""
        streams = self.part.inputs[operator.id][port]
        return [self.branched(s, (operator.id, port), streams[:i].count(s)) for i, s in enumerate(streams)]

    def branched(self, stream: str, target: Target, again: int = 0) -> str:
        """The text of a stream's frame on its way to one of its targets."""
        if stream in self.ways:
            rank = [i for i, t in enumerate(self.part.targets[stream]) if t == target][again]
            return f"{self.frames[stream]}{self.ways[stream][rank]}"
        return f"{self.frames[stream]}{branch(self.part.level(stream, target, again))}"

    def merged(self, hint: str, parts: Sequence[str], names: Sequence[str]) -> str:
        """The variable of several frames merged in the sequential order."""
        merged = self.body.name(f"{hint}_merged")
        text = f"{merged} = merged([{', '.join(parts)}], {listed(list(names))})"
        if self.signals is None:
            self.body.add(text)
        else:
            self.signals.add_apart(text)
        return merged

    def count(self, operator: Operator, *frames: str) -> None:
        """Count the tuples that came to each port."""
        self.received[operator.id] = [f"len({frame})" for frame in frames]

    def put(self, operator: Operator, port: int, text: str) -> str:
        """Let an operator's port give a frame; returns its variable."""
        stream = operator.outputs[port].stream
        self.frames[stream] = self.body.name(stream)
        self.body.add(f"{self.frames[stream]} = {text}")
        if self.signals is not None:
            self.body.add(f'pe.signals.submit("{stream}", {self.frames[stream]})')
        return self.frames[stream]

    def put_marked(self, operator: Operator, rows: str, places: str, levels: tuple[int, ...]) -> None:
        """Let an operator give rows, and a window marker behind each of some places, if anybody wants them."""
        if not self.wants_marks(operator.outputs[0].stream):
            self.put(operator, 0, f"{rows}{branch(levels)}.marked(None)")
            return
        marks = f"{places}.under({', '.join(map(str, (*levels, 1)))})"
        self.put(operator, 0, f"{rows}{branch((*levels, 0))}.marked({marks})")

    def wants_marks(self, stream: str) -> bool:
        """Whether a window marker on a stream reaches anything that waits for it."""
        return stream in self._marked

    def provided(self, operator: Operator, what: str) -> str:
        """The name under which the loader provides something of an operator's, such as the function that it calls."""
        for name, found in self.given.items():
            if found == (operator.id, what):
                return name
        name = self.module.fresh(re.sub(r"\W+", "_", f"{operator.id}_{what}"))
        self.given[name] = (operator.id, what)
        return name

    def kept(self, given: Given, condition: Sequence[Expression]) -> str:
        """The frame of the rows that satisfy a condition, if there is one; each part of it in its turn."""
        frame = given.frame
        for part in (c for whole in condition for c in conjuncts(fold(whole))):
            text = self.vectors.column(part, sight(given.schema, frame)).text
            frame = self.body.shared((frame, "where", part), f"{given.frame}_kept", f"{frame}.where({text})")
        return frame

    def assigned(self, assignments: Sequence[Assignment], where: Sight) -> str:
        """The text of the first frame in sight with the columns of an output clause."""
        copied = [a.attribute for a in assignments if _is_copy(a)]
        made = {a.attribute: self.vectors.column(a.value, where).text for a in assignments if not _is_copy(a)}
        return to_text(where.frames[0], copied, made, where.schemas[0])


def to_text(frame: str, copied: Sequence[str], made: dict[str, str], schema: Schema) -> str:
    """The text of `frame.to`."""
    if not made and tuple(copied) == schema.names:
        return frame
    columns = ", ".join(f'"{name}": {text}' for name, text in made.items())
    names = listed(list(copied))
    return f"{frame}.to({names}, {{{columns}}})" if made else f"{frame}.to({names})"


def listed(names: object) -> str:
    """The text of lists and dictionaries of names, with the quotes that the rest of the module has."""
    return repr(names).replace("'", '"')


def key_names(key: Sequence[Expression]) -> list[str] | None:
    """The attributes that the parts of a key are; None if some part is computed, or if there is no key."""
    names = [part.name for part in key if isinstance(part, Attribute)]
    return names if names and len(names) == len(key) else None


def branch(levels: Sequence[int]) -> str:
    """The text that takes a frame to some levels of the depth-first order."""
    return f".branch({', '.join(map(str, levels))})" if levels else ""


def _is_copy(assignment: Assignment) -> bool:
    value = assignment.value
    return isinstance(value, Attribute) and value.name == assignment.attribute and value.port == 0


def streams_with_marks(part: Part) -> frozenset[str]:
    """The streams of a PE, `feed N` included, on which window markers matter: they are made, and sent, only there.

    A marker matters on a stream if some operator that waits for markers can be reached from it through operators that
    pass them on (`ir.models`); a FileSink that only flushes on markers writes the same file without them.
    """
    waiting = _Waiting(part)
    return frozenset(stream for stream in part.targets if waiting.for_stream(stream))


class _Waiting:
    """Follows streams to operators that wait for markers; each stream once."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._application = part.plan.application
        self._known: dict[str, bool] = {}
        for operator in reversed(part.operators):
            for port in operator.outputs:
                self.for_stream(port.stream)

    def for_stream(self, stream: str) -> bool:
        """Whether a marker on a stream matters to anybody."""
        if stream not in self._known:
            self._known[stream] = self._is_found(stream)
        return self._known[stream]

    def _is_found(self, stream: str) -> bool:
        brought = {f"feed {e.index}": e.stream for e in self._part.entering}
        waiting, seen = [brought.get(stream, stream)], set()
        while waiting:
            for operator in self._subscribers(waiting.pop()):
                if operator.model.waits_for_markers:
                    return True
                if operator.model.markers is Markers.PASSED_ON and operator.id not in seen:
                    seen.add(operator.id)
                    streams = [port.stream for port in operator.outputs]
                    if any(self._known.get(s) for s in streams):
                        return True
                    waiting += [s for s in streams if s not in self._known]
        return False

    def _subscribers(self, stream: str) -> list[Operator]:
        found = self._application.subscribers[stream]
        return [self._application.operator[id_] for id_, _ in found]
