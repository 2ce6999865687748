"""What is read, by whom, and the inputs that mutations begin with."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from click.testing import CliRunner
from pyarrow import parquet

from penstock.cli.options.python_application import python_program
from penstock.expr.values import rows_from_batch
from penstock.ir.types import parse_schema
from penstock.lang import compile_text
from penstock.model.hosts import read_hosts
from penstock.model.profile_format import read_profile
from penstock.model.transfer import read_transfer
from penstock.optimizer.plan_format import read_plan
from penstock.runtime.savepoints.inside import describe_state, inside_of
from penstock.runtime.savepoints.savepoint_files import read_savepoint
from penstock.toolkit.formats import Malformed, Settings, reader
from penstock.toolkit.formats.column_blocks import block_reader

from .mutate import json_bytes, mutate, mutate_json

ROOT = Path(__file__).parents[2]
SAVED = ROOT / "tests/fixtures/savepoints/format-1/saved"
SCHEMA = "int32 n, rstring s, float64 x, boolean b, timestamp t, list<int32> l, map<rstring, int64> m, optional<int8> o"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One kind of input.

    Attributes:
        name: Of the kind.
        share: How many of a hundred mutants are of it.
        make: A mutant.
        read: Reads a mutant, in a folder that is there for it.
    """

    name: str
    share: int
    make: Callable[[random.Random], bytes]
    read: Callable[[bytes, Path], object]


@cache
def programs() -> tuple[bytes, ...]:
    paths = [*ROOT.glob("tests/fixtures/spl/*/*.spl"), *ROOT.glob("examples/**/*.spl")]
    return tuple(path.read_bytes() for path in sorted(paths) if path.stat().st_size < 8_000)


@cache
def documents(name: str) -> tuple[Any, ...]:
    """The examples of a format in its page."""
    found = []
    for text in re.findall(r"```json[^\n]*\n(.*?)```", (ROOT / f"docs/formats/{name}.md").read_text(), re.DOTALL):
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return tuple(found)


PYTHON = b"""from penstock import App, KeyedOperator, agg, col, count, tumbling

class Mean(KeyedOperator):
    partition_by = "key"
    def __init__(self):
        self.count, self.total = 0, 0.0
    def process(self, t):
        self.count, self.total = self.count + 1, self.total + t.value
        yield {"key": t.key, "mean": self.total / self.count}

def rows(least: int = 3):
    for i in range(least):
        yield {"key": i % 3, "value": i * 1.5}

app = App("Hostile")
numbers = app.source(rows, "int32 key, float64 value", name="Numbers")
high = numbers.filter(lambda t: t.value > 2.0).map(lambda t: {"key": t.key, "value": t.value + 1}, numbers.schema)
sums = high.filter(col.value > 1.0).aggregate(tumbling(count(3)), by="key", total=agg.sum(col.value))
high.apply(Mean, "int32 key, float64 mean").write_csv("means.csv")
sums.write_csv("sums.csv")
"""


def _text(seeds: Callable[[], Sequence[bytes]]) -> Callable[[random.Random], bytes]:
    return lambda rng: mutate(rng.choice(seeds()), seeds(), rng)


def _json(*names: str) -> Callable[[random.Random], bytes]:
    def make(rng: random.Random) -> bytes:
        value = rng.choice(documents(rng.choice(names)))
        for _ in range(rng.choice((1, 1, 2, 4))):
            value = mutate_json(value, rng)
        data = json_bytes(value)
        return mutate(data, [data], rng) if rng.random() < 0.15 else data

    return make


def read_spl(data: bytes, folder: Path) -> None:
    compile_text(data.decode(errors="replace"), path="hostile.spl")


def read_python(data: bytes, folder: Path) -> None:
    (folder / "app.py").write_bytes(data)
    python_program(str(folder / "app.py"), "app", {})


def _command(name: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        from penstock.cli import cli

        (folder / "problem.json").write_bytes(data)
        options = {"place": ["--machines", "2"], "fuse": ["--algorithm", "greedy"], "admit": []}[name]
        arguments = [name, str(folder / "problem.json"), *options, "--deadline", "0.2", "--json"]
        if name == "place":
            arguments = [name, str(folder / "problem.json"), *options, "--json"]
        CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)

    return read


def _reads(*readers: Callable[[Path], object]) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        (folder / "file.json").write_bytes(data)
        readers[len(data) % len(readers)](folder / "file.json")

    return read


def make_savepoint(rng: random.Random) -> bytes:
    """Which file of a savepoint is changed, into what, and whether its seal is renewed, as one JSON text."""
    names = sorted(str(path.relative_to(SAVED)) for path in SAVED.rglob("*") if path.is_file())
    name = rng.choice(names)
    data = (SAVED / name).read_bytes()
    if name.endswith(".json") and rng.random() < 0.8:
        changed = json_bytes(mutate_json(json.loads(data), rng))
    else:
        changed = mutate(data, [data], rng)
    return json_bytes({"name": name, "data": changed.hex(), "sealed": rng.random() < 0.7})


