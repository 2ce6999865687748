"""Schemas from dataclasses, named tuples, Arrow, Spark and text; what does not fit is refused by its field."""

from __future__ import annotations

import dataclasses
import enum
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from penstock import App, UserError
from penstock.api.schemas import schema_of
from penstock.ir.arrow import arrow_schema
from penstock.testing import feed

EVERY_TYPE = (
    "boolean a, int8 b, int16 c, int32 d, int64 e, uint8 f, uint16 g, uint32 h, uint64 i, float32 j, float64 k, "
    "decimal32 l, decimal64 m, decimal128 n, rstring o, ustring p, timestamp q, blob r, enum{x, y} s, rstring[4] t, "
    "optional<int32> u, list<int32>[3] v, set<rstring> w, map<rstring, list<optional<float64>>> x, tuple<int32 y> z"
)


class Side(enum.Enum):
    BUY = 1
    SELL = 2


@dataclasses.dataclass
class Place:
    x: float
    y: float


@dataclasses.dataclass
class Trade:
    sym: str
    price: float
    volume: Annotated[int, "uint32"]
    at: datetime
    total: Decimal
    side: Side
    kind: Literal["spot", "future"]
    note: str | None
    tags: list[str]
    seen: set[int]
    counts: dict[str, int]
    place: Place
    small: np.int16
    raw: bytes
    is_open: bool


TRADE = (
    "tuple<rstring sym, float64 price, uint32 volume, timestamp at, decimal64 total, enum{BUY, SELL} side, "
    "enum{spot, future} kind, optional<rstring> note, list<rstring> tags, set<int64> seen, map<rstring, int64> counts, "
    "tuple<float64 x, float64 y> place, int16 small, blob raw, boolean is_open>"
)


def test_a_dataclass_is_a_schema():
    assert str(schema_of(Trade)) == TRADE


def test_a_named_tuple_is_the_same_schema():
    same = NamedTuple("Trade", [(f.name, Trade.__annotations__[f.name]) for f in dataclasses.fields(Trade)])
    same.__annotations__ = {name: eval(text, globals()) for name, text in Trade.__annotations__.items()}
    assert str(schema_of(same)) == TRADE


def test_text_comes_back_as_the_same_schema_whatever_the_types():
    schema = schema_of(EVERY_TYPE)
    assert schema_of(str(schema)) == schema
    assert schema_of({a.name: a.type for a in schema.attributes}) == schema
    assert schema_of({a.name: str(a.type) for a in schema.attributes}) == schema


def test_a_schema_that_begins_with_a_nested_tuple_is_read():
    assert schema_of("tuple<int32 x> place, int32 n").names == ("place", "n")
    assert schema_of("tuple<int32 x, int32 y>").names == ("x", "y")


ARROW = pa.schema(
    [
        pa.field("a", pa.bool_(), nullable=False),
        *(pa.field(f"i{n}", pa.type_for_alias(f"int{n}"), nullable=False) for n in (8, 16, 32, 64)),
        *(pa.field(f"u{n}", pa.type_for_alias(f"uint{n}"), nullable=False) for n in (8, 16, 32, 64)),
        pa.field("f", pa.float32(), nullable=False),
        pa.field("g", pa.float64()),
        pa.field("s", pa.string()),
        pa.field("b", pa.binary(), nullable=False),
        pa.field("l", pa.list_(pa.field("item", pa.string(), nullable=False)), nullable=False),
        pa.field("m", pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False)), nullable=False),
        pa.field("t", pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.int8(), nullable=False)])),
    ]
)


def test_an_arrow_schema_comes_back_as_the_same():
    assert arrow_schema(schema_of(ARROW)).equals(ARROW)


