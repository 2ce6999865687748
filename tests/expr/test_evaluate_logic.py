"""Logic clauses: statements, state, functions, punctuation, sources."""

from __future__ import annotations

import pickle

import pytest
from logic_harness import custom, run

from penstock.expr.errors import EvaluationError


def numbers(*values: int) -> list[tuple[object, ...]]:
    return [(value,) for value in values]


def test_state_lives_from_tuple_to_tuple() -> None:
    found = run("state: mutable int32 n = 10; onTuple In: { n += x; submit({y = n}, Out); }", numbers(1, 2, 3))
    assert found.submitted == [(11,), (13,), (16,)]


def test_state_can_refer_to_earlier_state_and_starts_with_defaults() -> None:
    clauses = """state: { int32 a = 2; int32 b = a * 3; mutable int32 c; }
        onTuple In: { c = c + b; submit({y = c}, Out); }"""
    assert run(clauses, numbers(0, 0)).submitted == [(6,), (12,)]


def test_state_is_an_object_that_can_be_pickled() -> None:
    found = run('state: mutable map<rstring, int32> m = {}; onTuple In: { m["k"] = x; }', numbers(7))
    assert found.logic is not None
    assert pickle.loads(pickle.dumps(found.logic.state)).m == {"k": 7}


def test_a_local_hides_an_outer_variable_only_inside_its_block() -> None:
    clauses = """onTuple In: { mutable int32 v = 1; { mutable int32 v = 5; v++; } v++; submit({y = v}, Out); }"""
    assert run(clauses, numbers(0)).submitted == [(2,)]


@pytest.mark.parametrize("name", ["lambda", "len", "state_", "t0", "_1", "parse_type", "None", "_x", "__y"])
def test_a_variable_may_have_a_name_that_means_something_in_python(name: str) -> None:
    clauses = f"""state: mutable int32 {name} = 1; onTuple In: {{ mutable int32 q = {name}; {{ int32 {name} = q + x;
        q = {name}; }} {name} += q; submit({{y = {name}}}, Out); }}"""
    assert run(clauses, numbers(10)).submitted == [(12,)]


def test_while_break_and_continue() -> None:
    clauses = """onTuple In: { mutable int32 i = 0; while (true) { i++; if (i % 2 == 0) continue; if (i > x) break;
        submit({y = i}, Out); } }"""
    assert run(clauses, numbers(5)).submitted == [(1,), (3,), (5,)]


def test_for_over_a_set_goes_up_and_over_a_map_in_order_of_insertion() -> None:
    clauses = """onTuple In: { for (int32 v in {3, 1, 2}) submit({y = v}, Out);
        for (int32 k in {9: "a", 8: "b"}) submit({y = k}, Out); }"""
    assert run(clauses, numbers(0)).submitted == [(1,), (2,), (3,), (9,), (8,)]


def test_a_loop_over_a_list_that_it_changes_sees_the_old_elements() -> None:
    clauses = """state: mutable list<int32> l = [1, 2];
        onTuple In: { for (int32 v in l) { appendM(l, v + 10); submit({y = v}, Out); } submit({y = size(l)}, Out); }"""
    assert run(clauses, numbers(0)).submitted == [(1,), (2,), (4,)]


def test_a_switch_falls_through_until_it_breaks() -> None:
    clauses = """onTuple In: { switch (x) { case 1: submit({y = 1}, Out); case 2: submit({y = 2}, Out); break;
        default: submit({y = 0}, Out); } }"""
    assert run(clauses, numbers(1, 2, 3)).submitted == [(1,), (2,), (2,), (0,)]


def test_a_switch_inside_a_loop_can_continue_the_loop() -> None:
    clauses = """onTuple In: { for (int32 v in [1, 2, 3]) { switch (v) { case 2: continue; default: break; }
        submit({y = v}, Out); } }"""
    assert run(clauses, numbers(0)).submitted == [(1,), (3,)]


def test_increments_are_values() -> None:
    clauses = """state: { mutable int32 n = 5; mutable list<int32> l = [1, 2]; }
        onTuple In: { mutable int32 i = 0; submit({y = n++ + n}, Out); submit({y = ++n}, Out);
        submit({y = l[i++]++}, Out);
        submit({y = l[0] * 10 + i}, Out); }"""
    assert run(clauses, numbers(0)).submitted == [(11,), (7,), (1,), (21,)]


def test_a_compound_assignment_computes_its_position_once() -> None:
    clauses = """onTuple In: { mutable int32 i = 0; mutable list<int32> l = [10, 20]; l[i++] += 5;
        submit({y = l[0] + i}, Out); }"""
    assert run(clauses, numbers(0)).submitted == [(16,)]


def test_the_tuple_that_was_received_can_be_changed() -> None:
    operator, evaluator = custom("onTuple In: { x = x + 1; In.x = In.x * 2; }")
    assert operator.logic is not None
    logic = evaluator.logic(operator.logic, ports=[operator.inputs[0].schema], submit=[], punctuate=[])
    assert logic.on_tuple[0]((4,)) == (10,)


