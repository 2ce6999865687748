"""A PE whose instances live for a batch, with its state in a store and in files, as workers of Spark's have it."""

from __future__ import annotations

import pickle
from typing import Any

from pes import inner_pe, plan_of

from penstock.codegen.plan.pieces import pieces_of
from penstock.codegen.transport.batches import REPORT, TUPLE, Item, encode
from penstock.expr.environment import Environment
from penstock.runtime.pes import state_log
from penstock.runtime.pes.instances import instance_maker
from penstock.runtime.pes.reports import decode_report
from penstock.runtime.pes.state_log import Head
from penstock.runtime.pes.table_files import TableFiles


class Store(dict):
    """Entries by name."""

    def get(self, name):
        return self[name]

    def put(self, name, entry):
        self[name] = entry

    def remove(self, name):
        del self[name]


class Job:
    """A PE whose instances live for a batch."""

    def __init__(self, program: Any, folder: Any = None) -> None:
        plan = plan_of(program)
        self.pe = inner_pe(plan)
        self.edge = plan.into(self.pe)[0]
        self.schema = program.application.streams[self.edge.stream].schema
        self.make = instance_maker(program, plan, pieces_of(program, plan, self.pe), Environment())
        self.head, self.store, self.folder = Head(), Store(), folder
        self.has_run = False
        self.number = self.seconds = self.expired = 0

    def values(self, rows: list[Any]) -> list[Any]:
        at_ns = self.seconds * 1_000_000_000
        items = [Item(at_ns, self.number + i, b"0000", TUPLE, row) for i, row in enumerate(rows)]
        self.number += len(rows)
        return [(self.edge.index, value) for value in encode(items, self.schema)]

    def process(self, instance: Any, rows: list[Any]) -> list[Any]:
        left = []
        for edge, values in instance.process_batch(self.values(rows)):
            if edge == REPORT:
                self.expired += sum(sum(decode_report(value).expired.values()) for value in values)
            else:
                left.append((edge, values))
        return left

    def run(self, rows: list[Any], *, uses_files: bool = False) -> list[Any]:
        instance = self.make()
        with TableFiles(self.folder) as files:
            if self.has_run and not (uses_files and files.attach(instance, self.head, self.store)):
                state_log.resume(instance, self.head, self.store)
            left = self.process(instance, rows)
            state_log.record(instance, self.head, self.store)
            self.head = pickle.loads(pickle.dumps(self.head))
            files.hold(instance)
            files.keep(instance, self.head.stamp)
        self.has_run = True
        return left
