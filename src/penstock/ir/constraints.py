"""Placement constraints: section 3.1 of the COLA paper, as the fusion problem's file format names them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ConstraintKind(Enum):
    """The six kinds of the paper, and the two dedications."""

    RESOURCE_MATCH = "resource_match"
    PE_COLOCATION = "pe_colocation"
    PE_EXLOCATION = "pe_exlocation"
    HOST_COLOCATION = "host_colocation"
    HOST_EXLOCATION = "host_exlocation"
    HIGH_AVAILABILITY = "high_availability"
    PE_DEDICATION = "pe_dedication"
    HOST_DEDICATION = "host_dedication"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A demand on where operators run.

    Attributes:
        kind: What is demanded.
        operators: The ids it is about.
        hosts: For a resource match, the names or tags of hosts that will do.
        replicas: For high availability, the operator ids of each replica.
        isomorphic: For high availability, whether the replicas must be fused alike.
    """

    kind: ConstraintKind
    operators: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    replicas: tuple[tuple[str, ...], ...] = ()
    isomorphic: bool = False
