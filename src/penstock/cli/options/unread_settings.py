"""Finds values of `--set` that nothing in a program asks for, which are misspelt most of the time."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator

from penstock.expr.analysis import calls_of
from penstock.ir.expressions import Call, Expression, Literal
from penstock.ir.graph import Application, Operator
from penstock.toolkit.analysis.effects import operator_parts

_ASKING = ("getSubmissionTime", "getCompileTime")


class Watched(UserDict[str, list[str]]):
    """Values that remember which of them were asked for; they are copied in, so `read` starts empty.

    Example:
        >>> values = Watched({"a": ["1"], "b": ["2"]})
        >>> values.get("a"), values.get("c"), sorted(values.read)
        (['1'], None, ['a', 'c'])
    """

    def __init__(self, values: dict[str, list[str]]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> list[str]:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)


def unread(application: Application, settings: Watched) -> list[tuple[str, list[str]]]:
    """The names of settings that nothing asks for, each with the names that something does ask for."""
    asked = set(settings.read)
    for call in _asking(application):
        name = call.arguments[0]
        if not isinstance(name, Literal):
            # What it asks for is known only when it runs.
            return []
        asked.add(str(name.value))
    return [(name, sorted(asked)) for name in settings.data if name not in asked]


def _asking(application: Application) -> list[Call]:
    parts = [part for o in application.operators for part in (*operator_parts(o), *_around(o))]
    calls = calls_of(*parts, *(function.body for function in application.functions))
    return [call for call in calls if call.function.startswith(_ASKING)]


def _around(operator: Operator) -> Iterator[Expression]:
    """The expressions beside the code of an operator: in annotations, settings and the sizes of windows."""
    for params in (operator.config, *(annotation.arguments for annotation in operator.annotations)):
        yield from (value for param in params for value in param.values)
    for window in (port.window for port in operator.inputs if port.window is not None):
        policies = filter(None, (window.eviction, window.trigger))
        yield from filter(None, (window.partition_age, *(policy.size for policy in policies)))
