"""Random programs over many keys: state that grows, of which a batch touches a part."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from .draft import Draft
from .expressions import BASE, DECIMALS, EXTRAS, FLOATS, INTEGERS, NUMERIC, ORDERED, range_of
from .library import KEYED_CLASSES
from .program import Attributes, FuzzProgram, Op, Output
from .sources import draw_field

KEYS = ("rstring", "ustring", "boolean", *INTEGERS, *FLOATS, *DECIMALS, "timestamp", "blob", "Color")
OPTIONAL_KEYS = ("optional<int32>", "optional<rstring>", "optional<float64>")
STRANGE = ("", " ", "é", "\U0001f600", "\U0001f600a", "x" * 10_000, "0", "null", "a,b", 'a"b', "\t", "a\u0301")
FLOAT_KEYS = ("nan", "-nan", "0.0", "-0.0", "inf", "-inf", "1e-320", "1e300")


def generate_keyed(seed: int) -> FuzzProgram:
    """Draw a program."""
    rng = Random(f"keyed {seed}")
    draft = Draft(rng, timed=rng.randint(0, 3))
    usual = rng.choice(["rstring", "int32", "int64", rng.choice(KEYS), rng.choice(KEYS), rng.choice(OPTIONAL_KEYS)])
    schema = (*BASE, ("k", usual), ("j", rng.choice(KEYS)), ("v", rng.choice(EXTRAS)))
    files = {}
    for i in range(rng.choice([1, 1, 2])):
        op, lines = _source(rng, f"S{i}", schema)
        draft.add(op)
        files[f"S{i}.csv"] = lines
    for i in range(rng.randint(1, 3)):
        makers = [_aggregate, _de_duplicate, _join, _custom, _python, _sort, _match, _meeting]
        draft.add(rng.choices(makers, [3, 1, 2, 2, 2, 1, 1, 1])[0](draft, f"A{i}"))
    inner = [op.name for op in draft.ops if op.inputs]
    sinks = [
        Op(name=f"K{i}", kind="FileSink", inputs=((name,),), params=(("file", f'"K{i}"'),))
        for i, name in enumerate(inner)
    ]
    return FuzzProgram(ops=(*draft.ops, *sinks), files=files)


def _source(rng: Random, name: str, schema: Attributes) -> tuple[Op, tuple[str, ...]]:
    """A file whose keys come and go: some often, some once, some again after a while."""
    delayed = rng.random() < 0.6
    many = rng.choice([3, 20, 100, 400])
    lines = []
    for row in range(rng.choice([20, 60, 120, 300])):
        moving = row // 3 + rng.randint(0, 3)
        number = rng.choice([rng.randrange(many), rng.randrange(many), moving, rng.randint(0, 2), 10_000 + row])
        held = {"k": number, "j": number % rng.choice([1, 2, 7, 50])}
        held["s"] = rng.randint(0, 40)
        fields = [_key_field(rng, type_, held[a]) if a in held else draw_field(rng, type_) for a, type_ in schema]
        lines.append(",".join([f"{rng.choice((0.0, 0.0, 0.0, 0.25, 1.0))}", *fields] if delayed else fields))
    params = [("file", f'"{name}.csv"'), ("format", "csv"), *([("hasDelayField", "true")] if delayed else [])]
    op = Op(name=name, kind="FileSource", outputs=(Output(stream=name, schema=schema),), params=tuple(params))
    return op, tuple(lines)


def _key_field(rng: Random, type_: str, number: int) -> str:
    """The key with a number, as CSV has it: one of several ways where there are."""
    if type_ in INTEGERS:
        low, high = range_of(type_)
        return str(low + number % (high - low + 1)) if number % 2 else str(min(number, high))
    if type_ in FLOATS:
        return FLOAT_KEYS[number] if number < len(FLOAT_KEYS) else rng.choice([f"{number}", f"{number}.0"])
    if type_ in DECIMALS:
        return rng.choice([f"{number}.50", f"{number}.5"]) if number % 3 else rng.choice(["0", "-0", "0.0"])
    if type_ in ("rstring", "ustring"):
        text = STRANGE[number] if number < len(STRANGE) else f"k{number}" * (1 + number % 5)
        return '"' + text.replace('"', '\\"') + '"'
    if type_ == "timestamp":
        return f"({number // 7},{number % 7},0)"
    if type_ == "blob":
        return number.to_bytes(1 + number.bit_length() // 8).hex()
    if type_ == "optional<int32>":
        return str(number) if number % 5 else "null"
    if type_ == "optional<rstring>":
        return f'"k{number}"' if number % 5 else "null"
    return draw_field(rng, type_)


def _key(draft: Draft, port: str) -> str:
    return draft.rng.choice([f"{port}.k", f"{port}.k", f"{port}.k, {port}.j", f"{port}.j", f"{port}.s, {port}.k"])


def _age(draft: Draft, often: float = 0.4) -> str:
    """How long a key may be idle: now and then exactly as long as keys are."""
    return f"{draft.rng.choice([0.25, 0.5, 1.0, 1.0, 2.0, 10.0])}" if draft.rng.random() < often else ""


def _aged(draft: Draft, window: str) -> str:
    age = _age(draft)
    return f"{window}, partitioned" + (f", partitionAge({age})" if age else "")


def _aggregate(draft: Draft, name: str) -> Op:
    rng = draft.rng
    streams, schema = draft.port()
    sizes = [f"count({rng.choice([1, 2, 3, 7])})", f"delta({rng.choice(['n, 2', 'x, 1.5'])})"]
    if draft.takes_time():
        sizes = [f"time({rng.choice([0.5, 2.0, 5.0, 20.0])})"]
    window = f"tumbling, {rng.choice(sizes)}"
    if rng.random() < 0.4 and not sizes[0].startswith("time"):
        window = f"sliding, count({rng.choice([1, 2, 5])}), count({rng.choice([1, 1, 3])})"
    params = [("partitionBy", _key(draft, "I0"))]
    if window.startswith("sliding") and rng.random() < 0.5:
        params.append(("aggregateIncompleteWindows", "true"))
    aged = _aged(draft, window)
    if "partitionAge" in aged and window.startswith("tumbling") and draft.takes_time():
        params.append(("aggregateEvictedPartitions", "true"))
    assigned = tuple((a, _summary(rng, a, type_)) for a, type_ in schema)
    return Op(
        name=name,
        kind="Aggregate",
        inputs=(streams,),
        outputs=(Output(stream=name, schema=schema, assignments=assigned),),
        windows=(f"I0: {aged}",),
        params=tuple(params),
    )


def _summary(rng: Random, attribute: str, type_: str) -> str:
    forms = ["First", "Last", "Any"]
    if type_ in ORDERED and type_ != "boolean":
        forms += ["Min", "Max"]
    if type_ in NUMERIC:
        forms += ["Sum", "Average"]
    return "Count()" if attribute == "n" and rng.random() < 0.3 else f"{rng.choice(forms)}(I0.{attribute})"


def _de_duplicate(draft: Draft, name: str) -> Op:
    rng = draft.rng
    limit = rng.choice([("count", f"{rng.choice([1, 4, 30])}ul"), ("timeOut", f"{rng.choice([0.5, 2.0, 8.0, 100.0])}")])
    params = [("key", _key(draft, "I0")), limit]
    if rng.random() < 0.4:
        params.append(("resetOnDuplicate", "false"))
    return draft.plain(name, "DeDuplicate", *params)


def _join(draft: Draft, name: str) -> Op:
    rng = draft.rng
    (left, schema), (right, _) = draft.port(), draft.port()
    keys = _key(draft, "I0")
    sizes = [rng.choice([0, 1, 1, 1, 2]) for _ in range(2)]
    params = []
    for i, hand in enumerate(("LHS", "RHS")):
        params += [(f"{what}{hand}", keys.replace("I0", f"I{i}")) for what in ("partitionBy", "equality")]
    assigned = tuple((a, f"I{rng.choice([0, 1])}.{a}") for a, _ in schema)
    return Op(
        name=name,
        kind="Join",
        inputs=(left, right),
        outputs=(Output(stream=name, schema=schema, assignments=assigned),),
        windows=tuple(f"I{i}: {_aged(draft, f'sliding, count({size})')}" for i, size in enumerate(sizes)),
        params=tuple(params),
    )


def _custom(draft: Draft, name: str) -> Op:
    streams, schema = draft.port()
    type_ = dict(schema)["j"]
    record = "{" + ", ".join(f"{a} = {'seen[I0.j]' if a == 'n' else f'I0.{a}'}" for a, _ in schema) + "}"
    logic = (
        ("state", (f"mutable map<{type_}, int32> seen = {{}};",)),
        ("onTuple I0", ("if (!(I0.j in seen)) seen[I0.j] = 0;", "seen[I0.j] += 1;", f"submit({record}, O0);")),
    )
    age = _age(draft)
    return Op(
        name=name,
        kind="Custom",
        inputs=(streams,),
        outputs=(Output(stream=name, schema=schema),),
        params=(("ttl", age),) if age else (),
        logic=_whole(draft, logic) if draft.rng.random() < 0.3 else logic,
    )


def _whole(draft: Draft, logic: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A logic clause that also looks at its map as a whole, so that there is one for all keys."""
    (state, declared), (handler, (begun, counted, sent)) = logic
    more = draft.rng.choice(
        (
            "seen[I0.j] += size(seen);",
            "for (TYPE other in seen) seen[I0.j] += seen[other] % 5;",
            "if (size(seen) > 4) seen = {};  if (!has(seen, I0.j)) insertM(seen, I0.j, 1);",
            "if (I0.n % 3 == 0) removeM(seen, I0.j);  if (!has(seen, I0.j)) seen[I0.j] = getOrElse(seen, I0.j, 2);",
        )
    )
    type_ = declared[0].partition("<")[2].rpartition(", int32>")[0]
    return (state, declared), (handler, (begun, counted, more.replace("TYPE", type_), sent))