def test_types_of_arrow_that_lie_otherwise_here_are_understood():
    types = [pa.timestamp("us", "UTC"), pa.decimal128(10, 2), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
    types += [pa.large_list(pa.field("item", pa.int8(), nullable=False)), pa.decimal128(30, 2)]
    schema = schema_of(pa.schema([pa.field(f"c{i}", t, nullable=False) for i, t in enumerate(types)]))
    assert [str(a.type) for a in schema.attributes] == [
        "timestamp", "decimal64", "rstring", "rstring", "list<int8>", "decimal128",
    ]  # fmt: skip


def field(name: str, type_: Any, nullable: bool = False) -> spark.StructField:
    return spark.StructField(name, type_, nullable)


def test_a_struct_type_of_spark_is_a_schema():
    given = spark.StructType(
        [
            field("a", spark.BooleanType()),
            field("b", spark.ByteType()),
            field("c", spark.ShortType()),
            field("d", spark.IntegerType()),
            field("e", spark.LongType(), True),
            field("f", spark.FloatType()),
            field("g", spark.DoubleType()),
            field("h", spark.DecimalType(12, 2)),
            field("i", spark.StringType()),
            field("j", spark.VarcharType(5)),
            field("k", spark.BinaryType()),
            field("l", spark.TimestampType()),
            field("m", spark.TimestampNTZType()),
            field("n", spark.ArrayType(spark.StringType(), containsNull=False)),
            field("o", spark.MapType(spark.StringType(), spark.LongType())),
            field("p", spark.StructType([field("x", spark.DoubleType())])),
        ]
    )
    assert str(schema_of(given)) == (
        "tuple<boolean a, int8 b, int16 c, int32 d, optional<int64> e, float32 f, float64 g, decimal64 h, rstring i, "
        "rstring j, blob k, timestamp l, timestamp m, list<rstring> n, map<rstring, optional<int64>> o, "
        "tuple<float64 x> p>"
    )


class Dated(NamedTuple):
    sym: str
    day: date


class Inside(NamedTuple):
    inner: Dated


class Unknown(NamedTuple):
    x: Missing  # noqa: F821


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Dated, "field `day`: no type of a stream holds a Python `date`"),
        (Inside, "field `inner.day`: no type of a stream holds a Python `date`"),
        (Unknown, "field `Unknown`: an annotation is not known: name 'Missing' is not defined"),
        ({"x": int | str}, "field `x`: no type of a stream holds a Python `int | str`"),
        ({"x": "flot64"}, "field `x`: `flot64` is not a type: there is no type `flot64`"),
        ({1: int}, "field `1`: its name is not one that a stream can have"),
        (pa.schema([("day", pa.date32())]), "field `day`: no type of a stream holds Arrow's `date32[day]`"),
        (pa.schema([("t", pa.struct([("d", pa.time64("us"))]))]), "field `t.d`: no type of a stream holds Arrow's"),
        (pa.schema([("x", pa.decimal256(60, 1))]), "field `x`: no type of a stream holds a decimal of 60 digits"),
        (pa.schema([("my price", pa.int8())]), "field `my price`: its name is not one that a stream can have"),
        (pa.schema([("größe", pa.int8())]), "field `größe`: its name is not one that a stream can have"),
        (pa.schema([("x", pa.int8()), ("x", pa.int8())]), "field `x`: there are 2 fields of this name"),
        (spark.StructType([field("d", spark.DateType())]), "field `d`: no type of a stream holds Spark's `date`"),
        (Place(1.0, 2.0), "is not a schema; give the class, Place"),
        (7, "7 is not a schema; give SPL text, a NamedTuple class"),
        ("sym: string", 'types come first, as in "rstring sym, float64 price"'),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(given, message):
    with pytest.raises(UserError) as caught:
        App().source(feed([]), given)
    assert message in str(caught.value)
    assert "test_schemas.py" in str(caught.value)


def test_spark_is_not_imported_for_any_other_schema():
    code = "import sys; from penstock.api.schemas import schema_of; import pyarrow as pa; "
    code += "schema_of(pa.schema([('x', pa.int8())])); schema_of({'x': int}); sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_type_goes_through_a_program_and_comes_back():
    value = (
        True, -1, -2, -3, -4, 1, 2, 3, 4, 0.5, 0.25, Decimal("1.5"), Decimal("2.5"), Decimal("3.5"), "o", "p", 17, b"r",
        "y", "t", None, [1, 2], {"a"}, {"k": [1.0, None]}, (7,),
    )  # fmt: skip
    (row,) = App().source(feed([value]), EVERY_TYPE).map(lambda t: t).collect()
    assert row == value
