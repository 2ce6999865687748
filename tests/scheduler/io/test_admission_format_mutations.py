"""Admission problems that were spoilt at random: an answer, or a message that names what is wrong."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible, UserError
from penstock.base.json_source import parse_json
from penstock.scheduler.io.admission_format import problem_from_json
from penstock.scheduler.io.nodes_reader import cluster_from_json
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.pipeline import admit_and_place

SPOILT = 200
NAMED = re.compile(r"error: jobs\.json: .*(`.+`|\[\d+\]|the problem|the placement).*")
STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.5, 2**70, 10**400, 1e300, 1e15, 1e-300, -0.0, math.nan, math.inf, -math.inf),
    *("", "x", "A", "A.s", "A.in", "n1", "\u0000", [], {}, [[]], [None], [{}], [[0, 1]], [[1, 1], [0, 0]]),
    *(
        {"": None},
        {"flow": None},
        {"table": [[0, None]]},
        {"linear": "x"},
        ["A.s", "A.s"],
        ["B.s"],
        [["A.s", "A.s", 1]],
    ),
)


def good() -> dict[str, Any]:
    """A problem with every kind of function, a cycle between jobs, templates, a cluster and all its rules."""
    flow = {"flow": {"mips_per_tps": 2.0, "selectivity": 0.5}}
    table, value = {"table": [[0, 0], [20, 10]]}, {"table": [[0, 0], [10, 5], [20, 8]]}
    limits = {"limits": {"mips": [[0, 0], [20, 10]], "inputs": {"A.s": 0.5}, "products": [["A.s", "C.s", 0.1]]}}
    surface = {"surface": {"inputs": ["A.s"], "knots": [[0, 10], [0, 20]], "rates": [0, 0, 0, 8]}}

    def pe(name: str, inputs: list[str], rate: object, **more: object) -> dict[str, Any]:
        output = {"stream": f"{name[0]}.s", "rate": rate, "value": deepcopy(value), "weight": 2, "tuple_bytes": 8}
        return {"id": name, "min_mips": 2, "max_mips": 20, "inputs": inputs, "outputs": [output], **more}

    lean = {"id": "lean", "pes": [pe("A.in", [], flow, offered_tps=20, memory_mb=5, tags=["gpu"], licences=["x"])]}
    rich = {"id": "rich", "pes": [pe("A.rich", ["C.s"], deepcopy(flow), offered_tps=20, max_nodes=2)]}
    return {
        "mips": 60,
        "jobs": [
            {"id": "A", "rank": 1, "required": True, "running": "lean", "templates": [lean, rich]},
            {"id": "B", "rank": 2, "templates": [{"id": "t", "pes": [pe("B.pe", ["A.s", "C.s"], limits)]}]},
            {"id": "C", "rank": 2, "templates": [{"id": "t", "pes": [pe("C.pe", ["A.s"], surface)]}]},
            {"id": "D", "rank": 3, "templates": [{"id": "t", "pes": [pe("D.pe", ["B.s"], table)]}]},
        ],
        "nodes": [
            {"id": "n1", "mips": 40, "memory_mb": 64, "tags": ["gpu"], "licences": {"x": 1}, "bandwidth_mbps": 10},
            {"id": "n2", "mips": 40, "max_pes": 3, "up": True},
        ],
        "links": [{"id": "k", "nodes": ["n1"], "capacity_mbps": 10}],
        "constraints": [
            {"kind": "exlocation", "pes": ["B.pe", "C.pe"]},
            {"kind": "fixed", "pes": ["D.pe"], "nodes": ["n2"]},
        ],
        "placement": {"weights": {"average_traffic": 2}, "max_moves": 5, "current": {"A.in": {"n1": 5}}},
    }


def places(value: object) -> Iterator[tuple[Any, Any]]:
    """Every place in a document: what holds it, and its key there."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in steps:
        yield value, key
        yield from places(inner)


def spoil(document: dict[str, Any], dice: random.Random) -> None:
    """Change one place: another value, none at all, a misspelled key, a list around it, or a value from elsewhere."""
    holder, key = dice.choice(list(places(document)))
    match dice.randrange(6):
        case 0 | 1:
            holder[key] = dice.choice(STRANGE)
        case 2:
            del holder[key]
        case 3 if isinstance(holder, dict):
            holder[key[:-1] + dice.choice(("", "_", key[-1:] * 2))] = holder.pop(key)
        case 4:
            holder[key] = [holder[key]]
        case _:
            other, there = dice.choice(list(places(document)))
            holder[key] = json.loads(json.dumps(other[there]))


def outcome(document: dict[str, Any]) -> str:
    """What the two readers and the solvers make of a document, as one word; any exception but ours is a defect."""
    text = json.dumps(document)
    try:
        document = parse_json(text, "jobs.json")  # type: ignore[assignment]
        problem, cluster = problem_from_json(document, "jobs.json"), cluster_from_json(document, "jobs.json")
    except UserError as error:
        vague = [str(mistake) for mistake in error.diagnostics if not NAMED.match(str(mistake))]
        return f"vague: {vague}" if vague else "mistake"
    try:
        answer = solve(problem, deadline=Deadline.after(0.5))
        admit_and_place(problem, cluster, Deadline.after(0.5))
    except Infeasible:
        return "infeasible"
    assert math.isfinite(answer.importance)
    assert answer.mips_used <= problem.mips * (1 + 1e-9)
    return "answer"


def test_the_problem_that_is_spoilt_is_a_good_one() -> None:
    assert outcome(good()) == "answer"


@pytest.mark.parametrize("seed", range(4))
def test_a_spoilt_problem_has_an_answer_or_a_message_that_names_the_file(seed: int) -> None:
    dice = random.Random(seed)
    seen = set()
    for _ in range(SPOILT // 4):
        document = good()
        for _ in range(dice.choice((1, 1, 1, 2, 5))):
            spoil(document, dice)
        seen.add(outcome(document))
    assert {"mistake", "answer"} <= seen <= {"mistake", "answer", "infeasible"}
