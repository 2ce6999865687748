"""What an invocation says of an output port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.ir.types import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What an invocation says of one output port.

    Attributes:
        schema: Of the tuples.
        name: Of the stream; by default that of the operator.
        assign: The output clause.
    """

    schema: Schema
    name: str | None = None
    assign: Mapping[str, Any] = field(default_factory=dict)
