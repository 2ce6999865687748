"""The throughput that a given fusion and placement sustain: profiles, transfer costs, hosts, model, simulator."""

from __future__ import annotations

from penstock.model.arrivals import Arrivals, bursts, steady, steps, wave, zipf_shares
from penstock.model.channels import channels_auto
from penstock.model.hosts import Host, Hosts, equal_hosts, read_hosts
from penstock.model.plan import PlacedPE, Plan, plan_of
from penstock.model.prediction import Bottleneck, Prediction, StagePrediction
from penstock.model.profile import OperatorProfile, Profile, StreamProfile
from penstock.model.profile_format import read_profile, write_profile
from penstock.model.simulator import Simulation, simulate
from penstock.model.stage_time import Limit
from penstock.model.throughput import ThroughputModel, WhatIf
from penstock.model.transfer import Cost, Transfer, read_transfer, write_transfer
from penstock.model.transfer_fit import TransferSample, fit_costs, fit_transfer

__all__ = [
    "Arrivals",
    "Bottleneck",
    "Cost",
    "Host",
    "Hosts",
    "Limit",
    "OperatorProfile",
    "PlacedPE",
    "Plan",
    "Prediction",
    "Profile",
    "Simulation",
    "StagePrediction",
    "StreamProfile",
    "ThroughputModel",
    "Transfer",
    "TransferSample",
    "WhatIf",
    "bursts",
    "channels_auto",
    "equal_hosts",
    "fit_costs",
    "fit_transfer",
    "plan_of",
    "read_hosts",
    "read_profile",
    "read_transfer",
    "simulate",
    "steady",
    "steps",
    "wave",
    "write_profile",
    "write_transfer",
    "zipf_shares",
]
