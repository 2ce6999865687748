"""Advanced COLA: splits that keep the user's constraints and balance the load.

Introduction:
    Fusion from the top down with six kinds of constraints and two dedications, and with an objective that weighs
    balance against communication.

Formulation:
    Minimize f(U, C) (`_State.value`): U is the largest utilization of a host, and where hosts have several cores of a
    PE against those that it can use; C is the communication cost, the sum of w(delta(S)) over PEs S. Subject to

    - resource matching, host colocation, host exlocation and host dedication (`scheduling.schedule`);
    - PE colocation (`super_graph`), PE exlocation (phase 1), PE dedication, regions (`coarsest`);
    - high availability: PEs within one replica, replicas on different hosts, and if isomorphic split alike
      (`splitting`);
    - scheduling feasibility: no host beyond its capacity (phase 3).

Example: A chain a, b, c, d where b and c are PE exlocated: phase 1 splits between them, because the added demand
between the two makes that cut the best, though another stream may be thinner.

When it does not apply: A problem without any valid solution is refused before, with the constraints in conflict
(`conflicts`): the finest fusion decides that, so no split has to be made. If no state is feasible, or splitting has
become hopeless, the best one is merged again or relieved as Basic COLA does it (`make_fit`).

Algorithm: Pre-processor: lemma 1 (`lemma`), one PE for each kind (`coarsest`). Phase 1: split PEs that break an
exlocation, with added demand between the operators concerned. Phase 2: split the largest PE until the integer program
finds a valid schedule. Phase 3: until it is feasible; its communication cost is c. Phase 4: split on while C <= (1 +
T) c, and keep the state with the least f(U, C). Post-processor: merge what leaves f(U, C) no worse (`postprocess`).
An integer program for each split; large ones fall back to LPT (`pe_scheduler`). On more than `_LARGE` super operators
Basic COLA comes first, and the better of the two answers counts.

Preserves:
    Validity persists under splitting: both halves can stay on their PE's host.

Reference:
    Khandekar et al., Middleware 2009, section 3 and figure 4. The post-processor of the paper may undo what phase 4
    gains; ours keeps f(U, C). Cores within hosts, quick infeasibility, fewer hosts (`fewer_hosts`) and learned weights
    (`balance_weight`) are the paper's future work.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.place_pes import NoHosts, place_pes
from penstock.fusion.cola.basic_cola import fuse_by_cola
from penstock.fusion.cola.lemma import fuse_by_lemma
from penstock.fusion.cola.make_fit import is_hopeless, make_fit, merge_to_fit
from penstock.fusion.cola.pe_scheduler import Schedule, quick, schedule, utilization
from penstock.fusion.cola.postprocess import merge_where_it_fits
from penstock.fusion.cuts.cut_starts import cut_starts
from penstock.fusion.graph.coarsest import coarsest_groups
from penstock.fusion.graph.splitting import Splitter
from penstock.fusion.graph.super_graph import Group, Pe, SuperGraph
from penstock.fusion.problem.costs import TOLERANCE
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.objective import Goal
from penstock.fusion.problem.settings import Settings

_SHARE_FOR_SPLITTING = 0.7
_LARGE, _SHARE_FOR_BASIC = 1500, 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A partition with its schedule.

    Attributes:
        groups: The PEs.
        plan: Where they run.
        value: f(U, C).
        overload: The largest utilization of a host; infinite if there is no valid schedule.
    """

    groups: list[Group]
    plan: Schedule
    value: float
    overload: float

    @property
    def fits(self) -> bool:
        """Whether it is feasible."""
        return self.overload <= 1.0 + TOLERANCE


