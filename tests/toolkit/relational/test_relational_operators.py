"""Filter, Functor, Punctor, Split, Union, ThreadedSplit: step by step, and their models."""

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.errors import EvaluationError
from penstock.expr.typing import binary, call, cast, conditional, list_literal, literal
from penstock.ir.models import Flag, Selectivity, State, Why
from penstock.ir.types import UINT64
from toolkit.harness import WINDOW, attribute, build, errors, run, start, word

PERSON = "rstring name, uint32 age"
AGE = attribute("age", PERSON)
NAME = attribute("name", PERSON)
YOUNG = binary("<", AGE, literal(30))
ADA, BOB = ("Ada", 25), ("Bob", 40)


def test_filter_passes_what_satisfies_the_condition():
    assert run(build("Filter", [PERSON], [PERSON], {"filter": YOUNG}), ADA, BOB).sent() == [ADA]


def test_filter_without_a_condition_passes_everything():
    operator = build("Filter", [PERSON], [PERSON])
    assert run(operator, ADA, BOB).sent() == [ADA, BOB]
    assert operator.model.selectivity is Selectivity.EXACTLY_ONE


def test_filter_sends_the_others_to_its_second_port():
    operator = build("Filter", [PERSON], [PERSON, PERSON], {"filter": YOUNG})
    h = run(operator, ADA, BOB)
    assert (h.sent(0), h.sent(1)) == ([ADA], [BOB])
    assert operator.model.selectivity is Selectivity.EXACTLY_ONE


def test_filter_passes_window_markers_to_every_port():
    h = start(build("Filter", [PERSON], [PERSON, PERSON], {"filter": YOUNG})).feed(ADA).mark()
    assert (h.all(0), h.all(1)) == ([ADA, WINDOW], [WINDOW])


def test_filter_is_stateless_loses_tuples_and_keeps_attributes():
    model = build("Filter", [PERSON], [PERSON], {"filter": YOUNG}).model
    assert (model.state, model.selectivity) == (State.STATELESS, Selectivity.AT_MOST_ONE)
    assert model.forwards == {"name", "age"}
    assert model.is_parallelizable


def test_functor_assigns_and_copies():
    operator = build("Functor", [PERSON], ["uint32 age, rstring upper"], assign={"upper": call("upper", [NAME])})
    assert run(operator, ADA).sent() == [(25, "ADA")]
    assert operator.model.forwards == {"age"}
    assert operator.model.selectivity is Selectivity.EXACTLY_ONE


def test_functor_with_a_filter_drops_tuples():
    operator = build("Functor", [PERSON], ["rstring name"], {"filter": YOUNG})
    assert run(operator, ADA, BOB).sent() == [("Ada",)]
    assert operator.model.selectivity is Selectivity.AT_MOST_ONE


def test_functor_makes_a_tuple_for_each_output_port():
    operator = build("Functor", [PERSON], ["rstring name", "uint32 age"])
    h = start(operator).feed(ADA).mark()
    assert (h.all(0), h.all(1)) == ([("Ada",), WINDOW], [(25,), WINDOW])
    assert operator.model.selectivity is Selectivity.UNKNOWN
    assert operator.model.why == (Why(Flag.SELECTIVITY, "it makes 2 tuples of one, one for each output port"),)


def test_an_attribute_that_is_assigned_under_its_own_name_is_not_forwarded():
    operator = build("Functor", [PERSON], [PERSON], assign={"age": binary("+", AGE, literal(1))})
    assert operator.model.forwards == {"name"}


def test_a_stateful_function_in_an_expression_makes_the_state_unknown():
    operator = build("Functor", [PERSON], ["float64 r"], assign={"r": call("random", [])})
    assert operator.model.state is State.UNKNOWN
    assert operator.model.side_effects
    assert operator.model.why == (
        Why(Flag.STATE, "it calls `random`, which may give another value on another channel"),
    )


@pytest.mark.parametrize(("position", "expected"), [("before", [ADA, WINDOW, BOB]), ("after", [ADA, BOB, WINDOW])])
def test_punctor_adds_markers_and_drops_those_of_its_input(position, expected):
    params = {"punctuate": binary(">", AGE, literal(30)), "position": word(position)}
    operator = build("Punctor", [PERSON], [PERSON], params)
    assert start(operator).feed(ADA).mark().feed(BOB).all() == expected
    assert operator.model.selectivity is Selectivity.EXACTLY_ONE


def test_split_sends_a_tuple_to_the_port_of_its_index_modulo_their_number():
    h = run(build("Split", [PERSON], [PERSON] * 2, {"index": AGE}), ("a", 0), ("b", 1), ("c", 5), ("d", 4))
    assert (h.sent(0), h.sent(1)) == ([("a", 0), ("d", 4)], [("b", 1), ("c", 5)])


