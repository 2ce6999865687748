"""The cluster of an admission problem: read, and every mistake in it named."""

from __future__ import annotations

import math
from typing import Any

import pytest

from penstock.diagnostics import UserError
from penstock.scheduler.nodes import Needs
from penstock.scheduler.nodes_reader import cluster_from_json


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
        cluster_from_json(document(**changes))
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
        ({"nodes": []}, "there are no `nodes` to place on; give a list of nodes"),
        ({"nodes": [{"id": "n", "mips": -1}]}, "node `n`: `mips` is -1; give a number of at least 0"),
        ({"nodes": [{"id": "n"}]}, "node `n`: `mips` is missing; give a number of at least 0"),
        ({"nodes": [{"mips": 1}]}, "node 0: its `id` is missing; give a text"),
        (
            {"nodes": [{"id": "n", "mips": 1, "memory_mb": "lots"}]},
            'node `n`: `memory_mb` is "lots"; give a number of at least 0',
        ),
        (
            {"nodes": [{"id": "n", "mips": 1, "bandwidth_mbps": 0}]},
            "node `n`: `bandwidth_mbps` is 0; give a number above 0",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1, "max_pes": 0}]},
            "node `n`: `max_pes` is 0; give a whole number of at least 1",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1, "memmory_mb": 4}]},
            "node `n` has the unknown key `memmory_mb`; did you mean `memory_mb`?",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1, "licences": {"x": -2}}]},
            "node `n`, licences: `x` is -2; give a whole number of at least 0",
        ),
        (
            {"nodes": [{"id": "n", "mips": 1}, {"id": "n", "mips": 2}]},
            "there are two nodes with the id `n`; give each its own",
        ),
        ({"nodes": [7]}, "the problem: entry 0 of `nodes` is a number; give an object"),
        (
            {"links": [{"id": "k", "nodes": ["n3"], "capacity_mbps": 5}]},
            "link `k` names node `n3`, which the cluster does not have",
        ),
        (
            {"links": [{"id": "k", "nodes": ["n1"]}]},
            "link `k`: `capacity_mbps` is missing; give a number above 0",
        ),
        ({"links": [{"id": "k", "capacity_mbps": 5}]}, "link `k` joins no nodes; give `nodes`, those on its one side"),
        (
            {"constraints": [{"kind": "colocate", "pes": ["A.in", "A.out"]}]},
            "constraint 0 is of the unknown kind `colocate`; did you mean `colocation`?",
        ),
        ({"constraints": [{"pes": ["A.in"]}]}, "constraint 0 has no `kind`; the kinds are resource_match, fixed"),
        ({"nodes": [{"id": "n", "mips": 1, "up": "no"}]}, 'node `n`: `up` is "no"; give true or false'),
        ({"nodes": [{"id": "n", "mips": math.inf}]}, "node `n`: `mips` is inf; give a number up to 1e+15"),
        (
            {"constraints": [{"kind": "exclusive", "pes": ["A.inn"]}]},
            "constraint 0 (exclusive) names PE `A.inn`, which no template has; did you mean `A.in`?",
        ),
        (
            {"constraints": [{"kind": "fixed", "pes": ["A.in"], "nodes": ["host"]}]},
            "constraint 0 (fixed) names node `host`, which the cluster does not have",
        ),
        (
            {"constraints": [{"kind": "exlocation", "pes": ["A.in"]}]},
            "constraint 0 (exlocation) names 1 PEs; give at least 2 in `pes`",
        ),
        (
            {"constraints": [{"kind": "resource_match", "pes": ["A.in"]}]},
            "constraint 0 (resource_match) names no nodes; give `nodes`",
        ),
        ({"placement": {"min_fraction": 2}}, "placement: `min_fraction` is 2; give a share between 0 and 1"),
        (
            {"placement": {"max_moves": 1.5}},
            "placement: `max_moves` is 1.5; give a whole number of at least 0",
        ),
        (
            {"placement": {"weights": {"average_trafic": 1}}},
            "placement, weights has the unknown key `average_trafic`; did you mean `average_traffic`?",
        ),
        (
            {"placement": {"current": {"B.x": {"n1": 5}}}},
            "placement, current names PE `B.x`, which no template has",
        ),
        (
            {"placement": {"current": {"A.in": {"n9": 5}}}},
            "placement, current, PE `A.in` names node `n9`, which the cluster does not have",
        ),
        ({"placement": []}, "the problem: `placement` is a list; give an object"),
    ],
)
def test_a_mistake_is_named(changes: dict[str, Any], message: str) -> None:
    found = messages(**changes)
    assert any(line.removeprefix("error: ").startswith(message) for line in found), found


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
    assert messages(constraints=places) == ["error: PE `A.in` is fixed on n1 and on n2"]


def test_templates_that_share_a_pe_must_agree_on_what_it_needs() -> None:
    changed = document()
    output = {"stream": "A.s", "tuple_bytes": 64}
    other = [{"id": "A.in", "max_mips": 10, "memory_mb": 2048}, {"id": "A.out", "max_mips": 10, "outputs": [output]}]
    changed["jobs"][0]["templates"].append({"id": "rich", "pes": other})
    with pytest.raises(UserError) as error:
        cluster_from_json(changed)
    assert [diagnostic.message for diagnostic in error.value.diagnostics] == [
        "PE `A.in` needs something else in another template",
        "stream `A.s` has other `tuple_bytes` in another template",
    ]


def test_a_bad_need_of_a_pe_is_named() -> None:
    changed = document()
    changed["jobs"][0]["templates"][0]["pes"][0]["max_nodes"] = 0
    with pytest.raises(UserError, match="`max_nodes` is 0; give a whole number of at least 1"):
        cluster_from_json(changed)
