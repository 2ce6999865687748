"""What is stored of a PE's state, batch by batch, adds up to the state; and it does not grow beyond bounds."""

from __future__ import annotations

import pickle
import random
import shutil

import numpy as np
import pyarrow as pa
import pytest

from penstock.codegen.kernels import growing_arrays, key_tables
from penstock.codegen.kernels.key_tables import KeyTable, Outline, unpacked
from penstock.ir.arrow import arrow_type
from penstock.ir.types import parse_type
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


def kept_in_files(folder, names=("a", "b")):
    """A head, its store, and files that hold the same."""
    head, store, instance = Head(), Store(), Instance()
    instance.process(list(names))
    record(instance, head, store)
    with TableFiles(folder) as files:
        files.hold(instance)
        files.keep(instance, head.stamp)
    return head, store


def refuse(*_):
    raise OSError("no space left on device")


def test_files_that_cannot_be_mapped_are_not_taken_for_empty_ones(tmp_path, monkeypatch):
    head, store = kept_in_files(tmp_path / "files")
    monkeypatch.setattr(growing_arrays, "_allocate", refuse)
    with TableFiles(tmp_path / "files") as files:
        another = Instance()
        assert not files.attach(another, head, store)
        state_log.resume(another, head, store)
        assert another.rows() == {"a": 1, "b": 1}


@pytest.mark.parametrize("name", ["", "lock", "stamp", "stamp.part", "0", "0/2"])
def test_what_stands_in_the_way_of_files_stops_nobody(tmp_path, name):
    head, store = kept_in_files(tmp_path / "files")
    blocked = tmp_path / "files" / name
    if blocked.is_dir():
        shutil.rmtree(blocked)
        blocked.touch()
    else:
        blocked.unlink(missing_ok=True)
        (blocked / "inside").mkdir(parents=True)
    for batch in range(3):
        with TableFiles(tmp_path / "files") as files:
            another = Instance()
            if not files.attach(another, head, store):
                state_log.resume(another, head, store)
            assert another.rows() == {"a": 1 + batch, "b": 1}
            another.process(["a"])
            record(another, head, store)
            files.hold(another)
            files.keep(another, head.stamp)


@pytest.mark.parametrize("data", [b"", b"5", b'{"stamp', b"\x80\x05K\x01."])
def test_a_stamp_that_is_not_whole_tells_nothing(tmp_path, data):
    head, store = kept_in_files(tmp_path / "files")
    (tmp_path / "files" / "stamp").write_bytes(data)
    with TableFiles(tmp_path / "files") as files:
        assert not files.attach(Instance(), head, store)


def test_a_table_of_which_one_file_found_no_room_is_written_again(tmp_path, monkeypatch):
    head, store = kept_in_files(tmp_path / "files")
    with TableFiles(tmp_path / "files") as files:
        instance = Instance()
        assert files.attach(instance, head, store)
        left = iter([refuse])
        allocate = growing_arrays._allocate
        monkeypatch.setattr(growing_arrays, "_allocate", lambda *given: next(left, allocate)(*given))
        instance.process([f"key {i}" for i in range(200)])
        record(instance, head, store)
        files.hold(instance)
        files.keep(instance, head.stamp)
    with TableFiles(tmp_path / "files") as files:
        another = Instance()
        assert files.attach(another, head, store)
        assert another.rows() == instance.rows()


def test_who_was_given_up_does_not_write_into_files_that_were_made_anew(tmp_path):
    head, store = kept_in_files(tmp_path / "files")
    with TableFiles(tmp_path / "files") as lost:
        late = Instance()
        assert lost.attach(late, head, store)
        shutil.rmtree(tmp_path / "files")
        with TableFiles(tmp_path / "files") as files:
            instance = Instance()
            assert not files.attach(instance, head, store)
            state_log.resume(instance, head, store)
            files.hold(instance)
            late.process(["a"] * 7 + [f"key {i}" for i in range(200)])
            lost.hold(late)
            lost.keep(late, "another")
            assert instance.rows() == {"a": 1, "b": 1}
            instance.process(["a"])
            record(instance, head, store)
            files.keep(instance, head.stamp)
    with TableFiles(tmp_path / "files") as files:
        another = Instance()
        assert files.attach(another, head, store)
        assert another.rows() == {"a": 2, "b": 1}


def test_reading_holds_no_more_rows_of_a_column_than_the_table(monkeypatch):
    """A column of texts has at most 2 GiB, and the entries of a table are up to four times as many."""
    head, store, instance = Head(), Store(), Instance()
    instance.process([f"key {i}" for i in range(100)])
    record(instance, head, store)
    for i in range(30):
        instance.process([f"key {i}", f"key {i + 1}", f"key {i + 2}"])
        record(instance, head, store)
    held = []
    concatenated = key_tables.concatenated
    monkeypatch.setattr(
        key_tables, "concatenated", lambda parts: held.append(sum(map(len, parts))) or concatenated(parts)
    )
    assert counted(read(head, store.get)) == instance.rows()
    assert set(held) == {100}


@pytest.mark.parametrize("type_", ["rstring", "optional<rstring>", "list<rstring>"])
def test_a_batch_that_is_run_again_divides_its_rows_alike(type_):
    """A table that has grown and one that was read from the store take other amounts of memory for the same rows."""

    def table():
        return KeyTable(["k"], ["int64"], {"v": parse_type(type_)})

    grown = table()
    for i in range(130):
        value = [f"text {i}"] if type_.startswith("list") else f"text {i}"
        grown.put("v", grown.find([np.array([i])]), pa.array([value], arrow_type(parse_type(type_))))
    read_again = table()
    read_again.restore(grown.snapshot())
    assert grown.count_bytes() == read_again.count_bytes() > 130 * 10
