"""Random operators that take one tuple at a time: relational ones, code in SPL and in Python."""

from __future__ import annotations

from collections.abc import Callable

from .draft import Draft
from .expressions import Grower
from .library import CLASSES, FUNCTIONS, KEYED_CLASSES
from .program import Op, Output

Draw = Callable[[Draft, str], Op]


def functor(draft: Draft, name: str) -> Op:
    rng = draft.rng
    streams, schema = draft.port()
    outputs = []
    for i in range(rng.choice([1, 1, 1, 2])):
        wanted = draft.changed(schema)
        outputs.append(
            Output(stream=name if i == 0 else f"{name}_{i}", schema=wanted, assignments=draft.assigned(wanted, schema))
        )
    params = (("filter", draft.grower.condition(schema)),) if rng.random() < 0.3 else ()
    return Op(name=name, kind="Functor", inputs=(streams,), outputs=tuple(outputs), params=params)


def risky(draft: Draft, name: str) -> Op:
    """A Functor that may fail on a tuple, and then sets it aside; or ends the run, if seldom."""
    streams, schema = draft.port()
    grower = Grower(draft.rng, risky=True)
    divided = draft.rng.choice(["12 / I0.n", "12 % I0.n", "[1, 2, 3][I0.n]", grower.expression("int32", schema)])
    output = Output(stream=name, schema=schema, assignments=(("n", divided),))
    annotations = ("@catch",) if draft.rng.random() < 0.85 else ()
    return Op(name=name, kind="Functor", inputs=(streams,), outputs=(output,), annotations=annotations)


def filter_(draft: Draft, name: str) -> Op:
    op = draft.plain(name, "Filter", outputs=draft.rng.choice([1, 1, 2]))
    condition = draft.grower.condition(op.outputs[0].schema)
    return _with(op, params=(("filter", condition),))


def split(draft: Draft, name: str) -> Op:
    index = draft.rng.choice(["(int64)I0.n", "[(int64)I0.n, 1l]", "(int64)length(I0.s)", "[0l, 0l]"])
    return draft.plain(name, "Split", ("index", index), outputs=draft.rng.choice([1, 2, 3]))


def threaded_split(draft: Draft, name: str) -> Op:
    return draft.plain(name, "ThreadedSplit", ("bufferSize", "5u"), outputs=draft.rng.choice([1, 2, 3]))


def punctor(draft: Draft, name: str) -> Op:
    op = draft.plain(name, "Punctor")
    schema = op.outputs[0].schema
    position = draft.rng.choice(["before", "after"])
    outputs = (Output(stream=name, schema=schema, assignments=draft.assigned(schema, schema, often=0.1)),)
    return _with(op, params=(("punctuate", draft.grower.condition(schema)), ("position", position)), outputs=outputs)


def python(draft: Draft, name: str) -> Op:
    kind = draft.rng.choice([*FUNCTIONS, *CLASSES])
    params = (("amount", "3l"),) if kind == "PyAdd" and draft.rng.random() < 0.5 else ()
    return draft.plain(name, kind, *params)


def python_by_key(draft: Draft, name: str) -> Op:
    kind = draft.rng.choice(KEYED_CLASSES)
    if draft.rng.random() < 0.4 and draft.takes_time():
        kind = "PyKeyedWake"
    return draft.plain(name, kind, ("partitionBy", draft.rng.choice(["s", "s", "n", "s, n", "x"])))


def python_failing(draft: Draft, name: str) -> Op:
    return draft.plain(name, "PyInverse", annotations=("@catch",) if draft.rng.random() < 0.85 else ())


def throttle(draft: Draft, name: str) -> Op:
    if not draft.takes_time():
        return filter_(draft, name)
    if draft.rng.random() < 0.5:
        return draft.plain(name, "Delay", ("delay", f"{draft.rng.choice([0.25, 0.5, 1.0, 1.5])}"))
    params = [("rate", draft.rng.choice(["1.0", "2.0", "4.0", "0.5"]))]
    if draft.rng.random() < 0.3:
        params.append(("includePunctuations", "true"))
    return draft.plain(name, "Throttle", *params)


