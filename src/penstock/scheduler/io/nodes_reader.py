"""Read the cluster of an admission problem from JSON, and report everything that is wrong with it at once.

The format is laid down in `docs/formats/admission.md`. The jobs of the document are read by
`penstock.scheduler.io.admission_format`; here only their placement keys are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields

from penstock.base.json_reader import JsonReader, Object, expect_object
from penstock.base.json_source import kind_of
from penstock.scheduler.io.rates import LARGEST
from penstock.scheduler.problem.nodes import KINDS, Cluster, Constraint, Link, MetricWeights, Needs, Node, Rules

_NODE_KEYS = ("id", "mips", "memory_mb", "bandwidth_mbps", "tags", "licences", "max_pes", "up")
_RULES = "the placement"
_ONE_PE = "templates that share an id share what it needs; rename one"
_RULE_KEYS = ("weights", "overallocation", "min_fraction", "max_moves", "max_moves_per_node", "current")


def cluster_from_json(document: object, path: str = "problem") -> Cluster:
    """The cluster that a parsed admission problem describes; `path` is for messages.

    Raises:
        UserError: It does not describe one; every mistake is named.

    Example:
        >>> cluster_from_json({"nodes": [{"id": "n1", "mips": -5}], "constraints": [{"kind": "fixed", "pes": ["A.x"]}]})
        Traceback (most recent call last):
        penstock.UserError: error: problem: the mips of node `n1` is negative: -5; write a number from 0 up
        error: problem: constraints[0] (fixed) names PE `A.x`, which does not exist
        error: problem: constraints[0] (fixed) names no nodes; write `nodes`
    """
    reader = _Reader(path, expect_object(document, path, '{"jobs": [...], "nodes": [...]}'))
    cluster = reader.cluster()
    reader.raise_if_any()
    return cluster


class _Reader(JsonReader):
    """Turns JSON values into nodes and rules."""

    def __init__(self, path: str, document: Object) -> None:
        super().__init__(path, largest=LARGEST)
        self._document = document
        self._pe_ids = {str(pe.get("id")) for pe in _pes_of(document)}

    def cluster(self) -> Cluster:
        nodes = self._nodes()
        names = {node.id for node in nodes}
        links = self._links(names)
        constraints = [self._constraint(c, i, names) for i, c in self.entries(self._document, "constraints")]
        self._refuse_two_places([c for c in constraints if c.kind == "fixed"])
        placement = self.mapping(self._document, "placement", "the problem")
        self.check_keys(placement, _RULE_KEYS, _RULES)
        return Cluster(
            nodes=nodes,
            links=links,
            constraints=tuple(constraints),
            needs=self._needs_by_pe(),
            tuple_bytes=self._tuple_bytes(),
            rules=self._rules(placement),
            current=dict(self._current(placement, names)),
        )

    def _nodes(self) -> tuple[Node, ...]:
        items = self.entries(self._document, "nodes")
        if self._document.get("nodes", []) == []:
            self.complain("the problem has no nodes to place on", 'write "nodes": [{"id": "n1", "mips": 1000}]')
        nodes = tuple(self._node(item, f"nodes[{i}]") for i, item in items)
        self.refuse_twins(((i, node.id) for (i, _), node in zip(items, nodes, strict=True)), "nodes")
        return nodes

    def _links(self, names: Collection[str]) -> tuple[Link, ...]:
        items = self.entries(self._document, "links")
        links = tuple(self._link(item, f"links[{i}]", names) for i, item in items)
        self.refuse_twins(((i, link.id) for (i, _), link in zip(items, links, strict=True)), "links")
        return links

    def _node(self, item: Object, place: str) -> Node:
        node_id = self.text(item, "id", place)
        owner = f"node `{node_id}`"
        self.check_keys(item, _NODE_KEYS, owner)
        return Node(
            id=node_id,
            mips=self.number(item, "mips", owner),
            memory_mb=self.number(item, "memory_mb", owner, math.inf),
            bandwidth_mbps=self.number(item, "bandwidth_mbps", owner, math.inf, above_zero=True),
            tags=frozenset(self.texts(item, "tags", owner)),
            licences=self._seats(item, owner),
            max_pes=self.limit(item, "max_pes", owner),
            up=self.flag(item, "up", owner, default=True),
        )

    def _link(self, item: Object, place: str, names: Collection[str]) -> Link:
        link_id = self.text(item, "id", place)
        owner = f"link `{link_id}`"
        self.check_keys(item, ("id", "nodes", "capacity_mbps"), owner)
        ends = self._named(item, "nodes", owner, "node", names)
        if item.get("nodes", []) == []:
            self.complain(f"{owner} joins no nodes", "write `nodes`, those on its one side")
        capacity = self.number(item, "capacity_mbps", owner, above_zero=True)
        return Link(id=link_id, nodes=frozenset(ends), capacity_mbps=capacity)

    def _constraint(self, item: Object, index: int, names: Collection[str]) -> Constraint:
        kind = self.kind(item, KINDS, f"constraints[{index}]") or ""
        owner = f"constraints[{index}] ({kind})" if kind else f"constraints[{index}]"
        self.check_keys(item, ("kind", "pes", "nodes"), owner)
        pes = self._named(item, "pes", owner, "PE", self._pe_ids)
        nodes = self._named(item, "nodes", owner, "node", names)
        fewest = 2 if kind in ("colocation", "exlocation") else 1
        if len(set(pes)) < fewest:
            self.complain(f"{owner} names {len(set(pes))} PEs", f"write at least {fewest} in `pes`")
        if kind in ("resource_match", "fixed") and not nodes:
            self.complain(f"{owner} names no nodes", "write `nodes`")
        return Constraint(kind=kind, pes=tuple(dict.fromkeys(pes)), nodes=tuple(dict.fromkeys(nodes)))

    def _refuse_two_places(self, pinned: Sequence[Constraint]) -> None:
        first: dict[str, tuple[str, ...]] = {}
        for pe_id, nodes in ((pe_id, constraint.nodes) for constraint in pinned for pe_id in constraint.pes):
            if set(first.setdefault(pe_id, nodes)) != set(nodes):
                places = f"on {', '.join(first[pe_id])} and on {', '.join(nodes)}"
                self.complain(f"PE `{pe_id}` is fixed {places}", "keep one of them")

    def _needs_by_pe(self) -> dict[str, Needs]:
        needs: dict[str, Needs] = {}
        for pe in _pes_of(self._document):
            pe_id = str(pe.get("id"))
            own = self._needs(pe, f"PE `{pe_id}`")
            if needs.setdefault(pe_id, own) != own:
                self.complain(f"PE `{pe_id}` needs something else in another template", _ONE_PE)
        return needs

    def _needs(self, item: Object, owner: str) -> Needs:
        return Needs(
            memory_mb=self.number(item, "memory_mb", owner, 0.0),
            max_nodes=self.limit(item, "max_nodes", owner) or 1,
            tags=frozenset(self.texts(item, "tags", owner)),
            licences=frozenset(self.texts(item, "licences", owner)),
        )

    def _rules(self, placement: Object) -> Rules:
        weights = self.mapping(placement, "weights", _RULES)
        metrics = tuple(metric.name for metric in fields(MetricWeights))
        owner = f"the weights of {_RULES}"
        self.check_keys(weights, metrics, owner)
        share = self.number(placement, "min_fraction", _RULES, 0.1)
        if share > 1:
            self.complain(f"the min_fraction of {_RULES} is {share:g}", "write a share from 0 to 1")
        return Rules(
            weights=MetricWeights(**{name: self.number(weights, name, owner, 1.0) for name in metrics}),
            overallocation=self.number(placement, "overallocation", _RULES, 1.0),
            min_fraction=min(share, 1.0),
            max_moves=self.limit(placement, "max_moves", _RULES, least=0),
            max_moves_per_node=self.limit(placement, "max_moves_per_node", _RULES, least=0),
        )

    def _current(self, placement: Object, names: Collection[str]) -> Iterator[tuple[str, dict[str, float]]]:
        current = self.mapping(placement, "current", _RULES)
        for pe_id in current:
            self.check_name(pe_id, self._pe_ids, f"`current` of {_RULES}", "PE")
            owner = f"PE `{pe_id}` in `current` of {_RULES}"
            if not isinstance(current[pe_id], dict):
                self.complain(f"{owner} is {kind_of(current[pe_id])}", "write an object")
                continue
            for node in current[pe_id]:
                self.check_name(node, names, owner, "node")
            shares = current[pe_id].items()
            yield pe_id, {node: self.amount(mips, f"the mips on node `{node}` of {owner}") for node, mips in shares}

    def _tuple_bytes(self) -> dict[str, float]:
        sizes: dict[str, float] = {}
        for pe in _pes_of(self._document):
            for output in (output for output in _objects_in(pe, "outputs") if "tuple_bytes" in output):
                stream = str(output.get("stream"))
                own = self.number(output, "tuple_bytes", f"stream `{stream}` of PE `{pe.get('id')}`")
                if sizes.setdefault(stream, own) != own:
                    self.complain(f"stream `{stream}` has other tuple_bytes in another template", _ONE_PE)
        return sizes

    def _seats(self, item: Object, owner: str) -> dict[str, int]:
        licences = self.mapping(item, "licences", owner)
        seats = {name: self.limit(licences, name, f"the licences of {owner}", least=0) for name in licences}
        return {name: count for name, count in seats.items() if count is not None}

    def _named(self, item: Object, key: str, owner: str, what: str, known: Collection[str]) -> list[str]:
        """The names under a key, each of which must exist."""
        names = self.texts(item, key, owner)
        for name in names:
            self.check_name(name, known, owner, what)
        return names


def _pes_of(document: Object) -> Iterator[Object]:
    """Every PE of the document, as it stands; what is malformed is reported by the reader of the jobs."""
    for job in _objects_in(document, "jobs"):
        for template in _objects_in(job, "templates"):
            yield from _objects_in(template, "pes")


def _objects_in(item: Object, key: str) -> list[Object]:
    value = item.get(key)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
