"""Custom, logic clauses on any operator, and what the analysis reads off them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expr.typing import assign, binary, call, index, literal, map_literal, tuple_literal, update
from penstock.ir.expressions import Call, InputTuple, Literal, Variable
from penstock.ir.models import Flag, Selectivity, State, Why
from penstock.ir.statements import (
    Block,
    Declare,
    Evaluate,
    For,
    Function,
    Handler,
    If,
    Logic,
    Parameter,
    Return,
    Submit,
    SubmitPunctuation,
)
from penstock.ir.types import INT32, RSTRING, VOID, EnumType, MapType, parse_schema, parse_type
from toolkit.harness import WINDOW, attribute, build, errors, run, start

ENTRY = "rstring server, int32 size"
IN = InputTuple(type=parse_schema(ENTRY))
SERVER, SIZE = attribute("server", ENTRY), attribute("size", ENTRY)
COUNTS = Variable(name="counts", type=MapType(RSTRING, INT32))
TOTAL = Variable(name="total", type=INT32)
MARKERS = EnumType(("WindowMarker", "FinalMarker"))
DECLARE_COUNTS = Declare(name="counts", type=COUNTS.type, mutable=True)
DECLARE_TOTAL = Declare(name="total", type=INT32, mutable=True)


def on_tuple(*body, state=(), port=0, **more):
    return Logic(state=tuple(state), on_tuple=(Handler(port=port, body=Block(body=body)),), **more)


def custom(*body, state=(), outputs=(ENTRY,), functions=(), **more):
    return build("Custom", [ENTRY], list(outputs), logic=on_tuple(*body, state=state, **more), functions=functions)


def entry_of(key=SERVER):
    return index(COUNTS, key)


def count_up(key=SERVER):
    """`if (!(key in counts)) counts[key] = 0; counts[key]++;`"""
    missing = If(test=binary("==", binary("in", key, COUNTS), literal(False)), then=assign(entry_of(key), literal(0)))
    return missing, assign(entry_of(key), literal(1), "+")


def send(size=SIZE):
    return Submit(value=tuple_literal(["server", "size"], [SERVER, size]))


def test_a_custom_submits_what_its_code_says():
    operator = custom(If(test=binary(">", SIZE, literal(2)), then=Submit(value=IN)))
    assert run(operator, ("a", 1), ("b", 3)).sent() == [("b", 3)]
    assert (operator.model.state, operator.model.selectivity) == (State.STATELESS, Selectivity.AT_MOST_ONE)
    assert operator.model.forwards == {"server", "size"}


def test_a_custom_drops_markers_unless_its_code_submits_them():
    operator = custom(Submit(value=IN))
    assert start(operator).feed(("a", 1)).mark().all() == [("a", 1)]
    marker = Literal(type=MARKERS, value="WindowMarker")
    logic = Logic(
        on_tuple=(Handler(port=0, body=Block(body=(Submit(value=IN),))),),
        on_punctuation=(Handler(port=0, body=Block(body=(SubmitPunctuation(value=marker),))),),
    )
    operator = build("Custom", [ENTRY], [ENTRY], logic=logic)
    assert start(operator).feed(("a", 1)).mark().all() == [("a", 1), WINDOW]
    assert operator.model.state is State.UNKNOWN
    assert operator.model.why == (Why(Flag.STATE, "its `onPunct` code runs once for all tuples before it"),)


def test_a_custom_without_inputs_runs_its_process_code():
    body = For(
        name="i",
        type=INT32,
        values=call("range", [literal(3)]),
        body=Submit(value=tuple_literal(["x"], [Variable(name="i", type=INT32)])),
    )
    operator = build("Custom", [], ["int32 x"], logic=Logic(on_process=Block(body=(body,))))
    h = start(operator)
    assert h.produce() == []
    assert h.sent() == [(0,), (1,), (2,)]
    assert operator.model.state is State.UNKNOWN


def test_process_code_is_for_customs_without_inputs():
    logic = Logic(on_process=Block(body=()))
    assert errors("Custom", [ENTRY], [], logic=logic) == ["a Custom with input ports has no `onProcess`; use `onTuple`"]


def test_a_counter_makes_the_state_unknown():
    operator = custom(assign(TOTAL, literal(1), "+"), send(TOTAL), state=[DECLARE_TOTAL])
    assert run(operator, ("a", 9), ("b", 9)).sent() == [("a", 1), ("b", 2)]
    assert operator.model.state is State.UNKNOWN
    assert operator.model.why == (
        Why(Flag.STATE, "it changes the state `total`, which is not a map keyed by attributes"),
    )
    assert operator.model.forwards == {"server"}


def test_a_map_by_an_attribute_is_partitioned_state():
    operator = custom(*count_up(), send(entry_of()), state=[DECLARE_COUNTS])
    assert run(operator, ("a", 9), ("b", 9), ("a", 9)).sent() == [("a", 1), ("b", 1), ("a", 2)]
    assert operator.model.state is State.PARTITIONED
    assert operator.model.partition_by == (frozenset({"server"}),)
    assert operator.model.selectivity is Selectivity.EXACTLY_ONE


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=20))
def test_an_instance_for_each_key_sends_what_one_for_all_keys_sends(tuples):
    operator = custom(*count_up(), send(entry_of()), state=[DECLARE_COUNTS])
    together = run(operator, *tuples).sent()
    for key in "abc":
        alone = run(operator, *[t for t in tuples if t[0] == key]).sent()
        assert alone == [t for t in together if t[0] == key]


def test_state_that_is_declared_mutable_but_never_changed_is_no_state():
    operator = custom(send(TOTAL), state=[DECLARE_TOTAL])
    assert operator.model.state is State.STATELESS


def test_functions_that_take_a_key_keep_the_state_partitioned():
    has = If(test=call("has", [COUNTS, SERVER]), then=Evaluate(value=call("removeM", [COUNTS, SERVER])))
    insert = Evaluate(value=call("insertM", [COUNTS, SERVER, SIZE]))
    assert custom(has, insert, state=[DECLARE_COUNTS]).model.partition_by == (frozenset({"server"}),)


def test_a_key_may_come_through_an_immutable_local():
    local = Declare(name="k", type=RSTRING, value=SERVER)
    operator = custom(local, *count_up(Variable(name="k", type=RSTRING)), state=[DECLARE_COUNTS])
    assert operator.model.partition_by == (frozenset({"server"}),)


def test_a_composite_key_is_all_its_attributes():
    type_ = parse_type("map<tuple<rstring a, int32 b>, int32>")
    pairs = Variable(name="pairs", type=type_)
    key = tuple_literal(["a", "b"], [SERVER, SIZE])
    state = [Declare(name="pairs", type=type_, mutable=True)]
    operator = custom(assign(index(pairs, key), literal(1)), state=state)
    assert operator.model.partition_by == (frozenset({"server", "size"}),)


@pytest.mark.parametrize(
    "body",
    [
        [*count_up(), send(call("size", [COUNTS]))],
        [*count_up(binary("+", SERVER, literal("x")))],
        [*count_up(literal("all"))],
        [*count_up(), assign(COUNTS, map_literal([literal("a")], [literal(1)]))],
        [*count_up(), Evaluate(value=call("clearM", [COUNTS]))],
        [assign(SERVER, literal("x")), *count_up()],
        [assign(IN, IN), *count_up()],
        [For(name="k", type=RSTRING, values=COUNTS, body=send()), *count_up()],
        [Declare(name="k", type=RSTRING, value=SERVER, mutable=True), *count_up(Variable(name="k", type=RSTRING))],
        [*count_up(), assign(index(COUNTS, call("lower", [SERVER])), literal(2))],
    ],
    ids=[
        "size",
        "computed",
        "constant",
        "replaced",
        "cleared",
        "key changed",
        "tuple changed",
        "loop",
        "mutable",
        "two",
    ],
)
def test_a_map_that_is_used_otherwise_is_unknown_state(body):
    assert custom(*body, state=[DECLARE_COUNTS]).model.state is State.UNKNOWN


def test_state_over_two_ports_needs_a_key_on_both():
    other = attribute("name", "rstring name", 1)
    first, second = Handler(port=0, body=Block(body=count_up())), Handler(port=1, body=Block(body=count_up(other)))

    def model(*handlers):
        logic = Logic(state=(DECLARE_COUNTS,), on_tuple=handlers)
        return build("Custom", [ENTRY, "rstring name"], [], logic=logic).model

    assert model(first, second).partition_by == (frozenset({"server"}), frozenset({"name"}))
    assert model(first).state is State.UNKNOWN


def test_the_attributes_that_every_submit_copies_are_forwarded():
    assert custom(send(), Submit(value=IN)).model.forwards == {"server", "size"}
    assert custom(send(), send(literal(1))).model.forwards == {"server"}
    assert custom(assign(SIZE, literal(1), "+"), Submit(value=IN)).model.forwards == {"server"}
    assert custom(assign(IN, IN), Submit(value=IN)).model.forwards == frozenset()
    assert custom().model.forwards == frozenset()
    local = Declare(name="t", type=IN.type, value=IN)
    assert custom(local, Submit(value=Variable(name="t", type=IN.type))).model.forwards == {"server", "size"}


def test_submits_are_counted_over_paths():
    early = If(test=binary(">", SIZE, literal(2)), then=Return())
    assert custom(early, send()).model.selectivity is Selectivity.AT_MOST_ONE
    twice = custom(send(), send())
    assert twice.model.selectivity is Selectivity.UNKNOWN
    assert twice.model.why == (Why(Flag.SELECTIVITY, "its code may submit more than one tuple for one"),)
    assert custom().model.selectivity is Selectivity.AT_MOST_ONE


def test_a_custom_that_ends_its_output_is_not_parallelized():
    final = SubmitPunctuation(value=Literal(type=MARKERS, value="FinalMarker"))
    model = custom(send(), final).model
    assert (model.state, model.why) == (State.UNKNOWN, (Why(Flag.STATE, "its code may end its output"),))
    window = SubmitPunctuation(value=Literal(type=MARKERS, value="WindowMarker"))
    assert custom(send(), window).model.state is State.STATELESS


def test_printing_is_a_side_effect():
    model = custom(Evaluate(value=call("println", [SERVER])), send()).model
    assert model.state is State.UNKNOWN
    assert model.side_effects


def function(name, *, stateful=False, mutable=False, body=()):
    parameter = Parameter(name="m", type=COUNTS.type, mutable=mutable)
    return Function(name=name, parameters=(parameter,), returns=VOID, body=Block(body=body), stateful=stateful)


def own_call(name):
    return Evaluate(value=Call(type=VOID, function=name, arguments=(COUNTS,)))


def test_an_applications_functions_count_as_they_are_declared():
    def state(*functions):
        return custom(own_call("my::f"), state=[DECLARE_COUNTS], functions=functions).model.state

    assert state(function("my::f")) is State.STATELESS
    assert state(function("my::f", stateful=True)) is State.UNKNOWN
    assert state(function("my::f", mutable=True)) is State.UNKNOWN
    assert state(function("my::other")) is State.UNKNOWN


def test_logic_runs_before_a_filter_takes_the_tuple():
    logic = on_tuple(assign(TOTAL, SIZE, "+"), state=[DECLARE_TOTAL])
    operator = build("Filter", [ENTRY], [ENTRY], {"filter": binary(">", TOTAL, literal(5))}, logic=logic)
    assert run(operator, ("a", 3), ("b", 3), ("c", 3)).sent() == [("b", 3), ("c", 3)]
    assert operator.model.state is State.UNKNOWN


def test_state_can_be_changed_in_an_output_clause():
    logic = Logic(state=(DECLARE_TOTAL,))
    count = update(TOTAL, literal(1), "+", postfix=True)
    operator = build("Functor", [ENTRY], ["int32 n"], assign={"n": count}, logic=logic)
    assert run(operator, ("a", 3), ("b", 3)).sent() == [(0,), (1,)]
    assert operator.model.state is State.UNKNOWN


def test_keyed_state_in_an_output_clause_is_partitioned():
    logic = Logic(state=(DECLARE_COUNTS,))
    count = update(entry_of(), SIZE, "")
    operator = build("Functor", [ENTRY], ["int32 n"], assign={"n": count}, logic=logic)
    assert run(operator, ("a", 3)).sent() == [(3,)]
    assert operator.model.partition_by == (frozenset({"server"}),)


def test_logic_on_punctuation_runs_before_the_operator_takes_the_marker():
    seen = Variable(name="seen", type=INT32)
    logic = Logic(
        state=(Declare(name="seen", type=INT32, mutable=True),),
        on_punctuation=(Handler(port=0, body=Block(body=(assign(seen, literal(1), "+"),))),),
    )
    operator = build("Functor", [ENTRY], ["int32 n"], assign={"n": seen}, logic=logic)
    assert start(operator).feed(("a", 1)).mark().mark().feed(("b", 1)).all() == [(0,), WINDOW, WINDOW, (2,)]


def test_a_beacon_counts_with_its_own_state():
    logic = Logic(state=(DECLARE_TOTAL,))
    count = update(TOTAL, literal(1), "+", postfix=True)
    operator = build("Beacon", [], ["int32 n"], {"iterations": 3}, assign={"n": count}, logic=logic)
    assert [t for _, t in start(operator).produce()] == [(0,), (1,), (2,), WINDOW]


def test_partitioned_operators_stay_so_only_by_the_same_key():
    params = {"key": SERVER, "timeOut": 5.0}
    same = on_tuple(*count_up(), state=[DECLARE_COUNTS])
    assert build("DeDuplicate", [ENTRY], [ENTRY], params, logic=same).model.state is State.PARTITIONED
    other = on_tuple(*count_up(call("lower", [SERVER])), state=[DECLARE_COUNTS])
    assert build("DeDuplicate", [ENTRY], [ENTRY], params, logic=other).model.state is State.UNKNOWN
    keyed = on_tuple(*count_up(), state=[DECLARE_COUNTS])
    by_size = build("DeDuplicate", [ENTRY], [ENTRY], {"key": SIZE, "timeOut": 5.0}, logic=keyed).model
    assert by_size.why == (Why(Flag.STATE, "its state variables are keyed by other attributes than its windows"),)
