"""The options of a compilation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError
from penstock.compiler.fusion_names import AUTO, FUSIONS, LOOPS
from penstock.expr.environment import Environment
from penstock.parallel.extensions import BEYOND, Extensions
from penstock.runtime.sources.batch_size import TURNS_PER_BATCH

if TYPE_CHECKING:
    from penstock.model import Hosts, Profile
    from penstock.profiler.sampling import Sampling
    from penstock.toolkit.core.program import Program

Measure = Callable[["Program", "Options"], "Profile"]
"""Runs a program for a few seconds where it will run, and tells what its operators cost.

By its options it samples, writes to a folder that is thrown away, and has its checkpoint there.
"""


def _keep_quiet(text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compile a program.

    Attributes:
        environment: Of the program: folders and submission-time values.
        channels: How many channels parallel regions get; `auto`: as many as gain; None leaves it to `@parallel`
            annotations, or to the fusion where that is `auto`.
        fusion: Which operators share a PE: one of `fusion_names.FUSIONS`.
        plan: A plan file that says so instead.
        pes: The operators of each PE, which say so instead.
        loops: Where a loop leads: one of `loop_choice.LOOPS`.
        profile: A file to choose by, instead of the last good profile.
        batch: How many turns a source takes for one batch.
        checkpoint: Of the job that is resumed, if it is there: what is `auto` stays as it was.
        key_groups: How many groups keys are divided into; without it as many as the job of the checkpoint has.
        tables: From region, or an operator in it, to the channel that holds each key group; an empty one spreads all
            evenly. Without it, and for other regions, as the job of the checkpoint had them on as many channels, and
            otherwise spread evenly.
        cores: How many tasks run at a time.
        continuous: Whether the run waits for more where sources can have more.
        sampling: How much of the tuples submit signals look at; without it `auto` decides, and otherwise nothing.
        hosts: Where PEs are placed by a profile; without it they are not.
        extensions: What is parallelized beyond the paper.
        tell: Is told of what takes time and of what was chosen.
        measure: Takes a short profile, where one is needed and none is known.
    """

    environment: Environment = field(default_factory=Environment)
    channels: int | str | None = None
    fusion: str = AUTO
    plan: Path | None = None
    pes: Sequence[Sequence[str]] | None = None
    loops: str = AUTO
    profile: Path | None = None
    batch: int = TURNS_PER_BATCH
    checkpoint: Path | None = None
    key_groups: int | None = None
    tables: Mapping[str, Sequence[int]] | None = None
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    continuous: bool = False
    sampling: Sampling | None = None
    hosts: Hosts | None = None
    extensions: Extensions = BEYOND
    tell: Callable[[str], None] = _keep_quiet
    measure: Measure | None = None

    def __post_init__(self) -> None:
        """Refuse what no option means.

        Raises:
            UserError: A word or a number is none of those that there are.
        """
        for name, given, words in (("fusion", self.fusion, FUSIONS), ("loops", self.loops, LOOPS)):
            if given not in words:
                raise UserError(f"there is no {name} `{given}`", hint=f"it is one of {', '.join(words)}")
        is_number = isinstance(self.channels, int) and self.channels > 0
        if not (is_number or self.channels is None or self.channels == AUTO):
            raise UserError(f"`{self.channels}` is neither a positive number of channels nor `auto`")

    @property
    def is_decided(self) -> bool:
        """Whether the user has said which operators share a PE."""
        return self.plan is not None or self.pes is not None

    @property
    def chooses_both(self) -> bool:
        """Whether the channels are chosen with the fusion; otherwise the fusion is chosen for them."""
        return self.fusion == AUTO and not self.is_decided and not isinstance(self.channels, int)
