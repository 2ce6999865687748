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

from penstock.base.diagnostics import Diagnostics, Span, UserError
from penstock.base.redaction import is_secret_name, protect
from penstock.base.secret_references import is_reference
from penstock.expr.analysis import logic_parts, root_of, targets_of
from penstock.ir.expressions import Literal, Symbol
from penstock.ir.graph import Annotation, ErrorPolicy, InputPort, Operator, OutputPort, Param
from penstock.ir.statements import Function, Logic, Submit, SubmitPunctuation
from penstock.toolkit.analysis.logic_analysis import operator_model
from penstock.toolkit.core.check_params import check_params
from penstock.toolkit.core.complete_outputs import complete_outputs
from penstock.toolkit.core.definition import OperatorDefinition, WindowUse


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
        >>> from penstock.toolkit.relational.filter import DEFINITION
        >>> schema = parse_schema("int32 x")
        >>> kept = Param(name="filter", values=(Literal(type=BOOLEAN, value=True),))
        >>> operator = invoke(DEFINITION, id="F", inputs=[InputPort(streams=("A",), schema=schema)],
        ...     outputs=[OutputPort(stream="F", schema=schema)], params=[kept], found=Diagnostics())
        >>> operator.model.state.value
        'stateless'
    """
    _protect_secrets(params)
    draft = Operator(
        id=id,
        kind=definition.kind,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        params=tuple(params),
        logic=logic,
        config=tuple(config),
        annotations=tuple(annotations),
        on_error=on_error,
        span=span,
    )
    return _completed(definition, draft, functions, found)


def _completed(
    definition: OperatorDefinition, draft: Operator, functions: Sequence[Function], found: Diagnostics
) -> Operator | None:
    mine = Diagnostics()
    _check_port_numbers(definition, draft, mine)
    _check_windows(definition, draft, mine)
    _check_logic(definition, draft, functions, mine)
    operator = replace(draft, params=check_params(definition, draft.params, draft.span, mine))
    # Completing the output clause against wrong ports would only repeat the mistake in other words.
    if not mine:
        outputs = complete_outputs(definition, draft.inputs, draft.outputs, draft.span, mine)
        operator = replace(operator, outputs=outputs, on_error=_error_policy(operator))
    if not mine:
        definition.check(operator, mine)
    if mine:
        found.extend(UserError(tuple(mine)))
        return None
    return replace(operator, model=operator_model(definition, operator, functions))


def _check_port_numbers(definition: OperatorDefinition, operator: Operator, found: Diagnostics) -> None:
    for what, allowed, count in (
        ("input", definition.inputs, len(operator.inputs)),
        ("output", definition.outputs, len(operator.outputs)),
    ):
        least, greatest = allowed
        if count < least or (greatest is not None and count > greatest):
            message = f"`{definition.name}` has {_range(least, greatest)} {what} ports, found {count}"
            found.error(message, operator.span)


def _range(least: int, greatest: int | None) -> str:
    if greatest is None:
        return f"at least {least}"
    return str(least) if least == greatest else f"{least} to {greatest}"


def _check_windows(definition: OperatorDefinition, operator: Operator, found: Diagnostics) -> None:
    for port in operator.inputs:
        name = port.alias or ", ".join(port.streams)
        if port.window is not None and definition.windows is WindowUse.NONE:
            found.error(f"`{definition.name}` has no windows, but `{name}` is given one", operator.span)
        elif port.window is None and definition.windows is WindowUse.REQUIRED:
            message = f"`{definition.name}` needs a window on `{name}`"
            found.error(message, operator.span, hint="add a window clause")


def _check_logic(
    definition: OperatorDefinition, operator: Operator, functions: Sequence[Function], found: Diagnostics
) -> None:
    if operator.logic is None or definition.kind == "Custom":
        return
    for statement in operator.logic.statements():
        if isinstance(statement, Submit | SubmitPunctuation):
            message = f"`{definition.name}` cannot call submit"
            found.error(message, statement.span or operator.span, hint="only a Custom can")
    for part in logic_parts(operator.logic):
        for target in targets_of(part, functions):
            if (root_of(target) or ("", 0))[0] == "port":
                message = f"`{definition.name}` cannot change the tuple it receives"
                found.error(message, target.span or operator.span, hint="only a Custom can")


def _error_policy(operator: Operator) -> ErrorPolicy:
    if any(a.name == "catch" for a in operator.annotations):
        return ErrorPolicy.SKIP
    for value in operator.param("parsing"):
        if isinstance(value, Symbol):
            return ErrorPolicy.SKIP if value.name == "permissive" else ErrorPolicy.FAIL
    return operator.on_error


def _protect_secrets(params: Sequence[Param]) -> None:
    """Let no message show the passwords among parameters, whoever it comes from."""
    literals = (e for p in params if is_secret_name(p.name) for v in p.values for e in v.walk())
    texts = (e.value for e in literals if isinstance(e, Literal) and isinstance(e.value, str))
    protect(*(text for text in texts if not is_reference(text)))
