"""Match: patterns, partial matches, and a search by brute force as oracle."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import feed, program, tuples_of
from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.typing import binary, literal, tuple_literal
from penstock.ir.expressions import Attribute, Expression
from penstock.ir.graph import Param
from penstock.ir.models import Selectivity, State
from penstock.ir.types import INT32, RSTRING
from penstock.reference import run
from penstock.toolkit.core.invoke import invoke
from penstock.toolkit.core.output_calls import output_call
from penstock.toolkit.relational.match import DEFINITION

LETTERS = '{a = s == "a", b = s == "b", c = s == "c"}'


def match(pattern: str, predicates: str = LETTERS, *, key: str = "") -> str:
    return f"""stream<int32 first, int32 last, int32 count> M = Match(A) {{
        param pattern: "{pattern}"; predicates: {predicates}; {key}
        output M: first = First(n), last = Last(n), count = Count(); }}"""


def spell(word: str):
    return feed("int32 n, rstring s", [(i, letter) for i, letter in enumerate(word)])


@pytest.mark.parametrize(
    ("pattern", "word", "expected"),
    [
        ("a b", "xabxab", [(1, 2), (4, 5)]),
        ("a b+", "abbb", [(0, 1)]),
        ("a b* c", "abbcac", [(0, 3), (4, 5)]),
        ("a | b c", "bca", [(0, 1), (2, 2)]),
        ("(a | b) c", "acbc", [(0, 1), (2, 3)]),
        ("a b? c", "abcac", [(0, 2), (3, 4)]),
        ("a{3}", "aaaaaaa", [(0, 2), (3, 5)]),
        ("a b{2,} c", "abcabbbc", [(3, 7)]),
        ("c b{1,2} a", "cbbacba", [(0, 3), (4, 6)]),
        (". . b", "xxbxb", [(0, 2)]),
        ("a . a", "abaca", [(0, 2)]),
        ("a .* c", "aabc", [(0, 3)]),
        ("(a b)+ c", "ababc", [(0, 4)]),
    ],
)
def test_a_pattern_finds_its_matches(pattern, word, expected):
    found = tuples_of(match(pattern), "M", A=spell(word))
    assert [(first, last) for first, last, _ in found] == expected
    assert all(count == last - first + 1 for first, last, count in found)


def output(name: str, *arguments: Expression) -> Expression:
    return output_call(DEFINITION, name, arguments)


N, S = Attribute(type=INT32, name="n"), Attribute(type=RSTRING, name="s")


def found_by(pattern: str, predicates: dict[str, Expression], fed, *, key: str = "") -> list:
    """The matches, with predicates given as expressions, which may look back at the match so far."""
    graph = match(pattern, f"{{{', '.join(f'{name} = true' for name in predicates)}}}", key=key)
    checked = program(graph, A=fed)
    source, matcher = checked.application.operators
    conditions = tuple_literal(list(predicates), list(predicates.values()))
    params = [p if p.name != "predicates" else Param(name="predicates", values=(conditions,)) for p in matcher.params]
    found = Diagnostics()
    invoked = invoke(DEFINITION, id="M", inputs=matcher.inputs, outputs=matcher.outputs, params=params, found=found)
    found.raise_if_any()
    application = replace(checked.application, operators=(source, invoked))
    return run(replace(checked, application=application), collect=["M"]).tuples_of("M")


def test_predicates_look_back_at_the_match_so_far():
    predicates = {
        "rise": binary(">", S, output("Last", S)),
        "fall": binary("&&", binary("<", S, output("Last", S)), binary(">=", S, output("First", S))),
        "deep": binary("<", S, output("First", S)),
    }
    # e rises to h and k, falls to h again and then below e; the match that begins with h is complete no earlier.
    assert found_by(". rise+ fall* deep", predicates, spell("zehkhbza")) == [(1, 5, 5)]


def test_the_match_that_began_first_wins():
    assert tuples_of(match(". . a | . a"), "M", A=spell("xxa")) == [(0, 2, 3)]


def test_for_the_first_tuple_output_functions_have_their_default_value():
    is_first = binary("==", output("Count"), literal(0))
    predicates = {"a": binary("||", binary(">", N, output("Last", N)), is_first)}
    assert found_by("a a", predicates, spell("xx")) == [(0, 1, 2)]


def test_partitions_do_not_interfere():
    tweets = [(i, tag, who) for i, tag in enumerate("xxxxxy") for who in ("ann", "bob")]
    fed = feed("int32 n, rstring s, rstring who", tweets)
    predicates = {"same": binary("==", S, output("Last", S))}
    # Five tweets in a row by the same author with the same tag.
    assert found_by(". same{4}", predicates, fed, key="partitionBy: who;") == [(0, 4, 5), (0, 4, 5)]


trees = st.recursive(
    st.sampled_from(["a", "b", "c", "."]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]} {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]} | {p[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{1,}"])).map(lambda p: f"({p[0]}){p[1]}"),
    ),
    max_leaves=5,
)


def by_brute_force(pattern: str, word: str) -> list[tuple[int, int]]:
    """The earliest end first, then the earliest start; Python's own expressions decide what matches."""
    compiled = re.compile(pattern.replace(" ", ""))
    found, start = [], 0
    for end in range(1, len(word) + 1):
        for begin in range(start, end):
            if compiled.fullmatch(word, begin, end):
                found.append((begin, end - 1))
                start = end
                break
    return found


