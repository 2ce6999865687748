"""The schema of a file, inferred from a sample of it.

The sample is the beginning of the file, `SAMPLE_BYTES` at most; of a Parquet file the footer, which has it all. What
the sample does not show is not known: a column of whole numbers may have a fraction further down; a run then says so.
An attribute is optional where the sample has no value for it. Dates and times in text stay text, because the text of a
timestamp is SPL's own.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json, parquet, types

from penstock.api.schemas.arrow import arrow_attributes
from penstock.api.schemas.problems import FieldProblem
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError
from penstock.ir.types import BOOLEAN, FLOAT64, INT64, RSTRING, OptionalType, Schema, TupleType, Type, TypedName
from penstock.toolkit.formats.csv import field_end, field_reader
from penstock.toolkit.formats.file_chunks import COMPRESSIONS, read_chunks
from penstock.toolkit.formats.lines import parse_records, split_any_line_ends

SAMPLE_BYTES = 1 << 20
SAMPLE_ROWS = 20_000

_TRIED = ((INT64, pa.int64()), (FLOAT64, pa.float64()), (BOOLEAN, pa.bool_()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledFile:
    """A file whose schema is asked for.

    Attributes:
        path: As the user gave it.
        folder: Where a relative one is looked up.
        compression: Of the file, if it has one.
    """

    path: str
    folder: Path
    compression: str | None = None

    def location(self) -> Path:
        """Where it is.

        Raises:
            UserError: It is not there.
        """
        found = self.folder / self.path
        if not found.is_file():
            where = "" if Path(self.path).is_absolute() else f" in `{self.folder.absolute()}`"
            if found.is_dir():
                raise self.problem(f"it is a folder{where}", hint="name a file in it")
            raise self.problem(f"there is no such file{where}")
        return found

    def lines(self, encoding: str) -> Iterator[str]:
        """The lines of the sample, the last one only if the file ends behind it."""
        if self.compression is not None and self.compression not in COMPRESSIONS:
            raise self.problem(f"`{self.compression}` is not a compression, but one of {', '.join(COMPRESSIONS)} is")
        location = self.location()
        try:
            sample = b"".join(_up_to(SAMPLE_BYTES, read_chunks(location, self.compression or "")))
            lines = [line for line in split_any_line_ends(iter([sample]), encoding) if isinstance(line, str)]
        except (OSError, UnicodeError, LookupError) as error:
            raise self.problem(str(error)) from None
        is_cut = len(sample) >= SAMPLE_BYTES and not sample.endswith(b"\n")
        return islice(lines[:-1] if is_cut else lines, SAMPLE_ROWS)

    def problem(self, why: str, hint: str = "give the schema") -> UserError:
        """The error that the schema is not known because of something."""
        message = f"the schema of `{self.path}` cannot be inferred: {why}"
        return UserError(Diagnostic(message=message, span=caller_span(), hint=hint))


def _up_to(limit: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        yield chunk
        size += len(chunk)
        if size >= limit:
            return


def infer_csv(file: SampledFile, header_lines: int, separator: str, encoding: str) -> Schema:
    """The schema of separated values, with the names that the last header line gives.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.csv").write_text('# data\\n1,2.5,"a, b",true\\n2,,"c",false\\n')
        >>> print(infer_csv(SampledFile(path="a.csv", folder=folder), 0, ",", "utf-8"))
        tuple<int64 column_1, optional<float64> column_2, rstring column_3, boolean column_4>
    """
    lines = file.lines(encoding)
    # What marks the byte order belongs to no name.
    headers = [line.removeprefix("\ufeff") for line in islice(lines, header_lines)]

    def split(line: str) -> tuple[str, ...]:
        return tuple(_fields(line, separator))

    rows = [row for row in parse_records(lines, split) if isinstance(row, tuple)]
    if not rows:
        raise file.problem("it has no lines to look at")
    read = field_reader(RSTRING, "")
    names = [read(field) for field in split(headers[-1])] if headers else None
    width = len(names) if names is not None else len(rows[0])
    whole = [row for row in rows if len(row) == width]
    if not whole:
        raise file.problem(f"the header has {width} names, but no line has {width} values")
    columns = zip(*whole, strict=True)
    return TupleType(
        tuple(
            TypedName(names[i] if names is not None else f"column_{i + 1}", _text_type(column))
            for i, column in enumerate(columns)
        )
    )


def _fields(line: str, separator: str) -> Iterator[str]:
    """The fields of a line as they are written."""
    position = 0
    while True:
        end = field_end(line, position, separator, RSTRING)
        yield line[position:end]
        if end >= len(line):
            return
        position = end + 1


def _text_type(column: tuple[str, ...]) -> Type:
    """The type of values that are written so: what both Arrow and our reader take them for."""
    values = pc.utf8_trim(pa.array(column, pa.string()), " \t")
    filled = values.filter(pc.not_equal(values, "")).unique()
    for type_, arrow in _TRIED if len(filled) else ():
        try:
            filled.cast(arrow)
            for text in filled.to_pylist():
                field_reader(type_, None)(text)
        except (pa.ArrowInvalid, ValueError):
            continue
        return type_ if pc.all(pc.not_equal(values, "")).as_py() else OptionalType(type_)
    return RSTRING


def infer_json(file: SampledFile, encoding: str) -> Schema:
    """The schema of JSON objects, one a line.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.json").write_text('{"a": [1], "at": {"x": 1.5}, "d": "2026-11-17"}\\n{"a": []}\\n')
        >>> print(infer_json(SampledFile(path="a.json", folder=folder), "utf-8"))
        tuple<list<int64> a, optional<tuple<float64 x>> at, optional<rstring> d>
    """
    lines = [line for line in file.lines(encoding) if line.strip()]
    if not lines:
        raise file.problem("it has no lines to look at")
    try:
        table = json.read_json(io.BytesIO("\n".join(lines).encode()))
    except pa.ArrowInvalid as error:
        raise file.problem(str(error).partition("\n")[0]) from None
    seen = [_seen(name, table.column(name).combine_chunks()) for name in table.column_names]
    return _schema(file, seen)


def _seen(name: str, array: pa.Array) -> pa.Field:
    """The field of values, nullable where one of them is null."""
    type_ = array.type
    if types.is_list(type_):
        type_ = pa.list_(_seen("item", array.flatten()))
    elif types.is_struct(type_):
        inner = array.drop_null()
        type_ = pa.struct([_seen(type_.field(i).name, inner.field(i)) for i in range(type_.num_fields)])
    elif types.is_temporal(type_) or types.is_null(type_):
        type_ = pa.string()
    return pa.field(name, type_, nullable=array.null_count > 0)


def infer_parquet(file: SampledFile) -> Schema:
    """The schema of a Parquet file; a column is optional unless it is declared, or known, to have no nulls."""
    try:
        found = parquet.ParquetFile(file.location())
    except pa.ArrowException as error:
        raise file.problem(f"it is no Parquet file: {error}") from None
    return _schema(file, [_without_nulls(field, found.metadata) for field in found.schema_arrow])


def _without_nulls(field: pa.Field, footer: parquet.FileMetaData) -> pa.Field:
    """The field as it is, or not nullable if the footer says of every group of rows that there is no null in it."""
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    counts = [chunk.statistics for chunk in chunks if chunk.path_in_schema == field.name]
    if counts and all(found is not None and found.has_null_count and not found.null_count for found in counts):
        return field.with_nullable(False)
    return field


def _schema(file: SampledFile, fields: list[pa.Field]) -> Schema:
    try:
        return TupleType(arrow_attributes(fields))
    except FieldProblem as problem:
        raise file.problem(f"{problem}") from None
