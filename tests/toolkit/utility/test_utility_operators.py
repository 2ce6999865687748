"""Beacon, Throttle, Delay, Gate, Switch, DynamicFilter, DeDuplicate, MetricsSink, Import, Export."""

import pytest

from penstock.expr.evaluate import Evaluator
from penstock.expr.typing import binary, cast, literal, tuple_literal
from penstock.ir.expressions import OutputCall
from penstock.ir.models import Selectivity, State
from penstock.ir.types import INT32, UINT64
from penstock.toolkit.adapters.import_ import offer_of, wanted_by
from toolkit.harness import WINDOW, attribute, build, errors, start, word

X = "int32 x"


def test_beacon_sends_a_marker_after_its_last_tuple():
    operator = build("Beacon", [], [X], {"iterations": 2}, assign={"x": 7})
    assert start(operator).produce() == [(0, (7,)), (0, (7,)), (0, WINDOW)]


def test_beacon_waits_before_the_first_and_between_two_tuples():
    operator = build("Beacon", [], [X], {"iterations": 3, "period": 0.5, "initDelay": 2.0})
    assert start(operator).produce() == [(2.0, (0,)), (2.5, (0,)), (3.0, (0,)), (3.0, WINDOW)]


def test_beacon_counts_iterations():
    count = OutputCall(type=UINT64, function="IterationCount", arguments=())
    same = OutputCall(type=UINT64, function="AsIs", arguments=(count,))
    value = cast(binary("*", same, literal(2, UINT64)), INT32)
    operator = build("Beacon", [], [X], {"iterations": 3}, assign={"x": value})
    assert [t for _, t in start(operator).produce()] == [(0,), (2,), (4,), WINDOW]


def test_beacon_without_iterations_never_ends():
    assert len(start(build("Beacon", [], [X])).produce(most=50)) == 50


def test_delay_keeps_the_time_between_tuples_and_markers():
    h = start(build("Delay", [X], [X], {"delay": 2.0}))
    h.feed((1,)).advance(0.5).mark().advance(0.5).feed((2,))
    assert h.all() == []
    assert h.advance(1.0).all() == [(1,)]
    assert h.advance(0.5).all() == [(1,), WINDOW]
    assert h.end().all() == [(1,), WINDOW, (2,)]
    assert h.environment.clock.now_ns == 3 * 10**9


def test_throttle_keeps_tuples_apart():
    h = start(build("Throttle", [X], [X], {"rate": 2.0})).feed((1,), (2,)).mark().feed((3,))
    assert h.all() == [(1,)]
    assert h.advance(0.5).all() == [(1,), (2,), WINDOW]
    assert h.end().all() == [(1,), (2,), WINDOW, (3,)]
    assert h.environment.clock.now_ns == 10**9


def test_throttle_lets_a_slow_stream_pass_at_once():
    h = start(build("Throttle", [X], [X], {"rate": 2.0})).feed((1,)).advance(3).feed((2,))
    assert h.all() == [(1,), (2,)]


def test_throttle_counts_markers_on_request():
    h = start(build("Throttle", [X], [X], {"rate": 1.0, "includePunctuations": True})).feed((1,)).mark().feed((2,))
    assert h.advance(1).all() == [(1,), WINDOW]
    assert h.advance(1).all() == [(1,), WINDOW, (2,)]


def test_throttle_needs_a_rate_above_zero():
    assert errors("Throttle", [X], [X], {"rate": 0.0}) == ["the rate of a Throttle must be above 0, found 0.0"]


def test_gate_waits_for_acknowledgements():
    h = start(build("Gate", [X, X], [X], {"maxUnackedTupleCount": 2})).feed((1,), (2,), (3,)).mark().feed((4,))
    assert h.all() == [(1,), (2,)]
    h.feed((0,), port=1)
    assert h.all() == [(1,), (2,), (3,)]
    h.feed((0,), port=1)
    assert h.all() == [(1,), (2,), (3,), WINDOW, (4,)]


def test_gate_takes_the_number_of_acknowledgements_from_the_control_tuple():
    params = {"maxUnackedTupleCount": 3, "numTuplesToAck": attribute("x", X, port=1)}
    h = start(build("Gate", [X, X], [X], params)).feed(*[(i,) for i in range(7)])
    assert len(h.sent()) == 3
    assert len(h.feed((2,), port=1).sent()) == 5
    assert len(h.feed((100,), port=1).sent()) == 7


