"""Finds operator definitions by name.

Example:
    >>> standard().get("Filter").name
    'Filter'
    >>> standard().find("spl.relational::Filter").name
    'Filter'
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.toolkit.adapters import (
    console_sink,
    directory_scan,
    discard,
    export,
    file_sink,
    file_source,
    import_,
    kafka_consumer,
    kafka_producer,
    metrics_sink,
    postgres_sink,
    spark_sink,
    tcp_sink,
    tcp_source,
    udp_sink,
    udp_source,
)
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.event_time import (
    event_aggregate,
    event_clock,
    event_join,
    event_order,
    event_panes,
    event_windows,
)
from penstock.toolkit.frames import from_spark, to_spark
from penstock.toolkit.relational import aggregate, filter, functor, join, match, punctor, sort
from penstock.toolkit.utility import (
    barrier,
    beacon,
    character_transform,
    combine,
    compress,
    custom,
    de_duplicate,
    decompress,
    delay,
    dynamic_filter,
    format,
    gate,
    pair,
    parse,
    replayable_start,
    split,
    switch,
    threaded_split,
    throttle,
    union,
    xml_parse,
)

STANDARD: tuple[OperatorDefinition, ...] = (
    aggregate.DEFINITION,
    barrier.DEFINITION,
    beacon.DEFINITION,
    character_transform.DEFINITION,
    combine.DEFINITION,
    compress.DEFINITION,
    console_sink.DEFINITION,
    custom.DEFINITION,
    de_duplicate.DEFINITION,
    decompress.DEFINITION,
    delay.DEFINITION,
    directory_scan.DEFINITION,
    discard.DEFINITION,
    dynamic_filter.DEFINITION,
    event_aggregate.DEFINITION,
    event_clock.DEFINITION,
    event_join.DEFINITION,
    event_order.DEFINITION,
    event_panes.DEFINITION,
    event_windows.DEFINITION,
    export.DEFINITION,
    file_sink.DEFINITION,
    file_source.DEFINITION,
    filter.DEFINITION,
    format.DEFINITION,
    from_spark.DEFINITION,
    functor.DEFINITION,
    gate.DEFINITION,
    import_.DEFINITION,
    join.DEFINITION,
    kafka_consumer.DEFINITION,
    kafka_producer.DEFINITION,
    match.DEFINITION,
    metrics_sink.DEFINITION,
    pair.DEFINITION,
    parse.DEFINITION,
    postgres_sink.DEFINITION,
    punctor.DEFINITION,
    replayable_start.DEFINITION,
    sort.DEFINITION,
    spark_sink.DEFINITION,
    split.DEFINITION,
    switch.DEFINITION,
    tcp_sink.DEFINITION,
    tcp_source.DEFINITION,
    threaded_split.DEFINITION,
    throttle.DEFINITION,
    to_spark.DEFINITION,
    udp_sink.DEFINITION,
    udp_source.DEFINITION,
    union.DEFINITION,
    xml_parse.DEFINITION,
)
"""The standard operators, in alphabetical order."""


class Registry:
    """The operator definitions that a program can use. It never changes; `extended` makes a larger one."""

    def __init__(self, definitions: Iterable[OperatorDefinition]) -> None:
        self._by_kind: dict[str, OperatorDefinition] = {}
        for definition in definitions:
            if self._by_kind.setdefault(definition.kind, definition) is not definition:
                raise UserError(f"two operators are named `{definition.kind}`", hint="rename one of them")

    def get(self, kind: str) -> OperatorDefinition:
        """The definition of an operator's kind.

        Raises:
            UserError: There is none.
        """
        if kind not in self._by_kind:
            raise UserError(f"there is no operator `{kind}`", hint=did_you_mean(kind, self._by_kind))
        return self._by_kind[kind]

    def find(self, name: str, namespaces: Iterable[str] = ()) -> OperatorDefinition | None:
        """The definition that a name means in a program.

        Args:
            name: As written: bare, or qualified by a namespace.
            namespaces: Where a bare name is looked up, in order, before the standard operators.
        """
        namespace, separator, bare = name.rpartition("::")
        for candidate in (namespace,) if separator else (*namespaces, "spl"):
            found = self._by_kind.get(bare if is_standard(candidate) else f"{candidate}::{bare}")
            if found is not None:
                return found
        return None

    def names(self) -> tuple[str, ...]:
        """Every kind, in alphabetical order."""
        return tuple(sorted(self._by_kind))

    def definitions(self) -> tuple[OperatorDefinition, ...]:
        """Every definition, in the order in which they were given."""
        return tuple(self._by_kind.values())

    def extended(self, definitions: Iterable[OperatorDefinition]) -> Registry:
        """A registry with more definitions.

        Raises:
            UserError: A kind would be defined twice.
        """
        return Registry((*self._by_kind.values(), *definitions))

    def replaced(self, definitions: Iterable[OperatorDefinition]) -> Registry:
        """A registry in which some kinds have other definitions."""
        return Registry(tuple({**self._by_kind, **{d.kind: d for d in definitions}}.values()))


def standard() -> Registry:
    """The standard operators."""
    return _STANDARD_REGISTRY


def is_standard(namespace: str) -> bool:
    """Whether the standard operators are found under a namespace."""
    # SPL spreads its standard operators over spl.relational, spl.adapter and spl.utility; ours are one namespace.
    return namespace == "spl" or namespace.startswith("spl.") or namespace in _ADOPTED


_ADOPTED = ("com.ibm.streamsx.kafka", "com.ibm.streamsx.messaging.kafka")
"""The namespaces of other toolkits whose operators are standard here."""

_STANDARD_REGISTRY = Registry(STANDARD)
