"""How the tasks of a job are placed, as its user or its cluster says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.parallel.pe_demands import host_demands
from penstock.placement.live.rescheduling import LINK_BYTES_A_SECOND
from penstock.spark.cluster.cluster_record import cluster_of

SPARK = "spark"
"""The placement that leaves everything to Spark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSettings:
    """How a job is placed.

    Attributes:
        algorithm: `even`, `greedy`, `metis`, or `spark` for as Spark does it.
        reschedule_seconds: How often to see whether moves pay; None for never.
        racks: From host to rack.
        tags: From host to what it offers.
        link_bytes: What the link of a host carries in a second.
        moves_groups: Whether key groups move to other channels, too, where that pays.
        keeps_demands: Whether demands of the program on hosts are kept; a job that is only measured can do without.
    """

    algorithm: str = SPARK
    reschedule_seconds: float | None = None
    racks: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    link_bytes: float = LINK_BYTES_A_SECOND
    moves_groups: bool = False
    keeps_demands: bool = True


def is_placed(settings: PlacementSettings, plan: PhysicalPlan) -> bool:
    """Whether it matters where the tasks of a job run."""
    return settings.algorithm != SPARK or bool(host_demands(plan.application))


def settings_on(master: str) -> PlacementSettings:
    """The placement that leaves all to Spark, with what is known of the hosts of a cluster.

    Example:
        >>> settings_on("local[2]") == PlacementSettings()
        True
    """
    cluster = cluster_of(master)
    return PlacementSettings() if cluster is None else PlacementSettings(racks=cluster.racks, tags=cluster.tags)
