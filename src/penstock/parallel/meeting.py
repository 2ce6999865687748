"""Streams that meet inside a region: fan-in, beyond the paper.

Introduction:
    The paper's regions have one entry, so every operator that receives several streams (Join, Barrier, Pair, Union)
    ends them. In bargain detection that cuts each group of symbols into five pieces. Where all that meets carries the
    same key, nothing forces the cut: a region may have several entries, each with a split of its own.

Formulation:
    An operator that would be parallel but for its fan-in starts a region, or joins those in front of it, if
      - One key. It is stateless, or each of its ports is partitioned by the same attribute (`_key`). Keys of several
        attributes are left out: a model has sets of names, which do not say which attribute meets which.
      - Every entry can be routed. Each stream that enters the joined region has the attributes of its key (`_fits`).
      - No way out and back in. The joined region is convex (`_fits`), so the graph of its PEs stays acyclic.
      - No loop. None of its inputs closes one.
      - The conditions of `growth` hold: compatible and forwarded keys, widths, causes. It has no fusion dependency.

Why this is safe:
    Claim: in channel c, every tuple on every stream on which the region's key K reaches an operator unchanged has a
    value of K that is routed to c. At the entries the splits see to it. An operator that forwards K makes its tuples'
    K of tuples that it received, now or earlier, in the same channel, whichever port they came by. So all tuples of one
    value of K are in one channel, on all those streams; a stateful operator, whose key contains K, meets there all that
    it would meet in the sequential program. It meets them in the same order: a tuple carries its place, which orders
    all streams of a job, not only one, and each channel takes what enters in the order of places. So every operator
    sends the same tuples for each that it receives, and their places are those of the sequential program. At the exits,
    sorting by place restores the sequential order. A sequence number made at one split would not do, because tuples of
    different entries could not be compared.

Example:
    Trades and quotes, both by symbol, meet in a Join on the symbol: one region with two entries.

When it does not apply:
    Ports with keys of different names; a region behind a parallel source, which has divided its tuples already (it
    stays a region of its own, with a shuffle).

Algorithm:
    When formation comes to the operator, all regions in front of it are formed. The largest that fits takes it; the
    others that fit are put into that one. Convexity is a test on two sets of operators, held as the bits of an integer:
    those inside, and those from which an entry can be reached. So each meeting costs the size of the smaller regions
    and a few operations on n bits, where n is the number of operators.

Preserves:
    What `regions` preserves. Regions without fan-in are not changed.

Reference:
    Ours. The paper's section 3.1 asks for one predecessor, so that a simple sequence number will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from penstock.ir.expressions import Expression
from penstock.ir.graph import InputPort, Operator
from penstock.ir.models import State
from penstock.parallel.growth import Ground, Growth
from penstock.parallel.instructions import widths_of
from penstock.parallel.neighbourhood import Connection
from penstock.parallel.reasons import Condition, Reason, key_text

Attributes = frozenset[tuple[str, str]] | None
"""Names with types; None where there is no stream to ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """The border of a region: the facts that decide whether regions fit together.

    Attributes:
        inside: The operators, as bits.
        above: Those outside from which an entry can be reached, as bits.
        enters: The attributes that all entering streams have.
        key: None as long as all operators are stateless.
        widths: The widths that `@parallel` asks for.
        is_prolific: Whether some operator makes several tuples of one.
        is_spontaneous: Whether some operator fires by time.
    """

    inside: int
    above: int
    enters: Attributes
    key: frozenset[str] | None
    widths: tuple[Expression, ...]
    is_prolific: bool
    is_spontaneous: bool

    def with_(self, other: Border) -> Border:
        """The border around both."""
        keys = [border.key for border in (self, other) if border.key is not None]
        return Border(
            inside=self.inside | other.inside,
            above=self.above | other.above,
            enters=common([self.enters, other.enters]),
            key=frozenset.intersection(*keys) if keys else None,
            widths=self.widths or other.widths,
            is_prolific=self.is_prolific or other.is_prolific,
            is_spontaneous=self.is_spontaneous or other.is_spontaneous,
        )

    def conflict(self, *, by_time: bool = False) -> Reason | None:
        """Why what is inside cannot be one region, whatever it is made of; `by_time` is the extension of that name."""
        if self.key and not self.key <= {name for name, _ in self.enters or ()}:
            return Reason(condition=Condition.KEYS, text=f"not every stream that would enter has {key_text(self.key)}")
        if self.above & self.inside:
            return Reason(condition=Condition.FAN_IN, text="a path would leave the region and come back into it")
        if self.is_prolific and self.is_spontaneous and not by_time:
            text = "what meets makes several tuples of one and fires by time"
            return Reason(condition=Condition.SELECTIVITY, text=text)
        return None


