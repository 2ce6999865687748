"""The results of the demo, for the report and for `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.ir.graph import Application
from penstock.model.profile import Profile
from penstock.parallel.region_plan import ParallelRegions
from penstock.scheduler.pipeline import Placement as NodePlacement
from penstock.scheduler.problem.answer import Answer

Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run on Spark.

    Attributes:
        title: What is particular about it.
        pes: The operators of each PE.
        ticks: How many tuples came from the source.
        seconds: How long it took, the start of the query included.
        batches: In how many micro-batches.
    """

    title: str
    pes: Groups
    ticks: int
    seconds: float
    batches: int

    @property
    def ticks_per_second(self) -> float:
        """Its throughput."""
        return self.ticks / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that the report shows.

    Attributes:
        application: The logical graph.
        regions: Its parallel regions.
        profile: What each operator costs.
        code: The generated module of the largest PE of the optimized plan.
        unfused: The run with a PE for each operator.
        optimized: The run with the fusion that was chosen.
        bargains: The first lines that the sink wrote.
        found: How many it wrote.
        traffic: What would cross between three machines, in tuples, by each placement algorithm.
        answer: Which jobs of the mix are admitted.
        nodes: Where their PEs run.
        seconds: How long all of it took.
    """

    application: Application
    regions: ParallelRegions
    profile: Profile
    code: str
    unfused: Run
    optimized: Run
    bargains: tuple[str, ...]
    found: int
    traffic: Mapping[str, float]
    answer: Answer
    nodes: NodePlacement
    seconds: float

    @property
    def speedup(self) -> float:
        """How many times faster the optimized run was."""
        return self.optimized.ticks_per_second / self.unfused.ticks_per_second

    def to_json(self) -> dict[str, object]:
        """The figures as `penstock demo --json` prints them."""
        return {
            "application": self.application.name,
            "operators": len(self.application.operators),
            "regions": len(self.regions.regions),
            "unfused_tps": self.unfused.ticks_per_second,
            "unfused_pes": len(self.unfused.pes),
            "optimized_tps": self.optimized.ticks_per_second,
            "optimized_pes": [list(pe) for pe in self.optimized.pes],
            "speedup": self.speedup,
            "bargains": self.found,
            "traffic": dict(self.traffic),
            "admission": self.answer.to_json(),
            "seconds": self.seconds,
        }
