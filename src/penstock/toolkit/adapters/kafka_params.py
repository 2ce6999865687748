"""What KafkaConsumer and KafkaProducer have in common: how the brokers are found, and how a message holds a tuple."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.base.redaction import is_secret_name, protect
from penstock.base.secret_references import reveal_named
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Operator
from penstock.ir.types import BLOB, RSTRING, UINT8, Type, is_string
from penstock.toolkit.core.definition import ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import symbol
from penstock.toolkit.core.runtime import Context, Runtime
from penstock.toolkit.formats.format_params import constant, word

SERVERS = "bootstrap.servers"
FORMATS = ("raw", "json", "csv")

CONNECTION_PARAMS = (
    constant("bootstrapServers", "The brokers: `host:port`, several with commas between them.", RSTRING),
    constant("propertiesFile", "A file of Kafka's own properties, such as `security.protocol=SSL`.", RSTRING),
    word("format", "How a message holds a tuple; raw, one attribute, without it.", *FORMATS),
    constant("separator", "Between the values of a csv message: one character; a comma without it.", RSTRING, UINT8),
)
"""Of both operators."""

_OURS = (
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
    "auto.offset.reset",
    "enable.auto.commit",
    "interceptor.classes",
    "group.id",
)
"""Properties that Spark's connector sets itself and refuses."""


class OnlyOnSpark(Runtime):
    """An operator that the reference interpreter cannot run."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        message = f"{operator.kind} reads and writes through Spark's Kafka connector, so it runs on Spark only"
        raise UserError(message, hint="run it with --engine spark, or put a FileSource or FileSink in its place")


def topic_param(*, many: bool) -> ParamSpec:
    """The parameter that names the topic, or several."""
    doc = "The topic's name, or several." if many else "The topic's name."
    return ParamSpec(name="topic", kind=ParamKind.CONSTANT, types=(RSTRING,), required=True, many=many, doc=doc)


def attribute_param(name: str, doc: str) -> ParamSpec:
    """A parameter that names an attribute by a string."""
    return constant(name, doc, RSTRING)


def kafka_properties(operator: Operator, evaluator: Evaluator, environment: Environment) -> dict[str, str]:
    """The Kafka properties of an operator, from its properties file and its parameters.

    Raises:
        UserError: The brokers are not given, or the file of properties cannot be read.
    """
    found: dict[str, str] = {}
    for value in operator.param("propertiesFile"):
        found.update(_read_properties(operator, str(evaluator.constant(value)), environment))
    for value in operator.param("bootstrapServers"):
        found[SERVERS] = str(evaluator.constant(value))
    if not found.get(SERVERS):
        message = f"{operator.kind} `{operator.id}` does not say where the brokers are"
        raise UserError(message, hint='write `bootstrapServers: "localhost:9092"`, or name a propertiesFile')
    found = {name: reveal_named(name, value) for name, value in found.items()}
    protect(*(value for name, value in found.items() if is_secret_name(name)))
    return {name: value for name, value in found.items() if name not in _OURS}


def _read_properties(operator: Operator, name: str, environment: Environment) -> dict[str, str]:
    folders = (environment.application_directory, environment.data_directory)
    path = next((f / name for f in folders if (f / name).exists()), Path(folders[0]) / name)
    try:
        return parse_properties(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{operator.kind} `{operator.id}` cannot read its propertiesFile `{path}`: {error.strerror or error}"
        raise UserError(message) from error


def parse_properties(text: str) -> dict[str, str]:
    r"""The pairs of a Java properties file.

    Example:
        >>> parse_properties("# brokers\nbootstrap.servers = a:9092,\\\n   b:9092\nssl.enabled: yes\n")
        {'bootstrap.servers': 'a:9092,b:9092', 'ssl.enabled': 'yes'}
    """
    found: dict[str, str] = {}
    begun = ""
    for line in text.splitlines():
        line = begun + line.strip()
        begun = line[:-1] if line.endswith("\\") else ""
        if begun or not line or line[0] in "#!":
            continue
        cut = min((i for i in (line.find("="), line.find(":")) if i >= 0), default=len(line))
        found[line[:cut].strip()] = line[cut + 1 :].strip()
    return found


def separator_of(operator: Operator, evaluator: Evaluator) -> str:
    """Between the values of a csv message."""
    for value in operator.param("separator"):
        given = evaluator.constant(value)
        return given if isinstance(given, str) else chr(given & 0xFF)
    return ","


def format_of(operator: Operator) -> str:
    """How a message holds a tuple."""
    return symbol(operator, "format", "raw")


def check_connection(operator: Operator, found: Diagnostics) -> None:
    """Report parameters that do not go together."""
    if not operator.param("bootstrapServers") and not operator.param("propertiesFile"):
        message = f"a {operator.kind} needs `bootstrapServers` or `propertiesFile`"
        found.error(message, operator.span, hint='write `bootstrapServers: "localhost:9092"`')
    if operator.param("separator") and format_of(operator) != "csv":
        found.error(f"`separator` goes with the format csv, but the format is {format_of(operator)}", operator.span)


def check_types(
    operator: Operator, names: Mapping[str, str], types: Mapping[str, Type], allowed: Mapping[str, tuple[Type, ...]]
) -> list[str]:
    """The mistakes in the attributes that parameters name.

    Args:
        operator: Whose they are.
        names: From parameter to the attribute's name.
        types: Of the attributes of the stream.
        allowed: From parameter to the types that its attribute may have; text and blobs where it is not given.
    """
    wrong = []
    for param, name in names.items():
        if name not in types:
            wrong.append(f"`{param}` names the attribute `{name}`; the stream has {', '.join(types)}")
        elif param in allowed and types[name] not in allowed[param]:
            wanted = " or ".join(map(str, allowed[param]))
            wrong.append(f"the attribute `{name}` of `{param}` is of type {wanted}, found {types[name]}")
        elif param not in allowed and not (is_string(types[name]) or types[name] == BLOB):
            wrong.append(f"the attribute `{name}` of `{param}` is text or a blob, found {types[name]}")
    return wrong
