"""Counting submits over paths, against every execution of small programs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expr.typing import literal
from penstock.ir.expressions import InputTuple
from penstock.ir.statements import (
    Block,
    Break,
    Case,
    Continue,
    Declare,
    For,
    If,
    Return,
    Submit,
    Switch,
    While,
)
from penstock.ir.types import INT32, parse_schema
from penstock.toolkit.analysis.submit_counts import ANY_NUMBER, SubmitCount, count_submits

SUBMIT = Submit(value=InputTuple(type=parse_schema("int32 x")))
TRUE, ONE = literal(True), literal(1)
NOTHING = Block(body=())


def block(*body):
    return Block(body=body)


def if_(then, otherwise=None):
    return If(test=TRUE, then=then, otherwise=otherwise)


def case(*body, value=ONE):
    return Case(values=() if value is None else (value,), body=body)


def test_a_straight_line_adds_up():
    assert count_submits(block(SUBMIT, block(SUBMIT))) == SubmitCount(2, 2)


def test_branches_give_a_range():
    assert count_submits(if_(SUBMIT)) == SubmitCount(0, 1)
    assert count_submits(if_(SUBMIT, SUBMIT)) == SubmitCount(1, 1)
    assert count_submits(if_(block(SUBMIT, SUBMIT), SUBMIT)) == SubmitCount(1, 2)


def test_a_return_ends_a_path():
    assert count_submits(block(if_(Return()), SUBMIT)) == SubmitCount(0, 1)
    assert count_submits(block(if_(block(SUBMIT, Return())), SUBMIT)) == SubmitCount(1, 1)
    assert count_submits(block(Return(), SUBMIT)) == SubmitCount(0, 0)


def test_a_submit_in_a_loop_is_any_number():
    assert count_submits(While(test=TRUE, body=SUBMIT)) == ANY_NUMBER
    assert count_submits(block(SUBMIT, For(name="i", type=INT32, values=literal(1), body=SUBMIT))) == SubmitCount(
        1, None
    )


def test_a_loop_without_a_submit_changes_nothing():
    loop = While(test=TRUE, body=block(if_(Break()), if_(Continue())))
    assert count_submits(block(loop, SUBMIT)) == SubmitCount(1, 1)


def test_a_return_from_a_loop_is_a_path_of_its_own():
    loop = While(test=TRUE, body=if_(Return()))
    assert count_submits(block(loop, SUBMIT)) == SubmitCount(0, 1)
    assert count_submits(block(While(test=TRUE, body=block(SUBMIT, Return())), NOTHING)) == SubmitCount(0, 1)


def test_switches_fall_through_until_a_break():
    falling = Switch(subject=ONE, cases=(case(SUBMIT), case(SUBMIT, value=None)))
    assert count_submits(falling) == SubmitCount(1, 2)
    breaking = Switch(subject=ONE, cases=(case(SUBMIT, Break()), case(SUBMIT, Break(), value=None)))
    assert count_submits(breaking) == SubmitCount(1, 1)
    without_default = Switch(subject=ONE, cases=(case(SUBMIT, Break()),))
    assert count_submits(without_default) == SubmitCount(0, 1)


class Leave(Exception):
    pass


def execute(statement, choose):
    """The number of submits of one execution; every test asks `choose`, every loop runs up to twice."""
    match statement:
        case Submit():
            return 1
        case Block(body=body):
            return run_all(body, choose)
        case If(then=then, otherwise=otherwise):
            if choose(2):
                return execute(then, choose)
            return execute(otherwise, choose) if otherwise is not None else 0
        case While(body=body) | For(body=body):
            return run_loop(body, choose)
        case Switch(cases=cases):
            return run_switch(cases, choose)
        case Break() | Continue() | Return():
            raise Leave(type(statement), 0)
    return 0


def run_all(body, choose):
    done = 0
    for statement in body:
        try:
            done += execute(statement, choose)
        except Leave as leave:
            kind, count = leave.args
            raise Leave(kind, done + count) from None
    return done


def run_loop(body, choose):
    done = 0
    for _ in range(choose(3)):
        try:
            done += execute(body, choose)
        except Leave as leave:
            kind, count = leave.args
            done += count
            if kind is Return:
                raise Leave(kind, done) from None
            if kind is Break:
                break
    return done


def run_switch(cases, choose):
    entries = list(range(len(cases))) + ([len(cases)] if all(c.values for c in cases) else [])
    entry = entries[choose(len(entries))]
    try:
        return run_all([s for c in cases[entry:] for s in c.body], choose)
    except Leave as leave:
        kind, count = leave.args
        if kind is Break:
            return count
        raise


def executions(statement):
    """The number of submits of every execution."""
    found, waiting = set(), [()]
    while waiting and len(found) < 50:
        script = waiting.pop()
        taken = []

        def choose(count, script=script, taken=taken):
            choice = script[len(taken)] if len(taken) < len(script) else 0
            if len(taken) >= len(script):
                waiting.extend((*taken, other) for other in range(1, count))
            taken.append(choice)
            return choice

        try:
            found.add(execute(statement, choose))
        except Leave as leave:
            found.add(leave.args[1])
    return found


LEAVES = st.sampled_from([SUBMIT, NOTHING, Return(), Declare(name="v", type=INT32)])
IN_LOOP = st.sampled_from([SUBMIT, Break(), Continue(), Return()])


def programs(leaves, loops):
    def extend(inner):
        blocks = st.lists(inner, max_size=3).map(lambda body: Block(body=tuple(body)))
        ifs = st.builds(lambda a, b: if_(a, b), inner, st.none() | inner)
        parts = st.lists(
            st.tuples(st.booleans(), st.lists(inner | st.just(Break()), max_size=2)), min_size=1, max_size=2
        )
        switches = parts.map(
            lambda cases: Switch(
                subject=ONE,
                cases=tuple(
                    case(*body, value=None if default and i == len(cases) - 1 else ONE)
                    for i, (default, body) in enumerate(cases)
                ),
            )
        )
        return blocks | ifs | switches | (loops if loops is not None else st.nothing())

    return st.recursive(leaves, extend, max_leaves=6)


LOOP_FREE = programs(LEAVES, None)
LOOPS = programs(LEAVES | IN_LOOP, None).map(lambda body: For(name="i", type=INT32, values=literal(1), body=body))
ALL = programs(LEAVES, LOOPS)


@settings(max_examples=300, deadline=None)
@given(LOOP_FREE)
def test_without_loops_the_range_is_exact(program):
    counts = executions(program)
    assert count_submits(program) == SubmitCount(min(counts), max(counts))


@settings(max_examples=300, deadline=None)
@given(ALL)
def test_no_execution_leaves_the_range(program):
    count = count_submits(program)
    for executed in executions(program):
        assert count.least <= executed
        assert count.greatest is None or executed <= count.greatest
