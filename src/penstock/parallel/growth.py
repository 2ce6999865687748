"""A region while it grows: who may join it, and with whom.

The conditions on regions of section 3.1 of the auto-parallelization paper stand here, one method each; `regions` says
what they mean and in which order operators are tried. A growth that takes an operator can give it back: a fusion group
joins as a whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.ir.expressions import Expression
from penstock.ir.graph import Application
from penstock.ir.models import Selectivity, State
from penstock.parallel.analysis import Analysis
from penstock.parallel.instructions import widths_of
from penstock.parallel.neighbourhood import Neighbourhood
from penstock.parallel.reasons import Condition, Reason, key_text, listing

LOOP = Reason(condition=Condition.FEEDBACK, text="its input closes a loop, and waits until the tuple in hand is done")

_KEPT = ("key", "is_divided", "is_prolific", "is_spontaneous", "widths")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The data that all growths of regions in an application share.

    Attributes:
        application: The graph.
        around: Its streams, by operator.
        analyses: The analysis of each operator by itself.
        groups: From each operator with a fusion dependency to all that share its PE.
        by_time: Whether prolific operators may be with those that fire by time.
    """

    application: Application
    around: Neighbourhood
    analyses: dict[str, Analysis]
    groups: dict[str, tuple[str, ...]]
    by_time: bool = False


