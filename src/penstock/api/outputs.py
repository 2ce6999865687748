"""What an invocation says of an output port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.schemas import SchemaLike, schema_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What an invocation says of one output port.

    Attributes:
        schema: Of the tuples; given as SPL text, a class, or a `Schema`.
        name: Of the stream; by default that of the operator.
        assign: The output clause.
    """

    schema: SchemaLike
    name: str | None = None
    assign: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", schema_of(self.schema))
