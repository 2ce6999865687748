"""What has changed in a program since a savepoint was taken, as far as its state is concerned."""

from __future__ import annotations

from typing import Any

from penstock.ir.graph import Application


def describe_program(application: Application) -> dict[str, Any]:
    """For each operator what its state depends on: its kind, its key, and the types of its streams."""
    return {
        o.id: {
            "kind": o.kind,
            "key": [sorted(key) for key in o.model.partition_by],
            "inputs": [str(port.schema) for port in o.inputs],
            "outputs": [str(port.schema) for port in o.outputs],
            "state": o.model.state.value,
        }
        for o in application.operators
    }
