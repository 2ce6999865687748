"""Random operators with several input ports, and loops."""

from __future__ import annotations

from .draft import Draft
from .program import Attributes, Op, Output


def union(draft: Draft, name: str) -> Op:
    ports = [draft.stream() for _ in range(draft.rng.choice([2, 2, 3]))]
    common = tuple(a for a in draft.schemas[ports[0]] if all(a in draft.schemas[p] for p in ports))
    return Op(
        name=name,
        kind="Union",
        inputs=tuple((port,) for port in ports),
        outputs=(Output(stream=name, schema=common),),
    )


def alike_ports(draft: Draft, name: str) -> Op:
    """Operators whose ports have one schema: Pair, Combine."""
    rng = draft.rng
    first = draft.stream()
    ports = [first, *(draft.alike(first) for _ in range(rng.choice([1, 1, 2])))]
    kind = rng.choice(["Pair", "Combine"])
    params: tuple[tuple[str, str], ...] = ()
    if kind == "Combine":
        key = rng.choice(["n", "x"])
        params = (("orderBy", ", ".join(f"I{i}.{key}" for i in range(len(ports)))),)
    elif rng.random() < 0.4 and len(ports) == 2:
        params = (("partitionByLHS", "I0.s"), ("partitionByRHS", "I1.s"))
    return Op(
        name=name,
        kind=kind,
        inputs=tuple((port,) for port in ports),
        outputs=(Output(stream=name, schema=draft.schemas[first]),),
        params=params,
    )


def barrier(draft: Draft, name: str) -> Op:
    rng = draft.rng
    left, right = draft.stream(), draft.stream()
    schema = draft.schemas[left]
    values = {"n": ["I0.n + I1.n", "I1.n"], "x": ["I1.x", "I0.x"], "s": ["I0.s", "I0.s + I1.s"]}
    assigned = tuple((a, rng.choice(values.get(a, [f"I0.{a}"]))) for a, _ in schema)
    params = (("partitionByLHS", "I0.s"), ("partitionByRHS", "I1.s")) if rng.random() < 0.4 else ()
    output = Output(stream=name, schema=schema, assignments=assigned)
    return Op(name=name, kind="Barrier", inputs=((left,), (right,)), outputs=(output,), params=params)


def join(draft: Draft, name: str) -> Op:
    rng = draft.rng
    (left, schema), (right, _) = draft.port(), draft.port()
    key = rng.choice(["s", "s", "n", "s, n"])
    sides = [_side(draft, i, key) for i in range(2)]
    params = [param for _, found in sides for param in found]
    if rng.random() < 0.75:
        params += [(f"equality{hand}", _keys(key, i)) for i, hand in enumerate(("LHS", "RHS"))]
    if rng.random() < 0.4:
        params.append(("match", rng.choice(["I0.n <= I1.n", "I0.x < I1.x", "I0.s != I1.s || I0.n == I1.n", "true"])))
    if rng.random() < 0.3:
        params.append(("algorithm", rng.choice(["inner", "leftOuter", "rightOuter", "outer"])))
    values = {"n": ["I0.n + I1.n", "I1.n", "I0.n"], "x": ["I1.x", "I0.x"], "s": ["I0.s", "I1.s"]}
    assigned = tuple((a, rng.choice(values.get(a, [f"I0.{a}"]))) for a, _ in schema)
    output = Output(stream=name, schema=schema, assignments=assigned)
    return Op(
        name=name,
        kind="Join",
        inputs=(left, right),
        outputs=(output,),
        windows=tuple(window for window, _ in sides),
        params=tuple(params),
    )


def _side(draft: Draft, port: int, key: str) -> tuple[str, list[tuple[str, str]]]:
    """The window of one side, and its partitions."""
    rng = draft.rng
    size = rng.choice(["count(0)", "count(1)", "count(2)", "count(3)", "delta(n, 2)"])
    if draft.takes_time():
        size = f"time({rng.choice([0.5, 1.0, 2.0])})"
    if rng.random() < 0.5:
        hand = "LHS" if port == 0 else "RHS"
        return f"I{port}: sliding, {size}, partitioned", [(f"partitionBy{hand}", _keys(key, port))]
    return f"I{port}: sliding, {size}", []


def _keys(key: str, port: int) -> str:
    return ", ".join(f"I{port}.{part}" for part in key.split(", "))


