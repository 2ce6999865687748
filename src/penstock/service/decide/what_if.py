"""What if: the snapshot as it would be with other weights, other ranks or another capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.service.decide.snapshot import JobView, Snapshot


def change(snapshot: Snapshot, changes: Mapping[str, Any], weights: Mapping[str, float]) -> Snapshot:
    """A snapshot with changes.

    Args:
        snapshot: The world as it is.
        changes: `weights` and `ranks` by job, `mips` by node.
        weights: What the streams of each job are multiplied with now.

    Example:
        >>> from penstock.scheduler.problem.nodes import Cluster, Node
        >>> world = Snapshot(cluster=Cluster(nodes=(Node(id="local", mips=900.0),)), jobs=())
        >>> change(world, {"mips": {"local": 300.0}}, {}).mips
        300.0
    """
    mips = changes.get("mips", {})
    nodes = tuple(
        replace(node, mips=mips[node.id], up=mips[node.id] > 0) if node.id in mips else node
        for node in snapshot.cluster.nodes
    )
    jobs = tuple(_changed(job, changes, weights.get(job.id, 1.0)) for job in snapshot.jobs)
    return replace(snapshot, jobs=jobs, cluster=replace(snapshot.cluster, nodes=nodes))


def _changed(job: JobView, changes: Mapping[str, Any], had: float) -> JobView:
    weight = changes.get("weights", {}).get(job.id)
    scale = 1.0 if weight is None else weight / had if had > 0 else 0.0
    templates = tuple(
        replace(t, streams=tuple(replace(s, weight=s.weight * scale) for s in t.streams)) for t in job.templates
    )
    return replace(job, rank=changes.get("ranks", {}).get(job.id, job.rank), templates=templates)
