"""Import: receives the tuples of streams that other applications export.

By `streamId` (and `applicationName`), or by a `subscription` to properties: a predicate such as
`kind == "bargains" && "IBM" in tickers` over the names of an Export's properties. Schemas must be equal. An Import with
neither matches nothing. With `filter`, only tuples that satisfy it come in. Window markers come with the tuples.

Code behind an Import may change its subscription and filter, and code before an Export its properties. Then tuples have
one more attribute between applications, `OFFER`: behind an Import the whole offer, before an Export its properties,
each as JSON (`lang.expand.changing_exchange`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.expr.evaluate import Evaluator
from penstock.expr.predicates import named_values, parse_predicate
from penstock.ir.expressions import Literal
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import RSTRING, TupleType, TypedName
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Submit

OFFER = "penstock_offer"
"""The attribute of tuples that tells with which properties they are exported."""


class ImportRuntime(LogicRuntime):
    """Takes what the interpreter brings from other applications as if it came in on an input port."""

    def receiver(self, port: int) -> Submit:
        """The function to call for each imported tuple: submits those that satisfy the filter."""
        submit, text = self.submit[0], self.constant("filter")
        if text is None:
            return submit
        predicate, schema = parse_predicate(text), self.operator.outputs[0].schema

        def submit_if(tuple_: Tuple) -> None:
            if predicate(named_values(schema, tuple_)):
                submit(tuple_)

        return submit_if


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A stream that an Export offers to other applications.

    Attributes:
        application: The exporting application's name.
        schema: Of the stream.
        stream_id: The name it is exported under.
        properties: By name; none if it is exported by name.
        allows_filter: Whether importers may have a filter.
        changes: Whether its properties are only the first: each tuple says which it has.
    """

    application: str
    schema: TupleType
    stream_id: str | None
    properties: Mapping[str, Any]
    allows_filter: bool = True
    changes: bool = False

    def with_properties(self, text: str) -> Offer:
        """The offer with other properties, given as JSON."""
        return replace(self, properties=json.loads(text), changes=False)

    def text(self) -> str:
        """As code behind an Import reads it."""
        return json.dumps({"properties": dict(self.properties), "allows_filter": self.allows_filter}, default=sorted)


def with_offer(schema: TupleType) -> TupleType:
    """The attributes of tuples, and that which tells of their properties."""
    return TupleType((*schema.attributes, TypedName(OFFER, RSTRING)))


def without_offer(schema: TupleType) -> TupleType:
    """The attributes of tuples but that which tells of their properties."""
    return TupleType(tuple(a for a in schema.attributes if a.name != OFFER))


def offer_of(export: Operator, application: str, evaluator: Evaluator) -> Offer:
    """The offer of an Export operator of an application."""
    properties: dict[str, Any] = {}
    for value in export.param("properties"):
        assert isinstance(value.type, TupleType)
        properties = dict(zip(value.type.names, evaluator.constant(value), strict=True))
    stream_id = next((evaluator.constant(v) for v in export.param("streamId")), None)
    return Offer(
        application=application,
        schema=without_offer(export.inputs[0].schema),
        stream_id=stream_id,
        properties=properties,
        allows_filter=next((evaluator.constant(v) for v in export.param("allowFilter")), True),
        changes=OFFER in export.inputs[0].schema.position,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The streams that an Import asks for.

    Attributes:
        schema: Of the streams.
        stream_id: The name that they are exported under.
        application: Who exports that name; any application if none.
        subscription: A predicate over their properties, as text.
        filters: Whether it takes only some of the tuples.
        changes: Whether code behind it decides what it takes, so that it takes all that may be asked for.
    """

    schema: TupleType
    stream_id: str | None = None
    application: str | None = None
    subscription: str | None = None
    filters: bool = False
    changes: bool = False

    @property
    def row_schema(self) -> TupleType:
        """Of the tuples as the Import passes them on."""
        return with_offer(self.schema) if self.changes else self.schema

    def takes(self, offer: Offer) -> bool:
        """Whether an offer is what is asked for.

        Example:
            >>> from penstock.ir.types import parse_schema
            >>> schema = parse_schema("int32 x")
            >>> offer = Offer(application="A", schema=schema, stream_id=None, properties={"kind": "bids"})
            >>> Wanted(schema=schema, subscription='kind == "bids"').takes(offer)
            True
            >>> Wanted(schema=schema, stream_id="bids").takes(offer)
            False
        """
        if self.schema != offer.schema or (self.filters and not offer.allows_filter):
            return False
        if self.stream_id is not None:
            return self.stream_id == offer.stream_id and self.application in (None, offer.application)
        if self.subscription is not None or self.changes:
            return offer.stream_id is None and (
                self.changes or parse_predicate(self.subscription or "")(offer.properties)
            )
        return False

    def may_take(self, offer: Offer) -> bool:
        """Whether some tuples of an offer may be what is asked for."""
        return replace(self, changes=True).takes(offer) if offer.changes and self.subscription else self.takes(offer)


def wanted_by(importer: Operator, evaluator: Evaluator) -> Wanted:
    """The streams that an Import operator asks for."""

    def constant(name: str) -> Any:
        return next((evaluator.constant(v) for v in importer.param(name)), None)

    return Wanted(
        schema=without_offer(importer.outputs[0].schema),
        stream_id=constant("streamId"),
        application=constant("applicationName"),
        subscription=constant("subscription"),
        filters=bool(importer.param("filter")),
        changes=OFFER in importer.outputs[0].schema.position,
    )


def _check(operator: Operator, found: Diagnostics) -> None:
    if operator.param("streamId") and operator.param("subscription"):
        found.error("an Import has `streamId` or `subscription`, found both", operator.span)
    if operator.param("applicationName") and not operator.param("streamId"):
        found.error("`applicationName` of an Import goes with `streamId`", operator.span)
    for name in ("subscription", "filter"):
        for value in operator.param(name):
            if isinstance(value, Literal) and isinstance(value.value, str):
                try:
                    parse_predicate(value.value)
                except UserError as error:
                    message = f"`{name}` of an Import: {error.diagnostics[0].message}"
                    found.error(message, value.span or operator.span, hint=error.diagnostics[0].hint)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


DEFINITION = OperatorDefinition(
    name="Import",
    doc="Receives the tuples of streams that other applications export.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(
        ParamSpec(
            name="subscription",
            kind=ParamKind.TEXT,
            types=(RSTRING,),
            doc='A predicate over the properties of exported streams: `kind == "bargains" && id % 4 == 1`.',
        ),
        ParamSpec(name="streamId", kind=ParamKind.CONSTANT, types=(RSTRING,), doc="The name of the exported stream."),
        ParamSpec(
            name="applicationName",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            doc="The application that exports it; any without it.",
        ),
        ParamSpec(
            name="applicationScope",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            doc="Accepted; the applications of one run are one scope.",
        ),
        ParamSpec(
            name="filter",
            kind=ParamKind.TEXT,
            types=(RSTRING,),
            doc="A predicate over the attributes of the tuples: the others do not come in.",
        ),
    ),
    facts=Facts(never_ends=True, is_read_by_engine=True, position_travels=True, imports=True, reaches_out=True),
    model=_model,
    check=_check,
    runtime=ImportRuntime,
)
