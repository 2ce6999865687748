"""A Kafka broker, started when the first test asks for it."""

from __future__ import annotations

import functools
import subprocess

import pytest

from servers import jars
from servers.processes import free_port, scratch_folder, start

PARTITIONS = 3
"""Of topics that are made by using them."""

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
num.partitions={partitions}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


@functools.cache
def broker() -> str:
    """The address of a running broker; skips the test if there can be none."""
    reason = jars.missing()
    if reason is not None:
        pytest.skip(reason)
    folder, port = scratch_folder(), free_port()
    settings = folder / "server.properties"
    settings.write_text(
        _PROPERTIES.format(controller=free_port(), port=port, folder=folder, partitions=PARTITIONS), encoding="utf-8"
    )
    java = ["java", "-Xmx512m", "-cp", f"{jars.folder(jars.BROKER)}/*"]
    format_ = ["kafka.tools.StorageTool", "format", "-t", "penstockpenstockpenstk", "-c", str(settings)]
    subprocess.run([*java, *format_], check=True, capture_output=True)
    start([*java, "kafka.Kafka", str(settings)], port, folder / "log")
    return f"127.0.0.1:{port}"
