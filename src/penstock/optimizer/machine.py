"""What moving tuples costs on this machine: the calibration that `penstock calibrate` keeps, or typical values."""

from __future__ import annotations

from dataclasses import replace

from penstock.cache_folder import cache_folder
from penstock.diagnostics import UserError
from penstock.ir.graph import Application
from penstock.model import Cost, Profile, Transfer, equal_hosts, read_transfer
from penstock.optimizer.spark_problem import Setting

CALIBRATION = "transfer.json"
TURNS_PER_BATCH = 50_000

_PYTHON = Cost(seconds_per_tuple=1.5e-7, seconds_per_byte=5e-10)
_JVM = Cost(seconds_per_tuple=2e-8, seconds_per_byte=1e-9)

TYPICAL = Transfer(
    mips=2500.0,
    jvm_feed=_JVM,
    python_receive=_PYTHON,
    python_send=_PYTHON,
    jvm_drain=_JVM,
    exchange_write=_JVM,
    exchange_read=_JVM,
    batch_seconds=0.3,
    stage_seconds=0.1,
    pe_seconds=0.03,
)
"""For a machine that was never calibrated. Tuples cross in Arrow blobs, so that the JVM's part goes by bytes."""


def machine_transfer() -> Transfer:
    """The calibration of this machine; typical values if there is none."""
    try:
        return read_transfer(cache_folder() / CALIBRATION)
    except UserError:
        return TYPICAL


def machine_setting(
    application: Application,
    profile: Profile,
    channels: int | None,
    cores: int,
    *,
    turns_per_batch: int = TURNS_PER_BATCH,
) -> Setting:
    """What the optimizer has to know to plan for this machine.

    Args:
        application: What will run.
        profile: Taken on this machine, too.
        channels: How many channels parallel regions get.
        cores: How many tasks run at a time.
        turns_per_batch: How many turns a source takes for one batch.
    """
    transfer = machine_transfer()
    return Setting(
        application=application,
        profile=replace(profile, mips=transfer.mips),
        transfer=transfer,
        hosts=equal_hosts(1, cores=cores, core_mips=transfer.mips),
        channels=channels,
        batch_tuples=turns_per_batch,
    )
