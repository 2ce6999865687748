"""Import: receives the tuples of streams that other applications export.

By `streamId` (and `applicationName`), or by a `subscription` to properties: a predicate such as
`kind == "bargains" && "IBM" in tickers` over the names of an Export's properties. Schemas must be equal. An Import with
neither matches nothing. With `filter`, only tuples that satisfy it come in. Window markers come with the tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Literal
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import RSTRING, TupleType
from penstock.toolkit.adapters.subscription import parse_predicate
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Submit


class ImportRuntime(LogicRuntime):
    """Takes what the interpreter brings from other applications as if it came in on an input port."""

    def receiver(self, port: int) -> Submit:
        """The function to call for each imported tuple: submits those that satisfy the filter."""
        submit, text = self.submit[0], self.constant("filter")
        if text is None:
            return submit
        predicate, names = parse_predicate(text), self.operator.outputs[0].schema.names

        def submit_if(tuple_: Tuple) -> None:
            if predicate(dict(zip(names, tuple_, strict=True))):
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
    """

    application: str
    schema: TupleType
    stream_id: str | None
    properties: Mapping[str, Any]
    allows_filter: bool = True


def offer_of(export: Operator, application: str, evaluator: Evaluator) -> Offer:
    """The offer of an Export operator of an application."""
    properties: dict[str, Any] = {}
    for value in export.param("properties"):
        assert isinstance(value.type, TupleType)
        properties = dict(zip(value.type.names, evaluator.constant(value), strict=True))
    stream_id = next((evaluator.constant(v) for v in export.param("streamId")), None)
    return Offer(
        application=application,
        schema=export.inputs[0].schema,
        stream_id=stream_id,
        properties=properties,
        allows_filter=next((evaluator.constant(v) for v in export.param("allowFilter")), True),
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
    """

    schema: TupleType
    stream_id: str | None = None
    application: str | None = None
    subscription: str | None = None
    filters: bool = False

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
        if self.subscription is not None:
            return offer.stream_id is None and parse_predicate(self.subscription)(offer.properties)
        return False


def wanted_by(importer: Operator, evaluator: Evaluator) -> Wanted:
    """The streams that an Import operator asks for."""

    def constant(name: str) -> Any:
        return next((evaluator.constant(v) for v in importer.param(name)), None)

    return Wanted(
        schema=importer.outputs[0].schema,
        stream_id=constant("streamId"),
        application=constant("applicationName"),
        subscription=constant("subscription"),
        filters=bool(importer.param("filter")),
    )


def takes(importer: Operator, offer: Offer, evaluator: Evaluator) -> bool:
    """Whether an Import takes what an Export offers."""
    return wanted_by(importer, evaluator).takes(offer)


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
    facts=Facts(never_ends=True, is_read_by_engine=True, imports=True),
    model=_model,
    check=_check,
    runtime=ImportRuntime,
)
