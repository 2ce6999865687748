"""The folders of partitioned files: `sym=IBM` for tuples whose attribute `sym` is IBM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Tuple
from penstock.expr.values import from_arrow_array, rows_from_batch, text_form
from penstock.ir.graph import Operator
from penstock.ir.types import OptionalType, Schema, Type
from penstock.toolkit.files.partitioned_files import folder_of

Reject = Callable[[str, str], None]
"""Takes a tuple that has no folder, as text, and the reason."""


def partition_keys(operator: Operator) -> list[tuple[str, Type]]:
    """The attributes that name the folders, with their types."""
    names = [getattr(value, "name", "") for value in operator.param("partitionBy")]
    return [(name, operator.inputs[0].schema.attribute(name).type) for name in names]


class PartitionFolders:
    """Tells the folders of tuples.

    Args:
        schema: Of the tuples.
        keys: The attributes that name the folders, with their types.
    """

    def __init__(self, schema: Schema, keys: Sequence[tuple[str, Type]]) -> None:
        self._schema, self._keys = schema, keys

    def of_tuple(self) -> Callable[[Tuple], str]:
        """A function that tells the folder of a tuple."""
        position = self._schema.position
        names = [name for name, _ in self._keys]
        places = [(position[name], _value_text(type_)) for name, type_ in self._keys]
        return lambda tuple_: folder_of(names, [text(tuple_[place]) for place, text in places])

    def split(self, batch: pa.RecordBatch, reject: Reject) -> Iterator[tuple[str, pa.Array]]:
        """The folders of a batch, each with the positions of its rows; rows that have none are rejected."""
        folders = self._folders(batch)
        if folders.null_count:
            self._reject(batch.filter(folders.is_null()), reject)
        encoded = folders.dictionary_encode()
        rows = np.flatnonzero(np.asarray(folders.is_valid()))
        indices = np.asarray(encoded.indices.drop_null())
        order = rows[np.argsort(indices, kind="stable")]
        ends = np.cumsum(np.bincount(indices, minlength=len(encoded.dictionary)))
        for folder, chosen in zip(encoded.dictionary.to_pylist(), np.split(order, ends[:-1]), strict=True):
            yield folder, pa.array(chosen)

    def _reject(self, batch: pa.RecordBatch, reject: Reject) -> None:
        """Reject tuples that have no folder, each for the reason that it fails by itself."""
        folder = self.of_tuple()
        for row in rows_from_batch(batch, self._schema):
            try:
                folder(row)
            except UserError as error:
                (found,) = error.diagnostics
                reject(text_form(self._schema)(row), f"{found.message}; {found.hint}")

    def _folders(self, batch: pa.RecordBatch) -> pa.StringArray:
        """The folder of each tuple; null for a tuple that has none."""
        parts = []
        for name, type_ in self._keys:
            text = _value_text(type_)
            column = batch.column(self._schema.position[name]).dictionary_encode()
            printed = [_folder_or_none(name, text(v)) for v in from_arrow_array(column.dictionary, type_)]
            indices = column.indices.fill_null(len(printed))
            parts.append(pa.array([*printed, folder_of([name], [""])], pa.string()).take(indices))
        return pc.binary_join_element_wise(*parts, "/")


def _folder_or_none(name: str, value: str) -> str | None:
    try:
        return folder_of([name], [value])
    except UserError:
        return None


def _value_text(type_: Type) -> Callable[[object], str]:
    """How a value names a folder."""
    form = text_form(type_.inner if isinstance(type_, OptionalType) else type_)
    return lambda value: "" if value is None else form(value)
