"""Values: their default, their copies, their order, their text, their Arrow form.

Each has a module of its own; this one is where others import them from.
"""

from __future__ import annotations

from penstock.expr.values.arrow_memory import batch_from_rows, from_arrow_array, rows_from_batch, to_arrow_array
from penstock.expr.values.default import copier, copy_value, default_value
from penstock.expr.values.numbers import (
    DECIMAL_CONTEXTS,
    as_type,
    integer_range,
    round_complex32,
    round_float32,
    wrap_integer,
)
from penstock.expr.values.order import ascending, order_key
from penstock.expr.values.parsing import parse_form, parse_literal_form
from penstock.expr.values.scalars import interpret_literal
from penstock.expr.values.text import literal_form, string_literal, text_form

__all__ = [
    "DECIMAL_CONTEXTS",
    "as_type",
    "ascending",
    "batch_from_rows",
    "copier",
    "copy_value",
    "default_value",
    "from_arrow_array",
    "integer_range",
    "interpret_literal",
    "literal_form",
    "order_key",
    "parse_form",
    "parse_literal_form",
    "round_complex32",
    "round_float32",
    "rows_from_batch",
    "string_literal",
    "text_form",
    "to_arrow_array",
    "wrap_integer",
]
