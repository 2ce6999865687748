"""Read the cluster of an admission problem from JSON, and report everything that is wrong with it at once.

The format is laid down in `docs/formats/admission.md`. The jobs of the document are read by
`penstock.scheduler.formats`; here only their placement keys are looked at.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import combinations

from penstock.diagnostics import Diagnostics, did_you_mean
from penstock.scheduler.nodes import KINDS, Cluster, Constraint, Link, MetricWeights, Needs, Node, Rules

Item = Mapping[str, object]

_NODE_KEYS = ("id", "mips", "memory_mb", "bandwidth_mbps", "tags", "licences", "max_pes", "up")
_RULE_KEYS = ("weights", "overallocation", "min_fraction", "max_moves", "max_moves_per_node", "current")


def cluster_from_json(document: object) -> Cluster:
    """The cluster that a parsed admission problem describes.

    Example:
        >>> cluster_from_json({"nodes": [{"id": "n1", "mips": -5}], "constraints": [{"kind": "fixed", "pes": ["A.x"]}]})
        Traceback (most recent call last):
        penstock.diagnostics.UserError: error: node `n1`: `mips` is -5; give a number of at least 0
        error: constraint 0 (fixed) names PE `A.x`, which no template has
        error: constraint 0 (fixed) names no nodes; give `nodes`
    """
    found = Diagnostics()
    reader = _Reader(found, document if isinstance(document, dict) else {})
    cluster = reader.cluster()
    _verify(cluster, found)
    found.raise_if_any()
    return cluster


class _Reader:
    """Turns JSON values into nodes; a value that is wrong is reported and replaced with a harmless one."""

    def __init__(self, found: Diagnostics, document: Item) -> None:
        self._found = found
        self._document = document
        self._pes = {str(pe.get("id")): pe for pe in _pes_of(document)}

    def cluster(self) -> Cluster:
        nodes = tuple(self._node(item, i) for i, item in self._objects("the problem", self._document, "nodes"))
        if not nodes:
            self._found.error("there are no `nodes` to place on", hint="give a list of nodes")
        names = [node.id for node in nodes]
        links = tuple(self._link(item, i, names) for i, item in self._objects("the problem", self._document, "links"))
        listed = self._objects("the problem", self._document, "constraints")
        placement = self._object("the problem", self._document, "placement")
        self._known("placement", placement, _RULE_KEYS)
        return Cluster(
            nodes=nodes,
            links=links,
            constraints=tuple(self._constraint(item, i, names) for i, item in listed),
            needs={pe_id: self._needs(pe_id, pe) for pe_id, pe in self._pes.items()},
            tuple_bytes=dict(self._tuple_bytes()),
            rules=self._rules(placement),
            current=dict(self._current(placement, names)),
        )

    def _node(self, item: Item, index: int) -> Node:
        node_id = self._id(f"node {index}", item)
        where = f"node `{node_id}`"
        self._known(where, item, _NODE_KEYS)
        if "mips" not in item:
            self._found.error(f"{where}: `mips` is missing", hint="give what the node can give")
        return Node(
            id=node_id,
            mips=self._number(where, item, "mips", 0.0),
            memory_mb=self._number(where, item, "memory_mb", math.inf),
            bandwidth_mbps=self._positive(where, item, "bandwidth_mbps", math.inf),
            tags=frozenset(self._texts(where, item, "tags")),
            licences=self._seats(where, item),
            max_pes=self._count(where, item, "max_pes"),
            up=item.get("up", True) is not False,
        )

    def _link(self, item: Item, index: int, names: list[str]) -> Link:
        link_id = self._id(f"link {index}", item)
        where = f"link `{link_id}`"
        self._known(where, item, ("id", "nodes", "capacity_mbps"))
        ends = self._texts(where, item, "nodes")
        self._exist(where, ends, names, "node", "the cluster does not have")
        if not ends:
            self._found.error(f"{where} joins no nodes", hint="give `nodes`, those on its one side")
        return Link(id=link_id, nodes=frozenset(ends), capacity_mbps=self._positive(where, item, "capacity_mbps"))

    def _constraint(self, item: Item, index: int, names: list[str]) -> Constraint:
        kind = str(item.get("kind"))
        where = f"constraint {index} ({kind})"
        self._known(where, item, ("kind", "pes", "nodes"))
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS) or "the kinds are " + ", ".join(KINDS)
            self._found.error(f"constraint {index} is of the unknown kind `{kind}`", hint=hint)
        pes, nodes = self._texts(where, item, "pes"), self._texts(where, item, "nodes")
        self._exist(where, pes, self._pes, "PE", "no template has")
        self._exist(where, nodes, names, "node", "the cluster does not have")
        fewest = 2 if kind in ("colocation", "exlocation") else 1
        if len(pes) < fewest:
            self._found.error(f"{where} names {len(pes)} PEs", hint=f"give at least {fewest} in `pes`")
        if kind in ("resource_match", "fixed") and not nodes:
            self._found.error(f"{where} names no nodes", hint="give `nodes`")
        return Constraint(kind=kind, pes=pes, nodes=nodes)

    def _needs(self, pe_id: str, item: Item) -> Needs:
        where = f"PE `{pe_id}`"
        return Needs(
            memory_mb=self._number(where, item, "memory_mb", 0.0),
            max_nodes=self._count(where, item, "max_nodes") or 1,
            tags=frozenset(self._texts(where, item, "tags")),
            licences=frozenset(self._texts(where, item, "licences")),
        )

    def _rules(self, placement: Item) -> Rules:
        weights = self._object("placement", placement, "weights")
        metrics = tuple(metric.name for metric in fields(MetricWeights))
        self._known("placement, weights", weights, metrics)
        share = self._number("placement", placement, "min_fraction", 0.1)
        if share > 1:
            self._found.error(f"placement: `min_fraction` is {share:g}; give a share between 0 and 1")
        return Rules(
            weights=MetricWeights(**{name: self._number("placement, weights", weights, name, 1.0) for name in metrics}),
            overallocation=self._number("placement", placement, "overallocation", 1.0),
            min_fraction=min(share, 1.0),
            max_moves=self._count("placement", placement, "max_moves", least=0),
            max_moves_per_node=self._count("placement", placement, "max_moves_per_node", least=0),
        )

    def _current(self, placement: Item, names: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
        current = self._object("placement", placement, "current")
        self._exist("placement, current", current, self._pes, "PE", "no template has")
        for pe_id in current:
            where = f"placement, current, PE `{pe_id}`"
            shares = self._object("placement, current", current, pe_id)
            self._exist(where, shares, names, "node", "the cluster does not have")
            yield pe_id, {node: self._number(where, shares, node, 0.0) for node in shares}

    def _tuple_bytes(self) -> Iterator[tuple[str, float]]:
        for pe_id, pe in self._pes.items():
            outputs = pe.get("outputs")
            for output in outputs if isinstance(outputs, list) else []:
                if isinstance(output, dict) and "tuple_bytes" in output:
                    stream = str(output.get("stream"))
                    yield stream, self._number(f"stream `{stream}` of PE `{pe_id}`", output, "tuple_bytes", 0.0)

    def _seats(self, where: str, item: Item) -> dict[str, int]:
        licences = self._object(where, item, "licences")
        counts = {name: self._count(f"{where}, licences", licences, name, least=0) for name in licences}
        return {name: count for name, count in counts.items() if count is not None}

    def _exist(self, where: str, named: Iterable[str], known: Iterable[str], kind: str, lack: str) -> None:
        known = set(known)
        for name in named:
            if name not in known:
                self._found.error(f"{where} names {kind} `{name}`, which {lack}", hint=did_you_mean(name, known))

    def _known(self, where: str, item: Item, keys: tuple[str, ...]) -> None:
        for key in item:
            if key not in keys:
                hint = did_you_mean(key, keys) or "the keys are " + ", ".join(keys)
                self._found.error(f"{where} has the unknown key `{key}`", hint=hint)

    def _id(self, where: str, item: Item) -> str:
        value = item.get("id")
        if isinstance(value, str) and value:
            return value
        self._found.error(f"{where}: its `id` is {json.dumps(value)}; give a text")
        return where

    def _number(self, where: str, item: Item, key: str, default: float) -> float:
        value = item.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            self._found.error(f"{where}: `{key}` is {json.dumps(value)}; give a number of at least 0")
            return 0.0
        return float(value)

    def _positive(self, where: str, item: Item, key: str, default: float | None = None) -> float:
        if default is None and key not in item:
            self._found.error(f"{where}: `{key}` is missing; give a number above 0")
            return 1.0
        value = self._number(where, item, key, default or 0.0)
        if value == 0 and item.get(key) == 0:
            self._found.error(f"{where}: `{key}` is 0; give a number above 0")
        return value or 1.0

    def _count(self, where: str, item: Item, key: str, *, least: int = 1) -> int | None:
        value = item.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self._found.error(f"{where}: `{key}` is {json.dumps(value)}; give a whole number of at least {least}")
        return None

    def _texts(self, where: str, item: Item, key: str) -> tuple[str, ...]:
        value = item.get(key, [])
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return tuple(dict.fromkeys(value))
        self._found.error(f"{where}: `{key}` is {json.dumps(value)}; give a list of texts")
        return ()

    def _object(self, where: str, item: Item, key: str) -> dict[str, object]:
        value = item.get(key, {})
        if isinstance(value, dict):
            return value
        self._found.error(f"{where}: `{key}` is {json.dumps(value)}; give an object")
        return {}

    def _objects(self, where: str, item: Item, key: str) -> list[tuple[int, dict[str, object]]]:
        value = item.get(key, [])
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if not isinstance(entry, dict):
                self._found.error(f"{where}: `{key}` holds {json.dumps(entry)}; give a list of objects")
        return [(i, entry) for i, entry in enumerate(entries) if isinstance(entry, dict)]


def _pes_of(document: Item) -> Iterator[dict[str, object]]:
    """Every PE of the document, as it stands; what is malformed is reported by the reader of the jobs."""
    for job in _objects_in(document, "jobs"):
        for template in _objects_in(job, "templates"):
            yield from _objects_in(template, "pes")


def _objects_in(item: Item, key: str) -> list[dict[str, object]]:
    value = item.get(key)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _verify(cluster: Cluster, found: Diagnostics) -> None:
    """Report what only the whole cluster can tell."""
    for kind, ids in (("node", [n.id for n in cluster.nodes]), ("link", [k.id for k in cluster.links])):
        for twice in sorted({name for name in ids if ids.count(name) > 1}):
            found.error(f"there are two {kind}s with the id `{twice}`", hint="give each its own")
    pinned = [constraint for constraint in cluster.constraints if constraint.kind == "fixed"]
    for one, other in combinations(pinned, 2):
        for pe_id in (pe for pe in one.pes if pe in other.pes and set(one.nodes) != set(other.nodes)):
            found.error(f"PE `{pe_id}` is fixed on {', '.join(one.nodes)} and on {', '.join(other.nodes)}")
