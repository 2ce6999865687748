"""Pipelines for the tests of order: every combination of state, selectivity and keys, and random ones behind them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from penstock.lang import compile_text
from penstock.toolkit.core.program import Program

SCHEMA = "int32 k, int32 l, int32 m"

# Each is the body of an operator that takes IN and makes OUT; KEY is a type and an expression over the attributes.
STATELESS = {
    "one": "Functor(IN) { output OUT: m = m + 1; }",
    "at most one": "Filter(IN) { param filter: m % 3 != 0; }",
    "several": """Custom(IN as I) { logic onTuple I:
      for (int32 i in range(m % 4)) submit({k = k, l = l, m = 2 * m + i}, OUT); }""",
}
PARTITIONED = {
    "one": """Custom(IN as I) { logic state: mutable map<KEY_TYPE, int32> n; onTuple I: {
      if (!(KEY in n)) n[KEY] = 0; n[KEY] = n[KEY] + 1; submit({k = k, l = l, m = m + n[KEY]}, OUT); } }""",
    "at most one": """Aggregate(IN) { window IN: tumbling, count(2), partitioned; param partitionBy: KEY_NAMES;
      output OUT: k = Any(k), l = Any(l), m = Sum(m); }""",
    "several": """Custom(IN as I) { logic state: mutable map<KEY_TYPE, int32> n; onTuple I: {
      if (!(KEY in n)) n[KEY] = 0; n[KEY] = n[KEY] + m;
      for (int32 i in range(n[KEY] % 3)) submit({k = k, l = l, m = m + n[KEY] + i}, OUT); } }""",
}
UNKNOWN = {
    "one": """Custom(IN as I) { logic state: mutable int32 n = 0; onTuple I: {
      n++; submit({k = k, l = l, m = m + n}, OUT); } }""",
    "at most one": """Custom(IN as I) { logic state: mutable int32 n = 0; onTuple I: {
      n++; if (n % 4 != 0) submit(I, OUT); } }""",
    "several": """Custom(IN as I) { logic state: mutable int32 n = 0; onTuple I: {
      n++; for (int32 i in range(n % 3)) submit({k = k, l = l, m = m + n}, OUT); } }""",
}
REKEYED = "Functor(IN) { output OUT: k = (k + m) % 3; }"
KEYS = {
    "k": ("int32", "k", "k"),
    "l": ("int32", "l", "l"),
    "kl": ("tuple<int32 k, int32 l>", "{k = k, l = l}", "k, l"),
}
MEETING = """Join(LEFT; RIGHT) {
      window LEFT: sliding, count(2), partitioned; RIGHT: sliding, count(1), partitioned;
      param partitionByLHS: LEFT.KEY; partitionByRHS: RIGHT.KEY; equalityLHS: LEFT.KEY; equalityRHS: RIGHT.KEY;
      output OUT: k = LEFT.k, l = LEFT.l, m = LEFT.m + RIGHT.m; }"""

Step = tuple[str, str, str]
"""State, selectivity and key; `rekeyed` is a state of its own."""

STEPS: tuple[Step, ...] = (
    *(("stateless", selectivity, "") for selectivity in STATELESS),
    *(("partitioned", selectivity, key) for selectivity in PARTITIONED for key in KEYS),
    *(("unknown", selectivity, "") for selectivity in UNKNOWN),
    ("rekeyed", "one", ""),
)


def every_pair() -> list[tuple[Step, ...]]:
    """Two operators in a row: every combination of state and selectivity, keys compatible, incompatible and absent."""
    first = [step for step in STEPS if step[2] in ("", "k") and step[0] != "rekeyed"]
    second = [step for step in STEPS if step[2] in ("", "k", "l")]
    return list(product(first, second))


def random_pipelines(seed: int, count: int) -> Iterator[tuple[Step, ...]]:
    """Pipelines of one to four operators."""
    rng = random.Random(seed)
    for _ in range(count):
        yield tuple(rng.choice(STEPS) for _ in range(rng.randint(1, 4)))


def body(step: Step) -> str:
    state, selectivity, key = step
    if state == "rekeyed":
        return REKEYED
    if state != "partitioned":
        return (STATELESS if state == "stateless" else UNKNOWN)[selectivity]
    type_, value, names = KEYS[key]
    text = PARTITIONED[selectivity].replace("KEY_TYPE", type_).replace("KEY_NAMES", names)
    return text.replace("KEY", value)


def source(tuples: int) -> str:
    return (
        f"stream<{SCHEMA}> In = Beacon() {{ param iterations: {tuples}u; output In: "
        "k = (int32) (IterationCount() * 7ul % 5ul), l = (int32) (IterationCount() * IterationCount() % 3ul), "
        "m = (int32) (IterationCount() * 11ul % 17ul); }"
    )


def invocation(name: str, text: str, before: str) -> str:
    return f"stream<{SCHEMA}> {name} = " + text.replace("IN", before).replace("OUT", name)


def sink(stream: str) -> str:
    return f'() as {stream}Sink = FileSink({stream}) {{ param file: "{stream}.csv"; }}'


def application(pipelines: Sequence[tuple[Step, ...]], *, meetings: Sequence[str] = (), tuples: int = 60) -> Program:
    """All pipelines behind one source, each with a file of its own; and Joins by keys of two pipelines in a row."""
    parts = [source(tuples)]
    for i, steps in enumerate(pipelines):
        names = ["In", *(f"P{i}_{j}" for j in range(len(steps)))]
        parts.extend(
            invocation(name, body(s), before) for name, before, s in zip(names[1:], names, steps, strict=False)
        )
        parts.append(sink(names[-1]))
    for i, key in enumerate(meetings):
        left, right = (f"P{j}_{len(pipelines[j]) - 1}" for j in (2 * i, 2 * i + 1))
        text = MEETING.replace("LEFT", left).replace("RIGHT", right).replace("KEY", key)
        parts.extend([invocation(f"J{i}", text, ""), sink(f"J{i}")])
    return compile_text("composite Main { graph\n" + "\n".join(parts) + "\n}")


def few_regions(*, first: str = STATELESS["one"], tuples: int = 40, toolkits: Sequence[Path] = ()) -> Program:
    """Every pair of operators as a pipeline with a file of its own, such that few regions hold all of them.

    One operator stands before all pipelines, so those that keep its key are one region; the ends of all that are keyed
    alike meet in a Union, so they are one region too. What is left runs on Spark in a handful of PEs.
    """
    parts = [source(tuples), invocation("Pre", first, "In")]
    ends: dict[str, list[str]] = {"k": [], "l": []}
    firsts: dict[Step, str] = {}
    for before, after in every_pair():
        if before not in firsts:
            firsts[before] = f"A{len(firsts)}"
            parts.append(invocation(firsts[before], body(before), "Pre"))
        name = f"{firsts[before]}B{STEPS.index(after)}"
        parts.extend([invocation(name, body(after), firsts[before]), sink(name)])
        if before[0] == "unknown" or after[2] == "l":
            ends.get(after[2] or "k", []).append(name)
    for key, streams in ends.items():
        parts.append(f"stream<{SCHEMA}> All_{key} = Union({'; '.join(streams)}) {{ }}")
        parts.append(sink(f"All_{key}"))
    return compile_text("composite Main { graph\n" + "\n".join(parts) + "\n}", toolkits=toolkits)
