"""Which functions become columns, how they read, and why others do not."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from pes import assert_same, generated, inner_pe, plan_of, tuples

from penstock import App, flat_map, map_
from penstock.codegen.functions.compiled import Compiled, compile_function
from penstock.codegen.run.loaded_module import LoadedModule, OperatorError
from penstock.codegen.run.piece_instance import PieceInstance
from penstock.codegen.transport.batches import PULSE, Item
from penstock.codegen.transport.placed_frames import frame_of
from penstock.expr.environment import Environment
from penstock.ir.models import Forwarding, OperatorModel, Selectivity, State
from penstock.ir.types import parse_schema
from penstock.runtime.verify.verify_models import verify_some
from penstock.testing import feed

SCHEMA = "int32 n, float64 x, rstring s"
LISTS = "int32 n, list<int32> l"
RATES = {"EUR": 1.1}
MOVING = 1


class Tick(NamedTuple):
    n: int
    x: float
    s: str


@dataclass
class Quote:
    n: int
    x: float = 0.5
    s: str = "none"


@dataclass
class Hooked:
    n: int
    x: float
    s: str

    def __post_init__(self):
        self.n += 1


@dataclass
class Written:
    n: int
    x: float
    s: str

    def __init__(self, n, x, s):
        self.n, self.x, self.s = 2 * n, x, s


def move():
    global MOVING
    MOVING += 1


def text_of(*functions, schema=SCHEMA, **params):
    """The lines of `process` for a chain of functions, between the first comment and the last."""
    app = App("Test")
    stream = app.source(feed([]), schema, name="A")
    for i, function in enumerate(functions):
        stream = stream.apply(function, schema, name=f"O{i}", **params)
    stream.write_file("out.csv", name="Sink")
    program = app.program()
    plan = plan_of(program)
    lines = generated(program, plan, inner_pe(plan)).text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("    # O0"))
    end = next(i for i, line in enumerate(lines) if "leaves by edge" in line)
    return [line.strip() for line in lines[start:end] if line]


def why(function, role="map", inputs=SCHEMA, outputs=None):
    found = compile_function(function, role, parse_schema(inputs), parse_schema(outputs or inputs))
    return found if isinstance(found, str) else None


def lines_of(*functions, **options):
    return [line for line in text_of(*functions, **options) if not line.startswith(("#", "pe."))]


def test_an_identity_function_is_no_work_at_all():
    same = map_(lambda t: t)
    assert lines_of(same, same) == ["o0 = a", "o1 = o0"]


def test_attributes_that_are_handed_on_are_not_touched():
    assert lines_of(map_(lambda t: {"s": t.s, "n": t.n, "x": t.x * 2})) == [
        'o0 = a.to(["n", "s"], {"x": (a["x"] * 2.0)})'
    ]
    assert lines_of(map_(lambda t: (t.n, t.x, t.s))) == ["o0 = a"]
    assert lines_of(map_(lambda t: t._replace(n=5))) == ['o0 = a.to(["x", "s"], {"n": full(len(a), 5, _type_1)})']
    assert lines_of(map_(lambda t: t), schema=LISTS) == ["o0 = a"]


def test_integers_that_cannot_overflow_are_not_checked():
    @map_
    def wider(t):
        return {"n": 1 if t.n * t.n + t.n > 7 else 0, "x": t.x, "s": t.s}

    assert not any("left" in line for line in lines_of(wider))


def test_rows_that_may_leave_are_mended_by_the_function_itself():
    @map_
    def more(t):
        return {"n": t.n + 1, "x": t.x, "s": t.s}

    (first, *_, last) = lines_of(more)
    assert first == "o0_left = Left(len(a))"
    assert any("mend_map" in line for line in lines_of(more)), last


def test_named_tuples_and_dataclasses_are_taken_apart():
    assert why(lambda t: Tick(t.n, t.x, s=t.s)) is None
    assert why(lambda t: Quote(t.n)) is None


def test_a_parameter_is_a_constant():
    @map_
    def scaled(t, *, factor: float, on: bool = True):
        return {"n": t.n, "x": t.x * factor if on else t.x, "s": t.s}

    assert lines_of(scaled, factor=0.25) == ['o0 = a.to(["n", "s"], {"x": (a["x"] * 0.25)})']
    assert lines_of(scaled, factor=0.25, on=False) == ["o0 = a"]


def loops(t):
    total = 0
    for c in t.s:
        total += ord(c)
    return (total, t.x, t.s)


def tries(t):
    try:
        return (1 // t.n, t.x, t.s)
    except ZeroDivisionError:
        return t


def by_branch(t):
    x = t.n if t.n > 1 else t.x
    return (t.n, x + 1, t.s)


def unbound(t):
    if t.n > 1:
        y = 2.0
    return (t.n, y, t.s)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (loops, "a `For` statement"),
        (tries, "a `Try` statement"),
        (by_branch, "a value is float or int, by branch"),
        (unbound, "`y` may be read before it is assigned"),
        (lambda t: (t.n, t.s, t.s), "an attribute of type float64 is given a value that is str"),
        (lambda t: (t.n + True, t.x, t.n > 1), "an attribute of type rstring is given a value that is bool"),
        (lambda t: (t.n, t.x), "a tuple of another length"),
        (lambda t: {"n": t.n, "x": t.x, "z": t.s}, "a dict with other keys"),
        (lambda t: (MOVING, t.x, t.s), "MOVING"),
        (lambda t: (random.randrange(9), t.x, t.s), "random"),
        (lambda t: Hooked(t.n, t.x, t.s), "Hooked"),
        (lambda t: Written(t.n, t.x, t.s), "Written"),
        (lambda t: (t.n, t.x, t.s * t.n), "`*` of text"),
        (lambda t: (t.n << 70, t.x, t.s), "BinOp"),
        (lambda t: (t.n ** t.n, t.x, t.s), "a power of integers"),
        (lambda t: (2**64 + t.n, t.x, t.s), "no constant that columns can hold"),
        (lambda t: (300, t.x, t.z), "`z`"),
        (lambda t: [c + "" for c in t.s], "expression"),
    ],
)  # fmt: skip
def test_what_is_not_understood_says_why(function, reason):
    assert reason in (why(function) or "")


def test_an_attribute_that_a_function_changes_in_place_is_not_handed_on():
    def grown(t):
        t.l.append(1)
        return t

    assert why(grown, inputs=LISTS) is not None


def test_an_attribute_of_another_type_is_only_handed_on():
    inputs = "int32 n, optional<list<int32>> l, decimal64 d, blob b, optional<decimal64> e"
    assert why(lambda t: t, inputs=inputs) is None
    for asks in (
        lambda t: t.l is None, lambda t: t.l == None, lambda t: t.e is not None, lambda t: t.d in (1, 2),  # noqa: E711
        lambda t: t.d > 1, lambda t: not t.l, lambda t: bool(t.b), lambda t: f"{t.d}" == "1", lambda t: t.l or t.n > 1,
        lambda t: str(t.d) == "1", lambda t: len(t.b) > 1, lambda t: (t.d if t.n else t.e) == 1,
    ):  # fmt: skip
        assert why(asks, "filter", inputs) is not None


def test_an_attribute_named_like_a_part_of_a_number_is_no_value():
    assert why(lambda t: t.n, outputs="int64 real") is not None
    assert why(lambda t: t.n, outputs="int64 y") is None


def test_a_declared_model_does_not_make_a_moving_global_a_constant():
    @map_(model=OperatorModel(state=State.STATELESS))
    def moved(t):
        return (MOVING, t.x, t.s)

    assert "map_rows" in "".join(lines_of(moved))


def test_a_declared_model_is_checked_though_the_function_is_columns():
    wrong = OperatorModel(
        state=State.STATELESS,
        selectivity=Selectivity.EXACTLY_ONE,
        forwarding=Forwarding.ALWAYS,
        forwards=frozenset({"n"}),
    )

    @map_(model=wrong)
    def changed(t):
        return {"n": 1 if t.n > 3 else 0, "x": t.x, "s": t.s}

    app = App("Test")
    app.source(feed([]), SCHEMA, name="A").map(changed, SCHEMA, name="C").write_file("out.csv", name="Sink")
    program = verify_some(app.program())
    plan = plan_of(program)
    made = generated(program, plan, inner_pe(plan))
    assert "mend_map" in made.text
    instance = PieceInstance(LoadedModule(made, program, Environment()))
    items = [*tuples([(7, 0.5, "a")], path=bytes(4)), Item(0, 2**62, b"", PULSE)]
    edge = plan.into(inner_pe(plan))[0].index
    with pytest.raises(OperatorError, match="its model says that it forwards `n` unchanged"):
        instance.take({edge: [frame_of(items, parse_schema(SCHEMA))]})


def test_functions_with_effects_share_a_loop_and_others_do_not():
    seen = []

    @map_
    def noted(t):
        seen.append(t.n)
        return t

    pure = map_(lambda t: (t.n, t.x + 1, t.s))
    assert any(line.startswith("for at") for line in lines_of(noted, pure, noted))
    assert not any(line.startswith("for at") for line in lines_of(pure, noted, pure))


def test_a_compiled_function_in_a_fork_leaves_what_a_container_leaves():
    @flat_map
    def some(t):
        yield t
        if t.n % 2:
            yield {"n": -t.n, "x": t.x, "s": t.s + "!"}
        if t.n > 3:
            yield (t.n, 1 / (t.n - 3), t.s)

    app = App("Test")
    source = app.source(feed([]), SCHEMA, name="A")
    left = source.flat_map(some, SCHEMA, name="L")
    right = source.map(lambda t: {"n": t.n - 2**31 + 9, "x": t.x, "s": t.s.upper()}, SCHEMA, name="R")
    again = left.filter(lambda t: t.x != 0.5 and t.s.startswith("a"), name="G")
    left.union(right, again, name="U").flat_map(some, SCHEMA, name="V").write_file("out.csv", name="Sink")
    program = app.program()
    plan = plan_of(program)
    rows = [(i, i * 0.5, "ab"[i % 2]) for i in range(12)]
    assert isinstance(compile_function(some, "flat map", parse_schema(SCHEMA), parse_schema(SCHEMA)), Compiled)
    assert_same(program, plan, inner_pe(plan), [[(plan.into(inner_pe(plan))[0].index, t) for t in tuples(rows)]])