def shared(ports: Iterable[InputPort]) -> Attributes:
    """The attributes that all ports have, with the same type."""
    return common([frozenset((a.name, str(a.type)) for a in port.schema.attributes) for port in ports])


def common(attributes: Iterable[Attributes]) -> Attributes:
    """The attributes that all of these have, those that are None left out; None if all are."""
    found = [some for some in attributes if some is not None]
    return frozenset.intersection(*found) if found else None


class Meeting:
    """Joins the regions of one application where their streams meet."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._bit = {id_: 1 << i for i, id_ in enumerate(ground.around.before)}
        self._above = dict.fromkeys(self._bit, 0)
        self._borders: dict[int, tuple[Growth, int, Border]] = {}
        for id_ in ground.around.order():
            for connection in ground.around.after[id_]:
                if connection not in ground.around.feedback:
                    self._above[connection[1]] |= self._above[id_] | self._bit[id_]

    def may_meet_in(self, operator: str) -> bool:
        """Whether an operator may be parallel although it receives several streams."""
        node, analysis = self._ground.application.operator[operator], self._ground.analyses[operator]
        only_fan_in = [r.condition for r in analysis.reasons] == [Condition.FAN_IN]
        if not only_fan_in or operator in self._ground.groups or any(port.feedback for port in node.inputs):
            return False
        return analysis.state is State.STATELESS or bool(_key(node))

    def join(self, operator: str, owner: Mapping[str, Growth]) -> tuple[Growth, list[Growth], dict[Connection, Reason]]:
        """The region of an operator, the regions that are part of it now, and why others in front are not."""
        self._allow(operator)
        node = self._ground.application.operator[operator]
        before = {id(owner[p]): owner[p] for p in self._ground.around.before[operator] if p in owner}
        joined: list[Growth] = []
        apart: dict[Connection, Reason] = {}
        for other in sorted(before.values(), key=lambda growth: -len(growth.forwarded)):
            reason = self._conflict(node, joined, other)
            if reason is None:
                joined.append(other)
            else:
                apart.update(dict.fromkeys(self._connections(operator, other), reason))
        return self._joined(node, joined), joined, apart

    def _allow(self, operator: str) -> None:
        """Take the fan-in from what an operator is refused for, and what its other ports do not forward."""
        node, analysis = self._ground.application.operator[operator], self._ground.analyses[operator]
        is_sure = len(node.inputs) == 1 or node.facts.forwards_from_all
        forwards = analysis.forwards if is_sure else frozenset()
        self._ground.analyses[operator] = replace(analysis, reasons=(), forwards=forwards)

    def _conflict(self, node: Operator, joined: list[Growth], other: Growth) -> Reason | None:
        """Why a region in front of an operator cannot become one with it and with those that have."""
        if other.is_divided:
            text = "a parallel source has divided what comes from there"
            return Reason(condition=Condition.KEYS, text=text)
        widths = {w for w in (widths_of(node), other.widths, *(g.widths for g in joined)) if w}
        if len(widths) > 1:
            return Reason(condition=Condition.WIDTH, text="`@parallel` asks for another width there")
        both = self._around(node, [*joined, other])
        if both.key == frozenset():
            return _no_key(node, [*joined, other])
        return both.conflict(by_time=self._ground.by_time)

    def _around(self, node: Operator, joined: Sequence[Growth]) -> Border:
        """The border around an operator and the regions in front of it that are one with it."""
        analysis = self._ground.analyses[node.id]
        is_keyed = analysis.state is State.PARTITIONED
        outside = [(port, p) for port, p in self._inputs(node) if not any(p in g.forwarded for g in joined)]
        border = Border(
            inside=self._bit[node.id],
            above=self._reaching(p for _, p in outside),
            enters=shared(port for port, _ in outside),
            key=_key(node) & self._reached(node, joined) if is_keyed else None,
            widths=widths_of(node),
            is_prolific=analysis.selectivity.value == "unknown",
            is_spontaneous=analysis.spontaneous,
        )
        for growth in joined:
            border = border.with_(self._border(growth))
        return border

    def _reached(self, node: Operator, joined: Sequence[Growth]) -> frozenset[str]:
        """The attributes that all ports share, and that come unchanged from the entries."""
        found = frozenset(name for name, _ in shared(node.inputs) or ())
        for _, producer in self._inputs(node):
            for growth in joined:
                if producer in growth.forwarded:
                    found &= growth.forwarded_by(producer)
        return found

    def _joined(self, node: Operator, joined: list[Growth]) -> Growth:
        """One region of the operator and of those in front of it; the largest of them grows, so that few are moved."""
        border, reached = self._around(node, joined), self._reached(node, joined)
        growth = joined[0] if joined else Growth(ground=self._ground)
        for other in joined[1:]:
            growth.forwarded.update(other.forwarded)
        growth.forwarded[node.id] = reached
        growth.key, growth.widths = border.key, border.widths
        growth.is_prolific, growth.is_spontaneous = border.is_prolific, border.is_spontaneous
        growth.enters = None if border.enters is None else frozenset(name for name, _ in border.enters)
        self._borders[id(growth)] = (growth, len(growth.forwarded), border)
        return growth

    def _border(self, growth: Growth) -> Border:
        """The border of a region: as it was when streams met in it, or around its one entry, and what it took since."""
        _, size, known = self._borders.get(id(growth)) or (growth, 1, self._around_entry(growth))
        new = islice(reversed(growth.forwarded), len(growth.forwarded) - size)
        found = replace(
            known,
            inside=known.inside | self._bits(new),
            key=growth.key,
            widths=growth.widths,
            is_prolific=growth.is_prolific,
            is_spontaneous=growth.is_spontaneous,
        )
        self._borders[id(growth)] = (growth, len(growth.forwarded), found)
        return found

    def _around_entry(self, growth: Growth) -> Border:
        first = self._ground.application.operator[next(iter(growth.forwarded))]
        return Border(
            inside=self._bit[first.id],
            above=self._above[first.id],
            enters=shared(first.inputs),
            key=None,
            widths=(),
            is_prolific=False,
            is_spontaneous=False,
        )

    def _inputs(self, node: Operator) -> Iterator[tuple[InputPort, str]]:
        streams = self._ground.application.streams
        return ((port, streams[stream].operator) for port in node.inputs for stream in port.streams)

    def _connections(self, operator: str, growth: Growth) -> Iterator[Connection]:
        """The connections from a region to an operator."""
        application = self._ground.application
        for port in application.operator[operator].inputs:
            for stream in port.streams:
                if application.streams[stream].operator in growth.forwarded:
                    yield stream, operator

    def _bits(self, operators: Iterable[str]) -> int:
        found = 0
        for id_ in operators:
            found |= self._bit[id_]
        return found

    def _reaching(self, operators: Iterable[str]) -> int:
        """The operators and all from which they can be reached, as bits."""
        found = 0
        for id_ in operators:
            found |= self._above[id_] | self._bit[id_]
        return found


def _no_key(node: Operator, regions: Sequence[Growth]) -> Reason:
    keys = [key for key in (_key(node), *(g.key for g in regions)) if key]
    if len(keys) > 1 and not frozenset.intersection(*keys):
        text = f"its key and those of what meets, {', '.join(map(key_text, keys))}, have no attribute in common"
        return Reason(condition=Condition.KEYS, text=text)
    text = f"its key {key_text(_key(node))} is not what enters there: it is made, changed or dropped on the way"
    return Reason(condition=Condition.FORWARDING, text=text)


def _key(operator: Operator) -> frozenset[str]:
    """The key that all ports of an operator share; empty if there is none, or no telling."""
    keys = operator.model.partition_by
    if len(operator.inputs) == 1 or not keys:
        return keys[0] if keys else frozenset()
    is_one_name = len(keys) == len(operator.inputs) and len(set(keys)) == 1 and len(keys[0]) == 1
    return keys[0] if is_one_name else frozenset()