def test_gate_says_how_many_tuples_it_kept():
    logged = []
    operator = build("Gate", [X, X], [X], {"maxUnackedTupleCount": 1})
    start(operator, log=lambda level, text: logged.append((level, text))).feed((1,), (2,), (3,)).end()
    assert logged == [("warn", "`Op` ended with 2 tuples that it was never told to pass on")]


def test_switch_holds_tuples_until_it_is_on():
    params = {"status": binary(">", attribute("x", X, port=1), literal(0))}
    h = start(build("Switch", [X, X], [X], params)).feed((1,)).mark().feed((2,))
    assert h.all() == []
    assert h.feed((1,), port=1).all() == [(1,), WINDOW, (2,)]
    assert h.feed((3,)).feed((0,), port=1).feed((4,)).all() == [(1,), WINDOW, (2,), (3,)]


def test_switch_can_be_on_from_the_start():
    h = start(build("Switch", [X, X], [X], {"status": True, "initialStatus": True})).feed((1,))
    assert h.all() == [(1,)]


def test_dynamic_filter_passes_keys_that_have_been_added():
    key, added, removed = attribute("x", X), attribute("x", X, 1), attribute("x", X, 2)
    operator = build("DynamicFilter", [X] * 3, [X] * 2, {"key": key, "addKey": added, "removeKey": removed})
    h = start(operator).feed((1,)).feed((1,), port=1).feed((1,), (2,)).feed((1,), port=2).feed((1,)).mark().mark(1)
    assert h.all(0) == [(1,), WINDOW]
    assert h.sent(1) == [(1,), (2,), (1,)]


def test_dynamic_filter_checks_that_its_keys_are_of_one_type():
    key, added = attribute("x", X), attribute("s", "rstring s", 1)
    (message,) = errors("DynamicFilter", [X, "rstring s"], [X], {"key": key, "addKey": added})
    assert message.startswith("`addKey` has the types (rstring), but `key` has (int32)")
    (message,) = errors("DynamicFilter", [X] * 3, [X], {"key": key, "addKey": attribute("x", X, 1)})
    assert message == "a DynamicFilter has `removeKey` if and only if it has a third input port"


PAIR = "rstring k, int32 v"


def test_de_duplicate_forgets_after_its_time_out():
    operator = build("DeDuplicate", [PAIR], [PAIR, PAIR], {"timeOut": 10.0, "key": attribute("k", PAIR)})
    h = start(operator).feed(("a", 1)).advance(6).feed(("a", 2), ("b", 3)).advance(10).feed(("a", 4))
    h.advance(0.001).feed(("b", 5))
    assert h.sent(0) == [("a", 1), ("b", 3), ("b", 5)]
    assert h.sent(1) == [("a", 2), ("a", 4)]
    assert (operator.model.state, operator.model.partition_by) == (State.PARTITIONED, (frozenset({"k"}),))
    assert operator.model.selectivity is Selectivity.EXACTLY_ONE


def test_de_duplicate_counts_from_the_first_tuple_if_told_so():
    params = {"timeOut": 10.0, "key": attribute("k", PAIR), "resetOnDuplicate": False}
    h = start(build("DeDuplicate", [PAIR], [PAIR], params)).feed(("a", 1)).advance(6).feed(("a", 2))
    assert h.advance(6).feed(("a", 3)).sent() == [("a", 1), ("a", 3)]


def test_de_duplicate_by_count():
    operator = build("DeDuplicate", [X], [X], {"count": 2})
    assert start(operator).feed((1,), (2,), (1,), (3,), (4,), (5,), (1,)).sent() == [(1,), (2,), (3,), (4,), (5,), (1,)]
    assert operator.model.state is State.UNKNOWN


def test_de_duplicate_by_difference():
    params = {"key": attribute("k", PAIR), "deltaAttribute": attribute("v", PAIR), "delta": 5}
    h = start(build("DeDuplicate", [PAIR], [PAIR], params)).feed(("a", 1), ("a", 6), ("a", 12))
    assert h.sent() == [("a", 1), ("a", 12)]


def test_de_duplicate_uses_the_whole_tuple_and_never_a_nan():
    nan = float("nan")
    h = start(build("DeDuplicate", ["float64 x, list<int32> l"], ["float64 x, list<int32> l"]))
    h.feed((1.0, [1]), (1.0, [1]), (1.0, [2]), (nan, []), (nan, []))
    assert [repr(t) for t in h.sent()] == ["(1.0, [1])", "(1.0, [2])", "(nan, [])", "(nan, [])"]


