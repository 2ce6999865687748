"""What is stored of a PE's state, batch by batch, adds up to the state; and it does not grow beyond bounds."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pyarrow as pa
import pytest

from penstock.codegen.kernels.key_tables import KeyTable, Outline, unpacked
from penstock.runtime.pes import state_log
from penstock.runtime.pes.entry_bytes import decode_entry
from penstock.runtime.pes.state_log import Head, read, record
from penstock.runtime.pes.table_files import TableFiles

TYPES = {"n": np.int64, "pair": (np.float64, (2,))}


class Store(dict):
    """Entries, with how many rows were ever put."""

    written = 0

    def get(self, name):
        return self[name]

    def put(self, name, entry):
        self[name] = entry
        self.written += len(decode_entry(entry)["codes"])

    def remove(self, name):
        del self[name]


class Instance:
    """An instance of a PE with one table, which counts keys."""

    def __init__(self):
        self.table = KeyTable(["k"], ["rstring"], TYPES)
        self.whole = {"batches": 0}
        self.tables = {"Op 0": self.table}

    def outline(self):
        return {"version": 1, "pieces": [{"operators": {"Op": Outline(1, dict(self.whole))}}]}

    def restore(self, state, whole=None):
        own = state["pieces"][0]["operators"]["Op"]
        if isinstance(own, Outline):
            self.whole = dict(own.whole)
        else:
            self.whole = dict(own["whole"])
            self.table.restore(own["tables"][0])

    def process(self, names):
        self.whole["batches"] += 1
        codes = self.table.find([pa.array(names, pa.string())])
        present, counts = np.unique(codes, return_counts=True)
        self.table.put("n", present, self.table.take("n", present) + counts)
        self.table.put("pair", present, np.stack([present, counts], 1))

    def rows(self):
        own = self.table.snapshot()
        return dict(zip(unpacked(own["keys"][0]).to_pylist(), own["rows"]["n"].tolist(), strict=True))


def counted(state):
    own = state["pieces"][0]["operators"]["Op"]["tables"][0]
    return dict(zip(unpacked(own["keys"][0]).to_pylist(), unpacked(own["rows"]["n"]).tolist(), strict=True))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("largest", [200, 1 << 20])
def test_what_is_stored_is_the_state(seed, largest, monkeypatch, tmp_path):
    monkeypatch.setattr(state_log, "LARGEST_ENTRY", largest)
    draw, head, store, instance, wanted = random.Random(seed), Head(), Store(), Instance(), {}
    keys = draw.choice([3, 40, 400])
    for _ in range(60):
        names = [f"key {draw.randrange(keys)}" for _ in range(draw.choice([0, 1, 5, 50]))]
        with TableFiles(tmp_path / "files") as files:
            if draw.random() < 0.1:
                # A worker that fails after it has stored: of what it did only the files are left.
                instance.process(names)
                files.hold(instance)
                files.keep(instance, "of no head")
                instance = None
            if instance is None or draw.random() < 0.3:
                instance = Instance()
                if head.outline and not files.attach(instance, head, store):
                    state_log.resume(instance, head, store)
            instance.process(names)
            for name in names:
                wanted[name] = wanted.get(name, 0) + 1
            record(instance, head, store)
            head = pickle.loads(pickle.dumps(head))
            files.hold(instance)
            files.keep(instance, head.stamp)
        assert counted(read(head, store.get)) == instance.rows() == wanted
    assert sum(head.logs["Op 0"].entries.values()) <= 4 * len(wanted) + 100


def test_a_batch_costs_what_it_touches():
    head, store, instance = Head(), Store(), Instance()
    instance.process([f"key {i}" for i in range(20_000)])
    record(instance, head, store)
    for turn in range(100):
        instance.process([f"key {(turn * 97 + i) % 20_000}" for i in range(100)])
        record(instance, head, store)
    assert store.written <= 20_000 + 2 * 100 * 100
    assert counted(read(head, store.get)) == instance.rows()


def test_a_batch_that_changes_nothing_stores_nothing():
    head, store, instance = Head(), Store(), Instance()
    instance.process(["a"])
    assert record(instance, head, store)
    stamp, written = head.stamp, store.written
    assert not record(instance, head, store)
    assert (head.stamp, store.written) == (stamp, written)


def test_who_does_not_get_the_lock_works_without_files(tmp_path):
    head, store, instance = Head(), Store(), Instance()
    instance.process(["a"])
    record(instance, head, store)
    with TableFiles(tmp_path / "files") as first:
        first.hold(instance)
        first.keep(instance, head.stamp)
        with TableFiles(tmp_path / "files") as second:
            assert not second.attach(Instance(), head, store)
            second.hold(Instance())
    with TableFiles(tmp_path / "files") as third:
        another = Instance()
        assert third.attach(another, head, store)
        assert another.rows() == {"a": 1}
    with TableFiles(tmp_path / "files") as fourth:
        assert not fourth.attach(Instance(), head, store), "whoever attached them has not said what they hold now"


def test_files_that_are_gone_or_cut_are_made_anew(tmp_path):
    for spoil in (lambda path: path.unlink(), lambda path: path.write_bytes(b"")):
        head, store, instance = Head(), Store(), Instance()
        instance.process(["a", "b"])
        record(instance, head, store)
        with TableFiles(tmp_path / "files") as files:
            files.hold(instance)
            files.keep(instance, head.stamp)
        spoil(tmp_path / "files/0/2")
        with TableFiles(tmp_path / "files") as files:
            another = Instance()
            assert not files.attach(another, head, store)
            state_log.resume(another, head, store)
            another.process(["b"])
            record(another, head, store)
            files.hold(another)
            files.keep(another, head.stamp)
        with TableFiles(tmp_path / "files") as files:
            third = Instance()
            assert files.attach(third, head, store)
            assert third.rows() == {"a": 1, "b": 2}