@settings(max_examples=150, deadline=None)
@given(trees, st.text("abc", max_size=12), st.booleans())
def test_matches_are_those_of_a_search_by_brute_force(pattern, word, looks_back):
    if re.fullmatch(pattern.replace(" ", ""), ""):
        with pytest.raises(UserError, match="without any tuple"):
            program(match(pattern), A=spell(""))
        return
    predicates = {letter: binary("==", S, literal(letter)) for letter in "abc"}
    if looks_back:
        # It does not change the outcome, but keeps every partial match alive.
        predicates["a"] = binary("&&", predicates["a"], binary(">=", output("Count"), literal(0)))
    found = found_by(pattern, predicates, spell(word))
    assert [(first, last) for first, last, _ in found] == by_brute_force(pattern, word)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a (b", "expected `)` at character 5 of `a (b`"),
        ("a b)", "unexpected `)` at character 4 of `a b)`"),
        ("a & b", "unexpected `&` at character 3"),
        ("* a", "expected a predicate, found `*` at character 1"),
        ("", "expected a predicate, found the end"),
        ("a*", "it can match without any tuple"),
        ("a{0}", "`{0}` at character 2 of `a{0}` can never be"),
        ("a{3,2}", "can never be"),
        ("a bb", "there is no predicate `bb`"),
        ("a{3000}", "it is too large"),
    ],
)
def test_a_wrong_pattern_is_explained(pattern, message):
    with pytest.raises(UserError) as error:
        program(match(pattern), A=spell(""))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("predicates", "message"),
    [
        ("{a = n}", "the predicate `a` must be boolean, found int32"),
        ("true", "`predicates` must be a tuple literal of conditions, found boolean"),
    ],
)
def test_wrong_predicates_are_explained(predicates, message):
    with pytest.raises(UserError) as error:
        program(match("a", predicates), A=spell(""))
    assert message in str(error.value)


def test_output_functions_do_not_nest_in_predicates():
    nested = binary(">", output("Sum", output("Count")), literal(1))
    with pytest.raises(UserError, match="`Count` cannot stand inside `Sum`"):
        found_by("a", {"a": nested}, spell(""))


def test_a_match_is_partitioned_by_its_key_and_selects_at_most_one():
    graph = """stream<rstring s, int32 count> M = Match(A) {
        param pattern: "a"; predicates: {a = n > 0}; partitionBy: s; output M: count = Count(); }"""
    model = program(graph, A=spell("")).application.operator["M"].model
    assert (model.state, model.partition_by) == (State.PARTITIONED, (frozenset({"s"}),))
    assert (model.selectivity, model.forwards) == (Selectivity.AT_MOST_ONE, {"s"})
    assert program(match("a"), A=spell("")).application.operator["M"].model.state is State.UNKNOWN


def test_spl_writes_predicates_that_look_back():
    graph = match(". rise+ drop", "{rise = n > 0 && s > Last(s), drop = s < First(s)}")
    assert tuples_of(graph, "M", A=spell("bcda")) == [(0, 3, 4)]
