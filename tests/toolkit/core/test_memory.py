"""An operator that is stopped and continued by a new instance does what one that is never stopped does."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutting import Session, run_cut, run_whole
from penstock.expr.environment import Clock, Environment
from penstock.toolkit.core.operator_registry import standard
from toolkit.memory_cases import CASES, Case, prepare

NEED_A_SERVER = {
    *("KafkaConsumer", "KafkaProducer", "PostgresSink", "SparkSink", "TCPSink", "TCPSource", "UDPSink", "UDPSource"),
    *("FromSpark", "ToSpark"),
}
"""Operators that have tests of their own, beside a server or a Spark."""


def test_every_standard_operator_has_a_case():
    used = {o.kind for case in CASES for o in case.program().application.operators}
    assert set(standard().names()) - NEED_A_SERVER <= used


@pytest.fixture(scope="module")
def data() -> Path:
    with tempfile.TemporaryDirectory() as folder:
        yield prepare(Path(folder))


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_stopping_makes_no_difference(case: Case, data: Path):
    program = case.program()

    @settings(max_examples=12, deadline=None)
    @given(st.integers(0, 10**6), st.sampled_from([0.1, 0.4, 1.0]))
    def check(seed: int, often: float) -> None:
        case.fill(seed)
        with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as cut:

            def environment(folder: str) -> Environment:
                return Environment(data_directory=data, output_directory=Path(folder), clock=Clock())

            wanted = run_whole(program, environment(whole))
            found = run_cut(program, lambda: environment(cut), Random(seed), often)
            assert _text(found, cut) == _text(wanted, whole)
            assert found.counts() == wanted.counts()
            assert found.environment.metrics == wanted.environment.metrics
            assert _files(Path(cut)) == _files(Path(whole))

    check()


PLAIN = (bool, int, float, str, bytes, type(None))


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(_is_plain(part) for entry in value.items() for part in entry)
    return type(value) in PLAIN or (type(value) in (tuple, list, set) and all(map(_is_plain, value)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_memory_is_plain_data(case: Case, data: Path, tmp_path: Path):
    program = case.program()
    case.fill(3)
    session = Session(program, Environment(data_directory=data, output_directory=tmp_path, clock=Clock())).start()
    for _ in range(25):
        session.step()
    assert all(_is_plain(node.snapshot()) for node in session.nodes)
    session.close()


def _text(session: Session, folder: str) -> list[str]:
    """What was seen as text, in which NaN equals NaN; paths without the folder."""
    return [str(entry).replace(folder, "") for entry in session.all_seen()]
