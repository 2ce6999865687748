"""From a profile to a plan for Spark: choose a fusion and channels, predict them, measure them, choose again."""

from __future__ import annotations

from penstock.ir.codec import fingerprint
from penstock.optimizer.candidates import fused_by, ranked
from penstock.optimizer.channel_search import channel_numbers, everything_fused, ranked_on_channels
from penstock.optimizer.loop import Iteration, Measure, Outcome, Take, optimize
from penstock.optimizer.plan_format import PlanFile, plan_for, read_plan, write_plan
from penstock.optimizer.prediction import model_plan, predict, throughput_model
from penstock.optimizer.spark_problem import Candidate, Groups, Setting, inner_operators, unfused, without_profile

__all__ = [
    "Candidate",
    "Groups",
    "Iteration",
    "Measure",
    "Outcome",
    "PlanFile",
    "Setting",
    "Take",
    "channel_numbers",
    "everything_fused",
    "fingerprint",
    "fused_by",
    "inner_operators",
    "model_plan",
    "optimize",
    "plan_for",
    "predict",
    "ranked",
    "ranked_on_channels",
    "read_plan",
    "throughput_model",
    "unfused",
    "without_profile",
    "write_plan",
]
