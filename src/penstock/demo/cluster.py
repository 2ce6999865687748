"""A small cluster for the demo: three machines, and four jobs that want more than they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.ir.graph import Application
from penstock.model.profile import Profile
from penstock.placement import ALGORITHMS, communication_graph, equal_machines, place
from penstock.placement.problem import PlacementProblem
from penstock.scheduler.io.admission_format import problem_from_json
from penstock.scheduler.io.nodes_reader import cluster_from_json
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.pipeline import Placement
from penstock.scheduler.pipeline import place as place_on_nodes
from penstock.scheduler.problem.answer import Answer

MACHINES = 3
_CORES = 2
_OFFERED_TPS = 250_000.0
_IMBALANCE = 1.3

Counts = Mapping[str, Sequence[int]]


def traffic(application: Application, submitted: Counts) -> dict[str, float]:
    """The tuples that would cross between three machines, by each way to place the operators."""
    ids = [o.id for o in application.operators]
    place_of = {id_: i for i, id_ in enumerate(ids)}
    sent = {
        port.stream: tuples
        for o in application.operators
        for port, tuples in zip(o.outputs, submitted.get(o.id, ()), strict=False)
    }
    edges = [(place_of[a], place_of[b], float(sent.get(stream, 0))) for a, b, stream, _ in application.edges()]
    weights = [1.0] * len(ids)
    graph = communication_graph(weights, [a for a, _, _ in edges], [b for _, b, _ in edges], [w for *_, w in edges])
    problem = PlacementProblem(graph=graph, machines=equal_machines(MACHINES), imbalance=_IMBALANCE)
    return {algorithm: place(problem, algorithm).cost for algorithm in ALGORITHMS}


def admission(profile: Profile) -> dict[str, object]:
    """A job mix in which bargain detection, at its measured cost, competes with three other jobs."""
    source_tps = max((o.rate_tps for o in profile.operators), default=1.0)
    needed = sum(o.cpu_fraction for o in profile.operators) * profile.mips
    core = profile.mips
    bargains = _job("bargains", 1, needed / source_tps, _OFFERED_TPS, 0.02)
    others = [
        _job("fraud", 1, core / 200_000, 500_000.0, 0.01, required=True),
        _job("archive", 2, core / 400_000, 600_000.0, 0.001),
        _job("training", 3, core / 20_000, 80_000.0, 0.004),
    ]
    nodes = [{"id": f"node{i + 1}", "mips": _CORES * core} for i in range(MACHINES)]
    return {"mips": MACHINES * _CORES * core, "jobs": [bargains, *others], "nodes": nodes}


def _job(
    name: str, rank: int, mips_per_tps: float, offered_tps: float, value: float, *, required: bool = False
) -> dict[str, object]:
    flow = {"flow": {"mips_per_tps": mips_per_tps, "selectivity": 1.0}}
    output = {"stream": f"{name}.out", "rate": flow, "value": {"linear": value}}
    most = mips_per_tps * offered_tps
    pe = {"id": f"{name}.pe", "max_mips": most, "max_nodes": MACHINES, "offered_tps": offered_tps, "outputs": [output]}
    return {"id": name, "rank": rank, "required": required, "templates": [{"id": "only", "pes": [pe]}]}


def admit(document: dict[str, object]) -> tuple[Answer, Placement]:
    """SODA's decision: which jobs run, what each gets, and on which machines."""
    problem = problem_from_json(document)
    answer = solve(problem)
    return answer, place_on_nodes(problem, answer, cluster_from_json(document), deadline_seconds=5.0)
