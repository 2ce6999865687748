"""Which operators of a job run on several channels, and by what their tuples are routed.

`penstock.parallel` says what is safe; the submission says how many channels. What is left out here runs on one channel:
sources, which are PEs of their own, and of which Spark may read the parts in several tasks; regions with several
operators that fire by time, though their places would compare; and regions on a loop that stays inside one PE. A
parallel sink runs on the channels of its region, not in the driver.

Regions that are routed by the same key to equally many channels, and of which none sends tuples to another, count as
one: a tuple's channel is the same in all of them, so their operators may share a PE, and a stream that several of them
take is routed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.base.diagnostics import UserError
from penstock.ir.expressions import Expression, Literal
from penstock.ir.graph import Application
from penstock.parallel.extensions import BEYOND
from penstock.parallel.instructions import channels as instructed
from penstock.parallel.key_groups import KEY_GROUPS, Table, check_table, spread_evenly
from penstock.parallel.loops import loops
from penstock.parallel.region_plan import ParallelRegions, Region
from penstock.parallel.regions import parallel_regions


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The regions that run on more than one channel.

    Attributes:
        region: From operator to its region.
        width: From region to its number of channels.
        key: From region to the attributes that tuples are routed by; empty if any channel will do.
        tables: From region with a key to the channel that holds each key group.
        groups: How many key groups there are.
    """

    region: dict[str, str] = field(default_factory=dict)
    width: dict[str, int] = field(default_factory=dict)
    key: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    groups: int = KEY_GROUPS


ONE_CHANNEL = Channels()


def choose_channels(
    application: Application,
    channels: int | None,
    *,
    loops_are_open: bool = False,
    found: ParallelRegions | None = None,
    groups: int = KEY_GROUPS,
) -> Channels:
    """Give every parallel region its channels.

    Args:
        application: The logical graph.
        channels: For regions without an instruction of their own; without it only `@parallel` makes channels, and
            with 1 nothing does.
        loops_are_open: Whether what goes round a loop leaves the plan, so that regions on it may have channels, too.
        found: The parallel regions, by who has found them already.
        groups: How many key groups there are.

    Raises:
        UserError: There are more channels than key groups.

    Example:
        >>> choose_channels(Application(name="Empty"), 4).width
        {}
    """
    if channels == 1:
        return replace(ONE_CHANNEL, groups=groups)
    united: list[_Union] = []
    on_loops = set() if loops_are_open else {id_ for loop in loops(application) for id_ in loop}
    around = _around(application)
    for region in (found or parallel_regions(application, BEYOND)).regions:
        width = _instructed(region) or channels or 1
        inside = frozenset(id_ for id_ in region.operators if application.operator[id_].inputs)
        if width > 1 and inside and len(region.spontaneous) <= 1 and on_loops.isdisjoint(inside):
            alone = _Union(
                id=region.id,
                width=width,
                key=tuple(sorted(region.key)),
                operators=inside,
                around=frozenset(other for id_ in inside for other in around[id_]),
                spontaneous=len(region.spontaneous),
            )
            home = next((i for i, other in enumerate(united) if other.may_take(alone)), None)
            if home is None:
                united.append(alone)
            else:
                united[home] = united[home].with_(alone)
    return Channels(
        region={id_: union.id for union in united for id_ in union.operators},
        width={union.id: union.width for union in united},
        key={union.id: union.key for union in united},
        tables={union.id: spread_evenly(groups, union.width) for union in united if union.key},
        groups=groups,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Union:
    """Regions that count as one.

    Attributes:
        id: Of the first of them.
        width: How many channels they have.
        key: What tuples are routed by.
        operators: Of all of them.
        around: The operators that send tuples to them or get tuples from them, and their own.
        spontaneous: How many of their operators fire by time.
    """

    id: str
    width: int
    key: tuple[str, ...]
    operators: frozenset[str]
    around: frozenset[str]
    spontaneous: int

    def may_take(self, other: _Union) -> bool:
        """Whether another region may count as one with these."""
        same = (self.width, self.key) == (other.width, other.key)
        return same and self.spontaneous + other.spontaneous <= 1 and self.operators.isdisjoint(other.around)

    def with_(self, other: _Union) -> _Union:
        """These and another one."""
        return replace(
            self,
            operators=self.operators | other.operators,
            around=self.around | other.around,
            spontaneous=self.spontaneous + other.spontaneous,
        )


def give_tables(channels: Channels, tables: Mapping[str, Sequence[int]]) -> Channels:
    """The channels with other tables of key groups.

    Args:
        channels: Of a job.
        tables: From region, or an operator in it, to the channel that holds each key group; regions that are left out
            keep theirs.

    Raises:
        UserError: There is no such region or operator, or a table is not one for its groups and channels.

    Example:
        >>> give_tables(ONE_CHANNEL, {}).tables
        {}
    """
    given = {}
    for name, table in tables.items():
        region = channels.region.get(name, name)
        if region not in channels.tables:
            known = [
                f"`{id_}`"
                for id_ in (*channels.tables, *channels.region)
                if channels.region.get(id_, id_) in channels.tables
            ]
            raise UserError(
                f"`{name}` has no table of key groups, because it does not run on several channels by key",
                hint=f"there are tables for {', '.join(known)}" if known else "no region of this job has one",
            )
        with _naming(name):
            given[region] = check_table(table, channels.groups, channels.width[region])
    return replace(channels, tables={**channels.tables, **given})


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let a message about a table say whose it is."""
    try:
        yield
    except UserError as error:
        raise UserError(f"the table of `{name}`: {str(error).removeprefix('error: ')}") from None


def _around(application: Application) -> dict[str, set[str]]:
    """From operator to those that it sends tuples to or gets tuples from."""
    found: dict[str, set[str]] = {o.id: {o.id} for o in application.operators}
    for producer, consumer, _, _ in application.edges():
        found[producer].add(consumer)
        found[consumer].add(producer)
    return found


def _instructed(region: Region) -> int | None:
    known = [w for w in region.widths if isinstance(w, Literal)]
    return instructed(known, _value) if len(known) == len(region.widths) else None


def _value(width: Expression) -> object:
    return width.value if isinstance(width, Literal) else None
