"""Random logic against a model that copies everything, every time."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
from logic_harness import run

Lists = dict[str, list[object]]

FLAT = ["a", "s", "xs", "t.l"]
NESTED = ["n", "m", "ys", "t.n"]
SCHEMA = "list<int32> xs, list<list<int32>> ys"


class Model:
    """What the statements mean: every assignment is a deep copy.

    Attributes:
        values: The lists, by the text that names them.
        submitted: What was submitted.
    """

    def __init__(self) -> None:
        self.values: Lists = {"s": [], "m": []}
        self.submitted: list[object] = []

    def begin(self, xs: list[object], ys: list[object]) -> None:
        self.values |= {"a": [], "n": [], "t.l": [], "t.n": [], "xs": copy.deepcopy(xs), "ys": copy.deepcopy(ys)}

    def run(self, statement: tuple[str, str, str]) -> None:
        action, target, source = statement
        values = self.values
        new = copy.deepcopy(values[source])
        match action:
            case "assign":
                values[target] = new
            case "append":
                values[target].append(len(new))
            case "join":
                values[target] = values[target] + new
            case "push":
                values[target].append(new)
            case "pick" if values[source]:
                values[target] = copy.deepcopy(values[source][0])  # type: ignore[assignment]
            case "put" if values[target]:
                values[target][0] = new
            case "grow" if values[target]:
                values[target][0].append(7)  # type: ignore[attr-defined]
            case "both":
                values[target] = [new, copy.deepcopy(new)]
            case "choose":
                values[target] = new if len(new) > 1 else values[target]
            case "clear":
                values[target].clear()
            case "submit":
                self.submitted.append((copy.deepcopy(values[target]), new))


TEXTS = {
    "assign": "{target} = {source};",
    "append": "appendM({target}, size({source}));",
    "join": "{target} += {source};",
    "push": "appendM({target}, {source});",
    "pick": "if (size({source}) > 0) {target} = {source}[0];",
    "put": "if (size({target}) > 0) {target}[0] = {source};",
    "grow": "if (size({target}) > 0) appendM({target}[0], 7);",
    "both": "{target} = [{source}, {source}];",
    "choose": "{target} = size({source}) > 1 ? {source} : {target};",
    "clear": "clearM({target});",
    "submit": "submit({{xs = {target}, ys = {source}}}, Out);",
}


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    """Statements that change only some of the lists, so that in many programs the input stays as it came."""
    flat = st.sampled_from(draw(st.lists(st.sampled_from(FLAT), min_size=1, unique=True)))
    nested = st.sampled_from(draw(st.lists(st.sampled_from(NESTED), min_size=1, unique=True)))
    any_flat, any_nested = st.sampled_from(FLAT), st.sampled_from(NESTED)
    statements = st.one_of(
        st.tuples(st.sampled_from(["assign", "append", "join", "choose", "clear"]), flat, any_flat),
        st.tuples(st.sampled_from(["assign", "join", "choose", "clear", "grow"]), nested, any_nested),
        st.tuples(st.sampled_from(["push", "put", "both"]), nested, any_flat),
        st.tuples(st.just("pick"), flat, any_nested),
        st.tuples(st.just("submit"), any_flat, any_nested),
    )
    return draw(st.lists(statements, max_size=14))


@settings(max_examples=200, deadline=None)
@given(programs())
def test_no_sequence_of_changes_lets_two_owners_share(program: list[tuple[str, str, str]]) -> None:
    body = "\n".join(TEXTS[action].format(target=target, source=source) for action, target, source in program)
    clauses = f"""state: {{ mutable list<int32> s = []; mutable list<list<int32>> m = []; }}
        onTuple In: {{ mutable list<int32> a = []; mutable list<list<int32>> n = [];
        mutable tuple<list<int32> l, list<list<int32>> n> t = {{l = [], n = []}}; {body} }}"""
    tuples: list[tuple[object, ...]] = [([1, 2], [[3], [4]]), ([5], [[6, 7]])]
    before = pickle.dumps(tuples)
    model = Model()
    for xs, ys in tuples:
        model.begin(xs, ys)  # type: ignore[arg-type]
        for statement in program:
            model.run(statement)
    found = run(clauses, tuples, into=SCHEMA, out=SCHEMA)
    assert found.submitted == model.submitted
    assert [pickle.loads(s) for s in found.snapshots] == model.submitted
    assert pickle.loads(before) == tuples
