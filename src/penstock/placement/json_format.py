"""Placement problems as JSON in, answers as JSON out. `docs/formats/placement.md` describes the format.

Example:
    >>> problem = parse_problem('{"tasks": [{"id": "a"}, {"id": "b", "weight": 3}], "edges": []}', "p.json", machines=2)
    >>> problem.graph.weights.ravel().tolist()
    [1.0, 3.0]
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penstock.base.diagnostics import UserError
from penstock.base.json_reader import JsonReader, expect_object, shown
from penstock.base.json_source import parse_json, read_json
from penstock.placement.measure import cut, loads, volume
from penstock.placement.problem import (
    DEFAULT_IMBALANCE,
    DEFAULT_RACK_FACTOR,
    CommunicationGraph,
    Floats,
    Ints,
    Machines,
    Placement,
    PlacementProblem,
    communication_graph,
    equal_machines,
    sized_machines,
)
from penstock.placement.stay import NOWHERE, Present

FEWER_MACHINES = "a machine without a task is of no use; give fewer machines"

_LARGEST = 1e100
"""Beyond this, sums and products would overflow."""

_SHORT_NUMBER = re.compile("[0-9]{1,18}")

_PROBLEM_KEYS = ("tasks", "edges", "machines", "capacities", "rack_factor")
_TASK_KEYS = ("id", "weight", "weights", "volume", "move")
_EDGE_KEYS = ("from", "to", "weight")
_MACHINE_KEYS = ("id", "capacity", "capacities", "rack")


def read_problem(path: Path, *, machines: int | None = None, imbalance: float = DEFAULT_IMBALANCE) -> PlacementProblem:
    """Read a problem file.

    Args:
        path: The file.
        machines: How many equal machines there are, for a problem that lists none.
        imbalance: The limit on imbalance.

    Raises:
        UserError: The file cannot be read or is not a problem; every mistake is named.
    """
    return _problem(read_json(path), str(path), machines, imbalance)


def parse_problem(
    text: str, path: str, *, machines: int | None = None, imbalance: float = DEFAULT_IMBALANCE
) -> PlacementProblem:
    """Parse a problem; `path` is for messages."""
    return _problem(parse_json(text, path), path, machines, imbalance)


def _problem(value: object, path: str, machines: int | None, imbalance: float) -> PlacementProblem:
    reader = JsonReader(path, largest=_LARGEST)
    value = expect_object(value, path, '{"tasks": [...], "edges": [...]}')
    reader.check_keys(value, _PROBLEM_KEYS, "the problem")
    graph = _graph(value, reader)
    place = _machines(value, machines, graph, reader)
    reader.raise_if_any()
    assert graph is not None
    assert place is not None
    return PlacementProblem(graph=graph, machines=place, imbalance=imbalance)


def read_present(path: Path, problem: PlacementProblem) -> Ints:
    """Where tasks are now: the answer of an earlier `place --json`, or a METIS partition file.

    Raises:
        UserError: The file cannot be read, or names tasks or machines that do not exist.
    """
    reader = JsonReader(str(path))
    if path.suffix == ".json":
        machine_of = _present_from_json(read_json(path), problem, reader)
    else:
        machine_of = _present_from_parts(path, problem, reader)
    reader.raise_if_any()
    return machine_of


def _present_from_json(value: object, problem: PlacementProblem, reader: JsonReader) -> Ints:
    placed = expect_object(value, reader.path, '{"assignment": {"t1": 0}}')
    assignment = reader.mapping(placed, "assignment", "the placement")
    position = {name: task for task, name in enumerate(_names(problem))}
    number_of = _machine_numbers(problem)
    machine_of = np.full(problem.graph.tasks, NOWHERE, np.int64)
    for name, machine in assignment.items():
        known = reader.check_name(name, position, "the assignment", "task")
        number = _machine_number(machine, number_of, f"the machine of task `{name}`", reader)
        if known and number is not None:
            machine_of[position[name]] = number
    return machine_of


def _present_from_parts(path: Path, problem: PlacementProblem, reader: JsonReader) -> Ints:
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read `{path}`: {error}") from error
    if len(words) != problem.graph.tasks:
        reader.complain(
            f"it has {len(words)} lines and the problem {problem.graph.tasks} tasks", "one line for each task"
        )
        return np.zeros(problem.graph.tasks, np.int64)
    number_of = _machine_numbers(problem)
    values = [int(word) if _SHORT_NUMBER.fullmatch(word) else word for word in words]
    found = (_machine_number(value, number_of, f"line {i + 1}", reader) for i, value in enumerate(values))
    return np.array([NOWHERE if number is None else number for number in found], np.int64)


def _machine_numbers(problem: PlacementProblem) -> dict[str, int]:
    return {name: number for number, name in enumerate(problem.machines.ids)}


def _machine_number(value: object, number_of: Mapping[str, int], what: str, reader: JsonReader) -> int | None:
    """A machine by its number, or by its name."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(number_of):
        return value
    if isinstance(value, str) and value in number_of:
        return number_of[value]
    last = len(number_of) - 1
    reader.complain(f"{what} is {shown(value)}", f"write a number from 0 to {last}, or the id of a machine")
    return None


