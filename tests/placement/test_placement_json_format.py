from __future__ import annotations

import json

import numpy as np
import pytest

from penstock.base.diagnostics import UserError
from penstock.placement import place
from penstock.placement.json_format import parse_problem, placement_to_json, read_problem

TASKS = [{"id": "a", "weight": 3}, {"id": "b", "weight": 5}]
EDGE = {"from": "a", "to": "b", "weight": 10}


def _parse(value, machines=2):
    return parse_problem(json.dumps(value), "p.json", machines=machines)


def test_the_contracts_example_is_read():
    problem = _parse({"tasks": TASKS, "edges": [EDGE]})
    assert problem.graph.ids == ("a", "b")
    assert problem.graph.weights.ravel().tolist() == [3, 5]
    assert problem.graph.traffic.tolist() == [10, 10]
    assert problem.machines.count == 2


def test_several_weights_machines_racks_and_volumes_are_read():
    problem = _parse(
        {
            "tasks": [{"id": "a", "weights": [3, 1], "volume": 4}, {"id": "b", "weights": [5, 2]}],
            "edges": [EDGE],
            "machines": [
                {"id": "m1", "capacities": [8, 4], "rack": "r1"},
                {"id": "m2", "capacities": [8, 12], "rack": "r2"},
            ],
            "rack_factor": 3,
        },
        machines=None,
    )
    assert problem.graph.weights.tolist() == [[3, 1], [5, 2]]
    assert problem.graph.volumes.tolist() == [4, 1]
    assert problem.machines.capacities.tolist() == [[8, 4], [8, 12]]
    assert problem.machines.shares.tolist() == [[0.5, 0.25], [0.5, 0.75]]
    assert problem.machines.ids == ("m1", "m2")
    assert problem.machines.rack_ids == ("r1", "r2")
    assert problem.machines.rack_factor == 3


def test_relative_capacities_are_no_limits():
    machines = [{"id": "m1", "capacity": 1}, {"id": "m2", "capacity": 3}]
    problem = _parse({"tasks": TASKS, "machines": machines, "capacities": "relative"}, machines=None)
    assert np.isinf(problem.machines.capacities).all()
    assert problem.machines.shares.ravel().tolist() == [0.25, 0.75]


def test_machines_without_capacities_are_equal_and_unlimited():
    problem = _parse(
        {"tasks": TASKS, "machines": [{"id": "m1", "rack": "x"}, {"id": "m2", "rack": "y"}]}, machines=None
    )
    assert np.isinf(problem.machines.capacities).all()
    assert problem.machines.shares.ravel().tolist() == [0.5, 0.5]


def test_the_answer_holds_what_the_contract_says():
    problem = _parse({"tasks": TASKS, "edges": [EDGE]})
    answer = placement_to_json(problem, place(problem, "metis"))
    assert answer["assignment"].keys() == {"a", "b"}
    assert set(answer["assignment"].values()) == {0, 1}
    assert (answer["cost"], answer["imbalance"]) == (10, 1.25)
    assert answer["seconds"] >= 0
    assert json.loads(json.dumps(answer)) == answer