def _sort(draft: Draft, name: str) -> Op:
    rng = draft.rng
    window = f"tumbling, count({rng.choice([1, 2, 3])})"
    if draft.takes_time():
        window = f"tumbling, time({rng.choice([0.5, 2.0])})"
    elif rng.random() < 0.3:
        window = f"sliding, count({rng.choice([1, 2])})"
    params = (("partitionBy", _key(draft, "I0")), ("sortBy", "I0.n"))
    return draft.plain(name, "Sort", *params, windows=(f"I0: {_aged(draft, window)}",))


def _match(draft: Draft, name: str) -> Op:
    age = _age(draft, 0.7)
    made = draft.plain(
        name,
        "Match",
        ("pattern", draft.rng.choice(['"low high"', '". low* high"', '"low{2} high?"', '". high"'])),
        ("predicates", "{low = I0.n < 5, high = I0.n >= 2}"),
        ("partitionBy", _key(draft, "I0")),
        *([("partitionAge", age)] if age else []),
    )
    (output,) = made.outputs
    assigned = tuple((a, _summary(draft.rng, a, type_)) for a, type_ in output.schema)
    return replace(made, outputs=(replace(output, assignments=assigned),))


def _meeting(draft: Draft, name: str) -> Op:
    rng = draft.rng
    (left, schema), (right, _) = draft.port(), draft.port()
    keys, age = _key(draft, "I0"), _age(draft, 0.7)
    params = [("partitionByLHS", keys), ("partitionByRHS", keys.replace("I0", "I1"))]
    kind = rng.choice(["Barrier", "Pair"])
    assigned = tuple((a, f"I{rng.choice([0, 1])}.{a}") for a, _ in schema) if kind == "Barrier" else ()
    return Op(
        name=name,
        kind=kind,
        inputs=(left, right),
        outputs=(Output(stream=name, schema=schema, assignments=assigned),),
        params=(*params, *([("partitionAge", age)] if age else [])),
    )


def _python(draft: Draft, name: str) -> Op:
    rng = draft.rng
    kind = "PyKeyedWake" if rng.random() < 0.2 and draft.takes_time() else rng.choice(KEYED_CLASSES)
    return draft.plain(name, kind, ("partitionBy", rng.choice(["k", "k", "k, j", "j", "s, k"])))
