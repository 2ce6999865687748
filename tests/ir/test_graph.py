"""Applications: verification and JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal

import pytest

from penstock.base.diagnostics import UserError
from penstock.ir.codec import from_json, to_json
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.ir.expressions import Attribute, Binary, InputTuple, Literal, Variable
from penstock.ir.facts import Facts, Reads
from penstock.ir.graph import (
    Application,
    Assignment,
    InputPort,
    Operator,
    OutputPort,
    Param,
    Policy,
    PolicyKind,
    Window,
    WindowKind,
)
from penstock.ir.models import Flag, OperatorModel, State, Why
from penstock.ir.statements import Assign, Block, Declare, Function, Handler, Logic, Parameter, Return, Submit
from penstock.ir.types import BLOB, BOOLEAN, DECIMAL64, FLOAT64, INT32, parse_schema
from penstock.ir.verify import verify

SCHEMA = parse_schema("int32 x, float64 y")
X = Attribute(type=INT32, name="x")
ONE = Literal(type=INT32, value=1)


def source(id_: str = "A") -> Operator:
    return Operator(id=id_, kind="Beacon", outputs=(OutputPort(stream=id_, schema=SCHEMA),))


def functor(id_: str, *streams: str, feedback: frozenset[str] = frozenset()) -> Operator:
    port = InputPort(streams=streams, schema=SCHEMA, feedback=feedback)
    return Operator(id=id_, kind="Functor", inputs=(port,), outputs=(OutputPort(stream=id_, schema=SCHEMA),))


def everything() -> Application:
    """A graph that uses every kind of node once."""
    window = Window(
        kind=WindowKind.SLIDING,
        eviction=Policy(kind=PolicyKind.DELTA, size=Literal(type=FLOAT64, value=math.inf), attribute=X),
        trigger=Policy(kind=PolicyKind.COUNT, size=ONE),
        partitioned=True,
    )
    logic = Logic(
        state=(Declare(name="n", type=INT32, value=ONE, mutable=True),),
        on_tuple=(
            Handler(
                port=0,
                body=Block(
                    body=(
                        Assign(target=Variable(type=INT32, name="n"), value=ONE, operator="+"),
                        Submit(value=InputTuple(type=SCHEMA)),
                    )
                ),
            ),
        ),
    )
    operator = Operator(
        id="B",
        kind="Custom",
        inputs=(InputPort(streams=("A",), schema=SCHEMA, window=window, alias="I"),),
        outputs=(
            OutputPort(
                stream="B",
                schema=SCHEMA,
                assignments=(
                    Assignment(attribute="x", value=Binary(type=INT32, operator="+", left=X, right=ONE)),
                    Assignment(attribute="y", value=Literal(type=FLOAT64, value=0.1)),
                ),
            ),
        ),
        params=(
            Param(name="p", values=(Literal(type=DECIMAL64, value=Decimal("1.10")), Literal(type=BLOB, value=b"\x00"))),
        ),
        logic=logic,
        model=OperatorModel(
            state=State.PARTITIONED,
            partition_by=(frozenset({"x"}),),
            why=(Why(Flag.STATE, "because"),),
            facts=Facts(never_ends=True, reads=Reads.EXPRESSIONS),
        ),
    )
    function = Function(
        name="f",
        parameters=(Parameter(name="b", type=BOOLEAN, mutable=True),),
        returns=INT32,
        body=Block(body=(Return(value=ONE),)),
    )
    constraint = Constraint(kind=ConstraintKind.HOST_EXLOCATION, operators=("A", "B"))
    return Application(name="Main", operators=(source(), operator), functions=(function,), constraints=(constraint,))


def test_json_round_trip_gives_an_equal_graph():
    application = everything()
    assert from_json(json.loads(json.dumps(to_json(application)))) == application


def test_a_graph_of_another_format_is_refused():
    with pytest.raises(UserError, match="format 99; this version of penstock reads 1"):
        from_json({**to_json(everything()), "format": 99})


@pytest.mark.parametrize("document", [[], {}, {"node": "Operator"}])
def test_a_document_that_is_no_graph_is_refused(document):
    with pytest.raises(UserError, match="this is not a graph"):
        from_json(document)


def test_a_damaged_graph_is_refused():
    document = to_json(everything())
    document["operators"][0]["kind_of"] = "?"
    with pytest.raises(UserError, match="damaged"):
        from_json(document)


def test_a_well_formed_graph_is_returned_as_it_is():
    application = everything()
    assert verify(application) is application


def test_every_violation_is_reported_at_once():
    wrong = Application(
        name="Main",
        operators=(source(), source(), functor("B", "Missing")),
        constraints=(Constraint(kind=ConstraintKind.PE_COLOCATION, operators=("A", "Z")),),
    )
    with pytest.raises(UserError) as caught:
        verify(wrong)
    messages = [d.message for d in caught.value.diagnostics]
    assert messages == [
        "two operators have the id `A`",
        "two streams have the id `A`",
        "`B` subscribes to `Missing`, but no operator makes that stream",
        "a pe_colocation constraint names `Z`, which is no operator",
    ]


def test_schemas_must_agree_along_a_stream():
    port = InputPort(streams=("A",), schema=parse_schema("int32 z"))
    with pytest.raises(UserError, match="expects tuple<int32 z> from `A`, which carries tuple<int32 x, float64 y>"):
        verify(Application(name="Main", operators=(source(), Operator(id="S", kind="FileSink", inputs=(port,)))))


def test_an_output_clause_must_be_complete_and_of_the_right_types():
    short = OutputPort(stream="A", schema=SCHEMA, assignments=(Assignment(attribute="x", value=ONE),))
    with pytest.raises(UserError, match="assigns"):
        verify(Application(name="Main", operators=(replace(source(), outputs=(short,)),)))


def test_a_loop_needs_a_feedback_edge():
    loop = (source(), functor("B", "A", "C"), functor("C", "B"))
    with pytest.raises(UserError, match="a loop without a feedback edge goes through `B`, `C`"):
        verify(Application(name="Main", operators=loop))
    closed = (source(), functor("B", "A", "C", feedback=frozenset({"C"})), functor("C", "B"))
    assert verify(Application(name="Main", operators=closed))


def test_edges_and_subscribers_follow_fan_in_and_fan_out():
    application = Application(name="Main", operators=(source(), functor("B", "A"), functor("C", "A", "B")))
    assert application.subscribers == {"A": (("B", 0), ("C", 0)), "B": (("C", 0),), "C": ()}
    assert [(a, b) for a, b, _, _ in application.edges()] == [("A", "B"), ("A", "C"), ("B", "C")]
