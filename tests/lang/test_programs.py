from pathlib import Path

import pytest
from programs import INVALID, VALID, compile_fixture, outcome

from penstock.diagnostics import UserError
from penstock.ir.codec import from_json, to_json


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_valid_program_does_what_is_expected(path: Path, tmp_path: Path) -> None:
    assert outcome(compile_fixture(path), tmp_path) == path.with_suffix(".expected").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_program_gets_its_messages(path: Path) -> None:
    with pytest.raises(UserError) as caught:
        compile_fixture(path)
    assert f"{caught.value}\n" == path.with_suffix(".error").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_the_graph_of_a_program_goes_through_json(path: Path) -> None:
    application = compile_fixture(path).application
    assert from_json(to_json(application)) == application


def test_there_are_enough_programs() -> None:
    assert len(VALID) >= 60
    assert len(INVALID) >= 30


def test_the_programs_use_every_standard_operator() -> None:
    used = {o.kind for path in VALID for o in compile_fixture(path).application.operators}
    wanted = """Custom Beacon FileSource FileSink Functor Filter Aggregate Join Sort Barrier Parse Throttle
        DirectoryScan Split ThreadedSplit Union Punctor Pair DeDuplicate Delay Gate Switch DynamicFilter MetricsSink
        Combine Match"""
    assert used >= set(wanted.split())
