"""Random sources: Beacon, Custom, FileSource and Python, at once or in time, with many tuples of equal times."""

from __future__ import annotations

from random import Random

from .expressions import BASE, EXTRAS, FLOATS, INTEGERS, Grower
from .program import Attributes, Op, Output

WAITS = (0.25, 0.5, 0.5, 1.0, 1.0, 2.0)
Lines = dict[str, tuple[str, ...]]


def draw_schema(rng: Random) -> Attributes:
    """The base attributes, and some more."""
    extras = rng.choice([0, 0, 1, 1, 2, 3])
    return (*BASE, *((f"e{i}", rng.choice(EXTRAS)) for i in range(extras)))


def draw_source(rng: Random, name: str, schema: Attributes, largest: int) -> tuple[Op, Lines]:
    """A source, and what it reads."""
    make = rng.choice([_beacon, _custom, _custom, _file, _file, _python])
    return make(rng, name, schema, largest)


def _beacon(rng: Random, name: str, schema: Attributes, largest: int) -> tuple[Op, Lines]:
    count = "(int32)(IterationCount() % 1000ul)"
    forms = {
        "int32": [f"{count} % {rng.choice([2, 3, 5])}", f"{count} * 7 % 5 - 1", count],
        "float64": [f"(float64)({count} * 3 % 7) * 0.5", f"(float64){count} - 2.0"],
        "rstring": [f'{count} % 2 == 0 ? "a" : "b"', f'"k" + (rstring)({count} % 3)', f'{count} % 3 == 1 ? "" : "c"'],
    }
    grower = Grower(rng)
    assigned = tuple(
        (attribute, rng.choice(forms[type_]) if type_ in forms else grower.value(type_))
        for attribute, type_ in schema
        if type_ in forms or rng.random() < 0.7
    )
    params = [("iterations", f"{rng.randint(0, largest)}u")]
    if rng.random() < 0.6:
        params.append(("period", f"{rng.choice(WAITS)}"))
    if rng.random() < 0.3:
        params.append(("initDelay", f"{rng.choice(WAITS)}"))
    output = Output(stream=name, schema=schema, assignments=assigned)
    return Op(name=name, kind="Beacon", outputs=(output,), params=tuple(params)), {}


def _custom(rng: Random, name: str, schema: Attributes, largest: int) -> tuple[Op, Lines]:
    grower = Grower(rng)
    statements = []
    for _ in range(rng.randint(0, largest)):
        what = rng.random()
        if what < 0.1:
            statements.append("submit(Sys.WindowMarker, O0);")
        elif what < 0.3:
            statements.append(f"block({rng.choice(WAITS)});")
        else:
            statements.append(f"submit({_record(grower, schema)}, O0);")
    logic = (("onProcess", tuple(statements)),)
    return Op(name=name, kind="Custom", outputs=(Output(stream=name, schema=schema),), logic=logic), {}


def _record(grower: Grower, schema: Attributes) -> str:
    return "{" + ", ".join(f"{attribute} = {grower.value(type_)}" for attribute, type_ in schema) + "}"


_TEXTS = {
    "boolean": ("true", "false"),
    "rstring": ('"a"', '"b"', '"c"', "a", "b", '"a,b"', '""', '" x "', '"é"', '"a""b"'),
    "ustring": ('"u"', "v"),
    "timestamp": ("(10,5,0)", "(0,0,0)"),
    "blob": ("4869", ""),
    "Color": ("red", "blue"),
    "list<int32>": ("[1,2]", "[]"),
    "list<rstring>": ('["a"]', "[]"),
    "list<float64>": ("[1.5]", "[]"),
    "list<list<int32>>": ("[[1],[]]", "[]"),
    "set<int32>": ("{1,2}", "{}"),
    "set<rstring>": ('{"a"}', "{}"),
    "map<rstring, int32>": ('{"a":1}', "{}"),
    "map<int32, float64>": ("{1:2.5}", "{}"),
    "optional<int32>": ("5", "null"),
    "optional<rstring>": ('"q"', "null"),
    "optional<float64>": ("1.5", "null"),
    "tuple<int32 a, rstring b>": ('{a=1,b="z"}',),
}


def draw_field(rng: Random, type_: str) -> str:
    """A value of a type, as CSV has it."""
    if type_ in INTEGERS:
        return rng.choice(["0", "1", "2", "3", "5", "7"])
    if type_ in FLOATS:
        return rng.choice(["0.0", "1.5", "2", "-2.25", "0.1", "nan", "inf", "-0.0"])
    return rng.choice(_TEXTS.get(type_, ("1.5", "2", "-0.25")))


def _file(rng: Random, name: str, schema: Attributes, largest: int) -> tuple[Op, Lines]:
    delayed, permissive = rng.random() < 0.4, rng.random() < 0.3
    lines = []
    for _ in range(rng.randint(0, largest)):
        fields = [draw_field(rng, type_) for _, type_ in schema]
        if delayed:
            fields.insert(0, f"{rng.choice((0.0, 0.0, 0.0, *WAITS))}")
        if permissive and rng.random() < 0.2:
            fields[rng.randrange(len(fields))] = "oops"
        lines.append(",".join(fields))
    params = [("file", f'"{name}.csv"'), ("format", "csv")]
    params += [("hasDelayField", "true")] if delayed else []
    params += [("parsing", "permissive")] if permissive else []
    params += [("initDelay", "1.0")] if rng.random() < 0.15 else []
    op = Op(name=name, kind="FileSource", outputs=(Output(stream=name, schema=schema),), params=tuple(params))
    return op, {f"{name}.csv": tuple(lines)}


def _python(rng: Random, name: str, schema: Attributes, largest: int) -> tuple[Op, Lines]:
    items: list[str] = []
    for _ in range(rng.randint(0, largest)):
        if rng.random() < 0.25:
            items.append(f"{rng.choice(WAITS)}")
        else:
            x = rng.choice(["0.0", "1.5", "-2.25", "0.1", "nan", "inf", "-0.0", "3.0"])
            items.append(f"({rng.randint(-1, 5)}, {x}, '{rng.choice(['', 'a', 'b', 'é'])}')")
    op = Op(
        name=name,
        kind="PySource",
        outputs=(Output(stream=name, schema=BASE),),
        params=(("items", f'"[{", ".join(items)}]"'),),
    )
    return op, {}
