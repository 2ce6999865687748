"""The throughput model's prediction for a fusion on Spark.

The back end's PEs are in one line. A stateful PE is a `transformWithState` behind an exchange, so it starts a
stage, and so does one whose tuples change channels; another stateless PE joins the stage of the PE before it. In the
model's terms the former are `keyed`. The PE of the sinks runs in the driver. Sources are a PE each, as in
`codegen.plan.physical`; one that is alone is read in as many tasks as there are channels, unless the task of a PE on
one channel reads it.

A stateless PE that takes one stream from one channel works on each value of the transport as it comes. All other PEs
put a batch in order first: they gather.

Example:
    >>> from penstock.ir.graph import Application
    >>> from penstock.model import Profile, Transfer, equal_hosts
    >>> profile, transfer = Profile(mips=1.0), Transfer(mips=1.0)
    >>> setting = Setting(
    ...     application=Application(name="Empty"), profile=profile, transfer=transfer, hosts=equal_hosts(1)
    ... )
    >>> model_plan(setting, ()).pes
    ()
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.codegen.plan.channels import Channels
from penstock.codegen.plan.physical import PE, PhysicalPlan, Route, physical_plan
from penstock.codegen.transport.batches import ITEMS_PER_VALUE
from penstock.ir.graph import Application
from penstock.model import PlacedPE, Plan, Prediction, Profile, ThroughputModel
from penstock.optimizer.spark_problem import Groups, Setting


def throughput_model(setting: Setting) -> ThroughputModel:
    """The model of an application where it will run.

    A batch has at most as many tuples as the run had in which the profile was taken: the input of a job that saw 4,000
    tuples fills no batch of 200,000, and what a batch costs in any case then counts for more.
    """
    return ThroughputModel(
        setting.profile,
        setting.hosts,
        setting.transfer,
        batch_tuples=min(setting.batch_tuples, seen_tuples(setting.profile)),
        piece_tuples=ITEMS_PER_VALUE,
    )


def seen_tuples(profile: Profile) -> float:
    """How many tuples the sources gave while a profile was taken; infinity if it does not say how long that was.

    Example:
        >>> seen_tuples(Profile(mips=1.0))
        inf
    """
    return profile.seconds * sum(profile.source_rates.values()) if profile.seconds else float("inf")


def predict(model: ThroughputModel, setting: Setting, groups: Groups) -> Prediction:
    """The model's prediction for a fusion."""
    return model.evaluate(model_plan(setting, groups))


def model_plan(setting: Setting, groups: Groups) -> Plan:
    """A fusion in the model's terms: with sources and sinks, channels and hosts.

    Raises:
        UserError: The PEs form a cycle, or a loop of the graph is cut.
    """
    return as_model_plan(cut_candidate(setting.application, groups, setting.regions), setting)


def cut_candidate(application: Application, groups: Sequence[Sequence[str]], regions: Channels) -> PhysicalPlan:
    """The PEs of a fusion that is only weighed.

    A search cuts thousands of fusions that nobody runs, so it does not compile them (`penstock.compiler`).
    """
    return physical_plan(application, groups, regions)


def as_model_plan(plan: PhysicalPlan, setting: Setting) -> Plan:
    """A physical plan in the model's terms."""
    return Plan(pes=placed(plan, setting), is_line=True)


def placed(plan: PhysicalPlan, setting: Setting) -> tuple[PlacedPE, ...]:
    """The PEs of a plan in the model's terms."""
    hosts = tuple(host.id for host in setting.hosts.hosts)
    return tuple(_placed(pe, plan, hosts) for pe in plan.pes)


def _placed(pe: PE, plan: PhysicalPlan, hosts: tuple[str, ...]) -> PlacedPE:
    into = plan.into(pe.index)
    in_pieces = pe.role == "stateless" and len(into) == 1 and into[0].senders == 1
    changes_channel = pe.channels > 1 and any(edge.route is not Route.SAME for edge in into)
    channels = _reading_tasks(plan) if pe.role == "source" else pe.channels
    return PlacedPE(
        operators=pe.operators,
        hosts=hosts[:channels],
        channels=channels,
        keyed=pe.role in ("stateful", "sink") or changes_channel,
        in_driver=pe.role == "sink",
        gathers=not in_pieces and pe.role != "source",
        stateful=pe.role == "stateful",
        region=pe.region,
    )


def _reading_tasks(plan: PhysicalPlan) -> int:
    """In how many tasks a source is read."""
    others = [pe for pe in plan.pes if pe.role != "source"]
    is_alone = len(plan.pes) - len(others) == 1
    is_joined = bool(others) and others[0].role == "stateless" and others[0].channels == 1
    return plan.channels if is_alone and not is_joined else 1
