"""The environment of expressions and logic: the clock, submission values, folders, random numbers, output."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from penstock.base.local_paths import local_path
from penstock.base.sandbox import check_place
from penstock.expr.configurations import Configurations

Tuple = tuple[object, ...]
"""A tuple on a stream: its attribute values, in the schema's order.

Values are plain Python: bool, int (integers, and timestamps in nanoseconds), float, Decimal, str (strings and enum
symbols), bytes, list, set, dict, nested `tuple`, and None for a null optional.
"""


class Clock:
    """The time of a running application, in nanoseconds since 1970. Only whoever runs the application moves it.

    Example:
        >>> clock = Clock(now_ns=1_000)
        >>> clock.advance_to(5_000)
        >>> clock.now_ns
        5000
    """

    __slots__ = ("now_ns",)

    def __init__(self, now_ns: int = 0) -> None:
        self.now_ns = now_ns

    def advance_to(self, time_ns: int) -> None:
        """Move forward; time never runs backwards."""
        self.now_ns = max(self.now_ns, time_ns)


def _silent(level: str, message: str) -> None:
    """Drop a log message."""


@dataclass(kw_only=True)
class Environment:
    """The environment of a running application.

    Attributes:
        submission_values: What `--set NAME=VALUE` gave; a list value is several occurrences of the name.
        compile_values: What `getCompileTimeValue` returns.
        configurations: The application configurations: the properties of each, by its name.
        data_directory: What relative file names are resolved against.
        output_directory: What relative file names of sinks are resolved against.
        application_directory: Where the program's text lies.
        dead_letters: The file in the output folder for records that were set aside.
        output_map: From folders that absolute file names of sinks begin with to those that are written instead.
        clock: The application's time.
        random: The source of `random()`, seeded.
        stdout: Where `println` writes.
        log: Receives `log` and `appTrc` messages as (level, text).
        channel: The channel this code runs on, and of how many.
        metrics: Custom metrics by name.
        relaunch_count: How often the application has been started again from a checkpoint.
        is_shutdown: Whether the application is being stopped.
        open_files: What `fopen` has opened, by number.
    """

    submission_values: Mapping[str, list[str]] = field(default_factory=dict)
    compile_values: Mapping[str, list[str]] = field(default_factory=dict)
    configurations: Configurations = field(default_factory=dict)
    data_directory: Path = Path()
    output_directory: Path = Path()
    application_directory: Path = Path()
    dead_letters: str = "dead_letters.jsonl"
    output_map: tuple[tuple[Path, Path], ...] = ()
    clock: Clock = field(default_factory=Clock)
    random: random.Random = field(default_factory=lambda: random.Random(0))
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    log: Callable[[str, str], None] = _silent
    channel: tuple[int, int] = (0, 1)
    metrics: dict[str, int] = field(default_factory=dict)
    relaunch_count: int = 0
    is_shutdown: bool = False
    open_files: dict[int, object] = field(default_factory=dict)

    def input_path(self, name: object) -> Path:
        """Where a file that is read lies.

        Raises:
            UserError: The name is a URI of something that is not local, or leads out of the sandbox.
        """
        path = self.data_directory / local_path(str(name), "the file")
        return check_place(path, self.data_directory, "data folder")

    def output_path(self, name: object) -> Path:
        """Where a file or folder that is written lies.

        Raises:
            UserError: The name is a URI of something that is not local, or leads out of the sandbox.
        """
        return self.output_file(self.map_output(str(local_path(str(name), "the output"))))

    def output_file(self, name: str) -> Path:
        """Where a file lies whose name is mapped already.

        Raises:
            UserError: It leads out of the sandbox.
        """
        return check_place(self.output_directory / name, self.output_directory, "output folder")

    def map_output(self, name: str) -> str:
        """The name of a file that is written instead of one: another if it is absolute and `output_map` says so.

        Example:
            >>> Environment(output_map=((Path("/tmp"), Path("/out")),)).map_output("/tmp/a/b.csv")
            '/out/a/b.csv'
        """
        for folder, other in self.output_map:
            if Path(name).is_relative_to(folder):
                return str(other / Path(name).relative_to(folder))
        return name

    def renewed(self) -> Environment:
        """The same environment with a clock, random numbers and metrics of their own, as every PE has them."""
        return replace(
            self,
            clock=Clock(self.clock.now_ns),
            random=copy.copy(self.random),
            metrics=dict(self.metrics),
            open_files={},
        )

    def __getstate__(self) -> dict[str, object]:
        """The state that can be sent to another process: all but what is open here."""
        return {name: value for name, value in vars(self).items() if name not in ("stdout", "log", "open_files")}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(vars(Environment()))
        vars(self).update(state)
