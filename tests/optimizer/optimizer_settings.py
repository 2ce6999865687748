"""Applications with made-up costs, and a measure that plays plans in the simulator: what a run would show, no Spark."""

from __future__ import annotations

from dataclasses import replace

from penstock.ir.graph import Application
from penstock.lang import compile_text
from penstock.model import (
    Cost,
    OperatorProfile,
    Profile,
    StreamProfile,
    Transfer,
    equal_hosts,
    simulate,
    steady,
)
from penstock.optimizer import Candidate, Setting, model_plan, throughput_model

MIPS = 1000.0
CROSSING = Cost(seconds_per_tuple=4e-7, seconds_per_byte=1e-9)
TRANSFER = Transfer(
    mips=MIPS,
    jvm_feed=CROSSING,
    python_receive=CROSSING,
    python_send=CROSSING,
    jvm_drain=CROSSING,
    exchange_write=CROSSING,
    exchange_read=CROSSING,
    batch_seconds=0.1,
    stage_seconds=0.02,
)

BRANCHES = """
composite Main {
  graph
    stream<int32 a, float64 b> In = Beacon() { param iterations: 10; }
    stream<In> Light = Functor(In) { output Light: b = b + 1.0; }
    stream<In> Left = Filter(Light) { param filter: a > 0; }
    stream<In> Right = Filter(Light) { param filter: a <= 0; }
    stream<In> LeftMore = Functor(Left) { output LeftMore: b = b * 2.0; }
    stream<In> RightMore = Functor(Right) { output RightMore: b = b * 3.0; }
    stream<In> Both = Union(LeftMore; RightMore) {}
    () as Out = FileSink(Both) { param file: "out"; }
}
"""


def branches() -> Application:
    return compile_text(BRANCHES).application


def setting(application: Application, costs: dict[str, float] | None = None, **more: object) -> Setting:
    """Costs are microseconds for a tuple; 1 where none is given. Every stream has 1,000 tuples a second."""
    operators = tuple(
        OperatorProfile(
            id=o.id,
            kind=o.kind,
            rate_tps=1000.0 * max(1, sum(len(port.streams) for port in o.inputs)),
            cpu_seconds=(costs or {}).get(o.id, 1.0) * 1e-6,
            selectivity=tuple(1.0 for _ in o.outputs),
        )
        for o in application.operators
    )
    streams = tuple(
        StreamProfile(
            id=s.id,
            producer=s.operator,
            port=s.port,
            consumers=tuple(taker for taker, _ in application.subscribers[s.id]),
            rate_tps=1000.0,
            tuple_bytes=24.0,
        )
        for s in application.streams.values()
    )
    profile = Profile(application=application.name, mips=MIPS, operators=operators, streams=streams)
    given = {"hosts": equal_hosts(1, cores=2, core_mips=MIPS), "batch_tuples": 20_000.0, **more}
    return Setting(application=application, profile=profile, transfer=TRANSFER, **given)  # type: ignore[arg-type]


def simulated(real: Setting, runs: list[Candidate], *, error: float = 1.0):
    """A measure: how many tuples the sources give while the simulator plays a plan under more input than it takes.

    Args:
        real: What the application truly costs.
        runs: Collects what was measured.
        error: The factor by which profiles are wrong about every operator.
    """

    def measure(candidate: Candidate) -> tuple[Profile, float]:
        runs.append(candidate)
        there = replace(real, channels=candidate.channels)
        model, plan = throughput_model(there), model_plan(there, candidate.groups)
        seen = simulate(model, plan, steady(10 * model.evaluate(plan).scale), seconds=60.0, seed=1)
        operators = tuple(replace(o, cpu_seconds=error * o.cpu_seconds) for o in real.profile.operators)
        return replace(real.profile, operators=operators), seen.throughput_tps(after=5.0)

    return measure