def logic_on(draft: Draft, name: str) -> Op:
    """A Functor or Filter with state and code."""
    streams, schema = draft.port()
    code = draft.rng.choice(["c++;", "c += I0.n;", "if (I0.n > 2) c++;"])
    logic = [("state", ("mutable int32 c = 0;",)), ("onTuple I0", (code,))]
    if draft.rng.random() < 0.3:
        logic.append(("onPunct I0", ("c = 0;",)))
    output = Output(stream=name, schema=schema, assignments=(("n", "I0.n + c"),))
    return Op(
        name=name,
        kind="Functor",
        inputs=(streams,),
        outputs=(output,),
        params=(("filter", "c % 3 != 1"),) if draft.rng.random() < 0.5 else (),
        logic=tuple(logic),
    )


def custom(draft: Draft, name: str) -> Op:
    """A Custom with one input: without state, with state by key, or with state of its own."""
    rng, grower = draft.rng, draft.grower
    streams, schema = draft.port()
    wanted = draft.changed(schema) if rng.random() < 0.3 else schema
    record = grower.record(wanted, schema)
    state, on_tuple = rng.choice(_BODIES)
    outputs = [Output(stream=name, schema=wanted)]
    statements = tuple(text.replace("RECORD", record).replace("COND", grower.condition(schema)) for text in on_tuple)
    if rng.random() < 0.2:
        outputs.append(Output(stream=f"{name}_1", schema=schema))
        statements += ("submit(I0, O1);",)
    logic: list[tuple[str, tuple[str, ...]]] = [("state", state)] if state else []
    logic.append(("onTuple I0", statements))
    if rng.random() < 0.4:
        logic.append(("onPunct I0", (rng.choice(_ON_PUNCT),)))
    return Op(name=name, kind="Custom", inputs=(streams,), outputs=tuple(outputs), logic=tuple(logic))


_SEEN = "mutable map<rstring, int32> seen = {};"
_BODIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    ((), ("if (COND) submit(RECORD, O0);",)),
    ((), ("submit(RECORD, O0);", "if (COND) submit(RECORD, O0);")),
    ((), ("for (int32 i in range(abs(I0.n % 4))) submit(RECORD, O0);",)),
    ((), ("mutable int32 i = 0;", "while (i < I0.n && i < 3) { submit(RECORD, O0); i++; }")),
    ((), ("submit(RECORD, O0);", "if (COND) submit(Sys.WindowMarker, O0);")),
    (
        (_SEEN,),
        (
            "if (!(I0.s in seen)) seen[I0.s] = 0;",
            "seen[I0.s] = seen[I0.s] + 1;",
            "if (seen[I0.s] % 3 != 0) submit(RECORD, O0);",
        ),
    ),
    (
        (_SEEN,),
        (
            "if (!(I0.s in seen)) seen[I0.s] = I0.n;",
            "if (seen[I0.s] <= I0.n) submit(RECORD, O0);",
            "seen[I0.s] = I0.n;",
        ),
    ),
    (("mutable int32 c = 0;",), ("c++;", "if (c % 2 == 0) submit(RECORD, O0);")),
    (
        ("mutable list<int32> last = [];",),
        ("appendM(last, I0.n);", "if (size(last) > 2) { submit(RECORD, O0); clearM(last); }"),
    ),
    (
        ("mutable timestamp t = getTimestamp();",),
        ("if (getTimestamp() > t) submit(RECORD, O0);", "t = getTimestamp();"),
    ),
    (("mutable int32 c = 0;",), ("c++;", "submit(RECORD, O0);", "if (c == 6) submit(Sys.FinalMarker, O0);")),
)
_ON_PUNCT = (
    "submit(Sys.WindowMarker, O0);",
    "if (currentPunct() == Sys.WindowMarker) submit(Sys.WindowMarker, O0);",
)

ONE_PORT: tuple[tuple[int, Draw], ...] = (
    (5, functor),
    (2, risky),
    (3, filter_),
    (2, split),
    (1, threaded_split),
    (2, punctor),
    (4, python),
    (2, python_by_key),
    (1, python_failing),
    (2, throttle),
    (2, logic_on),
    (5, custom),
)
"""How often each is drawn."""


def _with(op: Op, **changes: object) -> Op:
    from dataclasses import replace

    return replace(op, **changes)  # type: ignore[arg-type]
