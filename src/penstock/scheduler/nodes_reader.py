"""Read the cluster of an admission problem from JSON, and report everything that is wrong with it at once.

The format is laid down in `docs/formats/admission.md`. The jobs of the document are read by
`penstock.scheduler.formats`; here only their placement keys are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields
from itertools import combinations

from penstock.diagnostics import Diagnostics, did_you_mean
from penstock.json_source import nearest
from penstock.scheduler.formats_fields import Fields, Item
from penstock.scheduler.formats_verify import report_twins
from penstock.scheduler.nodes import KINDS, Cluster, Constraint, Link, MetricWeights, Needs, Node, Rules

_NODE_KEYS = ("id", "mips", "memory_mb", "bandwidth_mbps", "tags", "licences", "max_pes", "up")
_ONE_PE = "templates that share an id share what it needs; rename one"
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


class _Reader(Fields):
    """Turns JSON values into nodes and rules."""

    def __init__(self, found: Diagnostics, document: Item) -> None:
        super().__init__(found)
        self._document = document
        self._pe_ids = {str(pe.get("id")) for pe in _pes_of(document)}

    def cluster(self) -> Cluster:
        nodes = tuple(self._node(item, i) for i, item in self.objects("the problem", self._document, "nodes"))
        if not nodes:
            self._found.error("there are no `nodes` to place on", hint="give a list of nodes")
        names = {node.id for node in nodes}
        links = tuple(self._link(item, i, names) for i, item in self.objects("the problem", self._document, "links"))
        listed = self.objects("the problem", self._document, "constraints")
        placement = self.mapping("the problem", self._document, "placement")
        self.only("placement", placement, _RULE_KEYS)
        return Cluster(
            nodes=nodes,
            links=links,
            constraints=tuple(self._constraint(item, i, names) for i, item in listed),
            needs=self._needs_by_pe(),
            tuple_bytes=self._tuple_bytes(),
            rules=self._rules(placement),
            current=dict(self._current(placement, names)),
        )

    def _node(self, item: Item, index: int) -> Node:
        node_id = self.text(f"node {index}", item, "id")
        where = f"node `{node_id}`"
        self.only(where, item, _NODE_KEYS)
        return Node(
            id=node_id,
            mips=self.number(where, item, "mips", required=True),
            memory_mb=self.number(where, item, "memory_mb", default=math.inf),
            bandwidth_mbps=self.positive(where, item, "bandwidth_mbps", default=math.inf),
            tags=frozenset(self.texts(where, item, "tags")),
            licences=self._seats(where, item),
            max_pes=self.count(where, item, "max_pes"),
            up=self.boolean(where, item, "up", default=True),
        )

    def _link(self, item: Item, index: int, names: Collection[str]) -> Link:
        link_id = self.text(f"link {index}", item, "id")
        where = f"link `{link_id}`"
        self.only(where, item, ("id", "nodes", "capacity_mbps"))
        ends = self.texts(where, item, "nodes")
        self._exist(where, ends, names, "node", "the cluster does not have")
        if not ends:
            self._found.error(f"{where} joins no nodes", hint="give `nodes`, those on its one side")
        return Link(id=link_id, nodes=frozenset(ends), capacity_mbps=self.positive(where, item, "capacity_mbps"))

    def _constraint(self, item: Item, index: int, names: Collection[str]) -> Constraint:
        kind = str(item.get("kind", ""))
        where = f"constraint {index} ({kind})"
        self.only(where, item, ("kind", "pes", "nodes"))
        if kind not in KINDS:
            what = f"is of the unknown kind `{kind}`" if "kind" in item else "has no `kind`"
            hint = did_you_mean(kind, KINDS) or "the kinds are " + ", ".join(KINDS)
            self._found.error(f"constraint {index} {what}", hint=hint)
        pes, nodes = self.texts(where, item, "pes"), self.texts(where, item, "nodes")
        self._exist(where, pes, self._pe_ids, "PE", "no template has")
        self._exist(where, nodes, names, "node", "the cluster does not have")
        fewest = 2 if kind in ("colocation", "exlocation") else 1
        if len(set(pes)) < fewest:
            self._found.error(f"{where} names {len(set(pes))} PEs", hint=f"give at least {fewest} in `pes`")
        if kind in ("resource_match", "fixed") and not nodes:
            self._found.error(f"{where} names no nodes", hint="give `nodes`")
        return Constraint(kind=kind, pes=tuple(dict.fromkeys(pes)), nodes=tuple(dict.fromkeys(nodes)))

    def _needs_by_pe(self) -> dict[str, Needs]:
        needs: dict[str, Needs] = {}
        for pe in _pes_of(self._document):
            pe_id = str(pe.get("id"))
            own = self._needs(pe_id, pe)
            if needs.setdefault(pe_id, own) != own:
                self._found.error(f"PE `{pe_id}` needs something else in another template", hint=_ONE_PE)
        return needs

    def _needs(self, pe_id: str, item: Item) -> Needs:
        where = f"PE `{pe_id}`"
        return Needs(
            memory_mb=self.number(where, item, "memory_mb"),
            max_nodes=self.count(where, item, "max_nodes") or 1,
            tags=frozenset(self.texts(where, item, "tags")),
            licences=frozenset(self.texts(where, item, "licences")),
        )

    def _rules(self, placement: Item) -> Rules:
        weights = self.mapping("placement", placement, "weights")
        metrics = tuple(metric.name for metric in fields(MetricWeights))
        self.only("placement, weights", weights, metrics)
        share = self.number("placement", placement, "min_fraction", default=0.1)
        if share > 1:
            self._found.error(f"placement: `min_fraction` is {share:g}; give a share between 0 and 1")
        return Rules(
            weights=MetricWeights(
                **{name: self.number("placement, weights", weights, name, default=1.0) for name in metrics}
            ),
            overallocation=self.number("placement", placement, "overallocation", default=1.0),
            min_fraction=min(share, 1.0),
            max_moves=self.count("placement", placement, "max_moves", least=0),
            max_moves_per_node=self.count("placement", placement, "max_moves_per_node", least=0),
        )

    def _current(self, placement: Item, names: Collection[str]) -> Iterator[tuple[str, dict[str, float]]]:
        current = self.mapping("placement", placement, "current")
        self._exist("placement, current", current, self._pe_ids, "PE", "no template has")
        for pe_id in current:
            where = f"placement, current, PE `{pe_id}`"
            shares = self.mapping("placement, current", current, pe_id)
            self._exist(where, shares, names, "node", "the cluster does not have")
            yield pe_id, {node: self.number(where, shares, node) for node in shares}

    def _tuple_bytes(self) -> dict[str, float]:
        sizes: dict[str, float] = {}
        for pe in _pes_of(self._document):
            for output in (output for output in _objects_in(pe, "outputs") if "tuple_bytes" in output):
                stream = str(output.get("stream"))
                own = self.number(f"stream `{stream}` of PE `{pe.get('id')}`", output, "tuple_bytes")
                if sizes.setdefault(stream, own) != own:
                    self._found.error(f"stream `{stream}` has other `tuple_bytes` in another template", hint=_ONE_PE)
        return sizes

    def _seats(self, where: str, item: Item) -> dict[str, int]:
        licences = self.mapping(where, item, "licences")
        counts = {name: self.count(f"{where}, licences", licences, name, least=0) for name in licences}
        return {name: count for name, count in counts.items() if count is not None}

    def _exist(self, where: str, named: Iterable[str], known: Collection[str], kind: str, lack: str) -> None:
        for name in named:
            if name not in known:
                self._found.error(f"{where} names {kind} `{name}`, which {lack}", hint=nearest(name, known))


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
        report_twins(ids, kind, "", found)
    pinned = [constraint for constraint in cluster.constraints if constraint.kind == "fixed"]
    for one, other in combinations(pinned, 2):
        for pe_id in (pe for pe in one.pes if pe in other.pes and set(one.nodes) != set(other.nodes)):
            found.error(f"PE `{pe_id}` is fixed on {', '.join(one.nodes)} and on {', '.join(other.nodes)}")
