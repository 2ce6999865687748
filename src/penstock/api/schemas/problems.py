"""A field that a schema cannot have."""

from __future__ import annotations


class FieldProblem(Exception):
    """A mistake in a field of a schema.

    Attributes:
        field: The field's name, with a dot before that of a nested one.
        hint: What to do.

    Example:
        >>> str(FieldProblem("born", "no type of a stream holds a date"))
        'field `born`: no type of a stream holds a date'
    """

    def __init__(self, field: str, problem: str, hint: str | None = None) -> None:
        super().__init__(f"field `{field}`: {problem}")
        self.field = field
        self.hint = hint