def read_saved(data: bytes, folder: Path) -> None:
    change = json.loads(data)
    saved = folder / "saved"
    shutil.copytree(SAVED, saved)
    saved.chmod(0o700)
    (saved / change["name"]).write_bytes(bytes.fromhex(change["data"]))
    if change["sealed"] and change["name"] != "savepoint.json":
        head = json.loads((saved / "savepoint.json").read_text())
        content = (saved / change["name"]).read_bytes()
        head["files"][change["name"]] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        (saved / "savepoint.json").write_text(json.dumps(head))
    savepoint = read_savepoint(saved)
    describe_state(inside_of(savepoint))


CSV = b"""1,"a",1.5,true,(10,5,0),[1,2],{"a":1},3
-2,"b c",-0.5,false,(0,0,0),[],{},
3,d,1e5,true,(1,0,0),[7],{"x":-1},1
"""
JSON_LINES = b"".join(
    json.dumps({"n": i, "s": "ab", "x": 0.5, "b": True, "t": 1.5, "l": [1], "m": {"a": i}, "o": None}).encode() + b"\n"
    for i in range(3)
)


@cache
def parquet_bytes() -> bytes:
    table = pa.table({"n": [1, 2, 3], "s": ["a", "b", None], "x": [0.5, None, 1e9], "b": [True, False, True]})
    sink = io.BytesIO()
    parquet.write_table(table, sink, row_group_size=2)
    return sink.getvalue()


def _records(format_: str) -> Callable[[bytes, Path], None]:
    """Every line is a tuple or set aside; reading it by columns and one by one gives the same."""
    schema = parse_schema("int32 n, rstring s, float64 x, boolean b" if format_ == "parquet" else SCHEMA)

    def read(data: bytes, folder: Path) -> None:
        settings = Settings(format=format_)
        items = list(reader(schema, settings)(iter([data])))
        if format_ == "parquet":
            return
        found = block_reader(schema, settings)(data if data.endswith(b"\n") else data + b"\n")
        tuples = [item for item in items if isinstance(item, tuple)]
        malformed = [item for item in items if isinstance(item, Malformed)]
        assert repr(rows_from_batch(found.batch, schema)) == repr(tuples), "columns and records differ"
        assert len(found.malformed) == len(malformed), "dead letters differ"

    return read


def read_messages(data: bytes, folder: Path) -> None:
    """The values of Kafka's messages, each a tuple or set aside."""
    from penstock.spark.kafka.messages import tuples_of
    from penstock.toolkit.adapters.kafka_consumer import MessageForm

    values = data.split(b"\n")
    table = pa.table(
        {
            "topic": ["t"] * len(values),
            "partition": pa.array([i % 2 for i in range(len(values))], pa.int32()),
            "offset": list(range(len(values))),
            "micros": list(range(len(values))),
            "key": pa.array([None] * len(values), pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )
    schema = parse_schema(SCHEMA)
    form = MessageForm(schema=schema, parts={}, body=schema, format="json", separator=",", is_permissive=True)
    items, letters = tuples_of(table, form, "K")
    assert items.tuples.num_rows + len(letters) == len(values), "a message is lost"


SUBJECTS = (
    Subject(name="spl", share=40, make=_text(programs), read=read_spl),
    Subject(name="python", share=8, make=_text(lambda: (PYTHON,)), read=read_python),
    Subject(name="admission", share=6, make=_json("admission"), read=_command("admit")),
    Subject(name="fusion", share=6, make=_json("fusion"), read=_command("fuse")),
    Subject(name="placement", share=6, make=_json("placement"), read=_command("place")),
    Subject(
        name="plans",
        share=8,
        make=_json("plan", "profile", "hosts", "transfer"),
        read=_reads(read_plan, read_profile, read_hosts, read_transfer),
    ),
    Subject(name="savepoint", share=6, make=make_savepoint, read=read_saved),
    Subject(name="csv", share=6, make=_text(lambda: (CSV,)), read=_records("csv")),
    Subject(name="json", share=6, make=_text(lambda: (JSON_LINES,)), read=_records("json")),
    Subject(name="parquet", share=3, make=_text(lambda: (parquet_bytes(),)), read=_records("parquet")),
    Subject(name="kafka", share=5, make=_text(lambda: (JSON_LINES,)), read=read_messages),
)


def subject_named(name: str) -> Subject:
    """The subject of a name."""
    return next(subject for subject in SUBJECTS if subject.name == name)
