"""A table of a PostgreSQL database that rows are added to, in one transaction after the other.

Each transaction may carry a batch: then its id is written in the table `penstock_batches` along with the rows, and a
batch whose id is there is not written again. Ids that are old are forgotten.

| SPL | PostgreSQL |
|---|---|
| boolean; int8, int16, uint8; int32, uint16; int64, uint32; uint64 | boolean; smallint; integer; bigint; numeric(20) |
| float32, float64; decimal | real, double precision; numeric |
| rstring, ustring, enum; blob | text; bytea |
| timestamp | bigint: nanoseconds since 1970, because `timestamptz` keeps only microseconds |
| list<T> | an array of T's type |
| map, set, tuple | none |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.base.redaction import protect_url
from penstock.base.secret_references import reveal_url
from penstock.expr.environment import Tuple
from penstock.expr.values import text_form
from penstock.ir.types import EnumType, ListType, OptionalType, Primitive, Schema, Type

if TYPE_CHECKING:
    import psycopg

BATCHES = "penstock_batches"
KEPT_BATCHES, _KEPT_TIME = 1_000, "interval '30 days'"
"""Ids stay for so many batches and so long: nothing older comes again, but from an old copy of a checkpoint."""

_COLUMNS = {
    "boolean": "boolean",
    **dict.fromkeys(("int8", "int16", "uint8"), "smallint"),
    **dict.fromkeys(("int32", "uint16"), "integer"),
    **dict.fromkeys(("int64", "uint32", "timestamp"), "bigint"),
    "uint64": "numeric(20)",
    "float32": "real",
    "float64": "double precision",
    **dict.fromkeys(("decimal32", "decimal64", "decimal128"), "numeric"),
    **dict.fromkeys(("rstring", "ustring"), "text"),
    "blob": "bytea",
}


def column_type(type_: Type) -> str | None:
    """The type of a column for an attribute; None if there is none.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> column_type(parse_type("list<optional<int32>>"))
        'integer[]'
    """
    match type_:
        case OptionalType(inner=inner):
            return column_type(inner)
        case EnumType():
            return "text"
        case ListType(element=element):
            inner_type = column_type(element)
            return None if inner_type is None else f"{inner_type}[]"
        case Primitive(name=name):
            return _COLUMNS.get(name)
    return None


def unsupported(type_: Type) -> bool:
    """Whether an attribute of this type cannot be written."""
    return column_type(type_) is None


_KEPT: dict[tuple[str, str, str], PostgresTable] = {}
"""The tables that tasks of this process have written to."""


class PostgresTable:
    """A table that rows are added to.

    Args:
        url: Of the database.
        table: Its name, perhaps with that of a schema before a point.
        schema: Of the tuples.
        operator: Who writes, for messages.
        creates: Whether to make the table if it is not there.
    """

    def __init__(self, *, url: str, table: str, schema: Schema, operator: str, creates: bool) -> None:
        self._url, self._table, self._schema, self._operator, self._creates = url, table, schema, operator, creates
        self._connection: psycopg.Connection[Any] | None = None
        protect_url(url)

    def connected_once(self) -> PostgresTable:
        """A table whose connection other batches of this process use, too; for one writer at a time."""
        key = self._url, self._table, self._operator
        found = _KEPT.get(key)
        if found is None or found._schema != self._schema:
            # A table that comes from another process has not hidden its password here.
            protect_url(self._url)
            found = _KEPT[key] = self
        found.rollback()
        return found

    def open(self) -> None:
        """Connect, and make sure that the tables are there."""
        if self._connection is not None:
            return
        sql, errors = _client()
        try:
            self._connection = connection = _connect(reveal_url(self._url))
            if self._creates:
                connection.execute(self._create(sql))
            columns = sql.SQL(", ").join(map(sql.Identifier, self._schema.names))
            connection.execute(sql.SQL("SELECT {} FROM {} LIMIT 0").format(columns, self._name(sql)))
            connection.commit()
        except errors.Error as error:
            self.close()
            raise self._failure(error, ()) from error

    def begin(self, job: str, batch: int) -> bool:
        """Begin the transaction of a batch; tells whether it is still to be written."""
        sql, errors = _client()
        connection = self._open()
        try:
            connection.execute(_create_batches(sql))
            connection.commit()
            claim = "INSERT INTO {} (job, operator, batch) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
            done = connection.execute(sql.SQL(claim).format(sql.Identifier(BATCHES)), (job, self._operator, batch))
            if done.rowcount:
                if batch % KEPT_BATCHES == 0:
                    forget = "DELETE FROM {} WHERE job = %s AND operator = %s AND batch < %s AND written < now() - {}"
                    kept = sql.SQL(forget).format(sql.Identifier(BATCHES), sql.SQL(_KEPT_TIME))
                    connection.execute(kept, (job, self._operator, batch - KEPT_BATCHES))
                return True
            connection.rollback()
            return False
        except errors.Error as error:
            self.close()
            raise self._failure(error, ()) from error

    def add(self, rows: Sequence[Tuple], part: str | None = None) -> None:
        """Add rows to the transaction.

        Args:
            rows: To add.
            part: The table of a part that they go to; without it they go to the table itself.

        Raises:
            UserError: PostgreSQL takes one of them for wrong.
        """
        if not rows:
            return
        sql, errors = _client()
        name = self._name(sql) if part is None else sql.Identifier(part)
        command = sql.SQL("COPY {} ({}) FROM STDIN").format(name, self._columns(sql))
        try:
            with self._open().cursor().copy(command) as copy:
                for row in rows:
                    copy.write_row(row)
        except errors.Error as error:
            self.close()
            raise self._failure(error, rows) from error

    def begin_part(self, part: str) -> None:
        """Begin the transaction of a part: a table of its own, whose rows must be as those of the table."""
        sql, _ = _client()
        create = "CREATE UNLOGGED TABLE {} (LIKE {} INCLUDING CONSTRAINTS INCLUDING DEFAULTS)"
        self._execute(sql.SQL(create).format(sql.Identifier(part), self._name(sql)))

    def take_parts(self, parts: Sequence[str]) -> None:
        """Move the rows of parts to the table, in this transaction."""
        sql, _ = _client()
        columns = self._columns(sql)
        for part in parts:
            move = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}")
            self._execute(move.format(self._name(sql), columns, columns, sql.Identifier(part)))
            self._execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(part)))

    def drop_parts(self, prefix: str) -> None:
        """Drop the parts whose names begin like this: nobody will take them."""
        sql, _ = _client()
        query = sql.SQL("SELECT relname FROM pg_class WHERE relkind = 'r' AND starts_with(relname, {})")
        for (part,) in self._execute(query.format(sql.Literal(prefix))).fetchall():
            self._execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(part)))
        self.commit()

    def rollback(self) -> None:
        """Drop the transaction."""
        if self._connection is not None and not self._connection.closed:
            self._connection.rollback()

    def _execute(self, command: Any) -> Any:
        _, errors = _client()
        try:
            return self._open().execute(command)
        except errors.Error as error:
            self.close()
            raise self._failure(error, ()) from error

    def _columns(self, sql: Any) -> Any:
        return sql.SQL(", ").join(map(sql.Identifier, self._schema.names))

    def commit(self) -> None:
        """Make the rows visible."""
        _, errors = _client()
        try:
            self._open().commit()
        except errors.Error as error:
            self.close()
            raise self._failure(error, ()) from error

    def close(self) -> None:
        """Let go of the connection; what is not committed is not written."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> psycopg.Connection[Any]:
        self.open()
        assert self._connection is not None
        return self._connection

    def _name(self, sql: Any) -> Any:
        return sql.Identifier(*self._table.split("."))

    def _create(self, sql: Any) -> Any:
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(a.name), sql.SQL(str(column_type(a.type)) + _not_null(a.type)))
            for a in self._schema.attributes
        ]
        return sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(self._name(sql), sql.SQL(", ").join(columns))

    def _failure(self, error: Any, rows: Sequence[Tuple]) -> UserError:
        message = f"PostgresSink `{self._operator}` cannot write to `{self._table}`: {_reason(error)}"
        row = _row_of(error, rows)
        if row is not None:
            message += f", in the tuple {text_form(self._schema)(row)}"
        return UserError(message, hint=_hint(error))


