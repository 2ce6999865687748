"""What the throughput model says of a fusion on Spark.

The back end's PEs stand in one line. A stateful PE is a `transformWithState` behind an exchange, so it starts a stage,
and so does the PE of the sinks, which runs in the driver; a stateless PE joins the stage of the PE before it. In the
model's terms the former are `keyed`. Sources are a PE each, as in `codegen.plan`.

Example:
    >>> from penstock.ir.graph import Application
    >>> from penstock.model import Profile, Transfer, equal_hosts
    >>> setting = Setting(application=Application(name="Empty"), profile=Profile(mips=1.0), transfer=Transfer(mips=1.0),
    ...                   hosts=equal_hosts(1))
    >>> model_plan(setting, ()).pes
    ()
"""

from __future__ import annotations

from penstock.codegen.plan import PE, physical_plan
from penstock.model import PlacedPE, Plan, Prediction, ThroughputModel
from penstock.optimizer.spark_problem import Groups, Setting


def throughput_model(setting: Setting) -> ThroughputModel:
    """The model of an application where it will run."""
    return ThroughputModel(setting.profile, setting.hosts, setting.transfer, batch_tuples=setting.batch_tuples)


def predict(model: ThroughputModel, setting: Setting, groups: Groups) -> Prediction:
    """What a fusion will sustain."""
    return model.evaluate(model_plan(setting, groups))


def model_plan(setting: Setting, groups: Groups) -> Plan:
    """A fusion in the model's terms: with sources and sinks, channels and hosts.

    Raises:
        UserError: The PEs form a cycle, or a loop of the graph is cut.
    """
    plan = physical_plan(setting.application, groups, setting.regions)
    hosts = tuple(host.id for host in setting.hosts.hosts)
    return Plan(pes=tuple(_placed(pe, hosts) for pe in plan.pes), is_line=True)


def _placed(pe: PE, hosts: tuple[str, ...]) -> PlacedPE:
    return PlacedPE(
        operators=pe.operators,
        hosts=hosts[: pe.channels],
        channels=pe.channels,
        keyed=pe.role in ("stateful", "sink"),
        region=pe.region,
    )