def fuse_by_advanced_cola(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Split PEs in four phases.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> from penstock.ir.constraints import Constraint, ConstraintKind
        >>> apart = Constraint(kind=ConstraintKind.PE_EXLOCATION, operators=("o1", "o2"))
        >>> problem = fusion_problem([4, 4, 4], [(0, 1, 9), (1, 2, 1)], [50], constraints=[apart])
        >>> fuse_by_advanced_cola(super_graph(problem), Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 0, 1]
    """
    if graph.vertices <= _LARGE:
        return _run_phases(graph, settings, deadline)
    basic = fuse_by_cola(graph, settings, deadline.share(_SHARE_FOR_BASIC))
    if deadline.has_passed():
        return basic
    own = _run_phases(graph, settings, deadline)
    goal = Goal(objective="balance", balance_weight=settings.balance_weight)
    return min((own, basic), key=lambda found: goal.rank(graph.problem, found))


def _run_phases(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    run = _Run(fuse_by_lemma(graph), settings, deadline)
    run.separate_exlocated()
    run.make_valid()
    if not run.make_feasible():
        return run.make_fit()
    return run.finish(run.best_within_threshold())


class _Run:
    """The four phases on one problem."""

    def __init__(self, graph: SuperGraph, settings: Settings, deadline: Deadline) -> None:
        self.graph = graph
        self.settings = settings
        self.deadline = deadline
        self.in_time = deadline.sooner(_SHARE_FOR_SPLITTING * deadline.left())
        self.splitter = Splitter(graph, coarsest_groups(graph), seed=settings.seed)
        self.by_core = bool((graph.problem.hosts.cores > 1).any())
        self.streams = float(graph.problem.stream_costs.sum())
        self.state: _State

    def separate_exlocated(self) -> None:
        """Phase 1."""
        while broken := self.splitter.broken():
            self.splitter.separate(broken[0], self.in_time)

    def make_valid(self) -> None:
        """Phase 2: single operators are always valid, because the problem has a valid solution."""
        self.state = self._schedule()
        while not self.state.plan.is_valid:
            if not self._split_largest():
                raise NoHosts
            self.state = self._schedule()

    def make_feasible(self) -> bool:
        """Phase 3; whether it succeeded. The state with the least overload is kept, and splitting in vain ends."""
        best = self.state
        while not self.state.fits:
            if self.in_time.has_passed() or is_hopeless(self.splitter) or not self._split_largest():
                self.state = best
                return self._merge_again()
            self.state = self._schedule()
            best = min((best, self.state), key=lambda state: state.overload)
        return True

    def _merge_again(self) -> bool:
        """Merge small PEs until they fit, and go on from there; whether they do."""
        groups = merge_to_fit(self.graph, self.state.groups, self.deadline.share(0.5))
        if groups is None:
            return False
        self.splitter = Splitter(self.graph, groups, seed=self.settings.seed)
        self.state = self._schedule()
        return self.state.fits

    def best_within_threshold(self) -> _State:
        """Phase 4."""
        best = self.state
        most = (1 + self.settings.threshold) * self.splitter.communication()
        while not self.in_time.has_passed() and self._split_largest():
            if self.splitter.communication() > most * (1 + TOLERANCE):
                break
            after = self._schedule()
            if after.fits and after.value < best.value:
                best = after
        return best

    def finish(self, state: _State) -> Assignment:
        """The post-processor, and a last schedule."""
        limit = state.value * (1 + TOLERANCE)

        def is_fine(pes: list[Pe]) -> bool:
            plan = quick(self.graph, pes, by_core=self.by_core)
            return self._fits(plan, pes) and self._value(plan, pes) <= limit

        groups = merge_where_it_fits(self.graph, state.groups, is_fine, self.deadline)
        pes = [pe for group in groups for pe in self.graph.real(group)]
        measured = [self.graph.pe(pe) for pe in pes]
        plan = schedule(self.graph, measured, by_core=self.by_core, deadline=self.deadline)
        if plan.host_of is None or not self._fits(plan, measured):
            pes, plan = [pe for group in state.groups for pe in self.graph.real(group)], state.plan
        assert plan.host_of is not None
        return self.graph.assignment(pes, plan.host_of)

    def make_fit(self) -> Assignment:
        """No state was feasible: the least overloaded one, or what other methods find, relieved."""
        starts = list(cut_starts(self.graph, self.settings, self.deadline.share(0.5)))
        with suppress(NoHosts):
            pes = [pe for group in self.state.groups for pe in self.graph.real(group)]
            starts.append(place_pes(self.graph, pes, self.deadline.share(0.5)))
        return make_fit(self.graph, self.graph, starts, self.deadline)

    def _split_largest(self) -> bool:
        number = self.splitter.largest()
        if number is not None:
            self.splitter.split(number, deadline=self.in_time)
        return number is not None

    def _schedule(self) -> _State:
        pes = self.splitter.pes()
        plan = schedule(self.graph, pes, by_core=self.by_core, deadline=self.deadline)
        return _State(
            groups=list(self.splitter.groups),
            plan=plan,
            value=self._value(plan, pes),
            overload=utilization(self.graph, pes, plan.host_of),
        )

    def _value(self, plan: Schedule, pes: list[Pe]) -> float:
        """F(U, C): a weighted average; C as a part of the cost of all streams, so that both are without unit."""
        cut = (sum(pe.size for pe in pes) - sum(self.graph.costs)) / 2
        goal = Goal(objective="balance", balance_weight=self.settings.balance_weight)
        return goal.weigh(plan.utilization, cut, self.streams)

    def _fits(self, plan: Schedule, pes: list[Pe]) -> bool:
        return utilization(self.graph, pes, plan.host_of) <= 1.0 + TOLERANCE