def _not_null(type_: Type) -> str:
    return "" if isinstance(type_, OptionalType) else " NOT NULL"


def _create_batches(sql: Any) -> Any:
    columns = (
        "job text, operator text, batch bigint, written timestamptz DEFAULT now(), PRIMARY KEY (job, operator, batch)"
    )
    return sql.SQL(f"CREATE TABLE IF NOT EXISTS {{}} ({columns})").format(sql.Identifier(BATCHES))


def _client() -> tuple[Any, Any]:
    """The modules `sql` and `errors` of the client."""
    try:
        from psycopg import errors, sql
    except ImportError as error:
        message = "a PostgresSink needs the package psycopg, which is not installed"
        raise UserError(message, hint="pip install 'penstock[postgres]'") from error
    return sql, errors


def _connect(url: str) -> psycopg.Connection[Any]:
    import psycopg

    return psycopg.connect(url, connect_timeout=10, application_name="penstock")


def _reason(error: Any) -> str:
    """The first line of what PostgreSQL says, with the column where it names one."""
    text = (error.diag.message_primary or str(error)).strip().splitlines()[0]
    column = error.diag.column_name or _column_of(error.diag.context or "")
    return f"column `{column}`: {text}" if column else text


def _column_of(context: str) -> str | None:
    """The column that the context of an error in COPY names: `COPY t, line 3, column price: "x"`."""
    _, found, rest = context.partition(", column ")
    return rest.split(":")[0].strip() if found else None


def _row_of(error: Any, rows: Sequence[Tuple]) -> Tuple | None:
    """The row that an error in COPY is about, where it says."""
    _, found, rest = (error.diag.context or "").partition(", line ")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    if not found or not digits or not 0 < int(digits) <= len(rows):
        return None
    return rows[int(digits) - 1]


def _hint(error: Any) -> str:
    """A hint for the user, by the class of the error; empty if there is none."""
    hints: dict[str | None, Callable[[], str]] = {
        "42P01": lambda: "make the table, or write `createTable: true`",
        "42703": lambda: "the table needs a column for each attribute; drop those it lacks with a Functor",
    }
    known = hints.get(error.sqlstate)
    if known is not None:
        return known()
    return "check the url, and that the server runs" if error.sqlstate is None else ""
