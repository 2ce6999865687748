"""Random operators over windows of one stream: Aggregate, Sort, DeDuplicate, Match."""

from __future__ import annotations

from .draft import Draft
from .expressions import NUMERIC, ORDERED
from .program import Attributes, Op, Output


def policy(draft: Draft, schema: Attributes, *, tumbling: bool) -> str:
    """A window's policy; by time only where that is allowed."""
    rng = draft.rng
    delta = rng.choice(["n, 2", "n, 1", "x, 1.5"])
    if tumbling:
        if draft.takes_time():
            return f"time({rng.choice([0.5, 1.0, 2.0])})"
        return rng.choice([f"count({rng.randint(1, 4)})", f"count({rng.randint(1, 4)})", f"delta({delta})", "punct()"])
    if draft.takes_time():
        return rng.choice(
            [
                f"time({rng.choice([0.5, 1.0, 2.0])})",
                f"time({rng.choice([1.0, 2.0, 3.0])}), count({rng.randint(1, 3)})",
                f"time({rng.choice([1.0, 2.0])}), time({rng.choice([0.5, 1.0])})",
                f"count({rng.randint(1, 4)}), time({rng.choice([0.5, 1.0, 1.5])})",
                f"delta({delta}), time(1.0)",
            ]
        )
    return rng.choice(
        [
            f"count({rng.randint(1, 4)})",
            f"count({rng.randint(1, 4)}), count({rng.randint(1, 3)})",
            f"count({rng.randint(1, 4)}), delta({delta})",
            f"delta({delta}), count({rng.randint(1, 2)})",
            f"delta({delta}), delta({rng.choice(['n, 1', 'x, 0.5'])})",
        ]
    )


def aggregate(draft: Draft, name: str) -> Op:
    rng = draft.rng
    streams, schema = draft.port()
    tumbling = rng.random() < 0.5
    window = f"I0: {'tumbling' if tumbling else 'sliding'}, {policy(draft, schema, tumbling=tumbling)}"
    params: list[tuple[str, str]] = []
    if rng.random() < 0.55:
        window += ", partitioned"
        params.append(("partitionBy", draft.grower.key(schema)))
        if rng.random() < 0.2 and draft.takes_time():
            window += f", partitionAge({rng.choice([0.5, 1.0, 1.5])})"
    if rng.random() < 0.25:
        params.append(("groupBy", draft.grower.key(schema)))
    if not tumbling and rng.random() < 0.4:
        params.append(("aggregateIncompleteWindows", "true"))
    wanted = draft.changed(schema)
    assigned = tuple(
        (attribute, summary(draft, type_, schema))
        for attribute, type_ in wanted
        if (attribute, type_) not in schema or rng.random() < 0.8
    )
    output = Output(stream=name, schema=wanted, assignments=assigned)
    return Op(
        name=name, kind="Aggregate", inputs=(streams,), outputs=(output,), windows=(window,), params=tuple(params)
    )


def summary(draft: Draft, type_: str, schema: Attributes) -> str:
    """Output functions that give a type."""
    rng = draft.rng
    value = draft.grower.expression(type_, schema, depth=rng.choice([0, 0, 1]))
    any_ = f"I0.{rng.choice(schema)[0]}"
    ordered = f"I0.{rng.choice([a for a, t in schema if t in ORDERED and t != 'boolean'])}"
    forms = [f"{f}({value})" for f in ("First", "Last", "Any")] + [
        f"{f}({ordered}, {value})" for f in ("MinBy", "MaxBy")
    ]
    if type_ in ORDERED and type_ != "boolean":
        forms += [f"Min({value})", f"Max({value})"] * 2
    if type_ in NUMERIC:
        forms += [f"Sum({value})", f"Average({value})"] * 2 + [f"StdDev({value})", f"PopulationStdDev({value})"]
        forms.append(f"(Sum({value}) - Min({value}))")
    if type_ == "int32":
        forms += ["Count()", "Count()", "CountAll()", "CountGroups()", f"CountDistinct({any_})", f"MaxCount({ordered})"]
    if type_ == "list<int32>":
        forms += ["Collect(I0.n)", "CountByGroup()", "CollectDistinct(I0.n)", f"CollectArgMax({ordered}, I0.n)"]
    if type_ == "list<rstring>":
        forms += ["Collect(I0.s)", "CollectDistinct(I0.s)"]
    return rng.choice(forms)


def sort(draft: Draft, name: str) -> Op:
    rng = draft.rng
    if rng.random() < 0.5:
        window = f"I0: sliding, count({rng.randint(1, 4)})"
    else:
        window = f"I0: tumbling, {policy(draft, (), tumbling=True)}"
    params = [("sortBy", rng.choice(["I0.n", "I0.s", "I0.x", "I0.s, I0.n", "I0.n % 3"]))]
    if rng.random() < 0.4:
        params.append(("order", rng.choice(["ascending", "descending"])))
    if rng.random() < 0.4:
        window += ", partitioned"
        params.append(("partitionBy", rng.choice(["I0.s", "I0.n % 2"])))
    return draft.plain(name, "Sort", *params, windows=(window,))


def de_duplicate(draft: Draft, name: str) -> Op:
    rng = draft.rng
    params = [("key", draft.grower.key(draft.schemas[next(iter(draft.schemas))]))] if rng.random() < 0.8 else []
    params = [("key", rng.choice(["I0.s", "I0.n", "I0.s, I0.n", "I0.x"]))] if params else []
    kind = rng.choice(["count", "time", "delta", "none"])
    if kind == "count":
        params.append(("count", f"{rng.randint(1, 4)}ul"))
    elif kind == "time":
        params.append(("timeOut", f"{rng.choice([0.5, 1.0, 2.0])}"))
    elif kind == "delta":
        params += [("deltaAttribute", "n"), ("delta", "1")]
    if rng.random() < 0.3:
        params.append(("resetOnDuplicate", "false"))
    if rng.random() < 0.2:
        params.append(("flushOnPunctuation", "true"))
    return draft.plain(name, "DeDuplicate", *params, outputs=rng.choice([1, 1, 2]))


def match(draft: Draft, name: str) -> Op:
    rng = draft.rng
    streams, schema = draft.port()
    pattern = rng.choice([". rise+ drop", "rise drop", "rise+ drop+", ". drop", "rise? drop rise*"])
    params = [
        ("pattern", f'"{pattern}"'),
        (
            "predicates",
            rng.choice(
                ["{rise = I0.n > Last(I0.n), drop = I0.n <= Last(I0.n)}", "{rise = I0.n > 1, drop = I0.n <= 1}"]
            ),
        ),
    ]
    if rng.random() < 0.5:
        params.append(("partitionBy", "I0.s"))
    assigned = tuple((attribute, summary(draft, type_, schema)) for attribute, type_ in schema if rng.random() < 0.7)
    output = Output(stream=name, schema=schema, assignments=assigned)
    return Op(name=name, kind="Match", inputs=(streams,), outputs=(output,), params=tuple(params))


WINDOWED = ((6, aggregate), (2, sort), (2, de_duplicate), (1, match))
