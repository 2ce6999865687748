"""A plan as the model sees it: which operators form a PE, on how many channels, on which hosts.

Example:
    >>> plan = plan_of([["a", "b"], ["c"]], hosts=("h0",))
    >>> plan.pes[0].operators, plan.pes[1].channels
    (('a', 'b'), 1)
    >>> plan.widened(4).pes[1].channels
    1
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.base.diagnostics import Diagnostics, did_you_mean
from penstock.model.hosts import Hosts
from penstock.model.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPE:
    """A PE with its place.

    Attributes:
        operators: Those fused in it.
        hosts: Where its channels run: channel c on `hosts[c % len(hosts)]`.
        channels: How many instances share its work.
        shares: Of the tuples, by channel; even where it is empty.
        keyed: Whether tuples are routed to its channels by key, so that they always come by an exchange.
        in_jvm: Whether its operators are Catalyst expressions, sources or sinks of Spark: nothing crosses to Python.
        in_driver: Whether it runs in the driver, as the sinks of a line do: it has no worker and no task.
        gathers: Whether it begins only when all of its input is there, and sends when it is done; in a line.
        stateful: Whether it has state that Spark loads and stores with every micro-batch; in a line.
        region: Its parallel region; a PE without one is sequential.
    """

    operators: tuple[str, ...]
    hosts: tuple[str, ...]
    channels: int = 1
    shares: tuple[float, ...] = ()
    keyed: bool = False
    in_jvm: bool = False
    in_driver: bool = False
    gathers: bool = False
    stateful: bool = False
    region: str | None = None

    @property
    def place(self) -> Place:
        """The hosts, channels and shares of the PE, which decide how its load falls on hosts."""
        return self.hosts, self.channels, self.shares


Place = tuple[tuple[str, ...], int, tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A fusion with channels and a placement.

    Attributes:
        pes: The PEs.
        is_line: Whether they stand one behind the other, in this order, and pass on what is for others (`line`).
    """

    pes: tuple[PlacedPE, ...]
    is_line: bool = False

    def widened(self, channels: int) -> Plan:
        """The plan with so many channels in every parallel region, each with an even share."""
        wide = [pe if pe.region is None else replace(pe, channels=channels, shares=()) for pe in self.pes]
        return Plan(pes=tuple(wide), is_line=self.is_line)


def plan_of(groups: Iterable[Sequence[str]], *, hosts: Sequence[str], channels: int = 1) -> Plan:
    """A plan whose PEs all have the same channels on the same hosts, in a region if there are several."""
    region = "all" if channels > 1 else None
    made = (PlacedPE(operators=tuple(g), hosts=tuple(hosts), channels=channels, region=region) for g in groups)
    return Plan(pes=tuple(made))


def check_plan(plan: Plan, profile: Profile, hosts: Hosts) -> None:
    """Refuse a plan that does not fit the profile and the hosts.

    Raises:
        UserError: With every mistake.
    """
    found = Diagnostics()
    home: dict[str, int] = {}
    for number, pe in enumerate(plan.pes):
        _check_pe(pe, number, hosts, found)
        for operator in pe.operators:
            if operator not in profile.operator:
                hint = did_you_mean(operator, profile.operator)
                found.error(f"PE {number} holds operator `{operator}`, which the profile does not know", hint=hint)
            if home.setdefault(operator, number) != number:
                found.error(f"operator `{operator}` is in PE {home[operator]} and in PE {number}")
    for operator in profile.operator:
        if operator not in home:
            found.error(f"operator `{operator}` of the profile is in no PE", hint="put each operator in one PE")
    found.raise_if_any()


def _check_pe(pe: PlacedPE, number: int, hosts: Hosts, found: Diagnostics) -> None:
    if not pe.hosts:
        found.error(f"PE {number} has no host")
    for host in pe.hosts:
        if host not in hosts.index_of:
            hint = did_you_mean(host, hosts.index_of)
            found.error(f"PE {number} runs on host `{host}`, which does not exist", hint=hint)
    if pe.channels < 1:
        found.error(f"PE {number} has {pe.channels} channels", hint="give it 1 or more")
    if pe.shares and (len(pe.shares) != pe.channels or min(pe.shares) < 0 or not math.isclose(sum(pe.shares), 1.0)):
        hint = "give a share for each channel; together they are 1"
        found.error(f"the shares of PE {number} are {list(pe.shares)} for {pe.channels} channels", hint=hint)
