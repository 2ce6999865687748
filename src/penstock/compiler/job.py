"""A compiled job, and the draft that the stages of the pipeline turn into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.codegen.build import Build
    from penstock.codegen.plan.channels import Channels
    from penstock.codegen.plan.physical import PhysicalPlan
    from penstock.compiler.options import Options
    from penstock.ir.graph import Application
    from penstock.optimizer import Groups
    from penstock.parallel.region_plan import ParallelRegions
    from penstock.placement.pes import Placed
    from penstock.profiler.sampling import Sampling
    from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which operators share a PE, on how many channels, and what decided it.

    Attributes:
        fusion: The operators of each PE.
        channels: How many channels parallel regions get; None leaves it to `@parallel` annotations.
        sampling: How much to look at while it runs, for the profile of the next run; None for nothing.
        reason: In words, for people.
        decided_by: What decided, where it was `auto`: `checkpoint`, `profile` or `default`; otherwise `user`.
        predicted_gain: How many times as fast as the default it is predicted to be, where a profile decided.
    """

    fusion: Groups
    channels: int | None
    sampling: Sampling | None = None
    reason: str = ""
    decided_by: str = "user"
    predicted_gain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledJob:
    """A program with all that was decided about it, and its code.

    Attributes:
        program: What runs: with its loop opened, where it leads through batches.
        options: What it was compiled with.
        loop_is_open: Whether its loop leads through batches.
        parallel: The parallel regions of the program as it was written, and why all else is sequential.
        regions: Those that run on several channels.
        choice: Which operators share a PE, and what decided it.
        plan: The PEs and the edges between them.
        placed: Their hosts, if hosts are given.
        build: The generated modules.
    """

    program: Program
    options: Options
    loop_is_open: bool
    parallel: ParallelRegions
    regions: Channels
    choice: Choice
    plan: PhysicalPlan
    placed: Placed | None
    build: Build

    def facts(self) -> Mapping[str, object]:
        """The decisions on fusion and channels, and the reasons for them, for a machine to read."""
        return {
            "option": "plan" if self.options.plan is not None else self.options.fusion,
            "channels": self.choice.channels,
            "decided_by": self.choice.decided_by,
            "reason": self.choice.reason,
            "predicted_gain": self.choice.predicted_gain,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job on its way through the stages; what a stage has not made yet is None.

    Attributes:
        program: As it was written.
        options: What it is compiled with.
        opened: The program as it runs: with its loop opened, where it leads through batches.
        parallel: The parallel regions.
        channels: How many channels they get; None leaves it to `@parallel` annotations.
        regions: Those that run on several channels.
        choice: Which operators share a PE.
        plan: The PEs.
        placed: Their hosts.
        build: Their code.
    """

    program: Program
    options: Options
    opened: Program | None = None
    parallel: ParallelRegions | None = None
    channels: int | None = None
    regions: Channels | None = None
    choice: Choice | None = None
    plan: PhysicalPlan | None = None
    placed: Placed | None = None
    build: Build | None = None

    @property
    def application(self) -> Application:
        """The graph, as it was written."""
        return self.program.application

    @property
    def loop_is_open(self) -> bool:
        """Whether the loop leads through batches."""
        return self.opened is not None and self.opened is not self.program

    def finished(self) -> CompiledJob:
        """The job, when all stages have run."""
        assert self.opened is not None
        assert self.parallel is not None
        assert self.regions is not None
        assert self.choice is not None
        assert self.plan is not None
        assert self.build is not None
        return CompiledJob(
            program=self.opened,
            options=self.options,
            loop_is_open=self.loop_is_open,
            parallel=self.parallel,
            regions=self.regions,
            choice=self.choice,
            plan=self.plan,
            placed=self.placed,
            build=self.build,
        )