def test_an_attribute_of_a_tuple_in_a_list_can_be_changed() -> None:
    clauses = """onTuple In: { mutable list<tuple<int32 a, list<int32> b>> l = [{a = 1, b = [1]}];
        l[0].a = 7; l[0].b[0] = 8; appendM(l[0].b, 9);
        submit({y = l[0].a * 100 + l[0].b[0] * 10 + l[0].b[1]}, Out); }"""
    assert run(clauses, numbers(0)).submitted == [(789,)]


def test_functions_return_values_and_recurse() -> None:
    more = "int32 fact(int32 n) { return n <= 1 ? 1 : n * fact(n - 1); }"
    assert run("onTuple In: submit({y = fact(x)}, Out);", numbers(5), more=more).submitted == [(120,)]


def test_a_function_that_calls_itself_without_end_fails_as_an_evaluation() -> None:
    more = "int32 f(int32 n) { return f(n + 1); }"
    with pytest.raises(EvaluationError, match=r"function `f` calls itself too often"):
        run("onTuple In: submit({y = f(x)}, Out);", numbers(5), more=more)


def test_a_mutable_parameter_is_passed_by_reference() -> None:
    more = """void grow(mutable int32 n, mutable list<int32> l) { n = n * 2; appendM(l, n); if (n > 100) return; n++; }
        int32 swap(mutable int32 a, mutable int32 b) { int32 c = a; a = b; b = c; return c; }"""
    clauses = """state: { mutable int32 s = 3; mutable list<int32> l = []; }
        onTuple In: { grow(s, l); submit({y = s}, Out); submit({y = l[0]}, Out);
        mutable int32 p = 1; mutable int32 q = 2;
        submit({y = swap(p, q)}, Out); submit({y = p * 10 + q}, Out); }"""
    assert run(clauses, numbers(0), more=more).submitted == [(7,), (6,), (1,), (21,)]


def test_a_function_can_replace_a_collection_that_it_got_by_reference() -> None:
    more = "void reset(mutable list<int32> l, mutable map<int32, int32> m) { l = [7, 8]; m = {1: 2}; }"
    clauses = """onTuple In: { mutable list<int32> l = [1]; mutable map<int32, int32> m = {5: 5}; reset(l, m);
        submit({y = l[1] * 10 + m[1]}, Out); submit({y = size(m)}, Out); }"""
    assert run(clauses, numbers(0), more=more).submitted == [(82,), (1,)]


def test_standard_functions_change_strings_and_numbers_through_their_new_values() -> None:
    clauses = (
        """state: mutable blob b; onTuple In: { appendM(b, [1ub, 2ub]); submit({y = (int32) blobSize(b)}, Out); }"""
    )
    assert run(clauses, numbers(0, 0)).submitted == [(2,), (4,)]


def test_on_punct_knows_its_punctuation_and_submits_markers() -> None:
    clauses = """state: mutable int32 n = 0; onTuple In: n++;
        onPunct In: { if (currentPunct() == Sys.WindowMarker) {
        submit({y = n}, Out); submit(Sys.WindowMarker, Out); } }"""
    found = run(clauses, [(1,), "WindowMarker", (2,), "FinalMarker"])
    assert found.submitted == [(1,), "WindowMarker"]


def test_on_process_pauses_at_each_submission_and_tells_how_long_to_wait() -> None:
    clauses = "onProcess: { for (int32 i in [1, 2]) { submit({y = i}, Out); block(0.5); } }"
    operator, evaluator = custom(clauses, into="")
    taken: list[object] = []
    assert operator.logic is not None
    logic = evaluator.logic(operator.logic, ports=[], submit=[taken.append], punctuate=[])
    assert logic.on_process is not None
    process = logic.on_process()
    assert next(process) is None
    assert taken == [(1,)]
    assert list(process) == [500_000_000, None, 500_000_000, None]
    assert taken == [(1,), (2,)]


def test_a_failure_leaves_the_state_of_the_statements_before_it() -> None:
    clauses = "state: mutable int32 n = 0; onTuple In: { n++; submit({y = 10 / x}, Out); }"
    operator, evaluator = custom(clauses)
    assert operator.logic is not None
    logic = evaluator.logic(operator.logic, ports=[operator.inputs[0].schema], submit=[lambda t: None], punctuate=[])
    with pytest.raises(EvaluationError, match="division by zero"):
        logic.on_tuple[0]((0,))
    assert logic.state.n == 1


def test_emitted_code_is_a_complete_and_deterministic_module() -> None:
    clauses = """state: mutable map<rstring, list<int32>> m = {}; onTuple In: { m["a"] = [x]; appendM(m["a"], x / 3);
        submit({y = size(m["a"])}, Out); }"""
    texts = {run(clauses, []).logic.source for _ in range(3)}  # type: ignore[union-attr]
    assert len(texts) == 1
    names: dict[str, object] = {"environment": None, "submit": [lambda t: None]}
    exec(compile(texts.pop(), "module", "exec"), names)
    names["state"] = names["initial_state"]()  # type: ignore[operator]
    assert names["on_tuple_0"]((6,)) == (6,)  # type: ignore[operator]
