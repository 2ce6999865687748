"""The status of a running job, in a file of its checkpoint: how far it is, what runs where, and who talks to whom.

`penstock status CHECKPOINT` reads it, whoever runs the job. It is written behind a batch, not more often than once a
second, and says of itself how old it is. It is no part of the state: a job does not need it to go on.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.placement.live.channel_graph import ChannelGraph, Task
from penstock.runtime.sinks.writer import Totals
from penstock.spark.placement.placement_settings import PlacementSettings
from penstock.spark.placement.placer import Placer

STATUS = "status.json"
_EVERY_SECONDS = 1.0
_SHARE = 100
"""The status of a job with many channels takes time to write: so many times as long it is not written again."""


class JobStatus:
    """Writes the status of one run.

    Args:
        checkpoint: Of the job.
        application: Its name.
        plan: The PEs.
        settings: How it is placed.
        placer: Knows what runs where.

    Attributes:
        traffic: What runs where and who talks to whom, as it was written last.
    """

    def __init__(
        self, checkpoint: Path, application: str, plan: PhysicalPlan, settings: PlacementSettings, placer: Placer
    ) -> None:
        self._path = checkpoint / STATUS
        pes = [list(pe.operators) for pe in plan.pes]
        self._fixed = {
            "application": application,
            "pes": pes,
            "placement": settings.algorithm,
            "demands": list(placer.demands),
        }
        self._placer = placer
        self._started = time.time()
        self._next = 0.0
        self._batches = 0
        self._last: dict[str, Any] = {}
        self.traffic: dict[str, Any] = {}

    def after(self, batch: int, totals: Totals) -> None:
        """Write how it stands behind a batch, if that was not written a moment ago."""
        self._batches += 1
        now = time.time()
        self._last = {
            "batch": batch,
            "batches": self._batches,
            "received": totals.received,
            "submitted": totals.submitted,
        }
        if now >= self._next:
            self._write("running", now)

    def end(self, stopped: str) -> None:
        """Write how it stands at the end of the run, unless another process goes on with the job."""
        with suppress(UserError):
            if read_status(self._path.parent)["process"] != os.getpid():
                return
        if self._last:
            self._write(stopped, time.time())

    def _write(self, state: str, now: float) -> None:
        self.traffic = describe_traffic(self._placer)
        found = {
            **self._fixed,
            "state": state,
            "process": os.getpid(),
            "started": round(self._started, 3),
            "updated": round(now, 3),
            **self._last,
            **self.traffic,
        }
        part = self._path.with_suffix(".part")
        # A full disk is no reason to stop the job.
        with suppress(OSError):
            part.write_text(json.dumps(found))
            part.replace(self._path)
        took = time.time() - now
        self._next = now + max(_EVERY_SECONDS, _SHARE * took)


def describe_traffic(placer: Placer) -> dict[str, Any]:
    """The executors, the tasks, what they send each other and the moves, as plain data."""
    graph, homes = placer.window.graph(), placer.window.homes
    racks = {executor.id: executor.rack for executor in placer.executors}
    return {
        "is_placed": placer.is_active,
        "executors": [
            {"id": id_, "host": host, "rack": racks.get(id_, "")} for id_, host in sorted(set(homes.values()))
        ],
        "tasks": [
            {
                "pe": task[0],
                "channel": task[1],
                "executor": homes.get(task, ("", ""))[0],
                "cpu_seconds": round(graph.cpu_seconds.get(task, 0.0), 6),
                "state_bytes": graph.state_bytes.get(task, 0),
            }
            for task in graph.tasks
        ],
        "flows": [
            {"from": list(sender), "to": list(receiver), "bytes": round(size, 1)}
            for (sender, receiver), size in graph.flows.items()
        ],
        "edges": [
            {"edge": edge, "from": list(a), "to": list(b), "tuples": round(number, 1), "bytes": round(size, 1)}
            for (edge, a, b), (number, size) in graph.tuples.items()
        ],
        "source_bytes": round(graph.source_bytes, 1),
        "between_hosts": round(graph.cut({task: host for task, (_, host) in homes.items()}), 1),
        "window_batches": graph.batches,
        "moves": [move.to_json() for move in placer.log.moves],
        "tasks_moved": placer.log.count,
    }


def read_status(checkpoint: Path) -> dict[str, Any]:
    """The status of the job of a checkpoint.

    Raises:
        UserError: There is none.
    """
    try:
        found: dict[str, Any] = json.loads((checkpoint / STATUS).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(
            f"there is no status of a job in `{checkpoint}`",
            hint="name the folder that a job was started with by --checkpoint; it is written behind the first batch",
        ) from None
    except ValueError:
        raise UserError(f"`{checkpoint / STATUS}` is damaged", hint="a running job writes it anew") from None
    return found


def graph_of(status: dict[str, Any]) -> ChannelGraph:
    """The communication graph in a status."""

    def task(pair: list[int]) -> Task:
        return pair[0], pair[1]

    return ChannelGraph(
        tasks=tuple((told["pe"], told["channel"]) for told in status["tasks"]),
        flows={(task(flow["from"]), task(flow["to"])): flow["bytes"] for flow in status["flows"]},
        cpu_seconds={(told["pe"], told["channel"]): told["cpu_seconds"] for told in status["tasks"]},
        state_bytes={(told["pe"], told["channel"]): told["state_bytes"] for told in status["tasks"]},
        batches=status["window_batches"],
    )