def test_split_drops_a_tuple_of_negative_index():
    index = conditional(YOUNG, literal(-1), literal(1))
    operator = build("Split", [PERSON], [PERSON] * 2, {"index": index})
    h = run(operator, ADA, BOB)
    assert (h.sent(0), h.sent(1)) == ([], [BOB])
    assert operator.model.selectivity is Selectivity.AT_MOST_ONE


def test_split_with_an_unsigned_index_loses_nothing():
    operator = build("Split", [PERSON], [PERSON] * 2, {"index": cast(call("hashCode", [NAME]), UINT64)})
    assert operator.model.selectivity is Selectivity.EXACTLY_ONE
    h = run(operator, ADA, BOB, ADA)
    assert sorted(h.sent(0) + h.sent(1)) == [ADA, ADA, BOB]


def test_split_with_a_list_sends_as_often_as_the_list_says():
    index = list_literal([literal(0), literal(0), conditional(YOUNG, literal(1), literal(-1))])
    operator = build("Split", [PERSON], [PERSON] * 2, {"index": index})
    h = start(operator).feed(ADA, BOB).mark()
    assert (h.all(0), h.all(1)) == ([ADA, ADA, BOB, BOB, WINDOW], [ADA, WINDOW])
    assert operator.model.selectivity is Selectivity.UNKNOWN


def test_split_looks_keys_up_in_a_file(tmp_path):
    text = '# mapping\ndefault, -1 # drop\n"Ada", 0, 1 # both, of them\nBob , 1\n'
    (tmp_path / "mapping.txt").write_text(text)
    operator = build("Split", [PERSON], [PERSON] * 2, {"file": "mapping.txt", "key": NAME})
    h = run(operator, ADA, BOB, ("Eve", 1), data=tmp_path)
    assert (h.sent(0), h.sent(1)) == ([ADA], [ADA, BOB])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ada, 0\nAda, 1\n", "mapping.txt:2: the key of `Ada, 1` stands there twice"),
        ("Ada, x\n", "mapping.txt:1: `Ada, x` is no mapping"),
        (None, "Split cannot read the mapping file `mapping.txt`: No such file or directory"),
    ],
)
def test_a_bad_mapping_file_is_a_users_error(tmp_path, text, message):
    if text is not None:
        (tmp_path / "mapping.txt").write_text(text)
    operator = build("Split", [PERSON], [PERSON], {"file": "mapping.txt", "key": NAME})
    with pytest.raises(UserError, match=message):
        start(operator, data=tmp_path)


def test_a_key_without_mapping_and_default_is_a_runtime_error(tmp_path):
    (tmp_path / "m").write_text("7, 0\n")
    operator = build("Split", [PERSON], [PERSON], {"file": "m", "key": AGE})
    with pytest.raises(EvaluationError, match="the key 25 is not in `m`, which has no `default`"):
        run(operator, ADA, data=tmp_path)


def test_split_needs_an_index_or_a_file_with_a_key():
    assert errors("Split", [PERSON], [PERSON], {"file": "m"}) == [
        "a Split has either `index`, or `file` and `key`, found `file`"
    ]


def test_union_keeps_the_attributes_of_its_output_and_drops_markers():
    operator = build("Union", ["rstring a, int32 d, rstring b", "rstring b, rstring a"], ["rstring b, rstring a"])
    h = start(operator).feed(("a1", 1, "b1")).mark().feed(("b2", "a2"), port=1)
    assert h.all() == [("b1", "a1"), ("b2", "a2")]
    assert operator.model.is_parallelizable


def test_union_of_one_attribute():
    operator = build("Union", ["rstring a, int32 d", "int32 d"], ["int32 d"])
    assert start(operator).feed(("a1", 1)).feed((2,), port=1).all() == [(1,), (2,)]


def test_union_refuses_an_attribute_that_one_input_lacks():
    (message,) = errors("Union", ["int32 a", "int64 a"], ["int32 a"])
    assert message.startswith("`Out0` has `int32 a`, but input port 1 has tuple<int64 a>")


def test_threaded_split_deals_tuples_out_in_turn():
    operator = build("ThreadedSplit", ["int32 x"], ["int32 x"] * 2, {"bufferSize": 10})
    h = start(operator).feed((1,), (2,), (3,)).mark()
    assert (h.all(0), h.all(1)) == ([(1,), (3,), WINDOW], [(2,), WINDOW])
    assert not operator.model.is_parallelizable
