"""The placed stage for people, for programs and as a page."""

from __future__ import annotations

from penstock.base.figures import figure
from penstock.codegen.plan.physical import PE
from penstock.compiler.stage_text import fused_json, pe_title
from penstock.draw.page import Group, graph_page
from penstock.model import Hosts
from penstock.placement.pes import Placed, Task


def placed_text(found: Placed, hosts: Hosts) -> str:
    """Every host with its PEs and its load, the driver with the sinks, and what crosses between hosts."""
    lines: list[str] = []
    for host in hosts.hosts:
        tasks = _tasks_on(found, host.id)
        load = sum(found.work_mips[task] for task in tasks)
        cores = "1 core" if host.cores == 1 else f"{host.cores} cores"
        lines.append(f"{host.id}, {cores}, {figure(load)} of {figure(host.capacity_mips)} mips")
        lines += [f"  {_title(found.plan.pes[pe], channel)}" for pe, channel in tasks]
    lines += [line for pe in found.plan.pes if pe.role == "sink" for line in ("driver", f"  {_title(pe)}")]
    rates = sum(found.prediction.sustained_rates.values())
    lines.append("")
    lines.append(f"between hosts  {figure(found.between_bytes)} bytes a second")
    lines.append(f"sustains       {figure(rates)} tuples a second; {found.prediction.bottleneck} holds it up")
    return "\n".join(lines)


def placed_json(found: Placed, hosts: Hosts) -> dict[str, object]:
    """The fused stage, with the host of each channel of each PE."""
    return {
        **fused_json(found.plan),
        "places": [
            {"pe": pe, "channel": channel, "host": host, "load": found.work_mips[pe, channel]}
            for (pe, channel), host in found.host_of.items()
        ],
        "hosts": [
            {
                "id": host.id,
                "capacity": host.capacity_mips,
                "load": sum(found.work_mips[task] for task in _tasks_on(found, host.id)),
            }
            for host in hosts.hosts
        ],
        "between_bytes": found.between_bytes,
        "prediction": found.prediction.to_json(),
    }


def placed_page(found: Placed) -> str:
    """The graph with a frame around each PE that says where it runs."""
    groups = [Group(label=f"{pe_title(pe)}: {_where(found, pe)}", operators=pe.operators) for pe in found.plan.pes]
    return graph_page(found.plan.application, groups=groups)


def _tasks_on(found: Placed, host: str) -> list[Task]:
    return [task for task, where in found.host_of.items() if where == host]


def _title(pe: PE, channel: int = 0) -> str:
    which = f", channel {channel} of {pe.channels}" if pe.channels > 1 else ""
    return f"PE {pe.index}, {pe.role}{which}: {', '.join(pe.operators)}"


def _where(found: Placed, pe: PE) -> str:
    hosts = dict.fromkeys(host for (index, _), host in found.host_of.items() if index == pe.index)
    return ", ".join(hosts) or "driver"
