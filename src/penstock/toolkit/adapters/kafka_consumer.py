"""KafkaConsumer: reads the messages of Kafka topics.

With the format `raw` a message is one attribute, `message` unless another is named, of type rstring or blob; attributes
named `key`, `topic`, `partition`, `offset` and `messageTimestamp` take what Kafka says of the message. With `json` and
`csv` a message holds all attributes but those that the `output...AttributeName` parameters name.

A message that does not fit the schema follows `parsing`. Messages of one partition come in their order. The clock of
the application follows the time stamps of the messages: where several partitions are read, that of the partition that
is furthest behind, until it has given nothing for `idleTime` seconds. A topic has no end: the stream never ends.

It runs on Spark, through Spark's connector; there is no consumer group, for the job's checkpoint holds the offsets.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Literal
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import FLOAT64, INT32, INT64, RSTRING, TIMESTAMP, Schema, TupleType, Type
from penstock.toolkit.adapters.kafka_params import (
    CONNECTION_PARAMS,
    OnlyOnSpark,
    attribute_param,
    check_connection,
    check_types,
    format_of,
    separator_of,
    topic_param,
)
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.logic_runtime import symbol
from penstock.toolkit.formats.format_params import constant, word

IDLE_SECONDS = 5.0

PARTS = {
    "outputMessageAttributeName": ("message", "value"),
    "outputKeyAttributeName": ("key", "key"),
    "outputTopicAttributeName": ("topic", "topic"),
    "outputPartitionAttributeName": ("partition", "partition"),
    "outputOffsetAttributeName": ("offset", "offset"),
    "outputTimestampAttributeName": ("messageTimestamp", "timestamp_ms"),
}
"""For each parameter that names an attribute: the attribute's usual name, and the part of a message that it takes."""

_TYPES: dict[str, tuple[Type, ...]] = {
    "outputTopicAttributeName": (RSTRING,),
    "outputPartitionAttributeName": (INT32,),
    "outputOffsetAttributeName": (INT64,),
    "outputTimestampAttributeName": (INT64, TIMESTAMP),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageForm:
    """How messages become tuples.

    Attributes:
        format: `raw`, `json` or `csv`.
        schema: Of the tuples.
        body: The attributes that the message holds; none for `raw`.
        parts: From attribute to the part of the message that it takes as it is.
        separator: Of csv.
        is_permissive: Whether a message that does not fit is set aside.
    """

    format: str
    schema: Schema
    body: Schema
    parts: dict[str, str]
    separator: str
    is_permissive: bool

    def refusal(self, operator: str, where: str, reason: object) -> UserError:
        """The error that a message which does not fit is, where none is set aside."""
        message = f"operator `{operator}` (KafkaConsumer) failed on the message of {where}: {reason}"
        return UserError(message, hint="write `parsing: permissive` to set such messages aside")


def message_form(operator: Operator, evaluator: Evaluator) -> MessageForm:
    """How the messages of a KafkaConsumer become tuples."""
    schema = operator.outputs[0].schema
    parts = {name: PARTS[param][1] for param, name in _named(operator).items()}
    return MessageForm(
        format=format_of(operator),
        schema=schema,
        body=TupleType(tuple(a for a in schema.attributes if a.name not in parts)),
        parts=parts,
        separator=separator_of(operator, evaluator),
        is_permissive=symbol(operator, "parsing", "strict") == "permissive",
    )


def topics_of(operator: Operator, evaluator: Evaluator) -> list[str]:
    """The topics that a KafkaConsumer reads."""
    return [str(evaluator.constant(topic)) for topic in operator.param("topic")]


def idle_seconds(operator: Operator, evaluator: Evaluator) -> float:
    """After how many seconds the clock no longer waits for a partition that gives nothing.

    Raises:
        UserError: They are negative.
    """
    for value in operator.param("idleTime"):
        seconds = float(evaluator.constant(value))
        if not seconds >= 0:
            raise UserError(f"`idleTime` of `{operator.id}` is a number of seconds, found {seconds:g}")
        return seconds
    return IDLE_SECONDS


def _named(operator: Operator) -> dict[str, str]:
    """From parameter to attribute: those that are named, and for `raw` those that have the usual names."""
    found = {}
    for param, (usual, _) in PARTS.items():
        for value in operator.param(param):
            if isinstance(value, Literal):
                found[param] = str(value.value)
        if param not in found and format_of(operator) == "raw" and usual in operator.outputs[0].schema.position:
            found[param] = usual
    return found


def _check(operator: Operator, found: Diagnostics) -> None:
    check_connection(operator, found)
    names, schema = _named(operator), operator.outputs[0].schema
    for message in check_types(operator, names, {a.name: a.type for a in schema.attributes}, _TYPES):
        found.error(message, operator.span)
    rest = [name for name in schema.names if name not in names.values()]
    if format_of(operator) == "raw" and rest:
        message = f"a raw message has no attribute `{rest[0]}`"
        hint = "write `format: json` or `format: csv`, or name it by a parameter such as outputKeyAttributeName"
        found.error(message, operator.span, hint=hint)
    if format_of(operator) != "raw" and "outputMessageAttributeName" in names:
        found.error("`outputMessageAttributeName` goes with the format raw", operator.span)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


DEFINITION = OperatorDefinition(
    name="KafkaConsumer",
    doc="Reads the messages of Kafka topics, on Spark.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(
        topic_param(many=True),
        *CONNECTION_PARAMS,
        word(
            "startPosition",
            "Where a job without a checkpoint starts; with the oldest message without it.",
            "Beginning",
            "End",
        ),
        word(
            "parsing",
            "What a message does that does not fit: `strict` fails, `permissive` sets it aside and goes on.",
            "strict",
            "permissive",
        ),
        constant(
            "idleTime",
            "After how many seconds the clock no longer waits for a partition that gives nothing; 5 without it.",
            FLOAT64,
        ),
        *(attribute_param(name, f"The attribute for the {part}; {usual}.") for name, (usual, part) in PARTS.items()),
    ),
    facts=Facts(
        never_ends=True, is_read_by_engine=True, position_travels=True, has_record_times=True, reaches_out=True
    ),
    model=_model,
    check=_check,
    runtime=OnlyOnSpark,
)