def read_move_weights(path: Path) -> Floats | None:
    """The relative cost of moving each task: `move` of the tasks of a problem in JSON; None if no task has it."""
    tasks = expect_object(read_json(path), str(path), "{}").get("tasks", []) if path.suffix == ".json" else []
    if not any("move" in task for task in tasks):
        return None
    reader = JsonReader(str(path), largest=_LARGEST)
    weights = [reader.number(task, "move", f"task `{task.get('id')}`", 1.0) for task in tasks]
    reader.raise_if_any()
    return np.array(weights)


def _names(problem: PlacementProblem) -> list[str]:
    graph = problem.graph
    return list(graph.ids) if graph.ids is not None else [str(task) for task in range(1, graph.tasks + 1)]


def placement_to_json(
    problem: PlacementProblem, placement: Placement, present: Present | None = None
) -> dict[str, object]:
    """An answer as `penstock place --json` prints it.

    Example:
        >>> from penstock.placement import place
        >>> problem = parse_problem('{"tasks": [{"id": "a"}, {"id": "b"}]}', "p.json", machines=2)
        >>> placement_to_json(problem, place(problem, "even"))["assignment"]
        {'a': 0, 'b': 1}
    """
    graph, machines, machine_of = problem.graph, problem.machines, placement.machine_of
    names = _names(problem)
    answer: dict[str, object] = {
        "algorithm": placement.algorithm,
        "assignment": dict(zip(names, machine_of.tolist(), strict=True)),
        "cost": _number(placement.cost),
        "imbalance": round(placement.imbalance, 9) if math.isfinite(placement.imbalance) else None,
        "within_limit": placement.within_limit,
        "seconds": round(placement.seconds, 6),
        "cut": _number(cut(graph, machine_of)),
        "volume": _number(volume(problem, machine_of)),
        "machines": _machine_rows(problem, placement),
    }
    if len(machines.rack_ids) > 1:
        answer["cut_between_racks"] = _number(cut(graph, machines.racks[machine_of]))
    if present is not None:
        moved = present.moved(machine_of)
        answer["moves"] = len(moved)
        answer["moved"] = [names[task] for task in moved.tolist()]
        answer["move_cost"] = _number(float(present.prices[moved].sum()))
    return answer


def _machine_rows(problem: PlacementProblem, placement: Placement) -> list[dict[str, object]]:
    tasks = np.bincount(placement.machine_of, minlength=problem.machines.count)
    rows = zip(problem.machines.ids, tasks.tolist(), loads(problem, placement.machine_of).tolist(), strict=True)
    return [{"id": name, "tasks": count, "loads": [_number(x) for x in load]} for name, count, load in rows]


