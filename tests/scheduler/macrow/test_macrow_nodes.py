"""The cluster of an admission problem: read, and every mistake in it named."""

from __future__ import annotations

import math
from typing import Any

import pytest

from penstock.base.diagnostics import UserError
from penstock.scheduler.io.nodes_reader import cluster_from_json
from penstock.scheduler.problem.nodes import Needs


def document(**changes: Any) -> dict[str, Any]:
    pes = [
        {"id": "A.in", "max_mips": 10, "memory_mb": 64, "max_nodes": 2, "tags": ["gpu"], "licences": ["x"]},
        {"id": "A.out", "max_mips": 10, "outputs": [{"stream": "A.s", "tuple_bytes": 48}]},
    ]
    return {
        "mips": 100,
        "jobs": [{"id": "A", "templates": [{"id": "t", "pes": pes}]}],
        "nodes": [
            {"id": "n1", "mips": 60, "tags": ["gpu"], "licences": {"x": 2}},
            {"id": "n2", "mips": 40, "up": False},
        ],
        **changes,
    }


def messages(**changes: Any) -> list[str]:
    with pytest.raises(UserError) as error:
        cluster_from_json(document(**changes), "jobs.json")
    return str(error.value).splitlines()


def test_nodes_needs_and_sizes_are_read() -> None:
    cluster = cluster_from_json(document())
    assert cluster.live_mips == 60
    assert cluster.nodes[0].memory_mb == math.inf
    assert cluster.needs["A.in"] == Needs(
        memory_mb=64.0, max_nodes=2, tags=frozenset({"gpu"}), licences=frozenset({"x"})
    )
    assert cluster.tuple_bytes == {"A.s": 48.0}


def test_rules_and_what_runs_now_are_read() -> None:
    placement = {
        "weights": {"maximum_traffic": 3},
        "overallocation": 0.5,
        "max_moves": 0,
        "current": {"A.in": {"n1": 5}},
    }
    cluster = cluster_from_json(document(placement=placement))
    assert (cluster.rules.weights.maximum_traffic, cluster.rules.weights.average_traffic) == (3.0, 1.0)
    assert (cluster.rules.overallocation, cluster.rules.max_moves) == (0.5, 0)
    assert cluster.current == {"A.in": {"n1": 5.0}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": []}, "the problem has no nodes to place on; write"),
        ({"nodes": [{"id": "n", "mips": -1}]}, "the mips of node `n` is negative: -1; write a number from 0 up"),
        ({"nodes": [{"id": "n"}]}, 'node `n` has no mips; write "mips": a number'),
        ({"nodes": [{"mips": 1}]}, 'nodes[0] has no id; write "id": "name"'),
        (
            {"nodes": [{"id": "n", "mips": 1, "memory_mb": "lots"}]},
            "the memory_mb of node `n` is a string; write a number",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1, "bandwidth_mbps": 0}]},
            "the bandwidth_mbps of node `n` is 0; write a number above 0",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1, "max_pes": 0}]},
            "the max_pes of node `n` is 0; write a whole number from 1 up",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1, "memmory_mb": 4}]},
            "node `n` has an unknown key `memmory_mb`; did you mean `memory_mb`?",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1, "licences": {"x": -2}}]},
            "the x of the licences of node `n` is -2; write a whole number from 0 up",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1}, {"id": "n", "mips": 2}]},
            "the id `n` is given to nodes[0] and to nodes[1]; give each its own",
        ),
        ({"nodes": [7]}, "nodes[0] is a number; write an object"),
        (
            {"links": [{"id": "k", "nodes": ["n3"], "capacity_mbps": 5}]},
            "link `k` names node `n3`, which does not exist",
        ),
        (
            {"links": [{"id": "k", "nodes": ["n1"]}]},
            'link `k` has no capacity_mbps; write "capacity_mbps": a number',
        ),
        ({"links": [{"id": "k", "capacity_mbps": 5}]}, "link `k` joins no nodes; write `nodes`, those on its one side"),
        (
            {"constraints": [{"kind": "colocate", "pes": ["A.in", "A.out"]}]},
            'constraints[0] has an unknown kind: "colocate"; did you mean `colocation`?',
        ),
        ({"constraints": [{"pes": ["A.in"]}]}, "constraints[0] has no kind; write one of resource_match, fixed"),
        ({"nodes": [{"id": "n", "mips": 1, "up": "no"}]}, "the up of node `n` is a string; write true or false"),
        (
            {"nodes": [{"id": "n", "mips": math.inf}]},
            "the mips of node `n` is too large or not a number; write a number up to 1e+15",
        ),
        (
            {"constraints": [{"kind": "exclusive", "pes": ["A.inn"]}]},
            "constraints[0] (exclusive) names PE `A.inn`, which does not exist; did you mean `A.in`?",
        ),
        (
            {"constraints": [{"kind": "fixed", "pes": ["A.in"], "nodes": ["host"]}]},
            "constraints[0] (fixed) names node `host`, which does not exist",
        ),
        (
            {"constraints": [{"kind": "exlocation", "pes": ["A.in"]}]},
            "constraints[0] (exlocation) names 1 PEs; write at least 2 in `pes`",
        ),
        (
            {"constraints": [{"kind": "resource_match", "pes": ["A.in"]}]},
            "constraints[0] (resource_match) names no nodes; write `nodes`",
        ),
        ({"placement": {"min_fraction": 2}}, "the min_fraction of the placement is 2; write a share from 0 to 1"),
        (
            {"placement": {"max_moves": 1.5}},
            "the max_moves of the placement is 1.5; write a whole number from 0 up",
        ),
        (
            {"placement": {"weights": {"average_trafic": 1}}},
            "the weights of the placement has an unknown key `average_trafic`; did you mean `average_traffic`?",
        ),
        (
            {"placement": {"current": {"B.x": {"n1": 5}}}},
            "`current` of the placement names PE `B.x`, which does not exist",
        ),
        (
            {"placement": {"current": {"A.in": {"n9": 5}}}},
            "PE `A.in` in `current` of the placement names node `n9`, which does not exist",
        ),
        (
            {"placement": {"current": {"A.in": {"n1": "x"}}}},
            "the mips on node `n1` of PE `A.in` in `current` of the placement is a string; write a number",
        ),
        (
            {"placement": {"current": {"A.in": 3}}},
            "PE `A.in` in `current` of the placement is a number; write an object",
        ),
        ({"placement": []}, "the placement of the problem is a list; write an object"),
    ],
)
def test_a_mistake_is_named(changes: dict[str, Any], message: str) -> None:
    found = messages(**changes)
    assert any(line.removeprefix("error: jobs.json: ").startswith(message) for line in found), found


