"""Small graphs with declared models, for the tests of parallel regions."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.expr.typing import literal
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.ir.graph import Annotation, Application, ErrorPolicy, InputPort, Operator, OutputPort, Param
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, Selectivity, State, Why
from penstock.ir.types import parse_schema
from penstock.ir.verify import verify

SCHEMA = parse_schema("int32 k, int32 l, int32 m")
NAMES = frozenset(SCHEMA.names)
ONE, AT_MOST_ONE, MANY = Selectivity.EXACTLY_ONE, Selectivity.AT_MOST_ONE, Selectivity.UNKNOWN


def model(
    key: str = "",
    *,
    selectivity: Selectivity = ONE,
    forwards: Iterable[str] = NAMES,
    known: bool = True,
    **more: object,
) -> OperatorModel:
    """Stateless, or partitioned by the attributes of `key`, one letter each."""
    state = State.UNKNOWN if not known else State.PARTITIONED if key else State.STATELESS
    return OperatorModel(
        state=state,
        partition_by=(frozenset(key),) if key else (),
        selectivity=selectivity,
        forwarding=Forwarding.ALWAYS,
        forwards=frozenset(forwards),
        **more,  # type: ignore[arg-type]
    )


NOT_PARALLEL = OperatorModel(why=(Why(Flag.STATE, "it is n.p."),))
WAITS = OperatorModel(waits_for_markers=True, why=(Why(Flag.STATE, "it waits"),))
PASSES, DROPS, MAKES = Markers.PASSED_ON, Markers.NONE, Markers.OWN


def op(
    id_: str,
    inputs: str = "",
    given: OperatorModel | None = None,
    *,
    outputs: int = 1,
    feedback: str = "",
    width: object = None,
    on_error: ErrorPolicy = ErrorPolicy.FAIL,
) -> Operator:
    """An operator whose one input port subscribes to the streams in `inputs`; its first stream has its id."""
    streams = tuple(inputs.split())
    port = InputPort(streams=streams, schema=SCHEMA, feedback=frozenset(feedback.split()))
    wide = Annotation(name="parallel", arguments=(Param(name="width", values=(literal(width),)),))
    return Operator(
        id=id_,
        kind="Custom",
        inputs=(port,) if streams else (),
        outputs=tuple(OutputPort(stream=id_ if i == 0 else f"{id_}.{i}", schema=SCHEMA) for i in range(outputs)),
        model=model() if given is None else given,
        annotations=(wide,) if width is not None else (),
        on_error=on_error,
    )


def source(id_: str, given: OperatorModel = NOT_PARALLEL) -> Operator:
    return op(id_, given=given)


def sink(id_: str, inputs: str, given: OperatorModel = NOT_PARALLEL) -> Operator:
    return op(id_, inputs, given, outputs=0)


def app(*operators: Operator, fused: Iterable[str] = ()) -> Application:
    """A verified application; each text of `fused` names operators that must share a PE."""
    constraints = (Constraint(kind=ConstraintKind.PE_COLOCATION, operators=tuple(ids.split())) for ids in fused)
    return verify(Application(name="Main", operators=operators, constraints=tuple(constraints)))
