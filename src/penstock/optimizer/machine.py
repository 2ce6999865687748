"""What moving tuples costs on this machine: the calibration that `penstock calibrate` keeps, or typical values."""

from __future__ import annotations

from penstock.cache_folder import cache_folder
from penstock.diagnostics import UserError
from penstock.model import Cost, Transfer, read_transfer

CALIBRATION = "transfer.json"

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
    stage_seconds=0.15,
)
"""For a machine that was never calibrated. Tuples cross in Arrow blobs, so that the JVM's part goes by bytes."""


def machine_transfer() -> Transfer:
    """The calibration of this machine; typical values if there is none."""
    try:
        return read_transfer(cache_folder() / CALIBRATION)
    except UserError:
        return TYPICAL
