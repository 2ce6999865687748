"""Says what is being done, step by step, with the time that it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import click


@dataclass(slots=True)
class Narrator:
    """Prints for people, on standard error so that `--json` may have standard output.

    Attributes:
        steps: How many there will be.
    """

    steps: int
    _done: int = 0
    _began: float = field(default_factory=time.monotonic)

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """One step: its title before, its time behind."""
        self._done += 1
        self.say(click.style(f"\n{self._done} of {self.steps}: {title}", bold=True))
        began = time.monotonic()
        yield
        self.say(click.style(f"  {time.monotonic() - began:.1f} s", dim=True))

    def say(self, text: str) -> None:
        """A line, or several."""
        click.echo(text, err=True)

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self._began