def test_all_mistakes_are_reported_at_once() -> None:
    found = messages(
        nodes=[{"id": "n1", "mips": -4, "tags": "gpu"}],
        links=[{"id": "k", "nodes": ["n5"], "capacity_mbps": -1}],
        constraints=[{"kind": "fixed", "pes": ["nobody"], "nodes": ["n7"]}],
        placement={"overallocation": -1},
    )
    assert len(found) == 7


def test_two_different_fixed_places_are_a_mistake() -> None:
    places = [{"kind": "fixed", "pes": ["A.in"], "nodes": [node]} for node in ("n1", "n2")]
    assert messages(constraints=places) == ["error: jobs.json: PE `A.in` is fixed on n1 and on n2; keep one of them"]


def test_templates_that_share_a_pe_must_agree_on_what_it_needs() -> None:
    changed = document()
    output = {"stream": "A.s", "tuple_bytes": 64}
    other = [{"id": "A.in", "max_mips": 10, "memory_mb": 2048}, {"id": "A.out", "max_mips": 10, "outputs": [output]}]
    changed["jobs"][0]["templates"].append({"id": "rich", "pes": other})
    with pytest.raises(UserError) as error:
        cluster_from_json(changed)
    assert [diagnostic.message for diagnostic in error.value.diagnostics] == [
        "problem: PE `A.in` needs something else in another template",
        "problem: stream `A.s` has other tuple_bytes in another template",
    ]


def test_a_bad_need_of_a_pe_is_named() -> None:
    changed = document()
    changed["jobs"][0]["templates"][0]["pes"][0]["max_nodes"] = 0
    with pytest.raises(UserError, match=r"the max_nodes of PE `A\.in` is 0; write a whole number from 1 up"):
        cluster_from_json(changed)
