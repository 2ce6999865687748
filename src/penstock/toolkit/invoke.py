"""Makes an operator from an invocation: checks it against its definition and completes it.

Both front ends call `invoke`, so SPL and Python accept the same programs, fill in the same defaults and report the
same mistakes. What it guarantees to everybody behind it:

- the numbers of ports, the windows and the parameters are what the definition allows;
- parameter values have one of the types the definition names, with every conversion explicit;
- the output clause is complete: an assignment for each attribute, in the schema's order, of the attribute's type;
- only a Custom submits tuples or changes the tuple it received;
- `@catch` and `parsing: permissive` have become the error policy;
- the model is that of this instance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.diagnostics import Diagnostics, Span
from penstock.expr.analysis import logic_parts, root_of, targets_of
from penstock.ir.expressions import Symbol
from penstock.ir.graph import Annotation, ErrorPolicy, InputPort, Operator, OutputPort, Param
from penstock.ir.statements import Function, Logic, Submit, SubmitPunctuation
from penstock.toolkit.check_params import check_params
from penstock.toolkit.complete_outputs import complete_outputs
from penstock.toolkit.definition import OperatorDefinition, WindowUse
from penstock.toolkit.logic_analysis import operator_model


def invoke(
    definition: OperatorDefinition,
    *,
    id: str,
    inputs: Sequence[InputPort],
    outputs: Sequence[OutputPort],
    params: Sequence[Param] = (),
    logic: Logic | None = None,
    config: Sequence[Param] = (),
    annotations: Sequence[Annotation] = (),
    on_error: ErrorPolicy = ErrorPolicy.FAIL,
    functions: Sequence[Function] = (),
    span: Span | None = None,
    found: Diagnostics,
) -> Operator | None:
    """The operator, checked and completed, or None after reporting what is wrong.

    Args:
        definition: What is invoked.
        id: Of the new operator.
        inputs: With their windows.
        outputs: With the assignments that the user wrote; the others are added.
        params: Values are typed expressions; a word of the operator is a `Symbol`, an attribute name an `Attribute`.
        logic: As written.
        config: Settings that are not constraints.
        annotations: As written.
        on_error: The policy where neither `@catch` nor `parsing` gives one.
        functions: The application's functions. The model takes one that is called and not among them for stateful.
        span: Where the invocation stands.
        found: Receives every mistake.

    Example:
        >>> from penstock.ir.types import BOOLEAN, parse_schema
        >>> from penstock.ir.expressions import Literal
        >>> from penstock.toolkit.filter import DEFINITION
        >>> schema = parse_schema("int32 x")
        >>> kept = Param(name="filter", values=(Literal(type=BOOLEAN, value=True),))
        >>> operator = invoke(DEFINITION, id="F", inputs=[InputPort(streams=("A",), schema=schema)],
        ...     outputs=[OutputPort(stream="F", schema=schema)], params=[kept], found=Diagnostics())
        >>> operator.model.state.value
        'stateless'
    """
    before = len(list(found))
    _check_port_numbers(definition, inputs, outputs, span, found)
    _check_windows(definition, inputs, span, found)
    _check_logic(definition, logic, functions, span, found)
    params = check_params(definition, params, span, found)
    if len(list(found)) > before:
        # Completing the output clause against wrong ports would only repeat the mistake in other words.
        return None
    outputs = complete_outputs(definition, inputs, outputs, span, found)
    operator = Operator(
        id=id,
        kind=definition.kind,
        inputs=tuple(inputs),
        outputs=outputs,
        params=params,
        logic=logic,
        config=tuple(config),
        annotations=tuple(annotations),
        on_error=_error_policy(params, annotations, on_error),
        span=span,
    )
    if len(list(found)) == before:
        definition.check(operator, found)
    if len(list(found)) > before:
        return None
    return replace(operator, model=operator_model(definition, operator, functions))


def _check_port_numbers(
    definition: OperatorDefinition,
    inputs: Sequence[InputPort],
    outputs: Sequence[OutputPort],
    span: Span | None,
    found: Diagnostics,
) -> None:
    for what, allowed, count in (
        ("input", definition.inputs, len(inputs)),
        ("output", definition.outputs, len(outputs)),
    ):
        least, greatest = allowed
        if count < least or (greatest is not None and count > greatest):
            found.error(f"`{definition.name}` has {_range(least, greatest)} {what} ports, found {count}", span)


def _range(least: int, greatest: int | None) -> str:
    if greatest is None:
        return f"at least {least}"
    return str(least) if least == greatest else f"{least} to {greatest}"


def _check_windows(
    definition: OperatorDefinition, inputs: Sequence[InputPort], span: Span | None, found: Diagnostics
) -> None:
    for port in inputs:
        name = port.alias or ", ".join(port.streams)
        if port.window is not None and definition.windows is WindowUse.NONE:
            found.error(f"`{definition.name}` has no windows, but `{name}` is given one", span)
        elif port.window is None and definition.windows is WindowUse.REQUIRED:
            found.error(f"`{definition.name}` needs a window on `{name}`", span, hint="add a window clause")


def _check_logic(
    definition: OperatorDefinition,
    logic: Logic | None,
    functions: Sequence[Function],
    span: Span | None,
    found: Diagnostics,
) -> None:
    if logic is None or definition.kind == "Custom":
        return
    for statement in logic.statements():
        if isinstance(statement, Submit | SubmitPunctuation):
            found.error(f"`{definition.name}` cannot call submit", statement.span or span, hint="only a Custom can")
    for part in logic_parts(logic):
        for target in targets_of(part, functions):
            if (root_of(target) or ("", 0))[0] == "port":
                message = f"`{definition.name}` cannot change the tuple it receives"
                found.error(message, target.span or span, hint="only a Custom can")


def _error_policy(params: Sequence[Param], annotations: Sequence[Annotation], given: ErrorPolicy) -> ErrorPolicy:
    if any(a.name == "catch" for a in annotations):
        return ErrorPolicy.SKIP
    for param in params:
        value = param.values[0]
        if param.name == "parsing" and isinstance(value, Symbol):
            return ErrorPolicy.FAIL if value.name == "strict" else ErrorPolicy.SKIP
    return given