def steered(draft: Draft, name: str) -> Op:
    """A stream that another one steers: Gate, Switch, DynamicFilter."""
    rng = draft.rng
    (streams, schema), (control, _) = draft.port(), draft.port()
    kind = rng.choice(["Gate", "Switch", "DynamicFilter"])
    outputs = [Output(stream=name, schema=schema)]
    inputs: list[tuple[str, ...]] = [streams, control]
    if kind == "Gate":
        params = [("maxUnackedTupleCount", f"{rng.randint(1, 3)}u")]
        if rng.random() < 0.4:
            params.append(("numTuplesToAck", "(uint32)abs(I1.n % 3)"))
    elif kind == "Switch":
        params = [("status", rng.choice(["I1.n % 2 == 0", 'I1.s == "a"', "I1.x > 0.5"]))]
        if rng.random() < 0.5:
            params.append(("initialStatus", "true"))
    else:
        key = rng.choice(["s", "n"])
        params = [("key", f"I0.{key}"), ("addKey", f"I1.{key}")]
        if rng.random() < 0.3:
            inputs.append(draft.port()[0])
            params.append(("removeKey", f"I2.{key}"))
        if rng.random() < 0.3:
            outputs.append(Output(stream=f"{name}_1", schema=schema))
    return Op(name=name, kind=kind, inputs=tuple(inputs), outputs=tuple(outputs), params=tuple(params))


def custom_meeting(draft: Draft, name: str) -> Op:
    """Code that takes two streams."""
    rng = draft.rng
    (left, schema), (right, _) = draft.port(), draft.port()
    if rng.random() < 0.4:
        return Op(name=name, kind="PyMeet", inputs=(left, right), outputs=(Output(stream=name, schema=schema),))
    logic = rng.choice(
        [
            (
                ("state", ("mutable int32 c = 0;",)),
                ("onTuple I0", (f"submit({_changed(schema, 'c')}, O0);",)),
                ("onTuple I1", ("c += I1.n % 5;",)),
            ),
            (
                ("state", ("mutable map<rstring, int32> m = {};",)),
                ("onTuple I0", (f"if (I0.s in m) submit({_changed(schema, 'm[I0.s]')}, O0);",)),
                ("onTuple I1", ("m[I1.s] = I1.n;",)),
                ("onPunct I0", ("submit(Sys.WindowMarker, O0);",)),
            ),
        ]
    )
    return Op(
        name=name, kind="Custom", inputs=(left, right), outputs=(Output(stream=name, schema=schema),), logic=logic
    )


def _changed(schema: Attributes, number: str) -> str:
    return "{" + ", ".join(f"{a} = {number if a == 'n' else f'I0.{a}'}" for a, _ in schema) + "}"


def draw_loop(draft: Draft, name: str) -> list[Op]:
    """Operators on a loop: what goes round gets smaller."""
    rng = draft.rng
    start = draft.stream()
    schema = draft.schemas[start]
    back = f"{name}B"
    first = Op(name=name, kind="Functor", inputs=((start, back),), outputs=(Output(stream=name, schema=schema),))
    if rng.random() < 0.5:
        first = Op(
            name=name,
            kind="Custom",
            inputs=((start, back),),
            outputs=(Output(stream=name, schema=schema),),
            logic=(("state", ("mutable int32 c = 0;",)), ("onTuple I0", ("c++;", "submit(I0, O0);"))),
        )
    again = f"if (I0.n > 0) submit({_changed(schema, 'I0.n > 4 ? 3 : I0.n - 1')}, O0);"
    last = Op(
        name=back,
        kind="Custom",
        inputs=((name,),),
        outputs=(Output(stream=back, schema=schema),),
        logic=(("onTuple I0", (again,)),),
    )
    return [first, last]


def gate_loop(draft: Draft, name: str) -> list[Op]:
    """A gate that what has passed it opens again."""
    streams, schema = draft.port()
    ack = f"{name}B"
    gate = Op(
        name=name,
        kind="Gate",
        inputs=(streams, (ack,)),
        outputs=(Output(stream=name, schema=schema),),
        params=(("maxUnackedTupleCount", "1u"),),
    )
    return [gate, Op(name=ack, kind="Functor", inputs=((name,),), outputs=(Output(stream=ack, schema=schema),))]


SEVERAL_PORTS = ((3, union), (2, alike_ports), (2, barrier), (5, join), (2, steered), (2, custom_meeting))
