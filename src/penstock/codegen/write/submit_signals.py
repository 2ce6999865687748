"""Writes submit signals into a generated module that is to be profiled.

Introduction:
    A module has the same lines with and without signals. Between them stand calls that read a clock: one behind the
    lines of each operator, and one behind each value that several operators share. `penstock.profiler.signals` says
    what is made of the times.

Example:
    A Filter in a module that is profiled:

        # Large: Filter
        large = trades.where(trades["price"] > 10.0)
        pe.signals.submit("Large", large)
        pe.signals.mark(0)

    and a loop, in which a sampled tuple takes a branch of its own:

        for at, n in enumerate(values(a["n"], _type_1)):
            if at != sampled:
                b_rows.append((n + 1,))
                b_at.append(at)
            else:
                sampled = signals.positions.pop()
                mark(-2); mark(cpu())
                mark(0); mark(clock())
                b_rows.append((n + 1,))
                b_at.append(at)
                mark(-1); mark(clock())
                mark(-2); mark(cpu())

Preserves:
    What the module computes. A tuple that is not sampled costs a loop one comparison more.

Reference:
    Gedik et al., CIKM 2009, section 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from penstock.codegen.write.body import Body, Mark
from penstock.expr.emit.scope import Module
from penstock.profiler.loop_signals import END
from penstock.profiler.signals import Stretch

_START, _STOP, _SEEN = "#: start ", "#: stop", "#: seen "
"""Lines that `plain` leaves out and `signalled` makes code of."""


@dataclass(slots=True)
class _Open:
    """A stretch in the making."""

    operators: list[str] = field(default_factory=list)
    is_loop: bool = False


class SignalledBody(Body):
    """The lines of `process`, with a mark at the end of each stretch.

    Attributes:
        stretches: In order of their numbers.
    """

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._stretches: list[_Open] = []
        self._current = -1
        self._is_marked = True
        self._stretch_of: dict[str, int] = {}
        self._needs: dict[str, set[str]] = {}

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The stretches written so far."""
        return tuple(Stretch(tuple(s.operators), s.is_loop) for s in self._stretches)

    @property
    def current(self) -> int:
        """The number of the stretch that is being written."""
        return self._current

    def begin(self, operators: Iterable[str], *, is_loop: bool) -> None:
        """Start the stretch of an operator, or of the operators of a loop."""
        self._current = self._new(list(operators), is_loop)
        self._is_marked = True

    def end(self) -> None:
        """End the stretch."""
        self._mark()
        self._current = -1

    def add(self, *lines: str) -> None:
        """Append lines."""
        super().add(*lines)
        self._is_marked = False

    def add_apart(self, line: str) -> None:
        """Append a line that works for no operator: what a PE does to bring streams together when they enter it."""
        self._mark()
        super().add(line, f"pe.signals.mark({self._new([], is_loop=False)})")
        self._is_marked = True

    def shared(self, key: Hashable, hint: str, text: str) -> str:
        """The variable that holds a value; the lines that make it are a stretch of all who use it."""
        is_new = key not in self._shared
        is_apart = self._current >= 0 and not self._stretches[self._current].is_loop
        if is_new and is_apart:
            self._mark()
        name = super().shared(key, hint, text)
        if is_new and is_apart:
            self._stretch_of[name] = self._new([], is_loop=False)
            self._needs[name] = self._stretch_of.keys() & set(re.findall(r"\w+", text))
            super().add(f"pe.signals.mark({self._stretch_of[name]})")
            self._is_marked = True
        if self._current >= 0:
            self._use(name)
        return name

    def undo(self, mark: Mark) -> None:
        """Forget what has been written since."""
        super().undo(mark)
        self._is_marked = False

    def _mark(self) -> None:
        if not self._is_marked and self._current >= 0:
            super().add(f"pe.signals.mark({self._current})")
        self._is_marked = True

    def _new(self, operators: list[str], is_loop: bool) -> int:
        self._stretches.append(_Open(operators, is_loop))
        return len(self._stretches) - 1

    def _use(self, name: str) -> None:
        """The operator that is being written needs a value, and all that this was made of."""
        if name not in self._stretch_of:
            return
        users = self._stretches[self._stretch_of[name]].operators
        users += [o for o in self._stretches[self._current].operators if o not in users]
        for other in self._needs[name]:
            self._use(other)


def timed(site: int, lines: Sequence[str]) -> list[str]:
    """Lines with the places at which a timer starts and stops; `plain` and `signalled` make code of it."""
    return [f"{_START}{site}", *lines, _STOP] if lines else []


def seen(stream: str, tuple_: str) -> str:
    """The place at which a tuple of a stream is at hand."""
    return f'{_SEEN}"{stream}", {tuple_}'


def plain(lines: Iterable[str]) -> list[str]:
    """The lines for tuples that are not sampled."""
    return [line for line in lines if not line.lstrip().startswith((_START, _STOP, _SEEN))]


def signalled(lines: Iterable[str], signals: str) -> list[str]:
    """The lines for sampled tuples.

    Example:
        >>> signalled(timed(3, ["x = 1"]), "signals")
        ['signals_mark(3); signals_mark(signals_clock())', 'x = 1', 'signals_mark(-1); signals_mark(signals_clock())']
    """
    return [_signal(line, signals) for line in lines]


def _signal(line: str, signals: str) -> str:
    code = line.lstrip()
    margin = line[: len(line) - len(code)]
    if code.startswith(_START):
        return f"{margin}{marked(code.removeprefix(_START), signals)}"
    if code.startswith(_SEEN):
        return f"{margin}{signals}.seen({code.removeprefix(_SEEN)})"
    return f"{margin}{marked(str(END), signals)}" if code == _STOP else line


def marked(what: str, signals: str, clock: str = "clock") -> str:
    """The code that leaves a mark."""
    return f"{signals}_mark({what}); {signals}_mark({signals}_{clock}())"


def renamed(lines: Sequence[str], functions: Sequence[str]) -> list[str]:
    """Lines that call the signalled twins of local functions, or define them.

    Example:
        >>> renamed(["def f(x):", "    g(x)"], ["def f(x):", "    g(x)"])
        ['def f_signalled(x):', '    g(x)']
    """
    names = [found[1] for line in functions if (found := re.match(r"def (\w+)\(", line))]
    if not names:
        return list(lines)
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b(?=\()")
    return [pattern.sub(r"\1_signalled", line) for line in lines]
