"""Fusion problems as JSON in, answers as JSON out. `docs/formats/fusion.md` describes the format.

Example:
    >>> problem = problem_from_json({"operators": [{"id": "a", "cost": 2}], "hosts": [{"id": "h", "capacity": 9}]})
    >>> problem.costs.tolist(), problem.hosts.ids
    ([2.0], ('h',))
"""

from __future__ import annotations

import math
from pathlib import Path

from penstock.base.json_reader import JsonReader, Object, load_object
from penstock.fusion.problem.constraint_format import CONSTRAINT_KEYS, read_constraint, refuse_overlaps
from penstock.fusion.problem.fusion_problem import Fusion, FusionProblem, fusion_problem

_PROBLEM_KEYS = ("operators", "streams", "hosts", "constraints")
_OPERATOR_KEYS = ("id", "cost", "region", "channels", "pe")
_STREAM_KEYS = ("from", "to", "cost", "rate_tps", "tuple_bytes", "feedback")
_HOST_KEYS = ("id", "capacity", "cores", "tags", "link_mbps")
_EXAMPLE = '{"operators": [...], "hosts": [...]}'
_BYTES_IN_A_MEGABIT = 125_000.0
_LARGEST = 1e100
"""Sums and products of two such numbers are still numbers."""


def read_problem(path: Path) -> FusionProblem:
    """Read a problem file.

    Raises:
        UserError: The file cannot be read or is not a problem; every mistake is named.
    """
    return problem_from_json(load_object(path, _EXAMPLE), str(path))


def problem_from_json(value: Object, path: str = "problem") -> FusionProblem:
    """A problem from its JSON value; `path` is for messages.

    Raises:
        UserError: It is not a problem; every mistake is named.
    """
    reader = JsonReader(path, largest=_LARGEST)
    reader.check_keys(value, _PROBLEM_KEYS, "the problem")
    operators = reader.objects(value, "operators", _OPERATOR_KEYS)
    hosts = reader.objects(value, "hosts", _HOST_KEYS)
    for items, key, example in ((operators, "operators", '"cost": 120'), (hosts, "hosts", '"capacity": 11000')):
        if not items:
            reader.complain(f"the problem has no {key}", f'write "{key}": [{{"id": "a", {example}}}]')
    problem = _problem(value, operators, hosts, reader)
    reader.raise_if_any()
    return problem


def fusion_to_json(problem: FusionProblem, fusion: Fusion) -> Object:
    """An answer as `penstock fuse --json` prints it.

    Example:
        >>> from penstock.fusion import fuse
        >>> problem = fusion_problem([4, 2], [(0, 1, 3)], [10, 10])
        >>> answer = fusion_to_json(problem, fuse(problem, "none"))
        >>> answer["pes"], answer["hosts"], answer["cut"], answer["feasible"]
        ([['o0'], ['o1']], ['h0', 'h1'], 3.0, True)
    """
    assignment, scale = fusion.assignment, fusion.throughput_scale
    return {
        "algorithm": fusion.algorithm,
        "feasible": fusion.feasible,
        "pes": [[problem.ids[operator] for operator in pe] for pe in assignment.members()],
        "hosts": [problem.hosts.ids[host] for host in assignment.host_of.tolist()],
        "cut": fusion.cut,
        "max_pe_size": fusion.max_pe_size,
        "max_utilization": fusion.max_utilization,
        "throughput_scale": _finite(scale),
        "objective": fusion.objective,
        "objective_value": _finite(fusion.objective_value),
        "optimal": fusion.optimal,
        "seconds": round(fusion.seconds, 6),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _problem(value: Object, operators: list[Object], hosts: list[Object], reader: JsonReader) -> FusionProblem:
    ids, host_ids = reader.ids(operators, "operators"), reader.ids(hosts, "hosts")
    index_of = {name: index for index, name in enumerate(ids)}
    owners = [(item, f"operator `{name}`") for item, name in zip(operators, ids, strict=True)]
    streams = _streams(value, index_of, reader)
    tags = [_tags(item, f"host `{name}`", reader) for item, name in zip(hosts, host_ids, strict=True)]
    constraints = [
        read_constraint(item, number, index_of, {*host_ids, *(tag for some in tags for tag in some)}, reader)
        for number, item in enumerate(reader.objects(value, "constraints", CONSTRAINT_KEYS))
    ]
    kept = [constraint for constraint in constraints if constraint is not None]
    refuse_overlaps(kept, reader)
    machines = [(item, f"host `{name}`") for item, name in zip(hosts, host_ids, strict=True)]
    return fusion_problem(
        [reader.number(item, "cost", owner) for item, owner in owners],
        [stream[:3] for stream in streams],
        [reader.number(item, "capacity", owner, above_zero=True) for item, owner in machines],
        ids=ids,
        regions=[reader.name(item, "region", owner) for item, owner in owners],
        channels=[reader.count(item, "channels", owner) for item, owner in owners],
        pragmas=[reader.name(item, "pe", owner) for item, owner in owners],
        stream_bytes=[stream[3] for stream in streams],
        feedback=[stream[4] for stream in streams],
        cores=[reader.count(item, "cores", owner) for item, owner in machines],
        link_bytes=[_link_bytes(item, owner, reader) for item, owner in machines],
        tags=tags,
        host_ids=host_ids,
        constraints=kept,
    )


def _streams(value: Object, index_of: dict[str, int], reader: JsonReader) -> list[tuple[int, int, float, float, bool]]:
    found = []
    for number, item in enumerate(reader.objects(value, "streams", _STREAM_KEYS)):
        owner = f"streams[{number}]"
        one, other = (_end(item, key, owner, index_of, reader) for key in ("from", "to"))
        cost = reader.number(item, "cost", owner)
        flow = reader.number(item, "rate_tps", owner, 0.0) * reader.number(item, "tuple_bytes", owner, 0.0)
        back = reader.flag(item, "feedback", owner)
        if one is not None and other is not None:
            found.append((one, other, cost, flow, back))
    return found


def _end(item: Object, key: str, owner: str, index_of: dict[str, int], reader: JsonReader) -> int | None:
    if key not in item:
        reader.complain(f"{owner} has no `{key}`", f'write "{key}": "the id of an operator"')
        return None
    name = str(item[key])
    if name not in index_of:
        reader.complain(f"{owner} goes `{key}` operator `{name}`, which does not exist", reader.suggest(name, index_of))
    return index_of.get(name)


def _tags(item: Object, owner: str, reader: JsonReader) -> list[str]:
    return reader.names(item["tags"], f"the tags of {owner}") if item.get("tags") else []


def _link_bytes(item: Object, owner: str, reader: JsonReader) -> float:
    if "link_mbps" not in item:
        return math.inf
    return _BYTES_IN_A_MEGABIT * reader.number(item, "link_mbps", owner, above_zero=True)
