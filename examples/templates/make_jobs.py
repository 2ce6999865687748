"""Writes the admission problem of the three templates for a cluster of a given size.

    python examples/templates/make_jobs.py MIPS > jobs.json

The better a template, the more its alarms are worth and the more it costs to make them, so each is the best choice in
some range of capacities.
"""

from __future__ import annotations

import json
import sys

OFFERED_TPS = 1000.0
BASIC = {"parse": 1.0, "score": 2.0, "strange": 3.0, "alarms": 0.5}
TEMPLATES = {
    "basic": (BASIC, 1.0),
    "cleaned": ({"clean": 4.0, **BASIC}, 1.5),
    "settled": ({"clean": 4.0, **BASIC, "settle": 5.0}, 2.1),
}


def problem(mips: float) -> dict[str, object]:
    """One job with three templates; each PE takes so many mips for a tuple a second."""
    templates = [{"id": name, "pes": pes(costs, worth)} for name, (costs, worth) in TEMPLATES.items()]
    return {"mips": mips, "jobs": [{"id": "alarms", "rank": 1, "templates": templates}]}


def pes(costs: dict[str, float], worth: float) -> list[dict[str, object]]:
    """A chain of PEs; only what leaves the last one is worth something."""
    names = list(costs)
    chain = []
    for name, before in zip(names, [None, *names], strict=False):
        flow = {"flow": {"mips_per_tps": costs[name], "selectivity": 1.0}}
        output: dict[str, object] = {"stream": "out" if name == names[-1] else f"{name}.out", "rate": flow}
        if name == names[-1]:
            output["value"] = {"linear": worth}
        arriving = {"offered_tps": OFFERED_TPS} if before is None else {"inputs": [f"{before}.out"]}
        chain.append({"id": name, "max_mips": costs[name] * OFFERED_TPS, **arriving, "outputs": [output]})
    return chain


if __name__ == "__main__":
    print(json.dumps(problem(float(sys.argv[1])), indent=2))
