"""The demands of a PE on its host, in a form that adds up.

Every demand on hosts is one of two things. A resource match leaves a set of hosts. Everything else is a *colouring*:
a host may hold at most one colour of each, and an operator without a colour goes anywhere. In a host exlocation each
operator has a colour of its own; in high availability each replica has one; all host dedications together are one
colouring, where each dedicated operator has its own colour and all other operators share one.

Two needs that are met on one host add up: the hosts that both allow, and the colours of both, unless they clash.

Example:
    >>> red, blue = HostNeed(hosts=0b011, colours={0: 1}), HostNeed(hosts=0b110, colours={0: 2})
    >>> red.joined(blue) is None, red.joined(HostNeed(hosts=0b110, colours={1: 5}))
    (True, HostNeed(hosts=2, colours={0: 1, 1: 5}))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.fusion.problem.fusion_problem import FusionProblem
from penstock.ir.constraints import ConstraintKind

Signature = tuple[int, frozenset[tuple[int, int]]]
"""The identity of a need: its hosts and its colours."""

DEDICATION = -1
"""The colouring of all host dedications together."""

SHARED = -1
"""The colour there of the operators that have no host for themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNeed:
    """The demands of some operators on their host.

    Attributes:
        hosts: The hosts that will do, as bits.
        colours: From colouring to colour.
    """

    hosts: int
    colours: dict[int, int]
    _signature: Signature = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_signature", (self.hosts, frozenset(self.colours.items())))

    def joined(self, other: HostNeed) -> HostNeed | None:
        """The need of both on one host; None if no host can meet it."""
        if self._signature == other._signature:
            return self
        hosts = self.hosts & other.hosts
        if not hosts or self.clashes(other):
            return None
        return HostNeed(hosts=hosts, colours=self.colours | other.colours)

    def clashes(self, other: HostNeed) -> bool:
        """Whether the two may not be on one host."""
        few, many = sorted((self.colours, other.colours), key=len)
        return any(many.get(colouring, colour) != colour for colouring, colour in few.items())

    def signature(self) -> Signature:
        """Equal for equal needs."""
        return self._signature


def joined_needs(needs: Iterable[HostNeed], hosts: int) -> HostNeed | None:
    """The need of all of them on one host; None if no host can meet it.

    Args:
        needs: What is asked.
        hosts: How many hosts there are.
    """
    whole: HostNeed | None = None
    for need in needs:
        whole = need if whole is None else whole.joined(need)
        if whole is None or not whole.hosts:
            return None
    return HostNeed(hosts=(1 << hosts) - 1, colours={}) if whole is None else whole


def operator_needs(problem: FusionProblem) -> list[HostNeed]:
    """The demands of each operator on its host; a need that no host meets has no bits."""
    index_of = problem.index_of
    hosts = [(1 << problem.hosts.count) - 1] * problem.operators
    colours: list[dict[int, int]] = [{} for _ in problem.ids]
    dedicated: list[int] = []
    for number, constraint in enumerate(problem.constraints):
        if constraint.kind is ConstraintKind.RESOURCE_MATCH:
            bits = sum(1 << host for host in problem.hosts.matching(constraint.hosts))
            for name in constraint.operators:
                hosts[index_of[name]] &= bits
        elif constraint.kind is ConstraintKind.HOST_EXLOCATION:
            for name in constraint.operators:
                colours[index_of[name]][number] = index_of[name]
        elif constraint.kind is ConstraintKind.HIGH_AVAILABILITY:
            for replica, names in enumerate(constraint.replicas):
                for name in names:
                    colours[index_of[name]][number] = replica
        elif constraint.kind is ConstraintKind.HOST_DEDICATION:
            dedicated += [index_of[name] for name in constraint.operators]
    for operator in range(problem.operators) if dedicated else ():
        colours[operator][DEDICATION] = SHARED
    for operator in dedicated:
        colours[operator][DEDICATION] = operator
    known: dict[Signature, HostNeed] = {}
    needs = (HostNeed(hosts=h, colours=c) for h, c in zip(hosts, colours, strict=True))
    return [known.setdefault(need.signature(), need) for need in needs]