@dataclass(slots=True, kw_only=True)
class Growth:
    """A region as far as it has grown.

    Attributes:
        ground: The application.
        forwarded: For each operator, in the order they joined, the attributes that its input has unchanged from the
            region's entry.
        key: The intersection of the keys so far; None as long as all operators are stateless.
        is_divided: Whether it starts with a parallel source, which has divided the tuples already.
        is_prolific: Whether some operator makes several tuples of one.
        is_spontaneous: Whether some operator fires by time.
        widths: What `@parallel` asks for.
        enters: The attributes that every entering stream has, if there are several; a key must be among them.
    """

    ground: Ground
    forwarded: dict[str, frozenset[str]] = field(default_factory=dict)
    key: frozenset[str] | None = None
    is_divided: bool = False
    is_prolific: bool = False
    is_spontaneous: bool = False
    widths: tuple[Expression, ...] = ()
    enters: frozenset[str] | None = None

    @property
    def selectivity(self) -> Selectivity:
        """Of all operators together: the weakest of theirs."""
        found = {self.ground.analyses[id_].selectivity for id_ in self.forwarded}
        weakest = (Selectivity.UNKNOWN, Selectivity.AT_MOST_ONE)
        return next((s for s in weakest if s in found), Selectivity.EXACTLY_ONE)

    def take_with_group(self, operator: str) -> Reason | None:
        """Take an operator and all that must be in its region; or none of them, for the reason returned."""
        size, before = len(self.forwarded), [getattr(self, name) for name in _KEPT]
        reason = self._take(operator) or self._take_group(operator)
        if reason is not None:
            for name, value in zip(_KEPT, before, strict=True):
                setattr(self, name, value)
            while len(self.forwarded) > size:
                self.forwarded.popitem()
        return reason

    def _take_group(self, operator: str) -> Reason | None:
        """Take those that must be fused with an operator, and what lies on the way to them."""
        groups = self.ground.groups
        waiting = list(groups.get(operator, ()))
        entered = {waiting[0]} if waiting else set()
        while waiting:
            partner = waiting.pop()
            for step in self._way_to(partner):
                reason = self._take(step)
                if reason is not None:
                    return _cannot_fuse(partner, step, reason, is_direct=partner in groups[operator])
                if step in groups and groups[step][0] not in entered:
                    entered.add(groups[step][0])
                    waiting.extend(groups[step])
        return None

    def _way_to(self, operator: str) -> list[str]:
        """The operators from the region to an operator, which is the last of them; the first may not be connected."""
        way: dict[str, None] = {}
        while operator not in self.forwarded and operator not in way:
            way[operator] = None
            before = self.ground.around.before[operator]
            if len(before) != 1:
                break
            operator = before[0]
        return list(reversed(way))

    def _take(self, operator: str) -> Reason | None:
        """Take one operator if every condition holds."""
        analysis = self.ground.analyses[operator]
        if analysis.reasons:
            return analysis.reasons[0]
        reason = self._connection(operator) or self._width(operator) or self._causes(analysis)
        if reason is not None:
            return reason
        forwarded = self._forwarded_to(operator)
        reason = self._keys(analysis, forwarded) if analysis.state is State.PARTITIONED else None
        if reason is None:
            self._add(analysis, forwarded)
        return reason

    def _add(self, analysis: Analysis, forwarded: frozenset[str]) -> None:
        node = self.ground.application.operator[analysis.operator]
        if analysis.state is State.PARTITIONED:
            self.key = self._key_with(analysis, forwarded)
        self.is_divided |= not node.inputs
        self.is_prolific |= analysis.selectivity is Selectivity.UNKNOWN
        self.is_spontaneous |= analysis.spontaneous
        self.widths = self.widths or widths_of(node)
        self.forwarded[analysis.operator] = forwarded

    def _connection(self, operator: str) -> Reason | None:
        """The operator's input comes from the region, and does not close a loop."""
        if not self.forwarded:
            return None
        around = self.ground.around
        before = around.before[operator]
        if not before or before[0] not in self.forwarded:
            return Reason(condition=Condition.FAN_IN, text="its input does not come from the region")
        if any(c in around.feedback for c in around.after[before[0]] if c[1] == operator):
            return LOOP
        return None

    def _width(self, operator: str) -> Reason | None:
        widths = widths_of(self.ground.application.operator[operator])
        if not widths or not self.widths or widths == self.widths:
            return None
        return Reason(condition=Condition.WIDTH, text="its `@parallel` asks for another width than that of the region")

    def _causes(self, analysis: Analysis) -> Reason | None:
        """Numbers cannot order what prolific operators and those that fire by time make together: see `strategies`."""
        if self.ground.by_time:
            return None
        is_prolific = self.is_prolific or analysis.selectivity is Selectivity.UNKNOWN
        if not is_prolific or not (self.is_spontaneous or analysis.spontaneous):
            return None
        text = "it makes several tuples of one, or fires by time, and an operator of the region does the other"
        return Reason(condition=Condition.SELECTIVITY, text=text)

    def _forwarded_to(self, operator: str) -> frozenset[str]:
        """The attributes that an operator's input has unchanged from the region's entry."""
        operators = self.ground.application.operator
        if not self.forwarded:
            ports = operators[operator].inputs or operators[operator].outputs
            return frozenset.intersection(*(frozenset(port.schema.names) for port in ports)) if ports else frozenset()
        return self.forwarded_by(self.ground.around.before[operator][0])

    def forwarded_by(self, operator: str) -> frozenset[str]:
        """The attributes that the output of an operator of the region has unchanged from the region's entry."""
        reached = self.forwarded[operator]
        is_source = not self.ground.application.operator[operator].inputs
        return reached if is_source else reached & self.ground.analyses[operator].forwards

    def _key_with(self, analysis: Analysis, forwarded: frozenset[str]) -> frozenset[str]:
        shared = analysis.key & forwarded if self.enters is None else analysis.key & forwarded & self.enters
        return shared if self.key is None else shared & self.key

    def _keys(self, analysis: Analysis, forwarded: frozenset[str]) -> Reason | None:
        """Compatible and forwarded keys."""
        own = key_text(analysis.key)
        if self.is_divided:
            return self._divided_keys(analysis, forwarded)
        if self._key_with(analysis, forwarded):
            return None
        if self.key is not None and not self.key & analysis.key:
            text = f"its key {own} has no attribute in common with the region's key {key_text(self.key)}"
            return Reason(condition=Condition.KEYS, text=text)
        lost = sorted(analysis.key if self.key is None else self.key & analysis.key)
        text = f"its key {own} is not what enters the region: {listing(lost)} is made, changed or dropped on the way"
        return Reason(condition=Condition.FORWARDING, text=text)

    def _divided_keys(self, analysis: Analysis, forwarded: frozenset[str]) -> Reason | None:
        """Behind a parallel source, the source's whole key must be part of the operator's."""
        own = key_text(analysis.key)
        if self.key is None:
            text = f"its key {own} is not the one by which the source is divided; the source names none"
            return Reason(condition=Condition.KEYS, text=text)
        if self.key - analysis.key:
            text = f"its key {own} does not contain the key {key_text(self.key)} by which the source is divided"
            return Reason(condition=Condition.KEYS, text=text)
        if self.key - forwarded:
            lost = listing(sorted(self.key - forwarded))
            text = f"the source is divided by {lost}, which is made, changed or dropped on the way"
            return Reason(condition=Condition.FORWARDING, text=text)
        return None


def _cannot_fuse(partner: str, step: str, reason: Reason, *, is_direct: bool) -> Reason:
    where = "" if step == partner else f", because of `{step}`"
    bond = "be fused with" if is_direct else "share a region, for the sake of what is between fused operators, with"
    text = f"it must {bond} `{partner}`, which cannot join its region{where}: {reason.text}"
    return Reason(condition=Condition.FUSION, text=text)
