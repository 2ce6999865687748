"""Split: sends each tuple to the output ports that an index names.

`index` is a port number or a list of them; a negative one sends the tuple nowhere, one beyond the last port is taken
modulo the number of ports, one that a list repeats sends the tuple again. Or `file` names a file that maps keys to
port numbers, one mapping a line, and `key` is looked up in it:

    # key, ports
    default, -1
    "Ringo Starr", 0, 1

`default` is for keys that are not in the file; without it such a tuple is an error. Window markers go to every port.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.expr.errors import EvaluationError
from penstock.expr.values import interpret_literal, parse_form, text_form
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, Selectivity
from penstock.ir.types import INT64, RSTRING, UINT64, ListType, Type, is_string
from penstock.toolkit.aggregates.distinct import identity_of
from penstock.toolkit.analysis.logic_analysis import stateless
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Submit
from penstock.toolkit.formats.csv import field_end

Mapping = dict[Hashable, list[int]]


class SplitRuntime(LogicRuntime):
    """Evaluates the index, or looks up the key, of each tuple."""

    def taker(self, port: int) -> Submit:
        """A function that submits a tuple to the ports of its index."""
        values = self.operator.param("index")
        if not values:
            return self._send_to_many(self._look_up())
        index = self.scalar(values[0])
        return self._send_to_many(index) if isinstance(values[0].type, ListType) else self._send_to_one(index)

    def _send_to_one(self, index: Callable[[Tuple], int]) -> Submit:
        ports, count = self.submit, len(self.submit)

        def send(tuple_: Tuple) -> None:
            i = index(tuple_)
            if i >= 0:
                ports[i % count](tuple_)

        return send

    def _send_to_many(self, indices: Callable[[Tuple], Iterable[int]]) -> Submit:
        ports, count = self.submit, len(self.submit)

        def send(tuple_: Tuple) -> None:
            for i in indices(tuple_):
                if i >= 0:
                    ports[i % count](tuple_)

        return send

    def _look_up(self) -> Callable[[Tuple], Iterable[int]]:
        (key,) = self.operator.param("key")
        path = self.context.environment.input_path(self.constant("file"))
        mapping, default = read_mapping(path, key.type)
        evaluate, identity, text = self.scalar(key), identity_of(key.type), text_form(key.type)

        def look_up(tuple_: Tuple) -> Iterable[int]:
            value = evaluate(tuple_)
            found = mapping.get(value if identity is None else identity(value), default)
            if found is None:
                raise EvaluationError(f"the key {text(value)} is not in `{path.name}`, which has no `default`")
            return found

        return look_up


def read_mapping(path: Path, type_: Type) -> tuple[Mapping, list[int] | None]:
    """The mapping of a file from keys of a type to port numbers, and its default, if it has one.

    Raises:
        UserError: It cannot be read, or a line is no mapping, or a key stands in it twice.
    """
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise UserError(f"Split cannot read the mapping file `{path.name}`: {error.strerror}") from error
    mapping: Mapping = {}
    default = None
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                key, ports = _parse_mapping(line, type_)
            except ValueError as error:
                raise UserError(f"{path.name}:{number}: `{line.strip()}` is no mapping: {error}") from error
            if key in mapping:
                raise UserError(f"{path.name}:{number}: the key of `{line.strip()}` stands there twice")
            if key is _DEFAULT:
                default = ports
            mapping[key] = ports
    return mapping, default


_DEFAULT = object()


def _parse_mapping(line: str, type_: Type) -> tuple[Hashable, list[int]]:
    end = field_end(line, 0, ",", type_)
    text = line[:end].strip()
    ports = [int(field) for field in line[end + 1 :].partition("#")[0].split(",")]
    if text == "default":
        return _DEFAULT, ports
    value: Any = interpret_literal(text) if is_string(type_) and text[:1] in "\"'" else parse_form(type_)(text)
    identity = identity_of(type_)
    return value if identity is None else identity(value), ports


def _check(operator: Operator, found: Diagnostics) -> None:
    given = {name for name in ("index", "file", "key") if operator.param(name)}
    if given not in ({"index"}, {"file", "key"}):
        listing = ", ".join(f"`{name}`" for name in sorted(given)) or "none of them"
        found.error(f"a Split has either `index`, or `file` and `key`, found {listing}", operator.span)


def _model(operator: Operator) -> OperatorModel:
    values = operator.param("index")
    if not values or isinstance(values[0].type, ListType):
        return stateless(operator, Selectivity.UNKNOWN, "it may send a tuple to any number of output ports")
    return stateless(operator, Selectivity.EXACTLY_ONE if values[0].type == UINT64 else Selectivity.AT_MOST_ONE)


DEFINITION = OperatorDefinition(
    name="Split",
    doc="Sends each tuple to the output ports that its index, or a mapping file, names.",
    inputs=(1, 1),
    outputs=(1, None),
    params=(
        ParamSpec(
            name="index",
            types=(INT64, UINT64, ListType(INT64), ListType(UINT64)),
            doc="The number of the output port, modulo their number, or a list of such; a negative one means none.",
        ),
        ParamSpec(
            name="file", kind=ParamKind.CONSTANT, types=(RSTRING,), doc="Maps keys to port numbers, line by line."
        ),
        ParamSpec(name="key", doc="What is looked up in the file."),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(is_repeatable=True),
    model=_model,
    check=_check,
    runtime=SplitRuntime,
)
