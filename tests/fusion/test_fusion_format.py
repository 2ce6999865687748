"""Problem files: what is read, and every message about what cannot be."""

from __future__ import annotations

import copy
import json
import time

import pytest

from penstock.base.diagnostics import UserError
from penstock.fusion.problem.fusion_format import problem_from_json, read_problem

PROBLEM = {
    "operators": [
        {"id": "a", "cost": 120.0},
        {"id": "b", "cost": 40, "region": "r", "channels": 4, "pe": "front"},
        {"id": "c", "cost": 0},
    ],
    "streams": [
        {"from": "a", "to": "b", "cost": 15.0, "rate_tps": 1000, "tuple_bytes": 48},
        {"from": "b", "to": "c", "cost": 5, "feedback": True},
    ],
    "hosts": [
        {"id": "h1", "capacity": 11000, "cores": 4, "tags": ["gpu"], "link_mbps": 1000},
        {"id": "h2", "capacity": 500},
    ],
    "constraints": [
        {"kind": "resource_match", "operators": ["a"], "hosts": ["gpu", "h2"]},
        {"kind": "high_availability", "replicas": [["a"], ["b"]], "isomorphic": True},
        {"kind": "pe_dedication", "operators": ["c"]},
    ],
}


def messages(problem):
    with pytest.raises(UserError) as refused:
        problem_from_json(problem, "p.json")
    return [str(diagnostic) for diagnostic in refused.value.diagnostics]


def test_a_problem_is_read_as_it_stands():
    problem = problem_from_json(PROBLEM)
    assert problem.ids == ("a", "b", "c")
    assert problem.costs.tolist() == [120.0, 40.0, 0.0]
    assert (problem.regions, problem.pragmas) == ((None, "r", None), (None, "front", None))
    assert problem.channels.tolist() == [1, 4, 1]
    assert problem.stream_bytes.tolist() == [48000.0, 0.0]
    assert problem.feedback.tolist() == [False, True]
    assert problem.hosts.core_mips.tolist() == [2750.0, 500.0]
    assert problem.hosts.link_bytes.tolist() == [125e6, float("inf")]
    assert problem.hosts.matching(problem.constraints[0].hosts) == (0, 1)
    assert problem.constraints[1].isomorphic


GONE = object()
SAME = {"kind": "high_availability", "replicas": [["a"], ["c"]], "isomorphic": True}
MISTAKES = [
    ("operators 0 cost", -1, "the cost of operator `a` is negative: -1"),
    ("operators 0 cost", 1e101, "the cost of operator `a` is too large or not a number; write a number up to 1e+100"),
    ("operators 0 channels", 2**40, "the channels of operator `a` is 1099511627776"),
    ("hosts 0 capacity", 1e-101, "the capacity of host `h1` is 1e-101"),
    ("operators 0 cost", GONE, "operator `a` has no cost"),
    ("operators 0 cost", "x", "the cost of operator `a` is a string"),
    ("operators 0 cost", float("nan"), "the cost of operator `a` is too large or not a number"),
    ("operators 0 id", GONE, "operators[0] has no id"),
    ("operators 2 id", "a", "the id `a` is given to operators[0] and to operators[2]"),
    ("operators 0 colour", 1, "operators[0] has an unknown key `colour`"),
    ("operators 0 channels", 0, "the channels of operator `a` is 0"),
    ("operators 2", 7, "operators[2] is a number"),
    ("operators", [], "the problem has no operators"),
    ("hosts", [], "the problem has no hosts"),
    ("streams", {}, "`streams` is an object"),
    ("nodes", [], "the problem has an unknown key `nodes`"),
    ("streams 0 from", "aa", "streams[0] goes `from` operator `aa`, which does not exist; did you mean `a`?"),
    ("streams 0 to", GONE, "streams[0] has no `to`"),
    ("streams 0 cost", -2, "the cost of streams[0] is negative: -2"),
    ("streams 0 feedback", 1, "the feedback of streams[0] is a number"),
    ("hosts 0 capacity", 0, "the capacity of host `h1` is 0"),
    ("hosts 0 cores", 1.5, "the cores of host `h1` is 1.5"),
    ("hosts 0 link_mbps", 0, "the link_mbps of host `h1` is 0"),
    ("constraints 0 kind", "resource_mach", 'constraints[0] has an unknown kind: "resource_mach"; did you mean'),
    ("constraints 0 operators", ["z"], "constraints[0] names operator `z`, which does not exist"),
    ("constraints 0 hosts", ["h9"], "constraints[0] names host or tag `h9`, which does not exist"),
    ("constraints 0 hosts", [], "`hosts` of constraints[0] is empty"),
    ("constraints 2 hosts", ["h1"], "constraints[2]: a pe_dedication takes no `hosts`"),
    ("constraints 2 operators", ["c", "c"], "constraints[2] names `c` twice"),
    ("constraints 1 replicas", [["a"], ["b", "c"]], "constraints[1] is isomorphic, and its replicas have 1, 2"),
    ("constraints 1 replicas", [["a"], ["a"]], "constraints[1] names operator `a` twice"),
    ("constraints 1 replicas", GONE, "`replicas` of constraints[1] is null"),
    ("constraints 0", SAME, "operator `a` is in the replicas of two isomorphic"),
]


def spoiled(where, value):
    """The problem with one thing in it changed or gone."""
    problem = copy.deepcopy(PROBLEM)
    *path, last = (int(key) if key.isdigit() else key for key in where.split())
    place = problem
    for key in path:
        place = place[key]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    return problem


@pytest.mark.parametrize(("where", "value", "message"), MISTAKES)
def test_a_mistake_is_named(where, value, message):
    found = messages(spoiled(where, value))
    assert any(text.startswith(f"error: p.json: {message}") for text in found), found


def test_all_mistakes_are_named_at_once():
    problem = spoiled("operators 0 cost", -1)
    problem["streams"][1]["to"] = "nowhere"
    problem["hosts"][1]["capacity"] = "much"
    problem["constraints"][2]["operators"] = ["zz"]
    assert len(messages(problem)) == 4


def test_a_file_that_is_no_problem_is_refused(tmp_path):
    path = tmp_path / "p.json"
    path.write_text("[1, 2]")
    with pytest.raises(UserError, match="the problem is a list"):
        read_problem(path)
    path.write_text('{"operators": [}')
    with pytest.raises(UserError, match=r"p.json:1:16: error: not JSON"):
        read_problem(path)
    with pytest.raises(UserError, match="cannot read"):
        read_problem(tmp_path / "missing.json")


def test_a_problem_survives_the_way_through_a_file(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(PROBLEM))
    assert read_problem(path).constraints == problem_from_json(PROBLEM).constraints


def test_two_of_very_many_isomorphic_constraints_that_share_an_operator_are_found_at_once() -> None:
    kind = {"kind": "high_availability", "isomorphic": True}
    constraints = [kind | {"replicas": [[f"a{i}"], [f"b{i}"]]} for i in range(5000)]
    problem = {
        "operators": [{"id": f"{side}{i}", "cost": 1} for side in "ab" for i in range(5000)],
        "hosts": [{"id": "h", "capacity": 9}],
        "constraints": [*constraints, kind | {"replicas": [["a7"], ["b8"]]}],
    }
    began = time.process_time()
    found = messages(problem)
    assert time.process_time() - began < 5
    assert [text.split("`")[1] for text in found] == ["a7", "b8"]
