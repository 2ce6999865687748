"""The costs of moving tuples on this machine: the calibration that `penstock calibrate` keeps, or typical values."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any

from penstock.base.cache_folder import cache_folder
from penstock.base.diagnostics import UserError
from penstock.ir.graph import Application
from penstock.model import Cost, Hosts, Profile, Transfer, equal_hosts, read_transfer
from penstock.optimizer.spark_problem import Setting
from penstock.profiler.speed import core_mips
from penstock.runtime.sources.batch_size import TURNS_PER_BATCH

CALIBRATION = "transfer.json"

_ROUNDS = 100_000
_JVM = Cost(seconds_per_tuple=3.3e-8, seconds_per_byte=1.2e-9)
_EXCHANGE = Cost(seconds_per_byte=1.25e-9)

TYPICAL = Transfer(
    mips=900.0,
    jvm_feed=_JVM,
    python_receive=Cost(seconds_per_tuple=5.5e-8, seconds_per_byte=2.6e-10),
    python_send=Cost(seconds_per_tuple=8.2e-8, seconds_per_byte=7.1e-10),
    jvm_drain=_JVM,
    exchange_write=_EXCHANGE,
    exchange_read=_EXCHANGE,
    python_pass=Cost(seconds_per_byte=6.7e-10),
    batch_seconds=0.13,
    stage_seconds=0.08,
    state_seconds=0.064,
    task_seconds=0.066,
    pe_seconds=0.0035,
)
"""For a machine that was never calibrated: what the jobs of `penstock calibrate` took on an idle one with two cores
(x86-64, Python 3.11, Spark 4.3.0), in batches of 100,000 tuples, rounded."""


def machine_transfer() -> Transfer:
    """The calibration of this machine; typical values, at the speed of this machine, if there is none."""
    try:
        return read_transfer(cache_folder() / CALIBRATION)
    except UserError:
        return scale_transfer(TYPICAL, TYPICAL.mips / _speed())


@cache
def _speed() -> float:
    """How fast a core of this machine is, measured in a few dozen milliseconds of its time."""
    return core_mips(rounds=_ROUNDS)


def scale_transfer(transfer: Transfer, factor: float) -> Transfer:
    """The transfer costs of a machine that is slower by a factor; the unit of costs stays the same.

    Example:
        >>> slower = scale_transfer(TYPICAL, 2.0)
        >>> slower.batch_seconds / TYPICAL.batch_seconds, slower.mips == TYPICAL.mips
        (2.0, True)
        >>> slower.python_send.seconds_per_tuple / TYPICAL.python_send.seconds_per_tuple
        2.0
    """
    scaled: dict[str, Any] = {}
    for name in (each.name for each in fields(transfer)):
        value = getattr(transfer, name)
        if isinstance(value, Cost):
            scaled[name] = Cost(
                seconds_per_tuple=factor * value.seconds_per_tuple, seconds_per_byte=factor * value.seconds_per_byte
            )
        elif name.endswith("_seconds"):
            scaled[name] = factor * value
    return replace(transfer, **scaled)


def machine_hosts(cores: int) -> Hosts:
    """This machine, as the only host."""
    return equal_hosts(1, cores=cores, core_mips=machine_transfer().mips)


def machine_setting(
    application: Application,
    profile: Profile,
    channels: int | None,
    cores: int,
    *,
    turns_per_batch: int = TURNS_PER_BATCH,
) -> Setting:
    """The setting of the optimizer for this machine.

    Args:
        application: The application that will run.
        profile: Its profile, taken on this machine, too.
        channels: How many channels parallel regions get.
        cores: How many tasks run at a time.
        turns_per_batch: How many turns a source takes for one batch.
    """
    transfer = machine_transfer()
    return Setting(
        application=application,
        profile=replace(profile, mips=transfer.mips),
        transfer=transfer,
        hosts=machine_hosts(cores),
        channels=channels,
        batch_tuples=turns_per_batch,
    )
