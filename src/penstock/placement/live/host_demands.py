"""The demands of a job on hosts while it runs: the rules that follow for the hosts that there are, and what was broken.

Tasks report where they ran. What they report is judged by the definitions of the demands, not by the rules that the
channels were placed by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.fusion.problem.fusion_problem import describe
from penstock.ir.constraints import Constraint
from penstock.parallel.pe_demands import host_demands
from penstock.placement.live.host_rules import HostRules, Located, Tags, broken_demands, host_rules
from penstock.runtime.pes.traffic import TaskTraffic


class HostDemands:
    """What a job demands of hosts.

    Args:
        plan: Of the job.
        tags: By host, what it offers; a host that is not named offers nothing.
        driver: The host of the driver, where sinks run.
    """

    def __init__(self, plan: PhysicalPlan, tags: Tags, driver: str | None) -> None:
        self._plan, self._tags, self._driver = plan, tags, driver
        self._demands: Sequence[Constraint] = host_demands(plan.application)
        self._sources = frozenset(id_ for pe in plan.pes if pe.role == "source" for id_ in pe.operators)

    def __bool__(self) -> bool:
        return bool(self._demands)

    @property
    def in_words(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(describe(demand) for demand in self._demands)

    def rules(self, hosts: Iterable[str]) -> HostRules:
        """On which of some hosts channels may be.

        Raises:
            Infeasible: The demands cannot all be kept there.
        """
        pes = [
            Located(
                pe=pe.index,
                operators=pe.operators,
                channels=pe.channels,
                host=self._driver if pe.role == "sink" else None,
                is_anywhere=pe.role == "source",
            )
            for pe in self._plan.pes
        ]
        offers = frozenset(self._tags.get(self._driver or "", ()))
        return host_rules(pes, self._demands, self._tagged(hosts), self._driver, offers)

    def check(self, traffic: Iterable[TaskTraffic]) -> None:
        """Judge where the tasks of a batch say that they ran.

        Raises:
            UserError: A demand was broken.
        """
        ran: dict[str, set[str]] = {}
        for task in traffic:
            pe = self._plan.pes[task.pe]
            if task.host and (task.channel < pe.channels or pe.role == "source"):
                for id_ in pe.operators:
                    ran.setdefault(id_, set()).add(task.host)
        for pe in self._plan.pes if self._driver is not None else ():
            for id_ in pe.operators if pe.role == "sink" else ():
                ran.setdefault(id_, set()).add(self._driver or "")
        hosts = {host for places in ran.values() for host in places}
        found = {id_: frozenset(places) for id_, places in ran.items()}
        broken = list(broken_demands(self._demands, found, self._tagged(hosts), self._sources))
        if broken:
            raise UserError(
                "a demand on hosts was broken: " + "; ".join(broken),
                hint="an executor may have been lost in the middle of a batch; start the job again to resume it",
            )

    def _tagged(self, hosts: Iterable[str]) -> Tags:
        return {host: frozenset(self._tags.get(host, ())) for host in hosts}
