"""KafkaProducer: writes tuples to a Kafka topic, each message exactly once.

With the format `raw` the message is one attribute, `message` unless another is named, of type rstring or blob, and its
key is the attribute `key`, if there is one. With `json` and `csv` the message holds all attributes, and the key is the
attribute that `keyAttribute` names, as text.

Every message carries the headers `penstock.job`, `penstock.batch` and `penstock.position`. It runs on Spark, through
Spark's connector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import text_form
from penstock.ir.expressions import Attribute, Expression
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BLOB, OptionalType, Schema, Type
from penstock.toolkit.adapters.kafka_params import (
    CONNECTION_PARAMS,
    OnlyOnSpark,
    check_connection,
    check_types,
    format_of,
    separator_of,
    topic_param,
)
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.formats import Settings
from penstock.toolkit.formats.csv import row_writer
from penstock.toolkit.formats.json_text import json_writer

Encode = Callable[[Tuple], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageWriter:
    """How tuples become messages.

    Attributes:
        key: Of the message; null for none.
        value: What it holds.
    """

    key: Encode
    value: Encode


def message_writer(operator: Operator, evaluator: Evaluator) -> MessageWriter:
    """How the tuples of a KafkaProducer become messages."""
    schema, names = operator.inputs[0].schema, _named(operator)
    key = _attribute(schema, names["keyAttribute"]) if "keyAttribute" in names else (lambda values: None)
    match format_of(operator):
        case "json":
            return MessageWriter(key=key, value=_text(json_writer(schema)))
        case "csv":
            settings = Settings(separator=separator_of(operator, evaluator))
            return MessageWriter(key=key, value=_text(row_writer(schema, settings)))
    return MessageWriter(key=key, value=_attribute(schema, names["messageAttribute"]))


def _text(write: Callable[[Tuple], str]) -> Encode:
    return lambda values: write(values).encode()


def _attribute(schema: Schema, name: str) -> Encode:
    position, encode = schema.position[name], _encoded(schema.attribute(name).type)
    return lambda values: encode(values[position])


def _encoded(type_: Type) -> Callable[[Any], bytes | None]:
    if isinstance(type_, OptionalType):
        inner = _encoded(type_.inner)
        return lambda value: None if value is None else inner(value)
    if type_ == BLOB:
        return bytes
    form = text_form(type_)
    return lambda value: form(value).encode()


def _named(operator: Operator) -> dict[str, str]:
    """From parameter to attribute."""
    found = {}
    for param, usual in (("messageAttribute", "message"), ("keyAttribute", "key")):
        for value in operator.param(param):
            found[param] = _name(value)
        if param not in found and format_of(operator) == "raw" and usual in operator.inputs[0].schema.position:
            found[param] = usual
    return found


def _name(value: Expression) -> str:
    return value.name if isinstance(value, Attribute) else str(value)


def _check(operator: Operator, found: Diagnostics) -> None:
    check_connection(operator, found)
    names, schema = _named(operator), operator.inputs[0].schema
    is_raw = format_of(operator) == "raw"
    if is_raw and "messageAttribute" not in names:
        message = f"a raw message is the attribute `message`; the stream has {', '.join(schema.names)}"
        found.error(message, operator.span, hint="name another by `messageAttribute`, or write `format: json`")
    if not is_raw and "messageAttribute" in names:
        found.error(f"`messageAttribute` goes with the format raw, not with {format_of(operator)}", operator.span)
    texts = {k: v for k, v in names.items() if k == "messageAttribute"}
    for message in check_types(operator, texts, {a.name: a.type for a in schema.attributes}, {}):
        found.error(message, operator.span)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


DEFINITION = OperatorDefinition(
    name="KafkaProducer",
    doc="Writes tuples to a Kafka topic, each exactly once, on Spark.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        topic_param(many=False),
        *CONNECTION_PARAMS,
        ParamSpec(name="messageAttribute", kind=ParamKind.ATTRIBUTES, doc="The message, for `raw`; `message`."),
        ParamSpec(name="keyAttribute", kind=ParamKind.ATTRIBUTES, doc="The key; `key` for `raw`, none otherwise."),
    ),
    facts=Facts(reaches_out=True),
    model=_model,
    check=_check,
    runtime=OnlyOnSpark,
)
