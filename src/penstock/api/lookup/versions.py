"""The source of a table that a stream looks things up in: it gives the rows, and later what has changed.

It is the first source of its application, and the whole table is one of its turns. So all that the first tuple of any
other source looks up is there. A later version is a turn, too: what is behind it in the sequential order sees it, and
what is before does not, on every engine. What the source has given lies in the log of the job as that of other sources
does, so a batch that comes again sees the version that it has seen.

A tuple has the key, the other attributes, and whether it is a row. One that is none says that the rows of its key are
no more; so a key whose rows have changed gives such a tuple, and then its rows.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.api.lookup.given_tables import conform_table
from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment, Tuple
from penstock.expr.values import default_value, rows_from_batch
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.types import Schema
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.memory import same_nan
from penstock.toolkit.core.runtime import Context, Punctuation, Runtime, Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedUp:
    """A table that is looked up.

    Attributes:
        given: The path of a Parquet file or folder, a function that gives a table, or a table of Arrow.
        schema: Of its rows, the key first.
        keys: How many attributes the key has.
        every_ns: After what time it is read again; None for one that is read once.
    """

    given: str | Callable[[], Any] | pa.Table
    schema: Schema
    keys: int
    every_ns: int | None

    def read(self, environment: Environment) -> dict[Tuple, list[Tuple]]:
        """The rows of each key."""
        given = self.given
        if isinstance(given, str):
            path = environment.input_path(given)
            if not path.exists():
                raise UserError(f"there is no table `{given}`", hint=f"it would be `{path.absolute()}`")
            given = path
        elif callable(given):
            given = given()
        table = conform_table("table", given, self.schema)
        found: dict[Tuple, list[Tuple]] = {}
        for batch in table.to_batches():
            for row in rows_from_batch(batch, self.schema):
                found.setdefault(tuple(map(same_nan, row[: self.keys])), []).append(row)
        return found

    def signature(self, environment: Environment) -> Any:
        """What changes with a file; None where only reading tells."""
        if not isinstance(self.given, str):
            return None
        path = environment.input_path(self.given)
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        return [(str(file), *_identity(file)) for file in files if file.is_file()]


def _identity(file: Path) -> tuple[int, int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


class VersionsRuntime(Runtime):
    """Reads a table, and again after some time where the run goes on.

    Attributes:
        follows: Whether the run goes on when its sources have no more for now.
        given: A digest of the rows of each key that it has given.
        signature: Of the file that they were in.
        has_read: Whether it has given a version, and not waited for the next one yet.
    """

    remembers = ("given", "signature", "has_read")
    follows = False

    def __init__(self, table: LookedUp, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._table = table
        self._defaults = tuple(default_value(a.type) for a in table.schema.attributes[table.keys :])
        self.given: dict[Tuple, bytes] = {}
        self.signature: Any = None
        self.has_read = False

    def produce(self) -> Iterator[Tuple | Wait | Punctuation | None]:
        """One version after the other."""
        while True:
            if not self.has_read:
                self._give()
                self.has_read = True
                # The turn is over.
                yield None
            if self._table.every_ns is None or not self.follows:
                return
            self.has_read = False
            yield Wait(self._table.every_ns)

    def _give(self) -> None:
        """Send what has changed since the last version."""
        environment = self.context.environment
        signature = self._table.signature(environment)
        if signature is not None and signature == self.signature:
            return
        rows = self._table.read(environment)
        digests = {key: _digest(found) for key, found in rows.items()} if self._table.every_ns is not None else {}
        for key in self.given:
            if key not in rows:
                self.submit[0]((*key, *self._defaults, False))
        for key, found in rows.items():
            if key in self.given and self.given[key] == digests[key]:
                continue
            if key in self.given:
                self.submit[0]((*key, *self._defaults, False))
            for row in found:
                self.submit[0]((*row, True))
        self.given.clear()
        self.given.update(digests)
        self.signature = signature


def _digest(rows: list[Tuple]) -> bytes:
    return hashlib.blake2b(pickle.dumps([repr(row) for row in rows]), digest_size=16).digest()


def versions_of(table: LookedUp, name: str) -> OperatorDefinition:
    """The definition of the source of a table."""
    return OperatorDefinition(
        name=name,
        namespace="",
        doc="Gives the rows of a table that is looked up, and what changes of them.",
        inputs=(0, 0),
        outputs=(1, 1),
        facts=Facts(is_repeatable=True),
        model=lambda operator: not_parallel(operator, "it is a source"),
        runtime=lambda operator, context: VersionsRuntime(table, operator, context),
    )
