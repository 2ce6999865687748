import io
from pathlib import Path

import pytest
from programs import FIXTURES, INVALID, VALID, compile_fixture, outcome

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.ir.codec import from_json, to_json
from penstock.lang import compile_text
from penstock.reference import run


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


def test_applications_exchange_streams_by_id_and_by_properties(tmp_path: Path) -> None:
    text = (FIXTURES / "export_import.spl").read_text(encoding="utf-8")
    printed = io.StringIO()
    both = [compile_text(text, main=name) for name in ("Exporter", "Importer")]
    run(both, environment=Environment(output_directory=tmp_path, stdout=printed))
    assert sorted(printed.getvalue().splitlines()) == ["number 0", "number 1", "number 2", "square 1", "square 4"]
