"""Whether a loop should lead through the next micro-batch, so that regions on it get channels.

Introduction: Inside one PE a round costs nothing but its work, on one core. Through batches (`compiler.open_loops`)
the regions on the loop have channels, but each round is a batch, and an item of a source waits until the one before
has gone all its rounds.

Formulation:
    For an item of the sources let W be the work of all operators, R that of the regions on the loop, n their channels
    as far as there are cores, and tuples in a round; and r the batches it takes: one for the item, and one for each
    tuple that goes round, at most. Inside a PE it takes W, through batches W - R + R / n + r B, with B the fixed cost
    of a batch.

Example: Ten rounds of 10 s of work on two channels, with batches of 0.9 s: 100 s inside a PE, 60 s through batches.
With 1 s of work a round it is 10 s against 15 s.

When it does not apply:
    Loops that cannot be opened, and applications without a region on the loop: nothing is gained.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.codegen.plan.channels import choose_channels
from penstock.ir.graph import Application, InputPort
from penstock.model.line import fixed_seconds
from penstock.optimizer.prediction import cut_candidate, placed
from penstock.optimizer.spark_problem import Setting, inner_operators


def open_loop_gain(setting: Setting) -> float:
    """How many times as fast an application is with its loop open, on the channels of the setting."""
    application, profile = setting.application, setting.profile
    opened = choose_channels(application, setting.channels, loops_are_open=True)
    on_loop = {id_: region for id_, region in opened.region.items() if id_ not in setting.regions.region}
    inner = inner_operators(application)
    items = sum(profile.source_rates.values())
    work = sum(profile.operator[id_].cpu_fraction for id_ in inner)
    if not on_loop or not items or not work:
        return 0.0
    batches = items + sum(stream.rate_tps for stream in profile.streams if stream.feedback)
    cores = sum(host.cores for host in setting.hosts.hosts)

    def share(id_: str, region: str) -> float:
        """The share of an operator's work that one channel has."""
        in_a_round = profile.operator[id_].rate_tps / batches
        return 1 / max(1.0, min(opened.width[region], cores, in_a_round))

    gained = sum(profile.operator[id_].cpu_fraction * (1 - share(id_, region)) for id_, region in on_loop.items())
    plan = cut_candidate(_without_feedback(application), [inner], opened)
    fixed = fixed_seconds(
        [pe for pe in placed(plan, setting) if not pe.in_driver and pe.operators[0] in inner], setting.transfer
    )
    return work / (work - gained + batches * fixed)


def _without_feedback(application: Application) -> Application:
    """The graph of an open loop, as far as PEs between sources and sinks go."""
    operators = (
        replace(o, inputs=tuple(replace(p, streams=_forward(p), feedback=frozenset()) for p in o.inputs))
        for o in application.operators
    )
    return replace(application, operators=tuple(operators))


def _forward(port: InputPort) -> tuple[str, ...]:
    return tuple(stream for stream in port.streams if stream not in port.feedback)
