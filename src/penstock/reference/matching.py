"""Which exported streams an Import takes: by stream id, or by the properties that a subscription asks for."""

from __future__ import annotations

from typing import Any

from penstock.reference.node import Node


def takes(importer: Node, exporter: Node) -> bool:
    """Whether an Import takes what an Export offers."""
    wanted, offered = _constant(importer, "streamId"), _constant(exporter, "streamId")
    return wanted is not None and wanted == offered


def _constant(node: Node, param: str) -> Any:
    values = node.operator.param(param)
    return node.evaluator.constant(values[0]) if values else None