def _number(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def _graph(value: dict[str, Any], reader: JsonReader) -> CommunicationGraph | None:
    tasks = reader.objects(value, "tasks", _TASK_KEYS)
    if not tasks:
        reader.complain("the problem has no tasks", 'write "tasks": [{"id": "t1", "weight": 3}]')
        return None
    index_of = _positions(reader.ids(tasks, "tasks"))
    owners = [f"task `{task.get('id', index)}`" for index, task in enumerate(tasks)]
    weights = [reader.numbers(t, "weight", "weights", o, [1.0]) for t, o in zip(tasks, owners, strict=True)]
    volumes = [reader.number(t, "volume", o, 1.0) for t, o in zip(tasks, owners, strict=True)]
    sources, targets, traffic = _edges(value, index_of, reader)
    if not reader.check_lengths(weights, owners, "weights", len(weights[0])) or reader.found:
        return None
    return communication_graph(weights, sources, targets, traffic, volumes=volumes, ids=tuple(index_of))


def _positions(ids: list[str]) -> dict[str, int]:
    return {name: index for index, name in enumerate(ids)}


def _edges(
    value: dict[str, Any], index_of: dict[str, int], reader: JsonReader
) -> tuple[list[int], list[int], list[float]]:
    ends: dict[tuple[int, int], int] = {}
    traffic: list[float] = []
    for index, edge in enumerate(reader.objects(value, "edges", _EDGE_KEYS)):
        one, other = (_end(edge, key, index, index_of, reader) for key in ("from", "to"))
        weight = reader.number(edge, "weight", f"edges[{index}]", 1.0)
        if one is None or other is None:
            continue
        if (one, other) in ends:
            pair = f"`{edge['from']}` to `{edge['to']}`"
            reader.complain(
                f"the edge from {pair} is given by edges[{ends[one, other]}] and edges[{index}]", "add them up"
            )
            continue
        ends[one, other] = index
        traffic.append(weight)
    return [one for one, _ in ends], [other for _, other in ends], traffic


def _end(edge: dict[str, Any], key: str, index: int, index_of: dict[str, int], reader: JsonReader) -> int | None:
    if key not in edge:
        reader.complain(f"edges[{index}] has no `{key}`")
        return None
    name = str(edge[key])
    if name not in index_of:
        hint = reader.suggest(name, index_of)
        reader.complain(f"edges[{index}] goes `{key}` task `{name}`, which does not exist", hint)
    return index_of.get(name)


def too_many_machines(machines: int, tasks: int) -> str:
    """The message for a problem in which some machines would stay empty."""
    return f"there are {machines} machines and only {tasks} tasks"


def _machines(
    value: dict[str, Any], count: int | None, graph: CommunicationGraph | None, reader: JsonReader
) -> Machines | None:
    listed = _machine_list(value, count, reader)
    number = count or 0 if listed is None else len(listed)
    if graph is not None and number > graph.tasks:
        reader.complain(too_many_machines(number, graph.tasks), FEWER_MACHINES)
    if listed:
        return _listed_machines(value, listed, graph.resources if graph is not None else None, reader)
    if graph is None or reader.found:
        return None
    return equal_machines(number, resources=graph.resources)


def _machine_list(value: dict[str, Any], count: int | None, reader: JsonReader) -> list[dict[str, Any]] | None:
    """The machines in the problem; None where it leaves them to `--machines`."""
    if "machines" not in value:
        if count is None:
            reader.complain("the problem lists no machines", "list them, or say how many: --machines K")
        return None
    listed = reader.objects(value, "machines", _MACHINE_KEYS)
    if not listed:
        reader.complain(
            "the problem has an empty list of machines", "list them, or leave `machines` out and say --machines K"
        )
    elif count is not None and count != len(listed):
        reader.complain(f"the problem lists {len(listed)} machines and --machines says {count}", "leave --machines out")
    return listed


def _listed_machines(
    value: dict[str, Any], listed: list[dict[str, Any]], resources: int | None, reader: JsonReader
) -> Machines | None:
    ids = reader.ids(listed, "machines")
    owners = [f"machine `{machine.get('id', index)}`" for index, machine in enumerate(listed)]
    sized = [{"capacity", "capacities"} & machine.keys() for machine in listed]
    if any(sized) and not all(sized):
        reader.complain(
            f"{owners[sized.index(set())]} has no capacity and others have", "give every machine one, or none"
        )
    equal = [1.0] * (resources or 1)
    rows = [reader.numbers(m, "capacity", "capacities", o, equal) for m, o in zip(listed, owners, strict=True)]
    hard = reader.word(value, "capacities", ("hard", "relative")) == "hard"
    racks = [reader.name(machine, "rack", owner) or "" for machine, owner in zip(listed, owners, strict=True)]
    factor = reader.number(value, "rack_factor", "the problem", DEFAULT_RACK_FACTOR, above_zero=True)
    if not reader.check_lengths(rows, owners, "capacities", resources or len(rows[0])) or reader.found:
        return None
    for resource in np.flatnonzero(np.sum(rows, axis=0) == 0):
        reader.complain(f"no machine has any capacity of resource {resource}")
        return None
    return sized_machines(rows, hard=hard and any(sized), racks=racks, rack_factor=factor, ids=tuple(ids))