MESSAGES = {
    "a list": ([], "p.json: the problem is a list; write an object"),
    "no tasks": ({"tasks": []}, "the problem has no tasks"),
    "tasks of another kind": ({"tasks": "a"}, "`tasks` is a string; write a list"),
    "a task of another kind": ({"tasks": [*TASKS, 3]}, "tasks[2] is a number; write an object"),
    "an unknown key": ({"tasks": TASKS, "edgs": []}, "the problem has an unknown key `edgs`; did you mean `edges`?"),
    "an unknown key of a task": (
        {"tasks": [{"id": "a", "wieght": 3}, TASKS[1]]},
        "tasks[0] has an unknown key `wieght`",
    ),
    "a task without id": ({"tasks": [{"weight": 1}, *TASKS]}, "tasks[0] has no id"),
    "an id twice": ({"tasks": [*TASKS, {"id": "a"}]}, "the id `a` is given to tasks[0] and to tasks[2]"),
    "a negative weight": ({"tasks": [{"id": "a", "weight": -3}, TASKS[1]]}, "the weight of task `a` is negative: -3"),
    "a negative second weight": (
        {"tasks": [{"id": "a", "weights": [1, -3]}, {"id": "b", "weights": [1, 1]}]},
        "weights[1] of task `a` is negative: -3",
    ),
    "a word for a weight": ({"tasks": [{"id": "a", "weight": "3"}, TASKS[1]]}, "the weight of task `a` is a string"),
    "an infinite weight": (
        {"tasks": [{"id": "a", "weight": float("inf")}, TASKS[1]]},
        "the weight of task `a` is too large",
    ),
    "a weight beyond measure": ({"tasks": [{"id": "a", "weight": 10**400}, TASKS[1]]}, "of task `a` is too large"),
    "weights whose sum would overflow": (
        {"tasks": [{"id": "a", "weight": 1e308}, TASKS[1]]},
        "the weight of task `a` is too large or not a number; write a number up to 1e+100",
    ),
    "both weight and weights": ({"tasks": [{"id": "a", "weight": 1, "weights": [1]}, TASKS[1]]}, "task `a` has both"),
    "empty weights": ({"tasks": [{"id": "a", "weights": []}, TASKS[1]]}, "the weights of task `a` are a list"),
    "uneven weights": ({"tasks": [*TASKS, {"id": "c", "weights": [1, 2]}]}, "task `c` has 2 weights; expected 1"),
    "a negative volume": ({"tasks": [{"id": "a", "volume": -1}, TASKS[1]]}, "the volume of task `a` is negative"),
    "an edge to nowhere": (
        {"tasks": [{"id": "split"}, {"id": "count"}], "edges": [{"from": "split", "to": "cuont"}]},
        "edges[0] goes `to` task `cuont`, which does not exist; did you mean `count`?",
    ),
    "an edge from nowhere": ({"tasks": TASKS, "edges": [{"from": "z", "to": "b"}]}, "edges[0] goes `from` task `z`"),
    "an edge without an end": ({"tasks": TASKS, "edges": [{"from": "a"}]}, "edges[0] has no `to`"),
    "a negative edge": ({"tasks": TASKS, "edges": [{**EDGE, "weight": -1}]}, "the weight of edges[0] is negative: -1"),
    "an edge twice": (
        {"tasks": TASKS, "edges": [EDGE, EDGE]},
        "the edge from `a` to `b` is given by edges[0] and edges[1]; add them up",
    ),
    "no machines listed": ({"tasks": TASKS, "machines": []}, "the problem has an empty list of machines"),
    "another number of machines": (
        {"tasks": TASKS, "machines": [{"id": "m"}]},
        "the problem lists 1 machines and --machines says 2",
    ),
    "a machine twice": ({"tasks": TASKS, "machines": [{"id": "m"}, {"id": "m"}]}, "the id `m` is given to machines[0]"),
    "a machine without capacity": (
        {"tasks": TASKS, "machines": [{"id": "m", "capacity": 9}, {"id": "n"}]},
        "machine `n` has no capacity and others have",
    ),
    "a negative capacity": (
        {"tasks": TASKS, "machines": [{"id": "m", "capacity": -9}, {"id": "n", "capacity": 9}]},
        "the capacity of machine `m` is negative: -9",
    ),
    "uneven capacities": (
        {"tasks": TASKS, "machines": [{"id": "m", "capacities": [9, 9]}, {"id": "n", "capacity": 9}]},
        "machine `m` has 2 capacities; expected 1",
    ),
    "no capacity at all": (
        {"tasks": TASKS, "machines": [{"id": "m", "capacity": 0}, {"id": "n", "capacity": 0}]},
        "no machine has any capacity of resource 0",
    ),
    "a rack factor of zero": (
        {"tasks": TASKS, "machines": [{"id": "m"}, {"id": "n"}], "rack_factor": 0},
        "the rack_factor of the problem is 0",
    ),
    "a rack of another kind": (
        {"tasks": TASKS, "machines": [{"id": "m", "rack": ["north"]}, {"id": "n"}]},
        "the rack of machine `m` is a list",
    ),
    "capacities of another kind": (
        {"tasks": TASKS, "machines": [{"id": "m"}, {"id": "n"}], "capacities": "soft"},
        '`capacities` is "soft"; write one of hard, relative',
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_a_bad_problem_is_refused_with_the_name_of_the_culprit(case):
    value, message = MESSAGES[case]
    with pytest.raises(UserError) as raised:
        _parse(value)
    assert message in str(raised.value)


def test_a_problem_without_machines_says_what_to_do():
    with pytest.raises(UserError, match="the problem lists no machines; list them, or say how many: --machines K"):
        _parse({"tasks": TASKS}, machines=None)


def test_all_mistakes_are_told_at_once():
    with pytest.raises(UserError) as raised:
        _parse({"tasks": [{"id": "a", "weight": -1}], "edges": [{"from": "a", "to": "b"}], "rack_factr": 2})
    assert len(raised.value.diagnostics) == 3


def test_mistakes_in_machines_are_told_beside_those_in_tasks():
    machines = [{"id": "m", "capacities": [9, 9]}, {"id": "m", "capacities": [9, -9]}]
    with pytest.raises(UserError) as raised:
        _parse({"tasks": [{"id": "a", "weights": [1, -1]}, {"id": "b", "weights": [1, 1]}], "machines": machines})
    assert [str(d).removeprefix("error: p.json: ").split(";")[0] for d in raised.value.diagnostics] == [
        "weights[1] of task `a` is negative: -1",
        "the id `m` is given to machines[0] and to machines[1]",
        "capacities[1] of machine `m` is negative: -9",
    ]


def test_malformed_json_is_shown_where_it_breaks():
    with pytest.raises(UserError) as raised:
        parse_problem('{"tasks": [\n  {"id": "a",, "weight": 3}]}', "p.json", machines=1)
    assert str(raised.value).startswith("p.json:2:14: error: not JSON:")
    assert raised.value.diagnostics[0].span.line == 2


def test_truncated_json_is_called_cut_short():
    with pytest.raises(UserError, match="the file is cut short"):
        parse_problem('{"tasks": [{"id": "a", "weight": 3}', "p.json", machines=1)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path):
    with pytest.raises(UserError, match=r"cannot read `.*p.json`: No such file"):
        read_problem(tmp_path / "p.json")
    (tmp_path / "p.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"cannot read `.*p.json`"):
        read_problem(tmp_path / "p.json")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("capacity", [0, 1e-300])
def test_a_load_on_a_machine_without_a_share_is_an_imbalance_without_a_number(capacity):
    machines = [{"id": "m", "capacity": capacity}, {"id": "n", "capacity": 1e15}]
    tasks = [{"id": "a", "weight": 2}, {"id": "b", "weight": 2}]
    document = {"tasks": tasks, "edges": [], "machines": machines, "capacities": "relative"}
    problem = parse_problem(json.dumps(document), "p.json")
    dealt_out, packed = (placement_to_json(problem, place(problem, name)) for name in ("even", "metis"))
    assert (dealt_out["imbalance"], dealt_out["within_limit"]) == (None, False)
    assert (packed["imbalance"], packed["assignment"]) == (1.0, {"a": 1, "b": 1})
