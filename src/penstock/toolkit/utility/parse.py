"""Parse: reads tuples from blobs, in any format of FileSource.

The blobs of the input tuples are one stream of bytes: a record may begin in one blob and end in another. What is left
when the input ends is the last record; then a window marker follows. An attribute that the output clause assigns is
not read. A malformed record follows `parsing`. With `hasDelayField` each tuple waits for the seconds
that stand before it, counted from the tuple before it or from its bytes, whichever came later.

What it remembers are the bytes since the last place where no record was open, and how many items it has read of them:
a fresh instance reads these bytes again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Markers, OperatorModel
from penstock.ir.types import BLOB
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.record_output import read_schema, record_output
from penstock.toolkit.core.runtime import Context, Punctuation, Wait
from penstock.toolkit.formats import Chunks, Item, Malformed, Pause, reader
from penstock.toolkit.formats.format_params import READ_PARAMS, check_format, read_settings
from penstock.toolkit.utility.held_items import Item as ItemOfStream
from penstock.toolkit.utility.releases import Releases


class ParseRuntime(LogicRuntime):
    """Feeds a reader with blobs and takes what it has to give.

    Attributes:
        _is_anew: Whether the reader has been at a place where no record was open.
        _tail: The blobs since then.
        _taken: The items taken since then.
        _number: The tuples read.
        _free_ns: When the tuple read last may leave.
        _releases: The tuples and markers that wait for their time.
    """

    remembers = ("_is_anew", "_tail", "_taken", "_number", "_is_broken", "_free_ns", "_releases")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        schema = read_schema(operator)
        self._settings = read_settings(self, schema)
        self._has_markers = self._settings.has_punctuations
        self._make = record_output(self)
        values = operator.param("parseInput")
        self._blob = self.scalar(values[0]) if values else itemgetter(0)
        self._blobs: deque[bytes] = deque()
        self._has_ended = False
        self._schema = schema
        self._items: Iterator[Item] = reader(schema, self._settings)(self._chunks())
        self._is_anew = False
        self._tail: list[bytes] = []
        self._taken = 0
        self._is_broken = False
        self._number = 0
        self._free_ns = 0
        self._releases = Releases(context, self.pass_on)

    def process(self, port: int, tuple_: Tuple) -> None:
        """Read what the blob completes."""
        blob: bytes = self._blob(tuple_)
        if self._is_broken:
            self.context.reject(blob[:32].hex(), "it follows data that cannot be read")
            return
        self._blobs.append(blob)
        self._tail.append(blob)
        self._is_broken = not self._take_items(tuple_)

    def take_window_marker(self, port: int) -> None:
        """Drop the marker; it may stand inside a record."""

    def take_final_marker(self, port: int) -> None:
        """Read what is left."""
        self._has_ended = True
        self._take_items(None)
        if not self._has_markers:
            self._send(Punctuation.WINDOW)

    def is_waiting(self) -> bool:
        """Whether tuples wait for their time."""
        return self._releases.has_tuples

    def finish(self) -> None:
        """Let go of the rest."""
        self._releases.release_all()

    def _send(self, item: ItemOfStream) -> None:
        """Submit what was read at its time, behind all that waits."""
        now_ns = self.context.environment.clock.now_ns
        if self._free_ns <= now_ns and not self._releases:
            self.pass_on(item)
        else:
            self._releases.at(max(now_ns, self._free_ns), item)

    def _chunks(self) -> Chunks:
        while self._blobs or not self._has_ended:
            yield self._blobs.popleft() if self._blobs else None

    def _take_items(self, tuple_: Tuple | None) -> bool:
        """Submit what can be read by now; tells whether more could follow."""
        for item in self._items:
            if isinstance(item, Pause):
                self._pause(item)
                return True
            self._taken += 1
            self._take_item(item, tuple_)
        return False

    def _pause(self, pause: Pause) -> None:
        if pause is Pause.BETWEEN:
            self._is_anew, self._tail, self._taken = True, [], 0

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Read the bytes again that another instance was reading."""
        super().restore_from(whole, parts)
        if self._is_anew:
            self._items = reader(self._schema, replace(self._settings, header_lines=0))(self._chunks())
        self._blobs.extend(self._tail)
        for _ in range(self._taken):
            next(self._items, None)

    def _take_item(self, item: Item, tuple_: Tuple | None) -> None:
        if isinstance(item, Malformed):
            self.context.reject(item.record, item.reason)
        elif isinstance(item, tuple):
            made = item if self._make is None else self._make(item, (tuple_,), {"TupleNumber": self._number})
            self._number += 1
            self._send(made)
        elif isinstance(item, Wait):
            self._free_ns = max(self.context.environment.clock.now_ns, self._free_ns) + max(0, item.nanoseconds)
        elif item is Punctuation.WINDOW:
            self._send(item)


def _check(operator: Operator, found: Diagnostics) -> None:
    check_format(operator, read_schema(operator), found)
    types = [a.type for a in operator.inputs[0].schema.attributes]
    if not operator.param("parseInput") and types != [BLOB]:
        message = f"a Parse without `parseInput` has one input attribute, a blob, found {operator.inputs[0].schema}"
        found.error(message, operator.span)


def _model(operator: Operator) -> OperatorModel:
    sequential = not_parallel(operator, "a record may begin in one tuple and end in another")
    return replace(sequential, markers=Markers.OWN)


DEFINITION = OperatorDefinition(
    name="Parse",
    doc="Reads tuples from the blobs of its input, which together are one stream of bytes.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(name="parseInput", types=(BLOB,), doc="The bytes of an input tuple; its only attribute without it."),
        *READ_PARAMS,
    ),
    output=OutputClause.READ,
    output_functions=(
        OutputFunction(prototype="int64 TupleNumber()", doc="The number of tuples read before this one."),
        OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),
    ),
    facts=Facts(waits_for_time_with=("hasDelayField",), is_repeatable=True),
    model=_model,
    check=_check,
    runtime=ParseRuntime,
)