def test_de_duplicate_forgets_everything_at_a_marker_on_request():
    h = start(build("DeDuplicate", [X], [X], {"flushOnPunctuation": True})).feed((1,)).mark().feed((1,), (1,))
    assert h.all() == [(1,), WINDOW, (1,)]


def test_de_duplicate_takes_one_measure():
    (message,) = errors("DeDuplicate", [X], [X], {"count": 2, "timeOut": 1.0})
    assert message.startswith("a DeDuplicate has one of `timeOut`, `count` and `deltaAttribute`")
    (message,) = errors("DeDuplicate", [X], [X], {"delta": 2})
    assert message == "`delta` and `deltaAttribute` of a DeDuplicate go together"


def test_de_duplicate_with_a_computed_key_is_not_partitioned():
    operator = build("DeDuplicate", [X], [X], {"key": binary("/", attribute("x", X), literal(3))})
    assert start(operator).feed((3,), (4,), (6,)).sent() == [(3,), (6,)]
    assert operator.model.state is State.UNKNOWN


def test_metrics_sink_sets_metrics():
    x = attribute("x", X)
    params = {"metrics": [x, binary("*", x, literal(2))], "names": ["a", "b"], "initialValues": [5, 6]}
    h = start(build("MetricsSink", [X], [], params))
    assert h.environment.metrics == {"a": 5, "b": 6}
    assert h.feed((1,), (3,)).environment.metrics == {"a": 3, "b": 6}


def test_metrics_sink_needs_a_name_for_each_metric():
    (message,) = errors("MetricsSink", [X], [], {"metrics": [1, 2], "names": "a"})
    assert message == "`names` of a MetricsSink has a value for each of its 2 metrics, found 1"


def test_export_hands_tuples_and_markers_on():
    h = start(build("Export", [X], [], {"streamId": "s"})).feed((1,)).mark()
    assert h.exported == [(1,), WINDOW]


def test_export_has_a_name_or_properties():
    properties = tuple_literal(["kind"], [literal("x")])
    assert errors("Export", [X], [], {"streamId": "s", "properties": properties}) == [
        "an Export has `streamId` or `properties`, found both"
    ]
    (message,) = errors("Export", [X], [], {"properties": 5})
    assert message.startswith("`properties` is a tuple, found int32")


def test_import_filters_what_comes_in():
    h = start(build("Import", [], [X], {"streamId": "s", "filter": "x > 2"}))
    receive = h.runtime.receiver(0)
    for x in range(5):
        receive((x,))
    assert h.sent() == [(3,), (4,)]


PROPERTIES = tuple_literal(["kind", "id"], [literal("bargains"), literal(5)])


@pytest.mark.parametrize(
    ("wanted", "offered", "matches"),
    [
        ({"streamId": "s"}, {"streamId": "s"}, True),
        ({"streamId": "s"}, {"streamId": "t"}, False),
        ({"streamId": "s", "applicationName": "App"}, {"streamId": "s"}, True),
        ({"streamId": "s", "applicationName": "Other"}, {"streamId": "s"}, False),
        ({"subscription": 'kind == "bargains" && id % 4 == 1'}, {"properties": PROPERTIES}, True),
        ({"subscription": 'kind == "bargains" && id % 4 == 2'}, {"properties": PROPERTIES}, False),
        ({"subscription": 'kind == "bargains"'}, {"streamId": "s"}, False),
        ({}, {"streamId": "s"}, False),
        ({}, {}, False),
    ],
)
def test_imports_match_exports_by_name_or_by_properties(wanted, offered, matches):
    offer = offer_of(build("Export", [X], [], offered), "App", Evaluator())
    assert wanted_by(build("Import", [], [X], wanted), Evaluator()).takes(offer) is matches


def test_imports_match_only_their_own_schema():
    offer = offer_of(build("Export", ["int64 x"], [], {"streamId": "s"}), "App", Evaluator())
    assert not wanted_by(build("Import", [], [X], {"streamId": "s"}), Evaluator()).takes(offer)


def test_a_bad_subscription_is_an_error_of_the_program():
    (message,) = errors("Import", [], [X], {"subscription": "kind = 5"})
    assert message == "`subscription` of an Import: `kind = 5` is no predicate: unexpected `= 5`"
    (message,) = errors("Import", [], [X], {"subscription": "a == 1", "streamId": "s"})
    assert message == "an Import has `streamId` or `subscription`, found both"


def test_words_of_export_are_checked():
    (message,) = errors("Export", [X], [], {"congestionPolicy": word("drop")})
    assert "takes one of `wait`, `dropConnection`" in message
